-- aggregate-types
-- SUM and AVG add up numbers; MIN and MAX need an order that a line can name; COUNT counts any.
SELECT SUM(ti), SUM(hi), SUM(ubi), SUM(de), SUM(wide), AVG(i), AVG(de), AVG(uti) FROM scalars WHERE i = 3;
--> #1  SUM(ti) main.scalars  where scalars.i = 3
--> #2  SUM(hi) main.scalars  where scalars.i = 3
--> #3  SUM(ubi) main.scalars  where scalars.i = 3
--> #4  SUM(de) main.scalars  where scalars.i = 3
--> #5  SUM(wide) main.scalars  where scalars.i = 3
--> #6  AVG(i) main.scalars  where scalars.i = 3
--> #7  AVG(de) main.scalars  where scalars.i = 3
--> #8  AVG(uti) main.scalars  where scalars.i = 3
--> fact SUM(scalars.ti) = 1 where scalars.i = 3
--> fact SUM(scalars.hi) = 5 where scalars.i = 3
--> fact SUM(scalars.ubi) = 9 where scalars.i = 3
--> fact SUM(scalars.de) = 1.5 where scalars.i = 3
--> fact SUM(scalars.wide) = 0.1000000000 where scalars.i = 3
--> fact AVG(scalars.i) ≈ 3.0 where scalars.i = 3
--> fact AVG(scalars.de) ≈ 1.5 where scalars.i = 3
--> fact AVG(scalars.uti) ≈ 6.0 where scalars.i = 3

-- Sums and averages that are floats are not exact.
SELECT SUM(fl), AVG(fl), SUM(dbl), AVG(dbl) FROM scalars WHERE i = 3;
--> #1  SUM(fl) main.scalars  where scalars.i = 3
--> #2  AVG(fl) main.scalars  where scalars.i = 3
--> #3  SUM(dbl) main.scalars  where scalars.i = 3
--> #4  AVG(dbl) main.scalars  where scalars.i = 3
--> fact SUM(scalars.fl) ≈ 0.10000000149011612 where scalars.i = 3
--> fact AVG(scalars.fl) ≈ 0.10000000149011612 where scalars.i = 3
--> fact SUM(scalars.dbl) ≈ 0.1 where scalars.i = 3
--> fact AVG(scalars.dbl) ≈ 0.1 where scalars.i = 3

-- MIN and MAX of text are those of text order.
SELECT MIN(tx), MAX(tx), MIN(da), MAX(tm), MIN(tns), MAX(ts), MIN(tss), MAX(tms), MIN(tsn), MAX(tz), MAX(uhi), MAX(fl) FROM scalars;
--> #1  MIN(tx) main.scalars
--> #2  MAX(tx) main.scalars
--> #3  MIN(da) main.scalars
--> #4  MAX(tm) main.scalars
--> #5  MIN(tns) main.scalars
--> #6  MAX(ts) main.scalars
--> #7  MIN(tss) main.scalars
--> #8  MAX(tms) main.scalars
--> #9  MIN(tsn) main.scalars
--> #10  MAX(tz) main.scalars
--> #11  MAX(uhi) main.scalars
--> #12  MAX(fl) main.scalars
--> fact MIN(scalars.tx) = '' (text order)
--> fact MAX(scalars.tx) = 'ÿ😀' (text order)
--> fact MIN(scalars.da) = '0001-01-01'
--> fact MAX(scalars.tm) = '23:59:59.999999'
--> fact MIN(scalars.tns) = '00:00:00'
--> fact MAX(scalars.ts) = '9999-12-31 23:59:59.999999'
--> fact MIN(scalars.tss) = '0001-01-01 00:00:00'
--> fact MAX(scalars.tms) = '9999-12-31 23:59:59.999'
--> fact MIN(scalars.tsn) = '1677-09-22 00:00:00'
--> fact MAX(scalars.tz) = '9999-12-31 23:59:59.999999+00'
--> fact MAX(scalars.uhi) = 340282366920938463463374607431768211455
--> fact MAX(scalars.fl) = 3.4028235e+38

SELECT COUNT(bo), COUNT(en), COUNT(iv), COUNT(ttz), COUNT(u), COUNT(tx), COUNT(uhi) FROM scalars;
--> #1  COUNT(bo) main.scalars
--> #2  COUNT(en) main.scalars
--> #3  COUNT(iv) main.scalars
--> #4  COUNT(ttz) main.scalars
--> #5  COUNT(u) main.scalars
--> #6  COUNT(tx) main.scalars
--> #7  COUNT(uhi) main.scalars
--> fact COUNT(scalars.bo) = 3
--> fact COUNT(scalars.en) = 3
--> fact COUNT(scalars.iv) = 3
--> fact COUNT(scalars.ttz) = 3
--> fact COUNT(scalars.u) = 3
--> fact COUNT(scalars.tx) = 3
--> fact COUNT(scalars.uhi) = 3

SELECT SUM(ubi), AVG(ubi) FROM scalars;
--> #1  SUM(ubi) main.scalars
--> #2  AVG(ubi) main.scalars

SELECT MIN(tx), MAX(da) FROM scalars;
--> #1  MIN(tx) main.scalars
--> #2  MAX(da) main.scalars

SELECT COUNT(id) FROM unstatable;
--> #1  COUNT(id) main.unstatable

-- One edit away: the engine adds UHUGEINT up as floats.
SELECT SUM(uhi), AVG(uhi) FROM scalars;
--> #1  withheld aggregate-type
--> #2  withheld aggregate-type

-- One edit away: a sum of Booleans is a count by another name, and an average of times is no time that was stored.
SELECT SUM(bo), AVG(tm) FROM scalars;
--> #1  withheld aggregate-type
--> #2  withheld aggregate-type

-- One edit away: intervals can be added up, and their sums are equal across units.
SELECT SUM(iv), AVG(iv) FROM scalars;
--> #1  withheld aggregate-type
--> #2  withheld aggregate-type
--> engine failed

-- One edit away: enums are ordered by place, and intervals are equal across units.
SELECT MIN(en), MAX(iv) FROM scalars;
--> #1  withheld aggregate-type
--> #2  withheld aggregate-type

-- One edit away: so are times with zone; Booleans and UUIDs have no order that a line could name.
SELECT MIN(ttz), MAX(bo), MIN(u) FROM scalars;
--> #1  withheld aggregate-type
--> #2  withheld aggregate-type
--> #3  withheld aggregate-type

-- One edit away: a type whose values are not stated is not counted either.
SELECT COUNT(js) FROM unstatable;
--> #1  withheld type-not-statable

-- One edit away: nor is a list.
SELECT COUNT(li) FROM unstatable;
--> #1  withheld type-not-statable
