-- expression-named-like-its-key
-- The output is an expression, the key is the column of the same name.
SELECT substring(tailnum, 1, 1) AS tailnum FROM flights GROUP BY tailnum;
--> tailnum  withheld function

SELECT substring(tailnum, 1, 1) AS tailnum, COUNT(*) FROM flights GROUP BY tailnum;
--> tailnum  withheld function
--> #2  withheld group-key-not-shown
