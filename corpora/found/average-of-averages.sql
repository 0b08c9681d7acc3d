-- average-of-averages
-- A total was made of numbers that were totals already; the alias looked like a plain average.
SELECT AVG(month_delay) AS delay FROM (SELECT month, AVG(delay) AS month_delay FROM flights GROUP BY month) AS months;
--> withheld subquery

SELECT AVG(delay) AS delay FROM flights;
--> delay  AVG(delay) main.flights
--> fact AVG(flights.delay) ≈ -0.9285714285714286
