-- tables
-- Every table that the cases read, small enough to check by eye. `\u{HEX}` stands for a character.

-- Flights with a cancelled one (no delay), a missing tail number, and a month without flights.
CREATE TABLE flights (
    flight INTEGER, carrier VARCHAR, tailnum VARCHAR, origin VARCHAR, month TINYINT, day DATE,
    left_at TIMESTAMP, seen_at TIMESTAMPTZ, delay DOUBLE, distance BIGINT, fare DECIMAL(9,2),
    cancelled BOOLEAN
);
INSERT INTO flights VALUES
    (1545, 'UA', 'N14228', 'EWR', 1, '2013-01-01', '2013-01-01 05:17:00', '2013-01-01 10:17:00+00', 2, 1400, 219.50, false),
    (1714, 'UA', 'N24211', 'LGA', 1, '2013-01-01', '2013-01-01 05:33:00', '2013-01-01 10:33:00+00', 4, 1416, 243.00, false),
    (1141, 'AA', 'N619AA', 'JFK', 1, '2013-01-02', '2013-01-02 05:42:00', '2013-01-02 10:42:00+00', 2.5, 1089, 199.99, false),
    (725, 'B6', 'N804JB', 'JFK', 3, '2013-03-10', '2013-03-10 05:44:00', '2013-03-10 09:44:00+00', -1, 1576, 150.25, false),
    (461, 'DL', 'N668DN', 'LGA', 3, '2013-03-10', '2013-03-10 05:54:00.5', '2013-03-10 09:54:00.5+00', -6, 762, 120.10, false),
    (1696, 'UA', NULL, 'EWR', 3, '2013-03-11', NULL, NULL, NULL, 719, NULL, true),
    (507, 'B6', 'N516JB', 'EWR', 4, '2013-04-30', '2013-04-30 05:55:00', '2013-04-30 09:55:00+00', -5, 1065, 99.90, false),
    (5708, NULL, 'N829AS', 'LGA', 4, '2013-04-30', '2013-04-30 23:59:59.999999', '2013-05-01 03:59:59.999999+00', -3, 229, 75.00, false);

-- The same name in another schema, and a schema that is named like its table.
CREATE TABLE planes (tailnum VARCHAR, seats INTEGER);
INSERT INTO planes VALUES ('N14228', 149), ('N24211', 149), ('N619AA', 178);
CREATE SCHEMA archive;
CREATE TABLE archive.planes (tailnum VARCHAR, seats INTEGER);
INSERT INTO archive.planes VALUES ('N14228', 7);
CREATE SCHEMA twin;
CREATE TABLE twin.twin (a INTEGER);
INSERT INTO twin.twin VALUES (444);

-- One column of every scalar type: smallest, largest, something in between, and NULL.
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE TABLE scalars (
    bo BOOLEAN, ti TINYINT, si SMALLINT, i INTEGER, bi BIGINT, hi HUGEINT, uti UTINYINT,
    usi USMALLINT, ui UINTEGER, ubi UBIGINT, uhi UHUGEINT, de DECIMAL(4,1), wide DECIMAL(38,10),
    fl FLOAT, dbl DOUBLE, tx VARCHAR, en mood, da DATE, tm TIME, tns TIME_NS, ttz TIMETZ,
    ts TIMESTAMP, tss TIMESTAMP_S, tms TIMESTAMP_MS, tsn TIMESTAMP_NS, tz TIMESTAMPTZ,
    iv INTERVAL, u UUID
);
INSERT INTO scalars VALUES
    (false, -128, -32768, -2147483648, -9223372036854775808, -170141183460469231731687303715884105728, 0,
     0, 0, 0, 0, -999.9, -9999999999999999999999999999.9999999999,
     -3.4028235e38, -1.7976931348623157e308, '', 'sad', '0001-01-01', '00:00:00', '00:00:00', '00:00:00+15:59:59',
     '0001-01-01 00:00:00', '0001-01-01 00:00:00', '0001-01-01 00:00:00', '1677-09-22 00:00:00', '0001-01-01 00:00:00+00',
     '-1 month', '00000000-0000-0000-0000-000000000000'),
    (true, 127, 32767, 2147483647, 9223372036854775807, 170141183460469231731687303715884105727, 255,
     65535, 4294967295, 18446744073709551615, 340282366920938463463374607431768211455, 999.9, 9999999999999999999999999999.9999999999,
     3.4028235e38, 1.7976931348623157e308, 'ÿ😀', 'happy', '9999-12-31', '23:59:59.999999', '23:59:59.999999999', '23:59:59.999999-15:59:59',
     '9999-12-31 23:59:59.999999', '9999-12-31 23:59:59', '9999-12-31 23:59:59.999', '2262-04-11 23:47:16.854775806', '9999-12-31 23:59:59.999999+00',
     '1 year 2 days 00:00:01.5', 'ffffffff-ffff-ffff-ffff-ffffffffffff'),
    (true, 1, 2, 3, 9007199254740993, 5, 6,
     7, 8, 9, 10, 1.5, 0.1,
     0.1, 0.1, 'two  spaces', 'ok', '2024-02-29', '12:30:00.5', '12:30:00.123456789', '12:30:00+02',
     '2024-02-29 12:30:00.5', '2024-02-29 12:30:00', '2024-02-29 12:30:00.125', '2024-02-29 12:30:00.123456789', '2024-02-29 12:30:00.5+00',
     '36 hours', '550e8400-e29b-41d4-a716-446655440000'),
    (NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
     NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);

