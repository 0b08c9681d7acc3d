"""Statements around and across the border of what may be stated.

One grammar serves three drivers: a seeded random number generator (fast, reproducible), Hypothesis
(shrinks), and the bytes of a coverage-guided fuzzer. All it asks of a driver is `below(n)`, an
integer from 0 to n - 1; zero is always the plainest choice.

Invariants
  G1  The same answers of the driver give the same statement.
  G2  About one statement in ten may be stated in part; the rest is one step beside.
"""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

from tools.soundness.tables import FLOATS, INTEGERS, Column, Data

Below = Callable[[int], int]
CORPORA = Path(__file__).resolve().parents[3] / "shared" / "corpora" / "statements.jsonl"

CALLS = ("SUM", "AVG", "MIN", "MAX", "COUNT")

# Outputs that are no direct column and no plain calculation; {c} and {d} are columns of the table.
BESIDE = (
    "{c} || {d}",
    *(
        "1|'x'|NULL|TRUE|1.5|rowid|user|current_date|current_user|{t}|{t}.*|*|+{c}|-{c}|{c} + 1|"
        "CAST({c} AS VARCHAR)|CAST({c} AS INTEGER)|{c}::BIGINT|TRY_CAST({c} AS INTEGER)|{c} COLLATE nocase|"
        "#1|COLUMNS('{n}')|COLUMNS(*)|COLUMNS({c})|?|$1|{c}.{d}|{t}.{t}.{c}|{c}[1]|{c}.a|{c} -> 'a'|[{c}]|"
        "{{'a': {c}}}|({c}, {d})|CASE WHEN TRUE THEN {c} END|COALESCE({c}, {d})|{c} IS NULL|NOT {c}|"
        "{c} = {d}|lower({c})|upper({c})|abs({c})|mean({c})|count()|count(1)|count_star()|"
        "system.main.sum({c})|main.sum({c})|sum(DISTINCT {c})|COUNT(DISTINCT {c})|sum(ALL {c})|"
        "sum({c}) FILTER (WHERE {d} IS NULL)|sum({c}) FILTER (WHERE TRUE)|max({c} ORDER BY {d})|"
        "sum({c}) OVER ()|max({c}) OVER (ORDER BY {d})|sum({c}, {d})|min({c}, 2)|max({c}, 2)|count({c}, {d})|"
        "sum(+{c})|sum(({c}))|sum({c} + 0)|sum(-{c})|sum(x := {c})|max(arg := {c})|any_value({c})|first({c})|"
        "arg_max({c}, {d})|list({c})|string_agg({c}, ',')|median({c})|mode({c})|fsum({c})|sum_no_overflow({c})|"
        "kahan_sum({c})|sumkahan({c})|favg({c})|count_if({c})|bool_and({c})|sum({c})::BIGINT|sum({c}) + 0|"
        "-sum({c})|(sum({c}))|+sum({c})|max(CAST({c} AS VARCHAR))|min({c} COLLATE nocase)|grouping({c})|"
        "COUNT({t})|COUNT({t}.*)|COUNT(*) + 0|COUNT(*) FILTER (WHERE {c} IS NULL)|COUNT(rowid)|MAX(rowid)|"
        "(SELECT {c})|(SELECT max({c}) FROM {t})|EXISTS (SELECT 1)|{c} IN (SELECT {d} FROM {t})|unnest([1, 2])|"
        "ARRAY(SELECT 1)|DATE '2020-01-01'|now()|random()|{c} AT TIME ZONE 'UTC'|extract(year FROM {c})|"
        "row_number() OVER ()|struct_pack(a := {c})|{c}::{c}|list_transform([{c}], lambda q: q)|max({c}).a|"
        "* EXCLUDE ({c})|* REPLACE (1 AS {c})|* RENAME ({c} AS zz)|* LIKE '%'|{t}.* EXCLUDE ({c})|*, {c}|"
        "{c} GLOB 'a*'|{c} BETWEEN 1 AND 2|{c} IS DISTINCT FROM {d}|{c} LIKE 'a%'|+ + {c}|- - {c}|~{c}|{c}!|@{c}|"
        "sum(DISTINCT +{c})|avg(ALL {c})|min(ALL +{c})|COUNT(ALL {c})|COUNT( * )|COUNT(/**/*)|sum({c} IGNORE NULLS)|"
        "first_value({c}) OVER ()|{c} OVER ()|max({c}) WITHIN GROUP (ORDER BY {d})|{t}.rowid|variant {c}"
    ).split("|"),
)

