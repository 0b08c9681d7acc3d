-- clauses
-- HAVING, DISTINCT, ORDER BY, LIMIT and OFFSET choose which true rows are seen.
SELECT DISTINCT carrier, MAX(distance) FROM flights GROUP BY carrier HAVING COUNT(*) > 1 ORDER BY MAX(distance) DESC LIMIT 2 OFFSET 1;
--> carrier  column main.flights.carrier
--> #2  MAX(distance) main.flights  group carrier
--> selection having, distinct, order_by, limit, offset
--> fact flights.carrier = 'UA' in result row 1
--> fact MAX(flights.distance) = 1416 for flights.carrier = 'UA'

-- FETCH FIRST is LIMIT.
SELECT carrier FROM flights ORDER BY carrier FETCH FIRST 2 ROWS ONLY;
--> carrier  column main.flights.carrier
--> selection order_by, limit

-- An aggregate that may be cut away is still true where it is seen.
SELECT SUM(distance) FROM flights HAVING false;
--> #1  SUM(distance) main.flights
--> selection having

SELECT SUM(distance) FROM flights OFFSET 0;
--> #1  SUM(distance) main.flights
--> selection offset

-- Any scalar expression may stand in HAVING and ORDER BY.
SELECT carrier, SUM(distance) FROM flights GROUP BY carrier HAVING round(avg(delay)) % 2 = 0 ORDER BY lower(carrier) NULLS FIRST, sum(distance) * 2;
--> carrier  column main.flights.carrier
--> #2  SUM(distance) main.flights  group carrier
--> selection having, order_by

-- An order by the alias, which here wins over the column: the rows differ, the label does not.
SELECT distance AS delay FROM flights ORDER BY delay LIMIT 1;
--> delay  column main.flights.distance
--> selection order_by, limit
--> fact flights.distance = 229 in result row 1

-- HAVING may use an alias; the column of that name is another thing, and neither changes a label.
SELECT carrier, MIN(distance) AS delay FROM flights GROUP BY carrier HAVING delay > 700;
--> carrier  column main.flights.carrier
--> delay  MIN(distance) main.flights  group carrier
--> selection having

-- DISTINCT over one row drops nothing.
SELECT DISTINCT SUM(distance) FROM flights;
--> #1  SUM(distance) main.flights
--> selection distinct

SELECT carrier FROM flights ORDER BY ALL LIMIT 3;
--> carrier  column main.flights.carrier
--> selection order_by, limit

SELECT carrier FROM flights ORDER BY 1 LIMIT 3;
--> carrier  column main.flights.carrier
--> selection order_by, limit

SELECT DISTINCT carrier, distance FROM flights;
--> carrier  column main.flights.carrier
--> distance  column main.flights.distance
--> selection distinct

-- As many as there can be: some programs always write a limit.
SELECT carrier FROM flights ORDER BY carrier LIMIT 9223372036854775807;
--> carrier  column main.flights.carrier
--> selection order_by, limit

-- One edit away: more than the engine takes for a limit.
SELECT carrier FROM flights LIMIT 9223372036854775808;
--> withheld limit-not-a-number
--> run failed

-- One edit away: a share of the rows.
SELECT carrier FROM flights LIMIT 50%;
--> withheld limit-not-a-number

-- One edit away: a number that the engine rounds.
SELECT carrier FROM flights LIMIT 2.6;
--> withheld limit-not-a-number

-- One edit away: a calculated limit.
SELECT carrier FROM flights LIMIT 1 + 1;
--> withheld limit-not-a-number

-- One edit away: a limit that is none.
SELECT carrier FROM flights LIMIT ALL;
--> withheld limit-not-a-number

-- One edit away: a limit that is not known.
SELECT carrier FROM flights LIMIT NULL;
--> withheld limit-not-a-number

-- One edit away: a number in quotes.
SELECT carrier FROM flights LIMIT '2';
--> withheld limit-not-a-number

-- One edit away: a calculated offset.
SELECT carrier FROM flights OFFSET 1 + 1;
--> withheld limit-not-a-number

-- One edit away: a limit that takes equal rows too.
SELECT carrier FROM flights ORDER BY carrier FETCH FIRST 2 ROWS WITH TIES;
--> withheld limit-not-a-number
--> engine refused not-sql

-- One edit away: one row for each key.
SELECT DISTINCT ON (carrier) carrier, distance FROM flights;
--> withheld distinct-on
