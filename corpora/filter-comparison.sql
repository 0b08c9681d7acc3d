-- filter-comparison
-- A comparison of a column with an exact literal can be stated, whichever side the column is on.
SELECT COUNT(*) FROM flights WHERE month = 1;
--> #1  COUNT(*) main.flights  where flights.month = 1
--> fact COUNT(*) of flights = 3 where flights.month = 1

SELECT COUNT(*) FROM flights WHERE 1 != month;
--> #1  COUNT(*) main.flights  where flights.month <> 1 (rows where it is NULL are not counted)
--> fact COUNT(*) of flights = 5 where flights.month <> 1 (rows where it is NULL are not counted)

SELECT SUM(distance) FROM flights WHERE distance >= 1000 AND NOT (distance > 1500);
--> #1  SUM(distance) main.flights  where (flights.distance >= 1000) AND (NOT (flights.distance > 1500 (rows where it is NULL are not counted)))

SELECT COUNT(*) FROM flights WHERE 1000 < distance AND month == 1;
--> #1  COUNT(*) main.flights  where (flights.distance > 1000) AND (flights.month = 1)

-- Two columns of exactly the same type.
SELECT COUNT(*) FROM flights WHERE carrier = origin;
--> #1  COUNT(*) main.flights  where flights.carrier = flights.origin

SELECT COUNT(*) FROM flights WHERE carrier < origin;
--> #1  COUNT(*) main.flights  where flights.carrier < flights.origin
--> fact COUNT(*) of flights = 4 where flights.carrier < flights.origin

-- A qualified column, and a table alias, make no difference.
SELECT COUNT(*) FROM flights AS f WHERE f.month <= 3;
--> #1  COUNT(*) main.flights  where flights.month <= 3

SELECT COUNT(*) FROM scalars WHERE i = 3;
--> #1  COUNT(*) main.scalars  where scalars.i = 3

SELECT COUNT(*) FROM unstatable WHERE id = 1;
--> #1  COUNT(*) main.unstatable  where unstatable.id = 1

-- One edit away: columns of different types.
SELECT COUNT(*) FROM flights WHERE month = distance;
--> #1  withheld filter-type

-- One edit away: a parenthesised column.
SELECT COUNT(*) FROM flights WHERE (month) = 1;
--> #1  withheld filter-not-statable

-- One edit away: a parenthesised literal.
SELECT COUNT(*) FROM flights WHERE month = (1);
--> #1  withheld filter-not-statable

-- One edit away: a calculation.
SELECT COUNT(*) FROM flights WHERE month + 0 = 1;
--> #1  withheld filter-not-statable

-- One edit away: a function.
SELECT COUNT(*) FROM flights WHERE lower(carrier) = 'ua';
--> #1  withheld filter-not-statable

-- One edit away: two literals.
SELECT COUNT(*) FROM flights WHERE 1 = 1;
--> #1  withheld filter-not-statable

-- One edit away: a literal alone.
SELECT COUNT(*) FROM flights WHERE true;
--> #1  withheld filter-not-statable

-- One edit away: NULL equals nothing.
SELECT COUNT(*) FROM flights WHERE month = NULL;
--> #1  withheld filter-not-statable

-- One edit away: a comparison that knows NULL.
SELECT COUNT(*) FROM flights WHERE month IS DISTINCT FROM 1;
--> #1  withheld filter-not-statable

-- One edit away: a column that does not exist.
SELECT COUNT(*) FROM flights WHERE months = 1;
--> #1  withheld column-unknown
--> engine failed

-- One edit away: a column under another qualifier.
SELECT COUNT(*) FROM flights WHERE planes.month = 1;
--> #1  withheld qualifier-unknown
--> engine failed

-- One edit away: a converted column.
SELECT COUNT(*) FROM flights WHERE CAST(month AS VARCHAR) = '1';
--> #1  withheld filter-not-statable

-- One edit away: a column under a collation.
SELECT COUNT(*) FROM flights WHERE carrier COLLATE NOCASE = 'ua';
--> #1  withheld filter-not-statable

-- One edit away: a calculated literal.
SELECT COUNT(*) FROM flights WHERE day >= DATE '2013-01-01' + 1;
--> #1  withheld filter-not-statable

-- One edit away: today is not always the same day.
SELECT COUNT(*) FROM flights WHERE day < current_date;
--> #1  withheld filter-not-statable

-- One edit away: intervals are equal across units.
SELECT COUNT(*) FROM scalars WHERE iv = INTERVAL 1 DAY;
--> #1  withheld filter-not-statable

-- One edit away: so are times with zone.
SELECT COUNT(*) FROM scalars WHERE ttz = '12:30:00+02';
--> #1  withheld filter-type

-- One edit away: a type whose values are not stated.
SELECT COUNT(*) FROM unstatable WHERE js = '1';
--> #1  withheld filter-type