# Sources that are no plain table; {t} is one, {c} and {d} are columns of it, {u} another table.
SOURCES_BESIDE = (
    "{t} AS s({c}, {d})|{t} s({d}, {c})|{t} AS s({d})|{t} FORCE ({d})|{t} SELECT ({d})|{t} TABLESAMPLE 50%|"
    "{t} USING SAMPLE 3|{t} TABLESAMPLE reservoir(3 ROWS)|{t}, {u}|{t} JOIN {u} ON TRUE|{t} CROSS JOIN {u}|"
    "{t} NATURAL JOIN {u}|{t} JOIN {t} AS q USING ({c})|{t} LEFT JOIN {u} ON 1 = 0|{t} POSITIONAL JOIN {u}|"
    "{t} SEMI JOIN {u} ON TRUE|{t} ASOF JOIN {u} ON {c} >= {d}|(SELECT * FROM {t})|(SELECT {d} AS {c} FROM {t}) s|"
    "({t})|(FROM {t})|(VALUES (1, 2)) s({c}, {d})|VALUES (1)|range(3) s({c})|unnest([1]) s({c})|generate_series(1, 2)|"
    "{t} AT (VERSION => 1)|{t} AT (TIMESTAMP => now())|LATERAL (SELECT 1 AS {c})|query('SELECT 1')|"
    "query_table('{n}')|'{n}'|read_csv('x.csv')|duckdb_tables()|information_schema.tables|sqlite_master|"
    "{t} PIVOT (sum({c}) FOR {d} IN (1))|{t} UNPIVOT ({c} FOR q IN ({d}))|ONLY {t}|{t} *|{t} WITH ORDINALITY|"
    "temp.{t}|memory.{t}|system.{t}|main.main.{t}|snapshot.snapshot.{t}|{t} AS 's'|s : {t}|{t} PARTITION (x)|"
    "{t} FOR SYSTEM_TIME AS OF 1|pg_catalog.pg_class|{t} INDEXED BY x|{t} AS s TABLESAMPLE 1|TABLE {t}|{t} {u} {t}|"
    "{t} AS {u}({c})|{t} MATCH_RECOGNIZE (x)|{t} INNER JOIN {u} USING ({c})|{t} AS s, LATERAL (SELECT s.{c})|"
    "{t} ANTI JOIN {u} ON FALSE|{t} FULL JOIN {u} ON TRUE|test_all_types()|repeat_row(1, num_rows=3) s({c})|{t} AS s()"
).split("|")

