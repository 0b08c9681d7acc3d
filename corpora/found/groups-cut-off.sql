-- groups-cut-off
-- A report showed only some groups, and their sum was called the total.
-- Each group names itself; a total has to be asked for.
SELECT id, seventh, SUM(id) AS total FROM many GROUP BY id, seventh ORDER BY id;
--> id  column main.many.id
--> seventh  column main.many.seventh
--> total  SUM(id) main.many  group id, seventh
--> selection order_by
--> complete nothing

SELECT seventh, SUM(id) AS total FROM many GROUP BY seventh ORDER BY seventh;
--> seventh  column main.many.seventh
--> total  SUM(id) main.many  group seventh
--> selection order_by
--> fact many.seventh = 0 in result row 1
--> fact SUM(many.id) = 252 for many.seventh = 0
--> fact many.seventh = 1 in result row 2
--> fact SUM(many.id) = 261 for many.seventh = 1
--> fact many.seventh = 2 in result row 3
--> fact SUM(many.id) = 270 for many.seventh = 2
--> fact many.seventh = 3 in result row 4
--> fact SUM(many.id) = 279 for many.seventh = 3
--> fact many.seventh = 4 in result row 5
--> fact SUM(many.id) = 228 for many.seventh = 4
--> fact many.seventh = 5 in result row 6
--> fact SUM(many.id) = 236 for many.seventh = 5
--> fact many.seventh = 6 in result row 7
--> fact SUM(many.id) = 244 for many.seventh = 6
--> complete result
