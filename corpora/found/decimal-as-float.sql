-- decimal-as-float
-- Decimals went through floats on their way. Sums and ends are exact; the engine's average is a float.
SELECT SUM(fare), MAX(fare), AVG(fare) FROM flights;
--> #1  SUM(fare) main.flights
--> #2  MAX(fare) main.flights
--> #3  AVG(fare) main.flights
--> fact SUM(flights.fare) = 1107.74
--> fact MAX(flights.fare) = 243.00
--> fact AVG(flights.fare) ≈ 158.24857142857144
