-- values-by-name
-- Values were looked up by name: swapped aliases, repeated names and equal names of two tables mixed them up.
SELECT origin AS carrier, carrier AS origin, flight AS x, distance AS x FROM flights WHERE flight = 725;
--> carrier  column main.flights.origin
--> origin  column main.flights.carrier
--> x  column main.flights.flight
--> x  column main.flights.distance
--> fact flights.origin = 'JFK' in result row 1
--> fact flights.carrier = 'B6' in result row 1
--> fact flights.flight = 725 in result row 1
--> fact flights.distance = 1576 in result row 1

SELECT many.*, wide.* FROM many, wide;
--> withheld join, star-not-alone

SELECT many.id, wide.id FROM many JOIN wide USING (id);
--> withheld join

SELECT many.id, wide.id FROM many JOIN wide ON many.id = wide.id;
--> withheld join
