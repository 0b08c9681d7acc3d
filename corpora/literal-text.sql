-- literal-text
-- A text literal is 0 to 64 visible characters with single plain spaces between them.
SELECT COUNT(*) FROM texts WHERE tx = 'it''s' OR tx = '' OR tx = '\u{130}';
--> #1  COUNT(*) main.texts  where (texts.tx = 'it''s') OR (texts.tx = '') OR (texts.tx = 'İ')
--> fact COUNT(*) of texts = 2 where (texts.tx = 'it''s') OR (texts.tx = '') OR (texts.tx = 'İ')

SELECT COUNT(*) FROM texts WHERE tx = 'ab\u{20AC}\u{1F600} \u{4E2D}\u{0661}\u{301} "x"';
--> #1  COUNT(*) main.texts  where texts.tx = 'ab€😀 中١́ "x"'

-- A leading or trailing space is kept and shown.
SELECT COUNT(*) FROM texts WHERE tx = ' a ';
--> #1  COUNT(*) main.texts  where texts.tx = '\u{20}a\u{20}'

-- One edit away: a text literal is a string and nothing else.
SELECT COUNT(*) FROM texts WHERE tx = CAST(' a ' AS VARCHAR);
--> #1  withheld filter-not-statable

-- One edit away: two spaces look like one.
SELECT COUNT(*) FROM texts WHERE tx = 'two  spaces';
--> #1  withheld literal-not-exact

-- One edit away: a space that is no plain one.
SELECT COUNT(*) FROM texts WHERE tx = 'a\u{A0}b';
--> #1  withheld literal-not-exact

-- One edit away: a character that is not seen.
SELECT COUNT(*) FROM texts WHERE tx = 'a\u{200B}b';
--> #1  withheld literal-not-exact

-- One edit away: a character that turns the rest around.
SELECT COUNT(*) FROM texts WHERE tx = '\u{202E}abc';
--> #1  withheld literal-not-exact

-- One edit away: a filler that is a letter by category, and invisible.
SELECT COUNT(*) FROM texts WHERE tx = '\u{3164}';
--> #1  withheld literal-not-exact

-- One edit away: a line break.
SELECT COUNT(*) FROM texts WHERE tx = 'a
b';
--> #1  withheld literal-not-exact

-- One edit away: 65 characters.
SELECT COUNT(*) FROM texts WHERE tx = 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx';
--> #1  withheld literal-not-exact

-- One edit away: a number, to which the engine would cast the column.
SELECT COUNT(*) FROM texts WHERE tx = 1;
--> #1  withheld literal-not-exact
--> run failed

-- One edit away: another type's literal.
SELECT COUNT(*) FROM texts WHERE tx = DATE '2020-01-01';
--> #1  withheld literal-not-exact
--> run failed
