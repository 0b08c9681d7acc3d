-- first-branch-of-a-union
-- Columns of a set operation were traced into its first branch only.
SELECT * FROM archive.planes UNION SELECT tailnum, flight FROM flights;
--> withheld set-operation, star-not-alone
