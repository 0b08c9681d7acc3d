-- long-number-in-json
-- A number beyond 2^53 lost its last digit in JSON; the text beside it had been right.
SELECT bi, CAST(bi AS VARCHAR) AS as_text FROM scalars WHERE bi = 9007199254740993;
--> bi  column main.scalars.bi
--> as_text  withheld cast
--> fact scalars.bi = 9007199254740993 in result row 1
