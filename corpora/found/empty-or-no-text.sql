-- empty-or-no-text
-- A text without characters, a text of spaces and no text looked the same in a table.
SELECT tx FROM scalars;
--> tx  column main.scalars.tx
--> fact scalars.tx = '' in result row 1
--> fact scalars.tx = 'ÿ😀' in result row 2
--> fact scalars.tx = 'two \u{20}spaces' in result row 3
--> cell 4.1 withheld cell-null
