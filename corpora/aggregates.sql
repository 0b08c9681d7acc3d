-- aggregates
-- Five calculations over one column, and the count of rows.
SELECT SUM(distance), AVG(distance), MIN(distance), MAX(distance), COUNT(tailnum), COUNT(*) FROM flights;
--> #1  SUM(distance) main.flights
--> #2  AVG(distance) main.flights
--> #3  MIN(distance) main.flights
--> #4  MAX(distance) main.flights
--> #5  COUNT(tailnum) main.flights
--> #6  COUNT(*) main.flights
--> fact SUM(flights.distance) = 8256
--> fact AVG(flights.distance) ≈ 1032.0
--> fact MIN(flights.distance) = 229
--> fact MAX(flights.distance) = 1576
--> fact COUNT(flights.tailnum) = 7
--> fact COUNT(*) of flights = 8

-- The name of a calculation may be written in any case and in quotes.
SELECT sum(distance), "Sum"(flights.distance) AS x, count( * ) FROM flights;
--> #1  SUM(distance) main.flights
--> x  SUM(distance) main.flights
--> #3  COUNT(*) main.flights

SELECT SUM(distance) FROM flights;
--> #1  SUM(distance) main.flights

SELECT COUNT(*) FROM flights;
--> #1  COUNT(*) main.flights

SELECT MIN(distance), COUNT(carrier) FROM flights;
--> #1  MIN(distance) main.flights
--> #2  COUNT(carrier) main.flights

-- One edit away: DISTINCT makes another number of it.
SELECT SUM(DISTINCT distance) FROM flights;
--> #1  withheld aggregate-modified

-- One edit away: the number of different values is a sixth calculation.
SELECT COUNT(DISTINCT carrier) FROM flights;
--> #1  withheld count-distinct

-- One edit away: only some of the rows.
SELECT SUM(distance) FILTER (WHERE month = 1) FROM flights;
--> #1  withheld aggregate-modified

-- One edit away: in an order.
SELECT SUM(distance ORDER BY delay) FROM flights;
--> #1  withheld aggregate-modified

-- One edit away: a second argument asks for several values.
SELECT MIN(distance, 2), COUNT(carrier) FROM flights;
--> #1  withheld aggregate-modified
--> #2  COUNT(carrier) main.flights

-- One edit away: NULLs told to be ignored, which they are anyway.
SELECT MAX(distance IGNORE NULLS) FROM flights;
--> #1  withheld aggregate-modified
--> engine refused not-sql

-- One edit away: a count of two columns.
SELECT MIN(distance), COUNT(carrier, origin) FROM flights;
--> #1  MIN(distance) main.flights
--> #2  withheld aggregate-modified
--> engine failed

-- One edit away: an argument by name.
SELECT SUM(arg := distance) FROM flights;
--> #1  withheld aggregate-argument

-- One edit away: a calculated argument.
SELECT SUM(distance * 2) FROM flights;
--> #1  withheld aggregate-argument

-- One edit away: a parenthesised argument.
SELECT SUM((distance)) FROM flights;
--> #1  withheld aggregate-argument

-- One edit away: a converted argument.
SELECT SUM(CAST(distance AS DOUBLE)) FROM flights;
--> #1  withheld aggregate-argument

-- One edit away: a condition in the argument.
SELECT SUM(CASE WHEN cancelled THEN 1 ELSE 0 END) FROM flights;
--> #1  withheld aggregate-argument

-- One edit away: an argument that is no column of the table.
SELECT SUM(miles) FROM flights;
--> #1  withheld column-unknown
--> engine failed

-- One edit away: an argument under a qualifier that is not the table.
SELECT SUM(planes.distance) FROM flights;
--> #1  withheld qualifier-unknown
--> engine failed

-- One edit away: counts of rows that are written without a star.
SELECT COUNT() FROM flights;
--> #1  withheld aggregate-spelling

-- One edit away: a count of a constant.
SELECT COUNT(1) FROM flights;
--> #1  withheld aggregate-spelling

-- One edit away: the function that the engine makes of COUNT(*).
SELECT count_star() FROM flights;
--> #1  withheld aggregate-spelling

-- One edit away: the engine's other name of AVG.
SELECT mean(distance) FROM flights;
--> #1  withheld aggregate-spelling

-- One edit away: a calculation under its path.
SELECT system.main.sum(distance) FROM flights;
--> #1  withheld aggregate-spelling

-- One edit away: a calculation with a calculation.
SELECT SUM(distance) + 1 FROM flights;
--> #1  withheld arithmetic

-- One edit away: a function of a calculation.
SELECT round(SUM(distance)) FROM flights;
--> #1  withheld function

-- One edit away: a converted result.
SELECT CAST(SUM(distance) AS INTEGER) FROM flights;
--> #1  withheld cast

-- One edit away: the same in the engine's other spelling.
SELECT SUM(distance)::INTEGER FROM flights;
--> #1  withheld cast

-- One edit away: calculations that are not among the five.
SELECT median(distance) FROM flights;
--> #1  withheld function

SELECT first(carrier), any_value(carrier), stddev(distance), list(carrier), product(distance) FROM flights;
--> #1  withheld function
--> #2  withheld function
--> #3  withheld function
--> #4  withheld function
--> #5  withheld function
