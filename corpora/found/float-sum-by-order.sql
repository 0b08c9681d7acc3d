-- float-sum-by-order
-- The same sum of floats differed from run to run, with the order in which threads added it up.
SELECT SUM(sums), AVG(sums) FROM floats;
--> #1  SUM(sums) main.floats
--> #2  AVG(sums) main.floats
--> fact SUM(floats.sums) ≈ 1.0
--> fact AVG(floats.sums) ≈ 0.25
