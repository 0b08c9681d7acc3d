-- all-of-a-list
-- The parser took ALL of a list for a call, which may stand in a condition; to the engine it is a query on the list, and the readings disagreed.
SELECT carrier FROM flights WHERE carrier <> ALL (['UA']);
--> withheld subquery

-- SOME is another word for ANY.
SELECT carrier FROM flights WHERE carrier = SOME (['UA']);
--> withheld subquery
