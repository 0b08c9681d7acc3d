-- float-sum-by-order
-- The same sum of floats differed from run to run, with the order in which threads added it up.
SELECT SUM(sums), AVG(sums) FROM floats;
--> #1  SUM(sums) main.floats
--> #2  AVG(sums) main.floats
--> cell 1.1 withheld sum-not-stable
--> cell 1.2 withheld sum-not-stable
--> no answer nothing-eligible
