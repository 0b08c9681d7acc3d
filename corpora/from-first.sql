-- from-first
-- FROM may stand first, or alone: the statement is the same to both readings.
FROM twin.twin SELECT a;
--> a  column twin.twin.a

FROM boxes;
--> s  withheld type-not-statable
--> f  column main.boxes.f

TABLE boxes;
--> s  withheld type-not-statable
--> f  column main.boxes.f

-- One edit away: a parenthesised statement is withheld whole.
(FROM twin.twin SELECT a);
--> withheld statement-parenthesised

-- One edit away: every clause that chooses columns is judged as ever.
FROM twin.twin SELECT -a AS a;
--> a  withheld arithmetic
