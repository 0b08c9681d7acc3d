-- identifiers
-- Names are compared by ASCII case alone, for quoted names too, and printed as in the table.
SELECT CARRIER, "Distance", `ORIGIN` FROM Flights;
--> CARRIER  column main.flights.carrier
--> Distance  column main.flights.distance
--> ORIGIN  column main.flights.origin

-- The Kelvin sign is no K, an accent is not a letter with an accent, and upper case keeps its accent.
SELECT "k", "\u{212A}", "\u{E9}", "\u{C9}", "e\u{301}" FROM look_alikes;
--> k  column main.look_alikes.k
--> "K"  column main.look_alikes."K"
--> "é"  column main.look_alikes."é"
--> "É"  column main.look_alikes."É"
--> "é"  column main.look_alikes."é"

-- One edit away: this column does not exist, though it would in a folding of all of Unicode.
SELECT "\u{C9}\u{301}" FROM look_alikes;
--> "É́"  withheld column-unknown
--> engine failed

-- One edit away: a Cyrillic letter that looks like a Latin one is a column of its own, not this one.
SELECT "\u{430}" FROM look_alikes;
--> "а"  withheld column-unknown
--> engine failed

-- Letters of other scripts need no quotes.
SELECT \u{43A}, \u{E9} FROM look_alikes;
--> "к"  column main.look_alikes."к"
--> "é"  column main.look_alikes."é"

-- A column may be named like a word, like a star, with a space, or with a quote in it.
SELECT "user", "current_date", "true", "*", "count", "select", "two words", "quo""te" FROM keywords;
--> user  column main.keywords.user
--> current_date  column main.keywords.current_date
--> true  column main.keywords.true
--> "*"  column main.keywords."*"
--> count  column main.keywords.count
--> select  column main.keywords.select
--> "two words"  column main.keywords."two words"
--> "quo""te"  column main.keywords."quo""te"

SELECT "user", "current_date", "true" FROM keywords;
--> user  column main.keywords.user
--> current_date  column main.keywords.current_date
--> true  column main.keywords.true

-- One edit away: without quotes they are constants of the session, of the language, or nothing.
SELECT user, current_date, true FROM keywords;
--> user  column main.keywords.user
--> #2  withheld function
--> #3  withheld constant

-- One edit away: what is no column of the table, though the engine has a value for it.
SELECT rowid FROM keywords;
--> rowid  withheld column-unknown

-- One edit away: the same in quotes.
SELECT "rowid" FROM keywords;
--> rowid  withheld column-unknown

-- One edit away: a name without quotes that is a call to the engine.
SELECT current_timestamp, localtime FROM keywords;
--> #1  withheld function
--> #2  withheld function

-- A count of a column that is named like a star is no COUNT(*).
SELECT COUNT("*"), COUNT(*) FROM keywords;
--> #1  COUNT("*") main.keywords
--> #2  COUNT(*) main.keywords
