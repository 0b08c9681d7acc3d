-- outputs
-- Beside an output that may be stated, each that may not keeps its own reason.
SELECT carrier FROM flights;
--> carrier  column main.flights.carrier

-- One edit away: constants of every kind.
SELECT carrier, 1, 'x', -2.5, NULL, true, DATE '2020-01-01', 'x'::VARCHAR FROM flights;
--> carrier  column main.flights.carrier
--> #2  withheld constant
--> #3  withheld constant
--> #4  withheld constant
--> #5  withheld constant
--> #6  withheld constant
--> #7  withheld constant
--> #8  withheld constant

-- One edit away: calculations with values.
SELECT carrier, distance + 1, distance / 2, distance // 2, distance % 2, -distance, distance ** 2 FROM flights;
--> carrier  column main.flights.carrier
--> #2  withheld arithmetic
--> #3  withheld arithmetic
--> #4  withheld arithmetic
--> #5  withheld arithmetic
--> #6  withheld arithmetic
--> #7  withheld arithmetic

-- One edit away: functions.
SELECT carrier, upper(carrier), carrier || 'x', coalesce(carrier, 'x'), random(), now() FROM flights;
--> carrier  column main.flights.carrier
--> #2  withheld function
--> #3  withheld expression
--> #4  withheld function
--> #5  withheld function
--> #6  withheld function

-- One edit away: conditions.
SELECT carrier, distance > 1000, carrier IS NULL, NOT cancelled, CASE WHEN cancelled THEN 1 END, month IN (1, 2) FROM flights;
--> carrier  column main.flights.carrier
--> #2  withheld expression
--> #3  withheld expression
--> #4  withheld expression
--> #5  withheld function
--> #6  withheld expression

-- One edit away: lists, structures and what is taken from them.
SELECT carrier, [carrier], {'c': carrier}, carrier[1], carrier[1:2] FROM flights;
--> carrier  column main.flights.carrier
--> #2  withheld function
--> #3  withheld function
--> #4  withheld expression
--> #5  withheld expression

-- One edit away: parameters and places withhold the output that they are, not its neighbour.
SELECT carrier, #2 FROM flights;
--> carrier  column main.flights.carrier
--> #2  withheld positional-reference

-- One edit away: a parameter; the engine does not run it.
SELECT carrier, ? AS x FROM flights;
--> carrier  column main.flights.carrier
--> x  withheld parameter
--> engine refused parameter

-- One edit away: another time zone, another part of a date.
SELECT carrier, left_at AT TIME ZONE 'Asia/Tokyo', EXTRACT(year FROM left_at), left_at + INTERVAL 1 DAY FROM flights;
--> carrier  column main.flights.carrier
--> #2  withheld expression
--> #3  withheld function
--> #4  withheld arithmetic

-- One edit away: a qualifier that is not the table.
SELECT carrier, planes.carrier FROM flights;
--> carrier  column main.flights.carrier
--> carrier  withheld qualifier-unknown
--> engine failed