-- Types whose values are not stated, beside one whose values are.
CREATE TABLE unstatable (
    id INTEGER, bl BLOB, bits BIT, js JSON, li INTEGER[], arr INTEGER[2], st STRUCT(x INTEGER),
    ma MAP(VARCHAR, INTEGER), un UNION(n INTEGER, t VARCHAR)
);
INSERT INTO unstatable VALUES
    (1, 'a'::BLOB, '101', '{"x": 1}', [1, 2], [1, 2], {'x': 1}, MAP {'k': 1}, 1);

-- Floats: `clean` is finite, `nan` is not, `ends` holds infinities and both zeros, `sums` cancels out.
CREATE TABLE floats (id INTEGER, clean DOUBLE, nan DOUBLE, ends DOUBLE, sums DOUBLE, small FLOAT);
INSERT INTO floats VALUES
    (1, 0.5, 'NaN', 'Infinity', 1e16, 0.1),
    (2, 1.5, 1, '-Infinity', 1, 0.5),
    (3, 2.5, NULL, 0.0, -1e16, 1.5),
    (4, NULL, 2, '-0.0', 1, NULL);

-- Dates and times without end.
CREATE TABLE endless (id INTEGER, da DATE, ts TIMESTAMP, tz TIMESTAMPTZ);
INSERT INTO endless VALUES
    (1, 'infinity', '-infinity', 'infinity'),
    (2, '2024-01-01', '2024-01-01 00:00:00', '2024-01-01 00:00:00+00');

-- Texts that are not what they look like; letters that differ by case alone.
CREATE TABLE texts (id INTEGER, tx VARCHAR, folded VARCHAR COLLATE NOCASE);
INSERT INTO texts VALUES
    (1, 'nan', 'a'), (2, 'it''s', 'A'), (3, chr(8238) || 'abc', 'b'), (4, 'a' || chr(8203) || 'b', 'B'),
    (5, repeat('x', 513), 'a'), (6, 'İ', 'c'), (7, '100%', 'C'), (8, repeat(chr(8203), 400), NULL);

-- Columns that look alike and are not.
CREATE TABLE look_alikes (
    "k" INTEGER, "\u{212A}" INTEGER, "\u{E9}" INTEGER, "\u{C9}" INTEGER, "e\u{301}" INTEGER,
    "k\u{200B}" INTEGER, "\u{43A}" INTEGER
);
INSERT INTO look_alikes VALUES (1, 2, 3, 4, 5, 6, 7);

-- Columns named like things that are no columns.
CREATE TABLE keywords (
    "user" VARCHAR, "current_date" VARCHAR, "true" VARCHAR, "*" INTEGER, "count" INTEGER,
    "select" INTEGER, "main" INTEGER, "two words" INTEGER, "quo""te" INTEGER
);
INSERT INTO keywords VALUES ('u', 'd', 't', NULL, 2, 3, 4, 5, 6);

-- Structures whose fields are named like columns, in a table named like one of its columns.
CREATE TABLE nest (nest STRUCT(a INTEGER, nest INTEGER), a INTEGER);
INSERT INTO nest VALUES ({'a': 1, 'nest': 2}, 3);
CREATE TABLE boxes (s STRUCT(f INTEGER), f INTEGER);
INSERT INTO boxes VALUES ({'f': 1}, 3);

-- Nothing at all.
CREATE TABLE empty (id INTEGER, tx VARCHAR);

-- More rows than are kept, and more text.
CREATE TABLE many AS SELECT i::INTEGER AS id, i % 7 AS seventh FROM range(60) AS r(i);
CREATE TABLE wide AS SELECT i::INTEGER AS id, repeat('x', 2000) AS tx FROM range(60) AS r(i);
