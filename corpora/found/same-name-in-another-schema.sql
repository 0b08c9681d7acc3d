-- same-name-in-another-schema
-- A table was taken for its namesake of another schema.
SELECT tailnum, (SELECT MAX(seats) FROM archive.planes) AS most FROM planes;
--> withheld subquery

SELECT MAX(seats) FROM archive.planes;
--> #1  MAX(seats) archive.planes
--> fact MAX(archive.planes.seats) = 7

-- In another schema that has no such table.
SELECT MAX(seats) FROM twin.planes;
--> withheld table-unknown
--> engine failed
