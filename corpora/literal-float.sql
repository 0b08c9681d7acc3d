-- literal-float
-- A bare numeral of at most 15 significant digits, 6 for FLOAT, names one float.
SELECT COUNT(*) FROM floats WHERE clean = 0.5 OR clean > 1;
--> #1  COUNT(*) main.floats  where (floats.clean = 0.5) OR (floats.clean > 1)
--> fact COUNT(*) of floats = 3 where (floats.clean = 0.5) OR (floats.clean > 1)

SELECT COUNT(*) FROM floats WHERE small = 0.1 OR small >= 1.50000;
--> #1  COUNT(*) main.floats  where (floats.small = 0.1) OR (floats.small >= 1.5)
--> fact COUNT(*) of floats = 2 where (floats.small = 0.1) OR (floats.small >= 1.5)

SELECT COUNT(*) FROM scalars WHERE dbl = 123456789012345 OR dbl < 0.000000000000001;
--> #1  COUNT(*) main.scalars  where (scalars.dbl = 123456789012345) OR (scalars.dbl < 0.000000000000001)

-- An exponent changes no digit of a DOUBLE.
SELECT COUNT(*) FROM scalars WHERE dbl > 1.5e3 OR dbl = -2E-7;
--> #1  COUNT(*) main.scalars  where (scalars.dbl > 1500) OR (scalars.dbl = -0.0000002)

-- Minus zero is zero.
SELECT COUNT(*) FROM floats WHERE ends = 0;
--> #1  COUNT(*) main.floats  where floats.ends = 0
--> fact COUNT(*) of floats = 2 where floats.ends = 0

-- One edit away: the column holds NaN, which the engine sorts above every number.
SELECT COUNT(*) FROM floats WHERE nan > 1;
--> #1  withheld filter-nan

-- One edit away: also beside another column.
SELECT COUNT(*) FROM floats WHERE clean = nan;
--> #1  withheld filter-nan

-- One edit away: 16 digits may be another float than they look.
SELECT COUNT(*) FROM scalars WHERE dbl = 0.1000000000000001;
--> #1  withheld literal-not-exact

-- One edit away: 7 digits of a FLOAT.
SELECT COUNT(*) FROM floats WHERE small = 0.1000001;
--> #1  withheld literal-not-exact

-- One edit away: beside an exponent a FLOAT becomes a DOUBLE.
SELECT COUNT(*) FROM floats WHERE small > 1e-3;
--> #1  withheld literal-not-exact

-- One edit away: in quotes.
SELECT COUNT(*) FROM floats WHERE clean = '0.5';
--> #1  withheld literal-not-exact

-- One edit away: not a number.
SELECT COUNT(*) FROM floats WHERE clean < 'nan';
--> #1  withheld literal-not-exact

-- One edit away: without end.
SELECT COUNT(*) FROM floats WHERE ends = 'Infinity'::DOUBLE;
--> #1  withheld filter-not-statable
