-- source
-- A table is named by one to three parts that lead to one pinned table; one part means schema main.
SELECT carrier FROM flights;
--> carrier  column main.flights.carrier

SELECT carrier FROM main.flights;
--> carrier  column main.flights.carrier

SELECT carrier FROM snapshot.main.flights;
--> carrier  column main.flights.carrier

SELECT seats FROM "archive"."planes";
--> seats  column archive.planes.seats

-- A schema may be named like its table: paths are lists of names, never joined text.
SELECT a FROM twin.twin;
--> a  column twin.twin.a

SELECT twin.a FROM twin.twin;
--> a  column twin.twin.a

-- One edit away: no table of schema main has that name.
SELECT a FROM twin;
--> withheld table-unknown
--> engine failed

-- One edit away: a column is qualified by one name at most.
SELECT twin.twin.a FROM twin.twin;
--> #1  withheld qualifier-unknown

-- One edit away: names are folded by ASCII case only, and this is the Kelvin sign.
SELECT a FROM twin.twin\u{212A};
--> withheld table-unknown
--> engine failed

-- A name without schema is in main, though another schema has a table of that name.
SELECT seats FROM planes;
--> seats  column main.planes.seats

-- One edit away: no table at all.
SELECT 1 AS a;
--> withheld no-source

-- One edit away: another database.
SELECT table_name FROM system.information_schema.tables;
--> withheld table-unknown
--> engine refused engine-refused

-- One edit away: a text in the place of a table is a file to the engine.
SELECT carrier FROM 'flights.csv';
--> withheld table-unknown
--> engine refused engine-refused

-- One edit away: so is a quoted name.
SELECT carrier FROM "flights.parquet";
--> withheld table-unknown
--> engine refused engine-refused

-- One edit away: a function that makes rows.
SELECT range FROM range(3);
--> withheld table-function

-- One edit away: a function that reads a table by its name.
SELECT carrier FROM query_table('flights');
--> withheld table-function
--> engine refused engine-refused

-- One edit away: rows that the statement itself brings.
SELECT a FROM (VALUES (1)) AS twin(a);
--> withheld values

-- One edit away: rows multiplied by a list.
SELECT carrier FROM flights, UNNEST([1, 2]);
--> withheld join, table-function

-- One edit away: a subquery on the table.
SELECT carrier FROM (SELECT * FROM flights) AS flights;
--> withheld subquery, star-not-alone

-- One edit away: another version of the table.
SELECT carrier FROM flights AT (VERSION => 1);
--> withheld time-travel
--> engine failed

-- One edit away: some of the rows.
SELECT carrier FROM flights TABLESAMPLE 50%;
--> withheld sample

-- One edit away: the same at the statement's end.
SELECT carrier FROM flights USING SAMPLE 3 ROWS;
--> withheld sample
