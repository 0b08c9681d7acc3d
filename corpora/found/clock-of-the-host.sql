-- clock-of-the-host
-- Times came back moved by the host's offset from UTC. A timestamp is written as stored, one with zone in UTC.
SELECT flight, left_at, seen_at FROM flights WHERE flight = 1545;
--> flight  column main.flights.flight
--> left_at  column main.flights.left_at
--> seen_at  column main.flights.seen_at
--> fact flights.flight = 1545 in result row 1
--> fact flights.left_at = '2013-01-01 05:17:00' in result row 1
--> fact flights.seen_at = '2013-01-01 10:17:00+00' in result row 1
