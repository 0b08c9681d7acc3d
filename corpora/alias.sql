-- alias
-- An alias never changes a label: what an output is called says nothing about what it is.
SELECT distance AS "profit of the year", "delay in days": delay FROM flights;
--> "profit of the year"  column main.flights.distance
--> "delay in days"  column main.flights.delay

-- Two columns under each other's names.
SELECT origin AS carrier, carrier AS origin FROM flights;
--> carrier  column main.flights.origin
--> origin  column main.flights.carrier

-- Two columns under one name are told apart by their place.
SELECT carrier AS x, origin AS x FROM flights;
--> x  column main.flights.carrier
--> x  column main.flights.origin

-- A table alias hides the table's name, and columns are qualified by it.
SELECT f.carrier, MAX(f.distance) AS flights FROM flights AS f GROUP BY f.carrier;
--> carrier  column main.flights.carrier
--> flights  MAX(distance) main.flights  group carrier

-- One edit away: the table's own name is no qualifier where there is an alias.
SELECT flights.carrier FROM flights AS f;
--> carrier  withheld qualifier-unknown
--> engine failed

-- A prefix alias of the table: what is called `planes` here is `flights`.
SELECT planes.carrier FROM planes: flights;
--> carrier  column main.flights.carrier

-- A table alias that is another table's name.
SELECT flights.id FROM many AS flights;
--> id  column main.many.id

-- One edit away: the columns are renamed where the table is read, and `id` would be `seventh`.
SELECT id FROM many AS flights(seventh, id);
--> withheld column-alias-list

-- One edit away: the engine's other spelling of the same, which looks like a hint.
SELECT id FROM many FORCE (seventh, id);
--> withheld column-alias-list

-- One edit away: and any other word in its place.
SELECT id FROM many ranking (seventh, id);
--> withheld column-alias-list

-- A real column wins over an alias wherever both could be meant.
SELECT 1 AS distance, SUM(distance) AS carrier FROM flights;
--> distance  withheld constant
--> carrier  SUM(distance) main.flights

-- One edit away: an alias is no column, so this is a sum of the constant 1.
SELECT 1 AS one, SUM(one) FROM flights;
--> one  withheld constant
--> #2  withheld column-unknown

-- One edit away: an output that repeats another by its alias.
SELECT distance AS far, far FROM flights;
--> far  column main.flights.distance
--> far  withheld column-unknown

-- One edit away: a constant called like a column, by the oldest spelling of an alias.
SELECT 1 distance FROM flights;
--> distance  withheld constant
