-- filter-in
-- A column may be one of several literals.
SELECT COUNT(*) FROM flights WHERE carrier IN ('UA', 'AA');
--> #1  COUNT(*) main.flights  where flights.carrier IN ('UA', 'AA')
--> fact COUNT(*) of flights = 4 where flights.carrier IN ('UA', 'AA')

SELECT COUNT(*) FROM flights WHERE month NOT IN (1, 3);
--> #1  COUNT(*) main.flights  where NOT (flights.month IN (1, 3) (rows where it is NULL are not counted))
--> fact COUNT(*) of flights = 2 where NOT (flights.month IN (1, 3) (rows where it is NULL are not counted))

SELECT COUNT(*) FROM flights WHERE NOT month IN (1);
--> #1  COUNT(*) main.flights  where NOT (flights.month IN (1) (rows where it is NULL are not counted))

SELECT COUNT(*) FROM scalars WHERE en IN ('ok', 'happy') AND u IN ('550e8400-e29b-41d4-a716-446655440000');
--> #1  COUNT(*) main.scalars  where (scalars.en IN ('ok', 'happy')) AND (scalars.u IN ('550e8400-e29b-41d4-a716-446655440000'))

SELECT COUNT(*) FROM unstatable WHERE id IN (1);
--> #1  COUNT(*) main.unstatable  where unstatable.id IN (1)

-- One edit away: NULL among the literals.
SELECT COUNT(*) FROM flights WHERE month NOT IN (1, NULL);
--> #1  withheld filter-not-statable

-- One edit away: a column among the literals.
SELECT COUNT(*) FROM flights WHERE carrier IN ('UA', origin);
--> #1  withheld filter-not-statable

-- One edit away: one that is not exact.
SELECT COUNT(*) FROM flights WHERE month IN (1, 2.5);
--> #1  withheld literal-not-exact

-- Pairs of columns are no column.
SELECT COUNT(*) FROM flights WHERE (carrier, month) IN (('UA', 1));
--> #1  withheld filter-not-statable

-- One edit away: a parenthesised literal.
SELECT COUNT(*) FROM flights WHERE carrier IN (('UA'), 'AA');
--> #1  withheld filter-not-statable

-- One edit away: a list that is a column.
SELECT COUNT(*) FROM unstatable WHERE id IN li;
--> #1  withheld filter-not-statable

-- One edit away: a parenthesised column.
SELECT COUNT(*) FROM flights WHERE (carrier) IN ('UA', 'AA');
--> #1  withheld filter-not-statable
