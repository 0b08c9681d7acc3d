-- text-limits
-- Quotes, comments and brackets within the limits are read.
SELECT `carrier`, "origin" FROM "flights" /* ) ' */ WHERE carrier <> 'it''s ((' -- )
;
--> carrier  column main.flights.carrier
--> origin  column main.flights.origin

SELECT carrier FROM flights WHERE carrier = 'UA';
--> carrier  column main.flights.carrier

SELECT distance FROM flights WHERE (month = 1);
--> distance  column main.flights.distance

SELECT COUNT(*) FROM flights WHERE month IN (1, 2);
--> #1  COUNT(*) main.flights  where flights.month IN (1, 2)

-- One edit away: a bracket too many is refused before any parser sees it.
SELECT carrier FROM flights WHERE (month = 1));
--> withheld brackets-unbalanced
--> engine refused brackets-unbalanced

-- One edit away: brackets that close in another order.
SELECT carrier FROM flights WHERE month IN ([1)];
--> withheld brackets-unbalanced
--> engine refused brackets-unbalanced

-- One edit away: 51 brackets inside each other.
SELECT carrier FROM flights WHERE (((((((((((((((((((((((((((((((((((((((((((((((((((month = 1)))))))))))))))))))))))))))))))))))))))))))))))))));
--> withheld brackets-too-deep
--> engine refused brackets-too-deep

-- One edit away: a text in dollar quotes.
SELECT carrier FROM flights WHERE carrier = $$UA$$;
--> withheld quoting-unreadable

-- One edit away: dollar quotes with a tag.
SELECT carrier FROM flights WHERE carrier = $tag$UA$tag$;
--> withheld quoting-unreadable

-- One edit away: a text with a prefix.
SELECT carrier FROM flights WHERE carrier = E'\x55A';
--> withheld quoting-unreadable

-- One edit away: a quote that never closes.
SELECT carrier FROM flights WHERE carrier = 'UA;
--> withheld quoting-unreadable
--> engine refused not-sql

-- One edit away: a comment that never closes.
SELECT carrier FROM flights /* to be done;
--> withheld quoting-unreadable
--> engine refused not-sql

-- One edit away: a template's marks, which one tokenizer takes for a comment.
SELECT carrier FROM flights {# WHERE month = 1 #};
--> withheld quoting-unreadable
--> engine refused not-sql

-- One edit away: a zero-width space is a space to one tokenizer and a letter to the other.
SELECT carrier\u{200B} FROM flights;
--> withheld character-unreadable

-- One edit away: a line separator, the other way round.
SELECT carrier\u{2028}FROM flights;
--> withheld character-unreadable
--> engine failed

-- One edit away: a space that is no plain one.
SELECT carrier\u{A0}FROM flights;
--> withheld character-unreadable

-- One edit away: a NUL.
SELECT carrier FROM flights WHERE carrier = '\u{0}';
--> withheld not-text
--> engine refused not-text

-- One edit away: half of a character.
SELECT carrier FROM flights WHERE carrier = '\u{D800}';
--> withheld not-text
--> engine refused not-text

-- One edit away: a plus before a value vanishes from one of the trees.
SELECT +distance FROM flights;
--> withheld token-unreadable

-- One edit away: IN a list value has the same tree as IN a list of values.
SELECT COUNT(*) FROM flights WHERE month IN [1, 2];
--> withheld token-unreadable
