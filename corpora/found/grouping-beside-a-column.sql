-- grouping-beside-a-column
-- GROUPING is a function like any other: its output is withheld, its neighbours are not. It once withheld all of them.
SELECT carrier, COUNT(*) AS flights, GROUPING(carrier) AS level FROM flights GROUP BY carrier ORDER BY GROUPING(carrier), carrier;
--> carrier  column main.flights.carrier
--> flights  COUNT(*) main.flights  group carrier
--> level  withheld function
--> selection order_by
