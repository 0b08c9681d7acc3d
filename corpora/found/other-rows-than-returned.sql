-- other-rows-than-returned
-- The right rows were fetched, and others were told. What is told is the text of a fact.
SELECT carrier, tailnum FROM flights WHERE flight = 461;
--> carrier  column main.flights.carrier
--> tailnum  column main.flights.tailnum
--> fact flights.carrier = 'DL' in result row 1
--> fact flights.tailnum = 'N668DN' in result row 1
