-- count-of-a-limited-query
-- A count over a saved query with a limit was given out as the count of its table.
SELECT COUNT(*) FROM (SELECT * FROM many LIMIT 10) AS saved;
--> withheld subquery, star-not-alone

-- The same with the limit where it belongs to the number's own row.
SELECT COUNT(*) FROM many LIMIT 10;
--> #1  COUNT(*) main.many
--> selection limit
--> fact COUNT(*) of many = 60
