-- file-as-a-table
-- A guard looked for functions that read files; the engine reads a file where a text stands for a table.
SELECT * FROM '/etc/hostname';
--> withheld table-unknown
--> engine failed

SELECT * FROM read_csv('/etc/hostname');
--> withheld table-function
--> engine refused engine-refused

SELECT * FROM 'snapshot.duckdb';
--> withheld table-unknown
--> engine refused engine-refused

SELECT carrier, (SELECT content FROM read_text('/etc/hostname')) AS host FROM flights;
--> withheld subquery
--> engine refused engine-refused
