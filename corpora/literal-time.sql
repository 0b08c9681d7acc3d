-- literal-time
-- Dates, times and timestamps are exact where they are written in full, as a bare string or typed.
SELECT COUNT(*) FROM flights WHERE day = '2013-01-01' OR day = DATE '2013-01-02' OR day = CAST('2013-03-10' AS DATE) OR day = '2013-03-11'::DATE;
--> #1  COUNT(*) main.flights  where (flights.day = '2013-01-01') OR (flights.day = '2013-01-02') OR (flights.day = '2013-03-10') OR (flights.day = '2013-03-11')
--> fact COUNT(*) of flights = 6 where (flights.day = '2013-01-01') OR (flights.day = '2013-01-02') OR (flights.day = '2013-03-10') OR (flights.day = '2013-03-11')

SELECT COUNT(*) FROM flights WHERE left_at >= '2013-03-10' AND left_at < TIMESTAMP '2013-03-10 05:54:00.500000';
--> #1  COUNT(*) main.flights  where (flights.left_at >= '2013-03-10 00:00:00') AND (flights.left_at < '2013-03-10 05:54:00.5')
--> fact COUNT(*) of flights = 1 where (flights.left_at >= '2013-03-10 00:00:00') AND (flights.left_at < '2013-03-10 05:54:00.5')

-- A date beside a timestamp is its midnight.
SELECT COUNT(*) FROM flights WHERE left_at >= DATE '2013-03-10';
--> #1  COUNT(*) main.flights  where flights.left_at >= '2013-03-10 00:00:00'
--> fact COUNT(*) of flights = 4 where flights.left_at >= '2013-03-10 00:00:00'

-- A timestamp with zone needs an offset, and is shown in UTC.
SELECT COUNT(*) FROM flights WHERE seen_at >= '2013-01-02 05:42:00-05' AND seen_at < TIMESTAMPTZ '2013-04-30 15:25:00+05:30';
--> #1  COUNT(*) main.flights  where (flights.seen_at >= '2013-01-02 10:42:00+00') AND (flights.seen_at < '2013-04-30 09:55:00+00')
--> fact COUNT(*) of flights = 3 where (flights.seen_at >= '2013-01-02 10:42:00+00') AND (flights.seen_at < '2013-04-30 09:55:00+00')

SELECT COUNT(*) FROM scalars WHERE tm = '12:30:00.5' OR tm < TIME '00:00:01' OR tns = '12:30:00.123456789';
--> #1  COUNT(*) main.scalars  where (scalars.tm = '12:30:00.5') OR (scalars.tm < '00:00:01') OR (scalars.tns = '12:30:00.123456789')
--> fact COUNT(*) of scalars = 2 where (scalars.tm = '12:30:00.5') OR (scalars.tm < '00:00:01') OR (scalars.tns = '12:30:00.123456789')

SELECT COUNT(*) FROM scalars WHERE tss = '2024-02-29 12:30:00' OR tms = '2024-02-29 12:30:00.125' OR tsn = '2024-02-29 12:30:00.123456789';
--> #1  COUNT(*) main.scalars  where (scalars.tss = '2024-02-29 12:30:00') OR (scalars.tms = '2024-02-29 12:30:00.125') OR (scalars.tsn = '2024-02-29 12:30:00.123456789')
--> fact COUNT(*) of scalars = 1 where (scalars.tss = '2024-02-29 12:30:00') OR (scalars.tms = '2024-02-29 12:30:00.125') OR (scalars.tsn = '2024-02-29 12:30:00.123456789')

SELECT COUNT(*) FROM flights WHERE day >= DATE '2013-01-01';
--> #1  COUNT(*) main.flights  where flights.day >= '2013-01-01'

SELECT COUNT(*) FROM flights WHERE day = '2013-01-01';
--> #1  COUNT(*) main.flights  where flights.day = '2013-01-01'

SELECT COUNT(*) FROM flights WHERE left_at = '2013-01-01 05:17:00';
--> #1  COUNT(*) main.flights  where flights.left_at = '2013-01-01 05:17:00'

SELECT COUNT(*) FROM flights WHERE seen_at = '2013-01-01 10:17:00+00';
--> #1  COUNT(*) main.flights  where flights.seen_at = '2013-01-01 10:17:00+00'

SELECT COUNT(*) FROM scalars WHERE tm < '23:59:59';
--> #1  COUNT(*) main.scalars  where scalars.tm < '23:59:59'

SELECT COUNT(*) FROM scalars WHERE tms = '2024-02-29 12:30:00.125';
--> #1  COUNT(*) main.scalars  where scalars.tms = '2024-02-29 12:30:00.125'

SELECT COUNT(*) FROM endless WHERE da < '2024-01-02';
--> #1  COUNT(*) main.endless  where endless.da < '2024-01-02'

-- One edit away: the engine drops the time of day.
SELECT COUNT(*) FROM flights WHERE day >= DATE '2013-01-01 23:59:59';
--> #1  withheld literal-not-exact

-- One edit away: a date without its zeros.
SELECT COUNT(*) FROM flights WHERE day = '2013-1-1';
--> #1  withheld literal-not-exact

-- One edit away: a day that the calendar does not have.
SELECT COUNT(*) FROM flights WHERE day = '2013-02-29';
--> #1  withheld literal-not-exact
--> run failed

-- One edit away: a date that may not be one.
SELECT COUNT(*) FROM flights WHERE day = TRY_CAST('2013-01-01' AS DATE);
--> #1  withheld filter-not-statable

-- One edit away: no end of days.
SELECT COUNT(*) FROM endless WHERE da < 'infinity';
--> #1  withheld literal-not-exact

-- One edit away: more digits than the column keeps.
SELECT COUNT(*) FROM scalars WHERE tms = '2024-02-29 12:30:00.1255';
--> #1  withheld literal-not-exact

-- One edit away: an offset beside a column that has none.
SELECT COUNT(*) FROM flights WHERE left_at = '2013-01-01 05:17:00+00';
--> #1  withheld literal-not-exact

-- One edit away: no offset beside a column that has one.
SELECT COUNT(*) FROM flights WHERE seen_at = '2013-01-01 10:17:00';
--> #1  withheld literal-not-exact

-- One edit away: a zone by its name.
SELECT COUNT(*) FROM flights WHERE seen_at = '2013-01-01 10:17:00 UTC';
--> #1  withheld literal-not-exact

-- One edit away: a letter between date and time.
SELECT COUNT(*) FROM flights WHERE left_at = '2013-01-01T05:17:00';
--> #1  withheld literal-not-exact

-- One edit away: a timestamp beside a date.
SELECT COUNT(*) FROM flights WHERE day = TIMESTAMP '2013-01-01 00:00:00';
--> #1  withheld literal-not-exact

-- One edit away: an hour that the clock does not have.
SELECT COUNT(*) FROM scalars WHERE tm < '24:00:00';
--> #1  withheld literal-not-exact

-- One edit away: a time without seconds.
SELECT COUNT(*) FROM scalars WHERE tm < '12:30';
--> #1  withheld literal-not-exact
