-- grouped-count
-- A grouped count is a number the engine can recount; its group key is a stored value.
SELECT carrier, COUNT(*) AS flights FROM flights GROUP BY carrier;
--> carrier  column main.flights.carrier
--> flights  COUNT(*) main.flights  group carrier

-- One edit away: the key is an expression, so the fact could not name its group.
SELECT upper(carrier) AS carrier, COUNT(*) AS flights FROM flights GROUP BY upper(carrier);
--> carrier  withheld function
--> flights  withheld group-key-not-a-column

-- One edit away: the key is not shown, so nobody could tell which group a number is about.
SELECT COUNT(*) AS flights FROM flights GROUP BY carrier;
--> flights  withheld group-key-not-shown