# Conditions that are not stated; {l} is a literal for {c}.
CONDITIONS_BESIDE = (
    "{c} = +{l}|+{c} = {l}|({c}) = {l}|{c} = ({l})|{c} = NULL|{l} = {l}|{c} IS TRUE|{c} IS NOT FALSE|"
    "{c} IS DISTINCT FROM {l}|{c} IS NOT DISTINCT FROM {l}|{c} <=> {l}|{c} GLOB 'a*'|{c} LIKE 'a!%' ESCAPE '!'|"
    "{c} SIMILAR TO 'a.*'|{c} ~ 'a'|{c} ^@ 'a'|{c} = ANY([{l}])|{c} = ANY(SELECT {d} FROM {t})|{c} IN (SELECT {d} FROM {t})|"
    "{c} IN [{l}]|{c} IN [{l}, {l}]|{c} NOT IN [{l}]|{c} IN ({l}, NULL)|{c} IN ()|{c} IN ({d})|{c} IN {l}|"
    "lower({c}) = {l}|{c} + 0 = {l}|CAST({c} AS VARCHAR) = '1'|{c}::DOUBLE = {l}|TRY_CAST({c} AS INTEGER) = 1|"
    "{c} = CAST({l} AS INTEGER)|{c} = {l}::VARCHAR|{c} = TRY_CAST('1' AS INTEGER)|{c} = 1e0|{c} = 1_000|{c} = 0x10|"
    "{c} = .5|{c} = 5.|{c} = 01|{c} = '1.4'|{c} = '1.27'|{c} = '1.26'|{c} > '0.96'|{c} <> '1.4'|{c} = ' 1'|{c} = '1 '|{c} = '+1'|"
    "{c} = '1e0'|{c} = '0x1'|{c} = '1_0'|{c} = '-0'|{c} = -0.0|{c} = 1.00|{c} = 1.25|{c} > 2.5|{c} BETWEEN SYMMETRIC 1 AND 2|"
    "{c} = E'a'|{c} = X'61'|{c} = U&'a'|{c} = $$a$$|{c} = 'a' 'b'|{c} = 'a' COLLATE nocase|{c} COLLATE nocase = 'A'|"
    "{c} = DATE '2020-01-01 23:59:59'|{c} >= DATE '2020-01-01'|{c} = TIMESTAMP '2020-01-01 00:00:00+02'|"
    "{c} = '2020-01-01T00:00:00'|{c} = '2020-1-1'|{c} = '2020-01-01 00:00:00.0000001'|{c} = 'infinity'|{c} = 'today'|"
    "{c} = 'now'|{c} = 'epoch'|{c} = current_date|{c} = INTERVAL '1 month'|{c} = INTERVAL 30 DAY|{c} = 'nan'|{c} = 'inf'|"
    "EXISTS (SELECT 1)|{c} = (SELECT 1)|{c} = ?|{c} = $x|#1 = 1|rowid = 0|{t} IS NULL|COLUMNS(*) > 0|TRUE|FALSE|1|NULL|"
    "{c} = {d} = {c}|{c} < {d} < 3|{c} == {l} IS NULL|NOT {c} = {l}|NOT {c} IS NULL|{c} ISNULL|{c} NOTNULL|{c} IS UNKNOWN|"
    "{c} !~~ 'a%'|{c} ~~ 'A%'|{c} ~~* 'A%'|{c} != ALL([{l}])|{c} NOT BETWEEN {l} AND {l} AND {d} IS NULL|{c} IN ({l}) IS TRUE|"
    "CASE WHEN {c} = {l} THEN TRUE END|COALESCE({c}, {l}) = {l}|{c} = {l} AND random() < 2|({c}, {d}) = ({l}, {l})|"
    "sum({c}) > 1|{c} = '\u0661'|{c} = 'a\u200b'|{c} = 'a  b'|{c} = DATE('2020-01-01')|{c} = '24:00:00'|{c} = 9999999999999999999999|"
    "{c} = 1.7976931348623157|{c} = 0.1000000000000000055|{c} = 16777217|{c} = 9007199254740993|{c} = -{l}|{c} = - {l}|{c} = '12:00'|"
    "{c} > -1|{c} >= -0|{c} = UUID '00000000-0000-4000-8000-000000000001'|{c} = TRUE|{c} <> FALSE|{c} > FALSE|{c} = 't'|{c} = 1"
).split("|")

