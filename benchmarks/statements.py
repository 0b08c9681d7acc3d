"""The statements that are measured: simple ones over flights, each as often as wanted and never twice.

`{n}` stands for a number that is another one in every turn: no statement is ever seen again, so
what anybody keeps of a statement helps nobody.
"""

from eligibility import Schema

FLIGHTS = {
    "year": "SMALLINT",
    "month": "TINYINT",
    "day": "TINYINT",
    "dep_time": "SMALLINT",
    "sched_dep_time": "SMALLINT",
    "dep_delay": "SMALLINT",
    "arr_time": "SMALLINT",
    "sched_arr_time": "SMALLINT",
    "arr_delay": "SMALLINT",
    "carrier": "VARCHAR",
    "flight": "SMALLINT",
    "tailnum": "VARCHAR",
    "origin": "VARCHAR",
    "dest": "VARCHAR",
    "air_time": "SMALLINT",
    "distance": "SMALLINT",
    "hour": "TINYINT",
    "minute": "TINYINT",
    "time_hour": "TIMESTAMP WITH TIME ZONE",
}

SIMPLE = {
    "every column": "SELECT * FROM flights AS f{n}",
    "three columns": "SELECT carrier, origin, dest AS d{n} FROM flights",
    "count of rows": "SELECT COUNT(*) AS n{n} FROM flights",
    "sum where equal": "SELECT SUM(distance) FROM flights WHERE flight = {n}",
    "one key": "SELECT carrier, COUNT(*) AS n{n} FROM flights GROUP BY carrier",
    "two keys": "SELECT origin, dest, AVG(arr_delay) AS d{n} FROM flights GROUP BY origin, dest",
    "two conditions": "SELECT carrier, distance FROM flights WHERE month = 1 AND distance > {n}",
    "BETWEEN": "SELECT COUNT(*), MIN(distance) FROM flights WHERE distance BETWEEN 100 AND {n}",
    "IN": "SELECT MAX(distance) FROM flights WHERE flight IN (1, 2, {n})",
    "LIKE": "SELECT COUNT(*) FROM flights WHERE tailnum LIKE 'N{n}%'",
    "IS NULL": "SELECT origin, COUNT(*) AS n{n} FROM flights WHERE dep_time IS NULL GROUP BY origin",
    "ORDER BY, LIMIT": "SELECT carrier, distance FROM flights ORDER BY distance DESC LIMIT {n}",
}
_FIRST = 1_000  # of four digits each, so that all texts of a statement are equally long


def schema() -> Schema:
    """Give the schema of flights."""
    return Schema.of({"flights": FLIGHTS})


def varied(template: str, number: int) -> str:
    """Give a statement of its own for every turn (up to 9,000 turns)."""
    return template.replace("{n}", str(_FIRST + number))
