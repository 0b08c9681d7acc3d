-- literal-number
-- A numeral, bare or in quotes, that needs no rounding is one value of its column.
SELECT COUNT(*) FROM flights WHERE month = 1 OR month = '3' OR distance = -5 OR flight = 725.0;
--> #1  COUNT(*) main.flights  where (flights.month = 1) OR (flights.month = 3) OR (flights.distance = -5) OR (flights.flight = 725)
--> fact COUNT(*) of flights = 6 where (flights.month = 1) OR (flights.month = 3) OR (flights.distance = -5) OR (flights.flight = 725)

SELECT COUNT(*) FROM flights WHERE fare = 219.5 OR fare = '243.00' OR fare > 199;
--> #1  COUNT(*) main.flights  where (flights.fare = 219.5) OR (flights.fare = 243) OR (flights.fare > 199)
--> fact COUNT(*) of flights = 3 where (flights.fare = 219.5) OR (flights.fare = 243) OR (flights.fare > 199)

SELECT COUNT(*) FROM scalars WHERE bi = 9223372036854775807 OR hi = '170141183460469231731687303715884105727' OR uhi = '340282366920938463463374607431768211455';
--> #1  COUNT(*) main.scalars  where (scalars.bi = 9223372036854775807) OR (scalars.hi = 170141183460469231731687303715884105727) OR (scalars.uhi = 340282366920938463463374607431768211455)
--> fact COUNT(*) of scalars = 1 where (scalars.bi = 9223372036854775807) OR (scalars.hi = 170141183460469231731687303715884105727) OR (scalars.uhi = 340282366920938463463374607431768211455)

SELECT COUNT(*) FROM scalars WHERE bi = 9007199254740993 AND bi <> 9007199254740992;
--> #1  COUNT(*) main.scalars  where (scalars.bi = 9007199254740993) AND (scalars.bi <> 9007199254740992 (rows where it is NULL are not counted))
--> fact COUNT(*) of scalars = 1 where (scalars.bi = 9007199254740993) AND (scalars.bi <> 9007199254740992 (rows where it is NULL are not counted))

-- Spellings that both parsers put right before anybody can see them.
SELECT COUNT(*) FROM flights WHERE fare = .5 OR distance = 1_400;
--> #1  COUNT(*) main.flights  where (flights.fare = 0.5) OR (flights.distance = 1400)

SELECT COUNT(*) FROM flights WHERE month = '1';
--> #1  COUNT(*) main.flights  where flights.month = 1

-- One edit away: the engine rounds it, and counts the rows where the column is 1.
SELECT COUNT(*) FROM flights WHERE month = '1.4';
--> #1  withheld literal-not-exact

-- One edit away: no value of the column is between whole numbers.
SELECT COUNT(*) FROM flights WHERE month > 1.5;
--> #1  withheld literal-not-exact

-- One edit away: more places than the column has.
SELECT COUNT(*) FROM flights WHERE fare = 219.501;
--> #1  withheld literal-not-exact

-- One edit away: the same in quotes, which the engine rounds.
SELECT COUNT(*) FROM flights WHERE fare = '219.501';
--> #1  withheld literal-not-exact

-- One edit away: outside the column's range.
SELECT COUNT(*) FROM flights WHERE month < 1000;
--> #1  withheld literal-not-exact

-- One edit away: a negative number of a type that has none.
SELECT COUNT(*) FROM scalars WHERE uti > -1;
--> #1  withheld literal-not-exact

-- One edit away: an exponent.
SELECT COUNT(*) FROM flights WHERE distance < 1e3;
--> #1  withheld literal-not-exact

-- One edit away: zeros in front.
SELECT COUNT(*) FROM flights WHERE month = 01;
--> #1  withheld literal-not-exact

-- One edit away: spaces in the quotes.
SELECT COUNT(*) FROM flights WHERE month = ' 1';
--> #1  withheld literal-not-exact

-- One edit away: a hexadecimal numeral.
SELECT COUNT(*) FROM flights WHERE month = 0x1;
--> withheld not-sql
--> engine refused not-sql

-- One edit away: a minus before a minus.
SELECT COUNT(*) FROM flights WHERE distance = - -5;
--> #1  withheld filter-not-statable

-- One edit away: a converted literal.
SELECT COUNT(*) FROM flights WHERE month = 1::TINYINT;
--> #1  withheld filter-not-statable

-- One edit away: so many places that the engine rounds the column itself.
SELECT COUNT(*) FROM scalars WHERE wide = 0.10000000000000000000;
--> #1  withheld literal-not-exact
--> run failed

-- One edit away: a Boolean.
SELECT COUNT(*) FROM flights WHERE month = TRUE;
--> #1  withheld literal-not-exact