_ONLY_TEXTS = (
    "a",
    "A",
    "",
    "\u0130",
    "i",
    "1",
    "a%",
    "%",
    "_",
    "it''s",
    "\\",
    "\u00e4",
    "%a_",
    "nan",
    "x",
)
_LIKES = (
    "a%",
    "%",
    "_",
    "%a",
    "A_",
    "",
    "a\\%",
    "\u0130",
    "i%",
    "%\u00df%",
    "a%b",
    "__",
    "%1%",
    "x",
)
_EDGES = {
    "INTEGER": (
        "1",
        "2",
        "0",
        "-1",
        "2147483647",
        "'1'",
        "'1.4'",
        "'0.6'",
        "'-0.4'",
        "1.0",
        "1.5",
        "2147483648",
    ),
    "BIGINT": (
        "1",
        "9223372036854775807",
        "-9223372036854775808",
        "'1'",
        "'0.6'",
        "9223372036854775808",
    ),
    "DECIMAL": (
        "1.3",
        "1.2",
        "1",
        "'1.3'",
        "1.30",
        "'1.26'",
        "1.25",
        "'1.27'",
        "0",
        "-0.1",
        "999.9",
        "1000",
    ),
    "FLOAT": ("1.5", "0", "0.1", "-0.0", "16777216", "1.23456", "1.2345678", "'1.5'"),
    "DOUBLE": ("1.0", "0", "0.1", "2.5", "-0.0", "10000000000000000", "0.3", "'1'", "1e0"),
    "DATE": (
        "'2020-01-01'",
        "DATE '2020-01-01'",
        "CAST('2020-01-02' AS DATE)",
        "'2020-01-01'::DATE",
    ),
    "TIME": ("'12:00:00'", "TIME '12:00:00'", "'12:00:00.5'", "'23:59:59.999999'", "'00:00:00'"),
    "TIMESTAMP": (
        "'2020-01-01 00:00:00'",
        "'2020-01-01'",
        "TIMESTAMP '2020-01-01 23:59:59'",
        "DATE '2020-01-01'",
        "'2020-01-01 00:00:00.000001'",
        "'2020-01-01 00:00:00.000000001'",
        "'2020-01-01 00:00:00.001'",
        "TIMESTAMP_NS '2020-01-01 00:00:00.000000001'",
        "'2020-01-01 00:00:00+00'",
        "'2020-01-01 02:00:00+02:00'",
        "TIMESTAMPTZ '2020-01-01 00:00:00+00'",
    ),
    "BOOLEAN": ("TRUE", "FALSE", "true", "'true'", "1", "NOT TRUE"),
}

# Words that a token is exchanged for, or put beside.
_TRAPS = (
    "+ - ( ) , . ; * AS DISTINCT ALL NOT NULL IS IN OR AND = <> == != < > BETWEEN LIKE FROM WHERE GROUP BY "
    "HAVING ORDER LIMIT OFFSET ROLLUP CUBE UNION WITH SELECT FILTER OVER JOIN USING SAMPLE ESCAPE COLLATE "
    "CAST :: || 1 0 'a' 1.4 TRUE -- /**/ [ ] { } ? $1 #1 : => -> ! ~ @ % ^ & | QUALIFY WINDOW FETCH ONLY "
    "TABLESAMPLE EXCLUDE REPLACE COLUMNS INTERVAL DATE SUM COUNT ( +1 NULLS FIRST DESC a b c t s"
).split()
_SPACES = (
    " ",
    "\n",
    "\t",
    "\r\n",
    "/**/",
    " /* + */ ",
    " -- x\n",
    "",
    "\u00a0",
    "\u3000",
    "\x0b",
    "/* /* */ */",
    "\f",
)
_ODD = (
    "\u200b", "\ufeff", "\u00a0", "\u2028", "\u0085", "\u1680", "\u180e", "\u00ad", "\u200d", "\x00", "\x1c", "\u212a",
    "\u0301", "\u202e", "`", '"', "'", "\\", "$$", ";", "--", "/*", "*/", "{#", "#}", "\u037e", "\uff0c", "\u2212", "\u2019",
    "\u01c3", "E'", "U&'", "\ufe0f", "\U000e0041", "\ud800",
)  # fmt: skip
_LOOKS_LIKE = str.maketrans(
    {
        "k": "\u212a",
        "a": "\u0430",
        "i": "\u0131",
        "e": "\u0435",
        "s": "\u017f",
        "c": "\u0441",
        "\u00e9": "\u00c9",
    }
)
_CONDITION_WORDS = ("=", "<>", "<", "<=", ">", ">=", "!=", "==")


