-- direct-column
-- A stored value is stated under its own table and column, in the order the statement asks for.
SELECT carrier, distance FROM flights;
--> carrier  column main.flights.carrier
--> distance  column main.flights.distance

-- One edit away: a constant beside it says nothing of the table, and does not harm its neighbour.
SELECT carrier, 1 AS distance FROM flights;
--> carrier  column main.flights.carrier
--> distance  withheld constant

-- One edit away: the value is calculated, whatever it is called.
SELECT carrier, distance * 2 AS distance FROM flights;
--> carrier  column main.flights.carrier
--> distance  withheld arithmetic

-- Parentheses change nothing of a column in the select list.
SELECT (carrier), ((flights.distance)) AS far FROM flights;
--> carrier  column main.flights.carrier
--> far  column main.flights.distance

-- Nor behind DISTINCT, which takes no list.
SELECT DISTINCT (carrier) FROM flights;
--> carrier  column main.flights.carrier
--> selection distinct

-- One edit away: two columns in parentheses are one value, a row.
SELECT (carrier, distance) FROM flights;
--> #1  withheld expression

-- One edit away: what is behind the sign is an expression.
SELECT -(distance) FROM flights;
--> #1  withheld arithmetic

-- One edit away: a parenthesised argument of a calculation is an expression.
SELECT SUM((distance)) FROM flights;
--> #1  withheld aggregate-argument

-- One edit away: the table has no such column, and the engine does not run the statement.
SELECT carrier, distances FROM flights;
--> carrier  column main.flights.carrier
--> distances  withheld column-unknown
--> engine failed
