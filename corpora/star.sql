-- star
-- A bare star gives every column of the table; each is judged by its own type.
SELECT * FROM boxes;
--> s  withheld type-not-statable
--> f  column main.boxes.f

-- One edit away: a star beside something else no longer says by its place what a column is.
SELECT *, 1 AS f FROM boxes;
--> withheld star-not-alone

-- One edit away: a qualified star could also be the fields of a structure.
SELECT boxes.* FROM boxes;
--> withheld star-not-alone

-- One edit away: here the qualified star is the fields of a structure.
SELECT s.* FROM boxes;
--> withheld star-not-alone

-- One edit away: columns are left out.
SELECT * EXCLUDE (s) FROM boxes;
--> withheld star-not-alone

-- One edit away: a column is replaced by an expression under its own name.
SELECT * REPLACE (f + 1 AS f) FROM boxes;
--> withheld star-not-alone

-- One edit away: a column is given another name.
SELECT * RENAME (f AS s, s AS f) FROM boxes;
--> withheld star-not-alone

-- One edit away: columns are chosen by a pattern.
SELECT * LIKE 'f%' FROM boxes;
--> withheld star-not-alone

-- One edit away: columns are chosen by a pattern, in the engine's own way.
SELECT COLUMNS('f') FROM boxes;
--> withheld columns-expression

-- One edit away: a calculation over every column, which keeps the columns' names.
SELECT MIN(COLUMNS(*)) FROM boxes;
--> withheld columns-expression, star-not-alone

-- One edit away: a star as the argument of what is no COUNT.
SELECT MAX(*) FROM boxes;
--> withheld star-not-alone
--> engine failed
