-- filter-null
-- Whether a value is there may be asked of a column of any type.
SELECT COUNT(*) FROM flights WHERE tailnum IS NULL;
--> #1  COUNT(*) main.flights  where flights.tailnum IS NULL
--> fact COUNT(*) of flights = 1 where flights.tailnum IS NULL

SELECT COUNT(*), COUNT(delay) FROM flights WHERE delay IS NOT NULL;
--> #1  COUNT(*) main.flights  where NOT (flights.delay IS NULL (rows where it is NULL are not counted))
--> #2  COUNT(delay) main.flights  where NOT (flights.delay IS NULL (rows where it is NULL are not counted))

SELECT COUNT(*) FROM unstatable WHERE js IS NOT NULL AND NOT li IS NULL;
--> #1  COUNT(*) main.unstatable  where (NOT (unstatable.js IS NULL (rows where it is NULL are not counted))) AND (NOT (unstatable.li IS NULL (rows where it is NULL are not counted)))

SELECT COUNT(*) FROM floats WHERE nan IS NULL;
--> #1  COUNT(*) main.floats  where floats.nan IS NULL

SELECT COUNT(*) FROM scalars WHERE iv NOTNULL AND ttz ISNULL;
--> #1  COUNT(*) main.scalars  where (NOT (scalars.iv IS NULL (rows where it is NULL are not counted))) AND (scalars.ttz IS NULL)

-- One edit away: of an expression.
SELECT COUNT(*) FROM flights WHERE (delay + 1) IS NULL;
--> #1  withheld filter-not-statable

-- One edit away: of a parenthesised column.
SELECT COUNT(*) FROM flights WHERE (delay) IS NULL;
--> #1  withheld filter-not-statable

-- One edit away: a question about truth.
SELECT COUNT(*) FROM flights WHERE cancelled IS NOT TRUE;
--> #1  withheld filter-not-statable
