-- group-keys
-- Keys may be written by name, by place, or by an alias that stands for a column.
SELECT carrier, month, SUM(distance) FROM flights GROUP BY carrier, month ORDER BY month, carrier;
--> carrier  column main.flights.carrier
--> month  column main.flights.month
--> #3  SUM(distance) main.flights  group carrier, month
--> selection order_by
--> fact flights.carrier = 'AA' in result row 1
--> fact flights.month = 1 in result row 1
--> fact SUM(flights.distance) = 1089 for flights.carrier = 'AA', flights.month = 1
--> fact flights.carrier = 'UA' in result row 2
--> fact flights.month = 1 in result row 2
--> fact SUM(flights.distance) = 2816 for flights.carrier = 'UA', flights.month = 1
--> fact flights.carrier = 'B6' in result row 3
--> fact flights.month = 3 in result row 3
--> fact SUM(flights.distance) = 1576 for flights.carrier = 'B6', flights.month = 3
--> fact flights.carrier = 'DL' in result row 4
--> fact flights.month = 3 in result row 4
--> fact SUM(flights.distance) = 762 for flights.carrier = 'DL', flights.month = 3
--> fact flights.carrier = 'UA' in result row 5
--> fact flights.month = 3 in result row 5
--> fact SUM(flights.distance) = 719 for flights.carrier = 'UA', flights.month = 3
--> fact flights.carrier = 'B6' in result row 6
--> fact flights.month = 4 in result row 6
--> fact SUM(flights.distance) = 1065 for flights.carrier = 'B6', flights.month = 4
--> cell 7.1 withheld cell-null
--> fact flights.month = 4 in result row 7
--> fact SUM(flights.distance) = 229 for flights.carrier IS NULL, flights.month = 4

SELECT carrier, month, SUM(distance) FROM flights GROUP BY 1, 2;
--> carrier  column main.flights.carrier
--> month  column main.flights.month
--> #3  SUM(distance) main.flights  group carrier, month

SELECT carrier AS who, SUM(distance) FROM flights GROUP BY who;
--> who  column main.flights.carrier
--> #2  SUM(distance) main.flights  group carrier

SELECT carrier, SUM(distance), month FROM flights GROUP BY ALL;
--> carrier  column main.flights.carrier
--> #2  SUM(distance) main.flights  group carrier, month
--> month  column main.flights.month

-- A repeated key counts once.
SELECT carrier, COUNT(*) FROM flights GROUP BY carrier, 1, flights.carrier;
--> carrier  column main.flights.carrier
--> #2  COUNT(*) main.flights  group carrier

-- A key without an aggregate: different values, each one stored.
SELECT carrier FROM flights GROUP BY carrier;
--> carrier  column main.flights.carrier

-- GROUP BY ALL with nothing to group by is no grouping.
SELECT COUNT(*) FROM flights GROUP BY ALL;
--> #1  COUNT(*) main.flights

-- A real column wins over an alias: the key is `carrier`, and it is shown, as `origin`.
SELECT carrier AS origin, 'x' AS carrier, COUNT(*) FROM flights GROUP BY carrier;
--> origin  column main.flights.carrier
--> carrier  withheld constant
--> #3  COUNT(*) main.flights  group carrier

SELECT carrier, SUM(distance) FROM flights GROUP BY 1;
--> carrier  column main.flights.carrier
--> #2  SUM(distance) main.flights  group carrier

SELECT i, COUNT(*) FROM scalars GROUP BY i;
--> i  column main.scalars.i
--> #2  COUNT(*) main.scalars  group i

SELECT tm FROM scalars GROUP BY tm;
--> tm  column main.scalars.tm

SELECT id, COUNT(*) FROM unstatable GROUP BY id;
--> id  column main.unstatable.id
--> #2  COUNT(*) main.unstatable  group id

-- One edit away: the key is the column that no output shows, whatever the alias says.
SELECT 'x' AS carrier, COUNT(*) FROM flights GROUP BY carrier;
--> carrier  withheld constant
--> #2  withheld group-key-not-shown

-- One edit away: one of two keys is not shown.
SELECT carrier, SUM(distance) FROM flights GROUP BY carrier, month;
--> carrier  column main.flights.carrier
--> #2  withheld group-key-not-shown

-- One edit away: the key is shown only under an expression.
SELECT lower(carrier), SUM(distance) FROM flights GROUP BY carrier;
--> #1  withheld function
--> #2  withheld group-key-not-shown

-- One edit away: a parenthesised key is an expression.
SELECT carrier, SUM(distance) FROM flights GROUP BY (carrier);
--> carrier  column main.flights.carrier
--> #2  withheld group-key-not-a-column

-- One edit away: two keys in one bracket.
SELECT carrier, month, SUM(distance) FROM flights GROUP BY (carrier, month);
--> carrier  column main.flights.carrier
--> month  column main.flights.month
--> #3  withheld group-key-not-a-column

-- One edit away: an alias that stands for an expression.
SELECT upper(carrier) AS who, SUM(distance) FROM flights GROUP BY who;
--> who  withheld function
--> #2  withheld group-key-not-a-column

-- One edit away: the place of an expression.
SELECT upper(carrier), SUM(distance) FROM flights GROUP BY 1;
--> #1  withheld function
--> #2  withheld group-key-not-a-column

-- One edit away: with GROUP BY ALL the engine makes a key of the expression.
SELECT carrier, upper(origin), SUM(distance) FROM flights GROUP BY ALL;
--> carrier  column main.flights.carrier
--> #2  withheld function
--> #3  withheld group-key-not-a-column
--> text #3  SUM(distance) main.flights  group carrier

-- One edit away: subtotals, whose rows have a NULL in place of the key.
SELECT carrier, SUM(distance) FROM flights GROUP BY ROLLUP (carrier);
--> withheld grouping-sets

-- One edit away: all subtotals.
SELECT carrier, SUM(distance) FROM flights GROUP BY CUBE (carrier);
--> withheld grouping-sets

-- One edit away: the sets written out.
SELECT carrier, SUM(distance) FROM flights GROUP BY GROUPING SETS ((carrier), ());
--> withheld grouping-sets

-- One edit away: one set, which the engine's plan does not tell from a key.
SELECT carrier, SUM(distance) FROM flights GROUP BY GROUPING SETS ((carrier));
--> withheld grouping-sets

-- One edit away: no key at all, in brackets.
SELECT SUM(distance) FROM flights GROUP BY ();
--> withheld grouping-sets

-- One edit away: intervals of different looks are equal, so a key would not name its group.
SELECT iv, COUNT(*) FROM scalars GROUP BY iv;
--> withheld group-key-type

-- One edit away: so are times with zone, also where no aggregate stands beside them.
SELECT ttz FROM scalars GROUP BY ttz;
--> withheld group-key-type

-- One edit away: a key whose values are not stated.
SELECT js, COUNT(*) FROM unstatable GROUP BY js;
--> js  withheld type-not-statable
--> #2  withheld group-key-not-shown

-- One edit away: a place that no output has.
SELECT carrier, SUM(distance) FROM flights GROUP BY 1, 3;
--> carrier  column main.flights.carrier
--> #2  withheld group-key-not-a-column
--> engine failed
