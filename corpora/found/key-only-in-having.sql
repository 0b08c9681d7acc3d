-- key-only-in-having
-- GROUP BY ALL takes a key from HAVING that is shown nowhere: one row a month, not one for the table. The plan of it was taken for one of several grouping sets.
SELECT COUNT(*) AS flights FROM flights GROUP BY ALL HAVING month > 1;
--> flights  withheld group-key-not-a-column
--> text flights  COUNT(*) main.flights
--> selection having

-- Without that key there is nothing to group by.
SELECT COUNT(*) AS flights FROM flights GROUP BY ALL HAVING COUNT(*) > 1;
--> flights  COUNT(*) main.flights
--> selection having
