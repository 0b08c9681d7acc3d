-- opaque
-- WHERE never changes what a stored value is, so beside one any scalar condition may stand.
SELECT carrier FROM flights WHERE length(carrier) = 2 AND (distance % 2 = 0 OR random() >= 0);
--> carrier  column main.flights.carrier
--> fact flights.carrier = 'UA' in result row 1
--> fact flights.carrier = 'UA' in result row 2
--> fact flights.carrier = 'AA' in result row 3
--> fact flights.carrier = 'B6' in result row 4
--> fact flights.carrier = 'DL' in result row 5
--> fact flights.carrier = 'UA' in result row 6
--> fact flights.carrier = 'B6' in result row 7

SELECT carrier FROM flights WHERE carrier SIMILAR TO '[A-D].' AND delay IS DISTINCT FROM 2 AND cancelled IS NOT TRUE;
--> carrier  column main.flights.carrier

SELECT carrier FROM flights WHERE CASE WHEN cancelled THEN 1 ELSE 2 END = 2 AND carrier GLOB 'U*';
--> carrier  column main.flights.carrier

SELECT carrier FROM flights WHERE list_contains(['UA', 'AA'], carrier) AND date_trunc('month', day) = DATE '2013-01-01';
--> carrier  column main.flights.carrier

SELECT carrier FROM flights WHERE month = 1;
--> carrier  column main.flights.carrier

SELECT carrier FROM flights WHERE carrier = upper('ua');
--> carrier  column main.flights.carrier

SELECT COUNT(*) FROM flights WHERE month = 1;
--> #1  COUNT(*) main.flights  where flights.month = 1

-- One edit away: for a calculation the condition changes what the number means.
SELECT COUNT(*) FROM flights WHERE length(carrier) = 2;
--> #1  withheld filter-not-statable

-- One edit away: a column and a calculation under one condition fare differently.
SELECT carrier, COUNT(*) FROM flights WHERE length(carrier) = 2 GROUP BY carrier;
--> carrier  column main.flights.carrier
--> #2  withheld filter-not-statable

-- One edit away: an alias is no column; the condition is about the constant.
SELECT carrier, 5 AS five FROM flights WHERE five = 5;
--> carrier  column main.flights.carrier
--> five  withheld constant

-- One edit away: to the engine a comparison with any of a list is a query on it.
SELECT carrier FROM flights WHERE month = ANY ([1, 2]);
--> withheld subquery

-- One edit away: a function that the engine could be asked to look outside with.
SELECT carrier FROM flights WHERE carrier = getenv('HOME');
--> carrier  column main.flights.carrier
--> engine refused engine-refused

-- One edit away: a function that changes the session.
SELECT carrier, setseed(0.5) AS x FROM flights;
--> carrier  column main.flights.carrier
--> x  withheld function
--> engine refused engine-refused

-- One edit away: a numeral so long that the engine gives no plan.
SELECT carrier FROM flights WHERE distance < 99999999999999999999999999999999999999999999;
--> carrier  column main.flights.carrier
--> engine refused plan-unreadable
