-- cells
-- A cell is stated if it holds a value that can be printed whole.
SELECT id, sums FROM floats ORDER BY id;
--> id  column main.floats.id
--> sums  column main.floats.sums
--> selection order_by
--> fact floats.id = 1 in result row 1
--> fact floats.sums = 1e+16 in result row 1
--> fact floats.id = 2 in result row 2
--> fact floats.sums = 1.0 in result row 2
--> fact floats.id = 3 in result row 3
--> fact floats.sums = -1e+16 in result row 3
--> fact floats.id = 4 in result row 4
--> fact floats.sums = 1.0 in result row 4
--> complete result, table

-- One edit away: there is no value in the last row.
SELECT id, clean FROM floats ORDER BY id;
--> id  column main.floats.id
--> clean  column main.floats.clean
--> selection order_by
--> fact floats.id = 1 in result row 1
--> fact floats.clean = 0.5 in result row 1
--> fact floats.id = 2 in result row 2
--> fact floats.clean = 1.5 in result row 2
--> fact floats.id = 3 in result row 3
--> fact floats.clean = 2.5 in result row 3
--> fact floats.id = 4 in result row 4
--> cell 4.2 withheld cell-null

-- One edit away: NaN and infinity are no numbers; both zeros are.
SELECT nan, ends FROM floats ORDER BY id;
--> nan  column main.floats.nan
--> ends  column main.floats.ends
--> selection order_by
--> cell 1.1 withheld cell-not-finite
--> cell 1.2 withheld cell-not-finite
--> fact floats.nan = 1.0 in result row 2
--> cell 2.2 withheld cell-not-finite
--> cell 3.1 withheld cell-null
--> fact floats.ends = 0.0 in result row 3
--> fact floats.nan = 2.0 in result row 4
--> fact floats.ends = -0.0 in result row 4

SELECT * FROM endless LIMIT 1 OFFSET 1;
--> id  column main.endless.id
--> da  column main.endless.da
--> ts  column main.endless.ts
--> tz  column main.endless.tz
--> selection limit, offset
--> fact endless.id = 2 in result row 1
--> fact endless.da = '2024-01-01' in result row 1
--> fact endless.ts = '2024-01-01 00:00:00' in result row 1
--> fact endless.tz = '2024-01-01 00:00:00+00' in result row 1

-- One edit away: dates without end.
SELECT * FROM endless LIMIT 1;
--> id  column main.endless.id
--> da  column main.endless.da
--> ts  column main.endless.ts
--> tz  column main.endless.tz
--> selection limit
--> fact endless.id = 1 in result row 1
--> cell 1.2 withheld cell-not-finite
--> cell 1.3 withheld cell-not-finite
--> cell 1.4 withheld cell-not-finite

-- A text that reads nan is a text, and what would not be seen is written out.
SELECT id, tx FROM texts ORDER BY id LIMIT 4;
--> id  column main.texts.id
--> tx  column main.texts.tx
--> selection order_by, limit
--> fact texts.id = 1 in result row 1
--> fact texts.tx = 'nan' in result row 1
--> fact texts.id = 2 in result row 2
--> fact texts.tx = 'it''s' in result row 2
--> fact texts.id = 3 in result row 3
--> fact texts.tx = '\u{202E}abc' in result row 3
--> fact texts.id = 4 in result row 4
--> fact texts.tx = 'a\u{200B}b' in result row 4

-- One edit away: over 512 characters; a line of over 2,000, once what would not be seen is written out.
SELECT id, tx FROM texts ORDER BY id;
--> id  column main.texts.id
--> tx  column main.texts.tx
--> selection order_by
--> fact texts.id = 1 in result row 1
--> fact texts.tx = 'nan' in result row 1
--> fact texts.id = 2 in result row 2
--> fact texts.tx = 'it''s' in result row 2
--> fact texts.id = 3 in result row 3
--> fact texts.tx = '\u{202E}abc' in result row 3
--> fact texts.id = 4 in result row 4
--> fact texts.tx = 'a\u{200B}b' in result row 4
--> fact texts.id = 5 in result row 5
--> cell 5.2 withheld cell-too-long
--> fact texts.id = 6 in result row 6
--> fact texts.tx = 'İ' in result row 6
--> fact texts.id = 7 in result row 7
--> fact texts.tx = '100%' in result row 7
--> fact texts.id = 8 in result row 8
--> cell 8.2 withheld line-too-long

-- A group whose key is NULL is named so.
SELECT clean, COUNT(*) FROM floats GROUP BY clean ORDER BY clean;
--> clean  column main.floats.clean
--> #2  COUNT(*) main.floats  group clean
--> selection order_by
--> fact floats.clean = 0.5 in result row 1
--> fact COUNT(*) of floats = 1 for floats.clean = 0.5
--> fact floats.clean = 1.5 in result row 2
--> fact COUNT(*) of floats = 1 for floats.clean = 1.5
--> fact floats.clean = 2.5 in result row 3
--> fact COUNT(*) of floats = 1 for floats.clean = 2.5
--> cell 4.1 withheld cell-null
--> fact COUNT(*) of floats = 1 for floats.clean IS NULL

