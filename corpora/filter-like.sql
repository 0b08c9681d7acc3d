-- filter-like
-- A text column may match a pattern; ILIKE compares letter by letter in lower case.
SELECT COUNT(*) FROM flights WHERE tailnum LIKE 'N%AA' OR origin NOT LIKE '_FK';
--> #1  COUNT(*) main.flights  where (flights.tailnum LIKE 'N%AA') OR (NOT (flights.origin LIKE '_FK'))
--> fact COUNT(*) of flights = 7 where (flights.tailnum LIKE 'N%AA') OR (NOT (flights.origin LIKE '_FK'))

SELECT COUNT(*) FROM flights WHERE carrier ILIKE 'u_' AND NOT (origin ILIKE '%e%');
--> #1  COUNT(*) main.flights  where (flights.carrier ILIKE 'u_') AND (NOT (flights.origin ILIKE '%e%' (rows where it is NULL are not counted)))
--> fact COUNT(*) of flights = 1 where (flights.carrier ILIKE 'u_') AND (NOT (flights.origin ILIKE '%e%' (rows where it is NULL are not counted)))

-- Lower-casing one letter gives one letter: the dotted capital I is an i here.
SELECT COUNT(*) FROM texts WHERE tx ILIKE 'i';
--> #1  COUNT(*) main.texts  where texts.tx ILIKE 'i'
--> fact COUNT(*) of texts = 1 where texts.tx ILIKE 'i'

-- A backslash stands for itself.
SELECT COUNT(*) FROM texts WHERE tx LIKE '100\%' OR tx LIKE '';
--> #1  COUNT(*) main.texts  where (texts.tx LIKE '100\\%') OR (texts.tx LIKE '')
--> fact COUNT(*) of texts = 0 where (texts.tx LIKE '100\\%') OR (texts.tx LIKE '')

SELECT COUNT(*) FROM flights WHERE tailnum LIKE 'N%';
--> #1  COUNT(*) main.flights  where flights.tailnum LIKE 'N%'

SELECT COUNT(*) FROM texts WHERE tx LIKE '100!%';
--> #1  COUNT(*) main.texts  where texts.tx LIKE '100!%'

SELECT COUNT(*) FROM scalars WHERE tx LIKE 'o%';
--> #1  COUNT(*) main.scalars  where scalars.tx LIKE 'o%'

-- One edit away: a character that escapes.
SELECT COUNT(*) FROM texts WHERE tx LIKE '100!%' ESCAPE '!';
--> #1  withheld filter-not-statable

-- One edit away: a pattern that is calculated.
SELECT COUNT(*) FROM flights WHERE tailnum LIKE 'N' || '%';
--> #1  withheld filter-not-statable

-- One edit away: a pattern from a column.
SELECT COUNT(*) FROM flights WHERE tailnum LIKE carrier;
--> #1  withheld filter-not-statable

-- One edit away: a column that is no text.
SELECT COUNT(*) FROM flights WHERE distance LIKE '1%';
--> #1  withheld filter-type
--> engine failed

-- One edit away: an enum.
SELECT COUNT(*) FROM scalars WHERE en LIKE 'o%';
--> #1  withheld filter-type

-- One edit away: another kind of pattern.
SELECT COUNT(*) FROM flights WHERE tailnum GLOB 'N*';
--> #1  withheld filter-not-statable

-- One edit away: any of several patterns.
SELECT COUNT(*) FROM flights WHERE tailnum LIKE ANY ('N%', 'M%');
--> withheld subquery
--> engine refused not-sql

-- One edit away: the start of a text.
SELECT COUNT(*) FROM flights WHERE tailnum ^@ 'N';
--> #1  withheld filter-not-statable

-- One edit away: a regular expression.
SELECT COUNT(*) FROM flights WHERE tailnum ~ 'N.*';
--> #1  withheld filter-not-statable
