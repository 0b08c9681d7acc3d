-- literal-member
-- Enums and UUIDs can be equal or not; they have no order that a line could name.
SELECT COUNT(*) FROM scalars WHERE en = 'ok' OR en <> 'sad';
--> #1  COUNT(*) main.scalars  where (scalars.en = 'ok') OR (scalars.en <> 'sad' (rows where it is NULL are not counted))
--> fact COUNT(*) of scalars = 2 where (scalars.en = 'ok') OR (scalars.en <> 'sad' (rows where it is NULL are not counted))

SELECT COUNT(*) FROM scalars WHERE u = '550e8400-e29b-41d4-a716-446655440000' OR u = UUID 'ffffffff-ffff-ffff-ffff-ffffffffffff';
--> #1  COUNT(*) main.scalars  where (scalars.u = '550e8400-e29b-41d4-a716-446655440000') OR (scalars.u = 'ffffffff-ffff-ffff-ffff-ffffffffffff')
--> fact COUNT(*) of scalars = 2 where (scalars.u = '550e8400-e29b-41d4-a716-446655440000') OR (scalars.u = 'ffffffff-ffff-ffff-ffff-ffffffffffff')

-- One edit away: enums are ordered by their place in the type.
SELECT COUNT(*) FROM scalars WHERE en > 'ok';
--> #1  withheld filter-type

-- One edit away: not a member.
SELECT COUNT(*) FROM scalars WHERE en = 'okay';
--> #1  withheld literal-not-exact

-- One edit away: between members.
SELECT COUNT(*) FROM scalars WHERE en BETWEEN 'ok' AND 'sad';
--> #1  withheld filter-type

-- One edit away: an order of UUIDs.
SELECT COUNT(*) FROM scalars WHERE u < 'ffffffff-ffff-ffff-ffff-ffffffffffff';
--> #1  withheld filter-type

-- One edit away: a UUID in capitals.
SELECT COUNT(*) FROM scalars WHERE u = '550E8400-E29B-41D4-A716-446655440000';
--> #1  withheld literal-not-exact

-- One edit away: an enum beside a text column.
SELECT COUNT(*) FROM scalars WHERE en = tx;
--> #1  withheld filter-type
