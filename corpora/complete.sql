-- complete
-- Whether every row of the result is there, and every row of the table, is said with the facts.
SELECT tailnum FROM planes;
--> tailnum  column main.planes.tailnum
--> complete result, table

SELECT tailnum FROM planes ORDER BY seats;
--> tailnum  column main.planes.tailnum
--> selection order_by
--> complete result, table

-- A condition: the result is whole, the table is not.
SELECT tailnum FROM planes WHERE seats > 0;
--> tailnum  column main.planes.tailnum
--> complete result

-- Only the first rows.
SELECT tailnum FROM planes LIMIT 5;
--> tailnum  column main.planes.tailnum
--> selection limit
--> complete result

-- Different rows only.
SELECT DISTINCT tailnum FROM planes;
--> tailnum  column main.planes.tailnum
--> selection distinct
--> complete result

-- Groups are no rows.
SELECT tailnum FROM planes GROUP BY tailnum;
--> tailnum  column main.planes.tailnum
--> complete result

-- More rows than are kept.
SELECT id FROM many;
--> id  column main.many.id
--> complete nothing

-- One edit away: nothing that may be stated.
SELECT -seats FROM planes;
--> #1  withheld arithmetic
--> complete result
