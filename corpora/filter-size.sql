-- filter-size
-- A condition nested 16 levels deep can be stated.
SELECT COUNT(*) FROM flights WHERE NOT (NOT (NOT (NOT (NOT (NOT (NOT (NOT (NOT (NOT (NOT (NOT (NOT (NOT (NOT (month = 1)))))))))))))));
--> #1  COUNT(*) main.flights  where NOT (NOT (NOT (NOT (NOT (NOT (NOT (NOT (NOT (NOT (NOT (NOT (NOT (NOT (NOT (flights.month = 1 (rows where it is NULL are not counted))))))))))))))))

-- One edit away: 17 levels.
SELECT COUNT(*) FROM flights WHERE NOT (NOT (NOT (NOT (NOT (NOT (NOT (NOT (NOT (NOT (NOT (NOT (NOT (NOT (NOT (NOT (month = 1))))))))))))))));
--> #1  withheld filter-too-large