class Writer:
    """Writes statements over one data set."""

    def __init__(
        self, tables: Sequence[Data], below: Below, words: Sequence[str] = (), *, calm: bool = False
    ) -> None:
        """Take a data set, a driver, and words to stitch from (see `corpus_words`).

        Where `calm`, fewer statements are mutated, and more may be stated.
        """
        self._calm = calm
        self._tables, self._below, self._words = tables, below, words
        self._table = tables[0]
        self._qualifier = ""

    # --- choices ---

    def _one(self, options: Sequence[str]) -> str:
        return options[self._below(len(options))]

    def _in(self, chances: int) -> bool:
        """True once in so many."""
        return self._below(chances) == chances - 1

    def statement(self) -> str:
        """Write one statement, as text."""
        tokens = self.tokens()
        if self._below(5) >= (3 if self._calm else 1):
            tokens = self._mutated(tokens)
        text = self.joined(tokens)
        if self._in(8):
            at = self._below(len(text) + 1)
            text = text[:at] + self._one(_ODD) + text[at:]
        elif self._in(12):
            at = self._below(len(text) + 1)
            text = text[:at] + text[at + 1 :]
        return text

    def joined(self, tokens: Sequence[str]) -> str:
        """Put tokens together, mostly with single spaces."""
        if not self._in(6):
            return " ".join(tokens)
        return "".join(token + (self._one(_SPACES) if self._in(4) else " ") for token in tokens)

    def _mutated(self, tokens: list[str]) -> list[str]:
        tokens = list(tokens)
        for _ in range(1 + self._below(2)):
            at = self._below(len(tokens)) if tokens else 0
            match self._below(6):
                case 0:
                    tokens.insert(at, self._one(_TRAPS))
                case 1:
                    tokens[at : at + 1] = [self._one(_TRAPS)]
                case 2:
                    del tokens[at : at + 1]
                case 3:
                    tokens[at:at] = tokens[at : at + 1 + self._below(4)]
                case 4 if self._words:
                    start = self._below(len(self._words))
                    tokens[at : at + self._below(3)] = self._words[
                        start : start + 1 + self._below(4)
                    ]
                case _:
                    other = self._below(len(tokens)) if tokens else 0
                    tokens[at : at + 1], tokens[other : other + 1] = (
                        tokens[other : other + 1],
                        tokens[at : at + 1],
                    )
        return tokens

    # --- the statement ---

    def tokens(self) -> list[str]:
        """Write one statement as tokens; some of them are several to a tokenizer."""
        self._table = self._tables[self._below(len(self._tables))]
        source = self._source()
        aggregated = self._in(2)
        keys = [self.column() for _ in range(self._below(3))] if aggregated else []
        outputs = self._outputs(aggregated, keys)
        listed = [token for output in outputs for token in (*output, ",")][:-1]
        head = ["SELECT", *(("DISTINCT",) if self._in(14) else ())]
        if self._in(60):
            head.append(self._one(("ALL", "DISTINCT ON (1)", "TOP 3", "AS STRUCT", "DISTINCT ALL")))
        clauses = [*self._where(), *self._group(keys, outputs), *self._tail()]
        match self._below(24):
            case 23:
                return ["FROM", source, *clauses, *head, *listed][: None if self._in(2) else 2]
            case 22:
                return ["FROM", source, *head, *listed, *clauses]
            case 21:
                tokens = [*head, *listed, "FROM", source, *clauses]
                return self._wrapped(tokens)
            case _:
                return [*head, *listed, "FROM", source, *clauses]

    def _wrapped(self, tokens: list[str]) -> list[str]:
        match self._below(7):
            case 0:
                return [*tokens, ";"]
            case 1:
                return ["WITH", "q", "AS", "(", "SELECT 1", ")", *tokens]
            case 2:
                return [*tokens, self._one(("UNION", "UNION ALL", "EXCEPT", "INTERSECT")), *tokens]
            case 3:
                return ["(", *tokens, ")"]
            case 4:
                return ["SELECT", "*", "FROM", "(", *tokens, ")"]
            case 5:
                return [
                    self._one(("EXPLAIN", "DESCRIBE", "SUMMARIZE", "PREPARE p AS", "CALL")),
                    *tokens,
                ]
            case _:
                return [*tokens, ";", *tokens]

    def _source(self) -> str:
        table = self._table
        schema, name = (self._spelled(part) for part in table.path)
        written = [name, f"{schema}.{name}", f"snapshot.{schema}.{name}", f"snapshot.{name}"]
        plain = 0 if table.path[0] == "main" else 1
        source = written[plain if not self._in(5) else self._below(4)]
        self._qualifier = name
        if self._in(20):
            self._table = self._tables[self._below(len(self._tables))]  # other columns than its own
        if self._in(6):
            return self._filled(self._one(SOURCES_BESIDE))
        if self._in(4):
            alias = self._one(
                ("s", "x", '"S"', self._name(), "t", "a", "main", self._spelled(table.path[0]))
            )
            self._qualifier = alias
            return f"{source} {'' if self._in(3) else 'AS '}{alias}"
        return source

    def _filled(self, form: str) -> str:
        c, d = self._name(), self._name()
        other = self._tables[self._below(len(self._tables))]
        return form.format(
            c=c,
            d=d,
            n=self._any_column().name.replace("'", "''"),
            t=self._qualifier or self._spelled(self._table.path[1]),
            u=self._spelled(other.path[1]),
            l=self.literal(self._any_column()) if "{l}" in form else "",
        )

    # --- names ---

    def _any_column(self) -> Column:
        return self._table.columns[self._below(len(self._table.columns))]

    def _spelled(self, name: str) -> str:
        bare = name.isascii() and name.isidentifier()
        if not self._in(8):
            return name if bare else '"' + name.replace('"', '""') + '"'
        match self._below(6):
            case 0:
                name = name.upper() if name.isascii() else name
            case 1:
                name = name.translate(_LOOKS_LIKE)
            case 2:
                name = name.swapcase()
            case 3:
                return "`" + name.replace("`", "``") + "`"
            case 4:
                return name if name else '""'
            case _:
                pass
        return '"' + name.replace('"', '""') + '"'

    def _name(self) -> str:
        return self._spelled(self._any_column().name)

    def column(self) -> str:
        """Write a column of the table, as one would in an expression."""
        name = self._name()
        if not self._in(7):
            return name
        qualifier = self._qualifier if not self._in(4) else self._spelled(self._table.path[1])
        return f"{qualifier}.{name}"

    def _fit(self, *bases: str) -> Column:
        """Give a column, mostly one of a type that the call takes."""
        fitting = [c for c in self._table.columns if not bases or c.base.split("(")[0] in bases]
        return (
            fitting[self._below(len(fitting))]
            if fitting and not self._in(10)
            else self._any_column()
        )

    # --- outputs ---

    def _outputs(self, aggregated: bool, keys: list[str]) -> list[list[str]]:
        if not aggregated:
            if self._in(12):
                return [["*"]]
            made = [[self._bracketed(self.column())] for _ in range(1 + self._below(4))]
        else:
            made = [[self._bracketed(key)] for key in keys if not self._in(12)]
            made += [[self._call()] for _ in range(1 + self._below(3))]
        if self._in(3):
            at = self._below(len(made) + 1)
            made[at : at + self._below(2)] = [[self._filled(self._one(BESIDE))]]
        return [self._named(output) for output in made] or [["1"]]

    def _bracketed(self, column: str) -> str:
        """Write a column of the select list, where brackets change nothing."""
        return f"({column})" if self._in(25) else column

    def _call(self) -> str:
        call = CALLS[self._below(len(CALLS))]
        if call == "COUNT" and self._in(2):
            return "COUNT ( * )" if self._in(6) else "COUNT(*)"
        numbers = (*INTEGERS, "DECIMAL", *FLOATS)
        column = self._fit(*numbers) if call in ("SUM", "AVG") else self._any_column()
        name = self._spelled(column.name)
        if self._in(8):
            name = f"{self._qualifier}.{name}"
        if self._in(10):
            call = self._one((call.lower(), call.title(), f'"{call.lower()}"', f"{call} "))
        return f"{call}({name})"

    def _named(self, output: list[str]) -> list[str]:
        if not self._in(4):
            return output
        match self._below(6):
            case 0 | 1:
                return [*output, "AS", self._name()]  # alias games
            case 2:
                return [
                    *output,
                    "AS",
                    self._one(('"profit of the year"', "zz", "'quoted'", "sum", '""', "z.z")),
                ]
            case 3:
                return [*output, self._one(("zz", self._name()))]
            case 4:
                return [self._one(("zz", self._name())), ":", *output]
            case _:
                return [*output, "AS", self._one(("a", "b", "c", "s"))]

    # --- clauses ---

    def _where(self) -> list[str]:
        return ["WHERE", self.condition(self._below(3))] if self._in(3) else []

    def condition(self, depth: int) -> str:
        """Write a condition with so many levels of AND, OR and NOT."""
        if depth and not self._in(3):
            one, other = self.condition(depth - 1), self.condition(depth - 1)
            match self._below(5):
                case 0:
                    return f"{one} AND {other}"
                case 1:
                    return f"({one}) OR ({other})"
                case 2:
                    return f"NOT ({one})"
                case 3:
                    return f"{one} OR {other}"
                case _:
                    return f"NOT {one} AND ({other})"
        if self._in(4):
            return self._filled(self._one(CONDITIONS_BESIDE))
        return self._stated()

    def _stated(self) -> str:
        column = self._any_column()
        name = (
            self._spelled(column.name)
            if not self._in(8)
            else f"{self._qualifier}.{self._spelled(column.name)}"
        )
        match self._below(10):
            case 0 | 1 | 2:
                return f"{name} {self._one(_CONDITION_WORDS)} {self.literal(column)}"
            case 3:
                return f"{self.literal(column)} {self._one(_CONDITION_WORDS)} {name}"
            case 4:
                word = "NOT BETWEEN" if self._in(3) else "BETWEEN"
                return f"{name} {word} {self.literal(column)} AND {self.literal(column)}"
            case 5:
                listed = ", ".join(self.literal(column) for _ in range(1 + self._below(4)))
                return f"{name} {'NOT IN' if self._in(3) else 'IN'} ({listed})"
            case 6:
                return f"{name} {'IS NOT NULL' if self._in(2) else 'IS NULL'}"
            case 7:
                text = self._spelled(self._fit("VARCHAR").name)
                return f"{text} {self._one(('LIKE', 'ILIKE', 'NOT LIKE', 'NOT ILIKE'))} '{self._one(_LIKES)}'"
            case 8:
                return self._spelled(self._fit("BOOLEAN").name)
            case _:
                same = [c for c in self._table.columns if c.kind == column.kind]
                other = same[self._below(len(same))] if not self._in(6) else self._any_column()
                return f"{name} {self._one(_CONDITION_WORDS)} {self._spelled(other.name)}"

    def literal(self, column: Column) -> str:
        """Write a literal for a column: a stored value, an edge of its type, or another type's."""
        base = column.base.split("(")[0]
        if self._in(8):
            base = self._one(tuple(_EDGES))
        elif not self._in(3):
            stored = column.texts[self._below(len(column.texts))] if column.texts else None
            if stored is not None:
                numeric = base in INTEGERS or base in ("DECIMAL", *FLOATS, "BOOLEAN")
                bare = numeric and not stored.lstrip("-").startswith(("nan", "inf"))
                return stored if bare and not self._in(6) else "'" + stored.replace("'", "''") + "'"
        if base.startswith(("TIMESTAMP", "TIME_NS")):
            base = "TIMESTAMP" if base != "TIME_NS" else "TIME"
        if base in INTEGERS and base not in _EDGES:
            base = "INTEGER" if self._in(2) else "BIGINT"
        edges = _EDGES.get(base)
        return self._one(edges) if edges else f"'{self._one(_ONLY_TEXTS)}'"

    def _group(self, keys: list[str], outputs: list[list[str]]) -> list[str]:
        if self._in(30):
            keys = [
                *keys,
                self._one(
                    (self.column(), f"({self.column()})", f"+{self.column()}", "1 + 1", "NULL")
                ),
            ]
        if not keys:
            return ["GROUP BY", self._one(("()", "ALL", "1", self._name()))] if self._in(30) else []
        listed = ", ".join(keys)
        if not self._in(4):
            return ["GROUP BY", listed]
        form = self._one(
            (
                "ALL", "1", "1, 2", "{k}, {k}", "ROLLUP ({k})", "CUBE ({k})", "GROUPING SETS (({k}), ())", "({k})",
                "zz", "{a}", "{k}, ROLLUP ({a})", "GROUPING SETS (({k}))", "2", "lower({a})", "{k}, ()", "{k} WITH ROLLUP",
                "ALL, {k}", "DISTINCT {k}", "0", "-1", "1.0", "'1'", "+{a}", "({a})", "{a} COLLATE nocase", "*", "\"1\"",
            )
        )  # fmt: skip
        return ["GROUP BY", form.format(k=listed, a=self.column())]

    def _tail(self) -> list[str]:
        tail: list[str] = []
        if self._in(14):
            tail += [
                "HAVING",
                self._one(
                    (
                        f"COUNT(*) > {self._below(3)}",
                        "TRUE",
                        f"{self._name()} IS NOT NULL",
                        f"sum({self._name()}) > 0",
                        "zz > 0",
                        "COUNT(*) > (SELECT 0)",
                        f"max({self._name()}) OVER () > 0",
                    )
                ),
            ]
        if self._in(40):
            tail += self._one(
                (
                    "QUALIFY TRUE|QUALIFY row_number() OVER () = 1|WINDOW w AS ()|USING SAMPLE 2|USING SAMPLE 50%|FOR UPDATE|INTO x|FORMAT JSON"
                ).split("|")
            ).split(" ", 1)
        if self._in(5):
            column = self._name()
            forms = (
                column,
                f"{column} DESC",
                f"{column} NULLS FIRST",
                "1",
                f"lower({column})",
                "ALL",
                "random()",
                f"COUNT(*), {column}",
                f"+{column}",
                "zz",
                "#1",
                f"{column} COLLATE nocase",
                "(SELECT 1)",
                f"sum({column}) OVER ()",
                "1 DESC, 2",
            )
            tail += ["ORDER BY", self._one(forms)]
        if self._in(6):
            tail += [
                "LIMIT",
                self._one(
                    (
                        "1",
                        "3",
                        "50",
                        "51",
                        "0",
                        "10%",
                        "ALL",
                        "NULL",
                        "1 + 1",
                        "(SELECT 1)",
                        "2.6",
                        "1e1",
                        "-1",
                        "+1",
                        "'1'",
                        "?",
                        "1_0",
                        "3 PERCENT",
                        "99999999999999999999",
                    )
                ),
            ]
        if self._in(10):
            tail += ["OFFSET", self._one(("1", "2", "0", "1 ROWS", "-1", "+1", "1.5", "NULL"))]
        if self._in(80):
            tail += [
                "FETCH FIRST",
                self._one(("3", "1", "(1)")),
                self._one(("ROWS ONLY", "ROWS WITH TIES", "ROW ONLY")),
            ]
        return tail


def corpus_words() -> list[str]:
    """Give the words of the public statements, in order; none where they are not there."""
    if not CORPORA.is_file():
        return []
    lines = CORPORA.read_text().splitlines()
    return [word for line in lines for word in json.loads(line)["sql"].split()]
