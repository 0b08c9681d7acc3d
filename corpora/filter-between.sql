-- filter-between
-- BETWEEN is two comparisons; the ends may be columns of the same type.
SELECT COUNT(*) FROM flights WHERE distance BETWEEN 1000 AND 1500;
--> #1  COUNT(*) main.flights  where (flights.distance >= 1000) AND (flights.distance <= 1500)
--> fact COUNT(*) of flights = 4 where (flights.distance >= 1000) AND (flights.distance <= 1500)

SELECT COUNT(*) FROM flights WHERE day BETWEEN '2013-01-02' AND DATE '2013-03-31' AND carrier <> 'UA';
--> #1  COUNT(*) main.flights  where (flights.day >= '2013-01-02') AND (flights.day <= '2013-03-31') AND (flights.carrier <> 'UA' (rows where it is NULL are not counted))

SELECT COUNT(*) FROM flights WHERE carrier NOT BETWEEN 'AA' AND 'DL';
--> #1  COUNT(*) main.flights  where NOT ((flights.carrier >= 'AA' (rows where it is NULL are not counted)) AND (flights.carrier <= 'DL' (rows where it is NULL are not counted)))

SELECT COUNT(*) FROM flights WHERE carrier BETWEEN origin AND tailnum;
--> #1  COUNT(*) main.flights  where (flights.carrier >= flights.origin) AND (flights.carrier <= flights.tailnum)

SELECT COUNT(*) FROM flights WHERE delay BETWEEN -5 AND 2.5 OR month BETWEEN 3 AND 3;
--> #1  COUNT(*) main.flights  where ((flights.delay >= -5) AND (flights.delay <= 2.5)) OR ((flights.month >= 3) AND (flights.month <= 3))

-- One edit away: ends in either order.
SELECT COUNT(*) FROM flights WHERE distance BETWEEN SYMMETRIC 1500 AND 1000;
--> #1  withheld filter-not-statable
--> engine refused not-sql

-- One edit away: a literal between columns.
SELECT COUNT(*) FROM flights WHERE 1000 BETWEEN flight AND distance;
--> #1  withheld filter-not-statable

-- One edit away: a calculated end.
SELECT COUNT(*) FROM flights WHERE distance BETWEEN 1000 AND 1000 + 500;
--> #1  withheld filter-not-statable

-- One edit away: an end that is not exact.
SELECT COUNT(*) FROM flights WHERE distance BETWEEN 1000 AND 1500.5;
--> #1  withheld literal-not-exact
