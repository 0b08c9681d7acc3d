-- shadowed
-- A session can hold things that stand in for what the text names; only the plan shows them.
SELECT SUM(distance), COUNT(*) FROM flights;
--> #1  SUM(distance) main.flights
--> #2  COUNT(*) main.flights

-- One edit away: a macro that gives a constant.
-- Before: CREATE MACRO sum(x) AS 42
SELECT SUM(distance), COUNT(*) FROM flights;
--> #1  withheld readings-disagree
--> text #1  SUM(distance) main.flights
--> #2  COUNT(*) main.flights

-- One edit away: a macro that gives the column itself.
-- Before: CREATE TEMP MACRO Sum(x) AS x
SELECT SUM(distance) FROM flights;
--> #1  withheld readings-disagree
--> text #1  SUM(distance) main.flights

-- One edit away: a macro that gives another calculation.
-- Before: CREATE MACRO sum(x) AS max(x)
SELECT SUM(distance), COUNT(*) FROM flights;
--> #1  withheld readings-disagree
--> text #1  SUM(distance) main.flights
--> #2  COUNT(*) main.flights

-- One edit away: a macro in the place of COUNT(*).
-- Before: CREATE MACRO count_star() AS 42
SELECT SUM(distance), COUNT(*) FROM flights;
--> #1  SUM(distance) main.flights
--> #2  withheld readings-disagree
--> text #2  COUNT(*) main.flights

-- A macro that COUNT(*) does not reach.
-- Before: CREATE MACRO count() AS 42
SELECT SUM(distance), COUNT(*) FROM flights;
--> #1  SUM(distance) main.flights
--> #2  COUNT(*) main.flights

-- One edit away: a macro in the condition.
-- Before: CREATE MACRO lower(x) AS 'ua'
SELECT SUM(distance), COUNT(*) FROM flights WHERE lower(carrier) = 'ua';
--> #1  withheld filter-not-statable
--> #2  withheld filter-not-statable

-- One edit away: a temporary table of the same name.
-- Before: CREATE TEMP TABLE flights AS SELECT 1 AS distance
SELECT SUM(distance), COUNT(*) FROM flights;
--> #1  withheld table-unknown, readings-disagree
--> text #1  SUM(distance) main.flights
--> #2  withheld table-unknown, readings-disagree
--> text #2  COUNT(*) main.flights

-- With all three parts the name reaches past it.
-- Before: CREATE TEMP TABLE flights AS SELECT 1 AS distance
SELECT SUM(distance), COUNT(*) FROM snapshot.main.flights;
--> #1  SUM(distance) main.flights
--> #2  COUNT(*) main.flights

-- One edit away: a search path that ends elsewhere.
-- Before: SET search_path = 'snapshot.archive'
SELECT SUM(seats), COUNT(*) FROM planes;
--> #1  withheld readings-disagree
--> text #1  SUM(seats) main.planes
--> #2  withheld readings-disagree
--> text #2  COUNT(*) main.planes

-- One edit away: a table of another database under the same name.
-- Before: ATTACH ':memory:' AS other; CREATE TABLE other.main.flights (distance BIGINT); USE other
SELECT SUM(distance), COUNT(*) FROM main.flights;
--> #1  withheld table-unknown, readings-disagree
--> text #1  SUM(distance) main.flights
--> #2  withheld table-unknown, readings-disagree
--> text #2  COUNT(*) main.flights

-- A view that swaps two columns; if it could be pinned, the plan would show what it reads.
-- Before: CREATE VIEW swapped AS SELECT origin AS carrier, carrier AS origin FROM flights
SELECT carrier FROM swapped;
--> carrier  withheld readings-disagree
--> text carrier  column main.swapped.carrier

-- A view that changes nothing is a view.
-- Before: CREATE VIEW same AS SELECT * FROM flights
SELECT carrier, distance FROM same;
--> carrier  withheld readings-disagree
--> text carrier  column main.same.carrier
--> distance  withheld readings-disagree
--> text distance  column main.same.distance

-- A generated column is an expression; its neighbour is stored.
-- Before: CREATE TABLE made (a INTEGER, z INTEGER GENERATED ALWAYS AS (a * 100))
SELECT a, z FROM made;
--> a  column main.made.a
--> z  withheld readings-disagree
--> text z  column main.made.z

-- A table function that is named like a table.
-- Before: CREATE MACRO flights() AS TABLE SELECT 1 AS carrier
SELECT carrier FROM flights();
--> withheld table-function

-- Another order and time zone by default: which rows are seen, and how they are written, is for the recorder to fix.
-- Before: SET default_order = 'DESC'; SET TimeZone = 'Asia/Tokyo'
SELECT seen_at FROM flights ORDER BY seen_at LIMIT 1;
--> seen_at  column main.flights.seen_at
--> selection order_by, limit

-- A collation of all texts is in the plan as a function around the column.
-- Before: SET default_collation = 'NOCASE'
SELECT COUNT(*), MIN(origin) FROM flights WHERE carrier = 'UA';
--> #1  withheld readings-disagree
--> text #1  COUNT(*) main.flights  where flights.carrier = 'UA'
--> #2  withheld readings-disagree
--> text #2  MIN(origin) main.flights  where flights.carrier = 'UA'

-- A column with a collation of its own, as no pinned column has one.
-- Before: CREATE TABLE folded (tx VARCHAR COLLATE NOCASE)
SELECT tx, COUNT(*) FROM folded GROUP BY tx;
--> tx  withheld readings-disagree
--> text tx  column main.folded.tx
--> #2  withheld readings-disagree
--> text #2  COUNT(*) main.folded  group tx
