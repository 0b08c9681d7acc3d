-- structures
-- The qualifier of a column is the table or its alias, and nothing else.
SELECT nest.a FROM nest;
--> a  column main.nest.a

-- The alias is named like a column that is a structure; the table wins.
SELECT s.f FROM boxes AS s;
--> f  column main.boxes.f

SELECT f FROM boxes;
--> f  column main.boxes.f

-- One edit away: under another alias the same text is a field of the structure.
SELECT nest.a FROM nest AS other;
--> a  withheld qualifier-unknown

-- One edit away: two qualifiers end in a field.
SELECT nest.nest.a FROM nest;
--> #1  withheld qualifier-unknown

-- One edit away: a field by its dot.
SELECT s.f FROM boxes;
--> f  withheld qualifier-unknown

-- One edit away: a field by its name in brackets.
SELECT s['f'] AS f FROM boxes;
--> f  withheld expression

-- One edit away: a field by a function.
SELECT struct_extract(s, 'f') AS f FROM boxes;
--> f  withheld function

-- One edit away: the whole row as one value.
SELECT boxes FROM boxes;
--> boxes  withheld column-unknown

-- One edit away: the whole row by an alias.
SELECT b FROM boxes AS b;
--> b  withheld column-unknown

-- One edit away: the smallest whole row.
SELECT MIN(boxes) FROM boxes;
--> #1  withheld column-unknown

-- One edit away: a count of whole rows.
SELECT COUNT(boxes) FROM boxes;
--> #1  withheld column-unknown

-- One edit away: a calculation written as a method.
SELECT f.sum() FROM boxes;
--> #1  withheld aggregate-spelling
