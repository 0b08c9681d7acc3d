-- filter-boolean
-- Conditions may be joined by AND, OR, NOT and brackets; a Boolean column is one by itself.
SELECT COUNT(*) FROM flights WHERE cancelled;
--> #1  COUNT(*) main.flights  where flights.cancelled
--> fact COUNT(*) of flights = 1 where flights.cancelled

SELECT COUNT(*) FROM flights WHERE NOT cancelled AND (month = 1 OR (month = 3 OR (month = 4)));
--> #1  COUNT(*) main.flights  where (NOT (flights.cancelled (rows where it is NULL are not counted))) AND ((flights.month = 1) OR (flights.month = 3) OR (flights.month = 4))
--> fact COUNT(*) of flights = 7 where (NOT (flights.cancelled (rows where it is NULL are not counted))) AND ((flights.month = 1) OR (flights.month = 3) OR (flights.month = 4))

SELECT COUNT(*) FROM flights WHERE cancelled = TRUE OR FALSE <> cancelled;
--> #1  COUNT(*) main.flights  where (flights.cancelled = TRUE) OR (flights.cancelled <> FALSE (rows where it is NULL are not counted))

SELECT COUNT(*) FROM flights WHERE NOT (NOT (month = 1 AND carrier = 'UA'));
--> #1  COUNT(*) main.flights  where NOT (NOT ((flights.month = 1 (rows where it is NULL are not counted)) AND (flights.carrier = 'UA' (rows where it is NULL are not counted))))

-- Only the part that excludes NULL says so.
SELECT COUNT(*) FROM flights WHERE (tailnum <> 'N14228' OR month = 3) AND NOT carrier = 'AA';
--> #1  COUNT(*) main.flights  where ((flights.tailnum <> 'N14228') OR (flights.month = 3)) AND (NOT (flights.carrier = 'AA' (rows where it is NULL are not counted)))
--> fact COUNT(*) of flights = 5 where ((flights.tailnum <> 'N14228') OR (flights.month = 3)) AND (NOT (flights.carrier = 'AA' (rows where it is NULL are not counted)))

-- One edit away: a column that is no Boolean.
SELECT COUNT(*) FROM flights WHERE month;
--> #1  withheld filter-type

-- One edit away: one condition that cannot be stated withholds the calculation.
SELECT COUNT(*) FROM flights WHERE NOT cancelled OR length(carrier) = 2;
--> #1  withheld filter-not-statable

-- One edit away: a Boolean in quotes.
SELECT COUNT(*) FROM flights WHERE cancelled = 'true';
--> #1  withheld literal-not-exact

-- One edit away: Boolean as a number.
SELECT COUNT(*) FROM flights WHERE cancelled = 1;
--> #1  withheld literal-not-exact

-- One edit away: exclusive or.
SELECT COUNT(*) FROM flights WHERE xor(month, 1) = 0;
--> #1  withheld filter-not-statable
