-- whole-statement
-- One SELECT over one table is read; comments and semicolons around it are harmless.
SELECT carrier FROM flights;
--> carrier  column main.flights.carrier

;; /* a /* nested */ comment */ SELECT carrier -- who flew
FROM flights; ; -- the end
--> carrier  column main.flights.carrier

-- One edit away: two statements.
SELECT carrier FROM flights; SELECT distance FROM flights;
--> withheld several-statements
--> engine refused several-statements

-- One edit away: a table joined by a comma.
SELECT flights.carrier FROM flights, twin.twin;
--> withheld join

-- One edit away: a table joined by name.
SELECT carrier FROM flights NATURAL JOIN planes;
--> withheld join

-- One edit away: a join that pads with NULL.
SELECT flights.carrier FROM flights POSITIONAL JOIN many;
--> withheld join

-- One edit away: a join that only drops rows.
SELECT carrier FROM flights SEMI JOIN planes USING (tailnum);
--> withheld join

-- One edit away: a join of each row with a query on it.
SELECT carrier FROM flights, LATERAL (SELECT 1) AS one;
--> withheld join, subquery, table-function

-- One edit away: a WITH clause, even where nothing uses it.
WITH one AS (SELECT 1) SELECT carrier FROM flights;
--> withheld cte

-- One edit away: a WITH clause whose name hides the table.
WITH flights AS (SELECT 'ZZ' AS carrier) SELECT carrier FROM flights;
--> withheld cte

-- One edit away: a WITH clause that changes data; to the engine's splitter it is a SELECT.
WITH gone AS (DELETE FROM flights RETURNING carrier) SELECT carrier FROM flights;
--> withheld not-a-select, cte
--> engine refused not-a-select

-- One edit away: two SELECTs, whose columns meet by place.
SELECT carrier FROM flights UNION ALL SELECT origin FROM flights;
--> withheld set-operation

-- One edit away: only the rows that another SELECT does not have.
SELECT tailnum FROM flights EXCEPT SELECT tailnum FROM planes;
--> withheld set-operation

-- One edit away: a query as a value.
SELECT carrier, (SELECT 1) AS one FROM flights;
--> withheld subquery

-- One edit away: a query in a clause.
SELECT carrier FROM flights WHERE EXISTS (SELECT 1);
--> withheld subquery

-- One edit away: a query in IN.
SELECT carrier FROM flights WHERE tailnum IN (SELECT tailnum FROM planes);
--> withheld subquery

-- One edit away: a query in the order.
SELECT carrier FROM flights ORDER BY (SELECT 1);
--> withheld subquery

-- One edit away: a comparison with any row of a query.
SELECT carrier FROM flights WHERE month = ANY (SELECT 1);
--> withheld subquery

-- One edit away: a window function as a value.
SELECT carrier, SUM(distance) OVER () AS distance FROM flights;
--> withheld window

-- One edit away: a window function in the order.
SELECT carrier FROM flights ORDER BY row_number() OVER ();
--> withheld window

-- One edit away: a named window.
SELECT carrier, SUM(distance) OVER w AS distance FROM flights WINDOW w AS (PARTITION BY carrier);
--> withheld window

-- One edit away: rows chosen by a window function.
SELECT carrier FROM flights QUALIFY row_number() OVER (PARTITION BY carrier) = 1;
--> withheld window, qualify

-- One edit away: QUALIFY, though nothing in it is a window.
SELECT carrier FROM flights QUALIFY month = 1;
--> withheld qualify
--> engine failed

-- One edit away: rows turned into columns.
SELECT UA FROM flights PIVOT (SUM(distance) FOR carrier IN ('UA', 'AA'));
--> withheld pivot

-- One edit away: a statement that pivots.
PIVOT flights ON origin USING SUM(distance);
--> withheld pivot
--> engine refused not-a-select

-- One edit away: columns turned into rows.
SELECT distance FROM flights UNPIVOT (distance FOR what IN (distance, flight));
--> withheld pivot

-- One edit away: rows multiplied in the select list.
SELECT carrier, unnest([1, 2]) AS two FROM flights;
--> withheld table-function

-- One edit away: rows of the statement's own.
VALUES ('UA');
--> withheld values

-- One edit away: a parameter that nothing fills.
SELECT carrier FROM flights WHERE carrier = ?;
--> withheld parameter
--> engine refused parameter

-- One edit away: a named parameter.
SELECT carrier FROM flights LIMIT $rows;
--> withheld parameter, limit-not-a-number
--> engine refused parameter

-- One edit away: a column by its place in the table.
SELECT carrier FROM flights ORDER BY #1;
--> withheld positional-reference

-- One edit away: a description of a table.
DESCRIBE flights;
--> withheld not-a-select
--> engine refused not-a-select

-- One edit away: figures about a table, of which some are estimates.
SUMMARIZE flights;
--> withheld not-a-select
--> engine refused not-a-select

-- One edit away: the names of tables.
SHOW TABLES;
--> withheld not-a-select
--> engine refused not-a-select

-- One edit away: a plan.
EXPLAIN SELECT carrier FROM flights;
--> withheld not-a-select
--> engine refused not-a-select

-- One edit away: a change of session.
SET schema = 'archive';
--> withheld not-a-select
--> engine refused not-a-select

-- One edit away: a macro that would hide a calculation from later statements.
CREATE TEMP MACRO sum(x) AS 42;
--> withheld not-a-select
--> engine refused not-a-select

-- One edit away: a change of data.
DELETE FROM flights;
--> withheld not-a-select
--> engine refused not-a-select

-- One edit away: a statement that reads like a column to a lenient parser.
CHECKPOINT;
--> withheld not-a-select
--> engine refused not-a-select

-- One edit away: no statement.
-- (the semicolon makes it valid)
;
--> withheld no-statement
--> engine refused no-statement

-- One edit away: no SQL.
SELEC carrier FROM flights;
--> withheld not-sql
--> engine refused not-sql

-- One edit away: a clause that stands twice.
SELECT carrier FROM flights WHERE month = 1 WHERE month = 2;
--> withheld not-sql
--> engine refused not-sql

-- One edit away: a clause that is not listed.
SELECT carrier FROM flights FOR UPDATE;
--> withheld construct-unknown
--> engine refused not-sql