-- One edit away: a key that is not a number does not name its group.
SELECT nan, COUNT(*) FROM floats GROUP BY nan ORDER BY nan;
--> nan  column main.floats.nan
--> #2  COUNT(*) main.floats  group nan
--> selection order_by
--> fact floats.nan = 1.0 in result row 1
--> fact COUNT(*) of floats = 1 for floats.nan = 1.0
--> fact floats.nan = 2.0 in result row 2
--> fact COUNT(*) of floats = 1 for floats.nan = 2.0
--> cell 3.1 withheld cell-not-finite
--> cell 3.2 withheld group-cell-not-finite
--> cell 4.1 withheld cell-null
--> fact COUNT(*) of floats = 1 for floats.nan IS NULL

SELECT tx, COUNT(*) FROM texts GROUP BY tx ORDER BY length(tx), tx LIMIT 1;
--> tx  column main.texts.tx
--> #2  COUNT(*) main.texts  group tx
--> selection order_by, limit
--> fact texts.tx = 'İ' in result row 1
--> fact COUNT(*) of texts = 1 for texts.tx = 'İ'

-- One edit away: nor does a key that is too long.
SELECT tx, COUNT(*) FROM texts GROUP BY tx ORDER BY length(tx) DESC, tx LIMIT 1;
--> tx  column main.texts.tx
--> #2  COUNT(*) main.texts  group tx
--> selection order_by, limit
--> cell 1.1 withheld cell-too-long
--> cell 1.2 withheld group-cell-too-long
--> no answer nothing-eligible

-- A sum of nothing is NULL, a count of nothing is not.
SELECT SUM(id), COUNT(*), COUNT(id) FROM empty;
--> #1  SUM(id) main.empty
--> #2  COUNT(*) main.empty
--> #3  COUNT(id) main.empty
--> cell 1.1 withheld cell-null
--> fact COUNT(*) of empty = 0
--> fact COUNT(empty.id) = 0

-- No row, no fact.
SELECT id FROM empty;
--> id  column main.empty.id
--> no answer no-rows
--> complete result, table

-- Nothing that may be stated: every cell is NULL.
SELECT nan FROM floats WHERE id = 3;
--> nan  column main.floats.nan
--> cell 1.1 withheld cell-null
--> no answer nothing-eligible

-- Rows whose text does not fit into an observation are left out whole.
SELECT id, length(tx), tx FROM wide WHERE id < 33;
--> id  column main.wide.id
--> #2  withheld function
--> tx  column main.wide.tx
--> complete nothing

-- A sum of floats is stated if it may be off by little beside what it is.
SELECT SUM(sums), AVG(clean), AVG(id) FROM floats WHERE id < 3;
--> #1  SUM(sums) main.floats  where floats.id < 3
--> #2  AVG(clean) main.floats  where floats.id < 3
--> #3  AVG(id) main.floats  where floats.id < 3
--> fact SUM(floats.sums) ≈ 1e+16 where floats.id < 3
--> fact AVG(floats.clean) ≈ 1.0 where floats.id < 3
--> fact AVG(floats.id) ≈ 1.5 where floats.id < 3

-- One edit away: what is large cancels out, and what is left was rounded away.
SELECT SUM(sums), AVG(clean), AVG(id) FROM floats WHERE id < 5;
--> #1  SUM(sums) main.floats  where floats.id < 5
--> #2  AVG(clean) main.floats  where floats.id < 5
--> #3  AVG(id) main.floats  where floats.id < 5
--> cell 1.1 withheld sum-not-stable
--> fact AVG(floats.clean) ≈ 1.5 where floats.id < 5
--> fact AVG(floats.id) ≈ 2.5 where floats.id < 5

-- A group of one value: nothing is added, so nothing is off.
SELECT id, SUM(sums) FROM floats GROUP BY id ORDER BY id;
--> id  column main.floats.id
--> #2  SUM(sums) main.floats  group id
--> selection order_by
--> fact floats.id = 1 in result row 1
--> fact SUM(floats.sums) ≈ 1e+16 for floats.id = 1
--> fact floats.id = 2 in result row 2
--> fact SUM(floats.sums) ≈ 1.0 for floats.id = 2
--> fact floats.id = 3 in result row 3
--> fact SUM(floats.sums) ≈ -1e+16 for floats.id = 3
--> fact floats.id = 4 in result row 4
--> fact SUM(floats.sums) ≈ 1.0 for floats.id = 4
