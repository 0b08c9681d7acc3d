-- counted-a-cut-result
-- A tool cut a result and called it complete; somebody then counted it, and took its largest value.
-- Each value may be stated, that the result is whole may not, and no number is made of the rows.
SELECT id FROM many;
--> id  column main.many.id
--> complete nothing

-- What may be stated is the count that the engine made.
SELECT COUNT(*), MAX(id) FROM many;
--> #1  COUNT(*) main.many
--> #2  MAX(id) main.many
--> fact COUNT(*) of many = 60
--> fact MAX(many.id) = 59
--> complete result

-- A few newest rows: the limit goes with every fact.
SELECT carrier FROM flights ORDER BY left_at DESC NULLS LAST LIMIT 3;
--> carrier  column main.flights.carrier
--> selection order_by, limit
--> cell 1.1 withheld cell-null
--> fact flights.carrier = 'B6' in result row 2
--> fact flights.carrier = 'DL' in result row 3
--> complete result
