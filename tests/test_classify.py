"""From a statement to its verdicts: total, and the same however deep the caller stands."""

import hashlib
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eligibility import Schema, Verdicts, classify
from eligibility.reasons import Reason, in_order
from eligibility.sql.observation import EngineReading
from eligibility.sql.shape import Connective, DirectColumn, Selection, Shape
from eligibility.sql.verdicts import SelectionFlags
from tests.corpus import cases
from tests.test_parse import SOUP

SCHEMA = Schema.of(
    {
        "t": {"a": "INTEGER", "b": "VARCHAR", "f": "BOOLEAN", "c": "DOUBLE"},
        "flights": {"carrier": "VARCHAR", "distance": "BIGINT"},
    }
)
STATEMENTS = [case.statement for case in cases()]


# --- what the engine said -----------------------------------------------------------------------


def test_the_engine_was_not_asked():
    made = classify("SELECT a, 1 FROM t", SCHEMA)
    assert made.engine == "not-asked"
    assert made.any_eligible
    assert made.statement_sha256 == hashlib.sha256(b"SELECT a, 1 FROM t").hexdigest()


@pytest.mark.parametrize(
    ("said", "reason"), [("refused", Reason.ENGINE_REFUSED), ("failed", Reason.ENGINE_FAILED)]
)
def test_the_engine_has_no_plan(said, reason):
    made = classify("SELECT a FROM t", SCHEMA, said)
    assert made.engine == said
    assert made.reasons == (reason,)
    assert made.outputs[0].reasons == (reason,)
    assert made.outputs[0].name == "a"
    made = classify("SELECT a FROM u JOIN t", SCHEMA, said)
    assert made.reasons == (Reason.JOIN, Reason.TABLE_UNKNOWN, reason)


def test_the_engine_agrees_where_it_does():
    shape = Shape(
        table=("main", "t"),
        outputs=(DirectColumn(column="a"),),
        filter=None,
        groups=(),
        aggregated=False,
        selection=Selection(),
    )
    reading = EngineReading(shape=shape, reasons=(), plan_sha256="0" * 64)
    assert classify("SELECT a FROM t", SCHEMA, reading).engine == "agrees"
    assert classify("SELECT b FROM t", SCHEMA, reading).engine == "disagrees"


# --- the scope of the rows ----------------------------------------------------------------------


def test_selection():
    made = classify(
        "SELECT DISTINCT a FROM t GROUP BY a HAVING a > 1 ORDER BY a LIMIT 1 OFFSET 0", SCHEMA
    )
    assert made.selection == SelectionFlags(
        having=True, distinct=True, order_by=True, limit=True, offset=True
    )
    assert classify("SELECT a FROM t", SCHEMA).selection == SelectionFlags(
        having=False, distinct=False, order_by=False, limit=False, offset=False
    )


def test_groups_are_native_names():
    made = classify("SELECT A AS x, b, COUNT(*) FROM t GROUP BY x, 2, B, f(a)", SCHEMA)
    assert made.groups == ("a", "b")
    assert classify("SELECT a FROM nope GROUP BY a", SCHEMA).groups == ()


FILTERS = {
    "": ("none", None),
    "WHERE f(a)": ("not-stated", None),
    "WHERE a = 1.5": ("not-stated", None),
    "WHERE c = 1": ("not-stated", None),
    "WHERE a = 1": ("stated", "t.a = 1"),
    "WHERE 'x' <> B OR F": (
        "stated",
        "(t.b <> 'x') OR (t.f)",
    ),
}


@pytest.mark.parametrize(("where", "expected"), FILTERS.items())
def test_filter(where, expected):
    made = classify(f"SELECT a FROM t {where}", SCHEMA)
    assert (made.filter.kind, made.filter.text) == expected
    assert (made.filter.predicate is None) == (made.filter.kind != "stated")


def test_a_filter_over_an_unknown_table_is_not_stated():
    assert classify("SELECT a FROM nope WHERE a = 1", SCHEMA).filter.kind == "not-stated"
    assert classify("SELECT a FROM t, t WHERE a = 1", SCHEMA).filter.kind == "not-stated"


def test_flattened():
    made = classify("SELECT a FROM t WHERE a = 1 AND (b = 'x' AND (f AND a = 2))", SCHEMA)
    assert isinstance(made.filter.predicate, Connective)
    assert len(made.filter.predicate.members) == 4


# --- total --------------------------------------------------------------------------------------


@given(st.text() | st.text(alphabet="SELECT FROM*()',;-/\"`$\0\ud800\u200b", max_size=80) | SOUP)
def test_total(text):
    made = classify(text, SCHEMA)
    assert made == classify(text, SCHEMA)
    assert made.reasons == in_order(made.reasons)
    for output in made.outputs:
        assert (output.label is None) == bool(output.reasons) == (output.verdict == "withheld")
        assert output.reasons == in_order(output.reasons)
    assert made.reasons or made.outputs
    if made.reasons:
        assert not made.any_eligible
        assert all(output.reasons == made.reasons for output in made.outputs)
    assert [output.position for output in made.outputs] == list(range(len(made.outputs)))


@given(st.sampled_from(STATEMENTS), st.data())
def test_total_on_damaged_statements(statement, data):
    place = data.draw(st.integers(0, len(statement)))
    length = data.draw(st.integers(0, 8))
    part = data.draw(
        st.sampled_from([" ", "", "(", ")", "'", ",", " a ", ".", " NOT ", ";", "\0", "*"])
    )
    made = classify(statement[:place] + part + statement[place + length :], SCHEMA)
    assert made.reasons or made.outputs


@pytest.mark.parametrize("statement", ["", " ", ";", "\0", "\ud800", "(" * 60, "x" * 20_000])
def test_no_statement_has_outputs(statement):
    made = classify(statement, SCHEMA)
    assert made.reasons
    assert made.outputs == ()


# --- the same on every stack --------------------------------------------------------------------

MOST = 16 * 1024


def filled(before: str, part: str, after: str = "", most: int = MOST) -> str:
    """Repeat a part until the statement is as long as it may be, or as said."""
    return before + part * ((most - len(before) - len(after)) // len(part)) + after


def listed(before: str, part: str, after: str = "") -> str:
    """Repeat a part that makes the statement longer and no deeper."""
    return filled(before, part, after, most=MOST // 8)


HOSTILE = {
    "not": filled("SELECT COUNT(*) FROM t WHERE ", "NOT ", "f"),
    "nots": "SELECT COUNT(*) FROM t WHERE " + "NOT " * 1000 + "f",
    "minus": filled("SELECT ", "- ", "a FROM t"),
    "minus in a filter": filled("SELECT COUNT(*) FROM t WHERE a = ", "- ", "1"),
    "bang": filled("SELECT ", "! ", "a FROM t"),
    "at": filled("SELECT ", "@ ", "a FROM t"),
    "tilde": filled("SELECT ", "~ ", "a FROM t"),
    "case": filled("SELECT ", "CASE WHEN ", "a FROM t"),
    "closed case": "SELECT " + "CASE WHEN f THEN 1 ELSE " * 400 + "1" + " END" * 400 + " FROM t",
    "if": filled("SELECT ", "IF ", "a FROM t"),
    "interval": filled("SELECT ", "INTERVAL ", "1 FROM t"),
    "any": filled("SELECT a = ", "ANY ", "(1) FROM t"),
    "describe": filled("", "DESCRIBE ", "t"),
    "types": "SELECT CAST(a AS " + "STRUCT(x " * 45 + "INT" + ")" * 45 + ") FROM t",
    "open types": filled("SELECT CAST(a AS ", "ARRAY<", "INT) FROM t"),
    "index": filled("SELECT a", "[1]", " FROM t"),
    "slice": filled("SELECT a", "[1:2]", " FROM t"),
    "dots": listed("SELECT a", ".a", " FROM t"),
    "casts": listed("SELECT a", "::INT", " FROM t"),
    "sum": listed("SELECT a", "-a", " FROM t"),
    "and": listed("SELECT COUNT(*) FROM t WHERE f", " AND f"),
    "and or": listed("SELECT COUNT(*) FROM t WHERE f", " AND f OR f"),
    "and not": listed("SELECT COUNT(*) FROM t WHERE f", " AND NOT f"),
    "is null": listed("SELECT COUNT(*) FROM t WHERE a", " IS NULL"),
    "collate": listed("SELECT b", " COLLATE x", " FROM t"),
    "lambda": listed("SELECT f(", "a->", "a) FROM t"),
    "in": listed("SELECT COUNT(*) FROM t WHERE a IN (1", ",1", ")"),
    "outputs": listed("SELECT a", ",a", " FROM t"),
    "keys": listed("SELECT a FROM t GROUP BY a", ",a"),
    "joins": filled("SELECT a FROM t", " JOIN t"),
    "unions": filled("SELECT a FROM t", " UNION SELECT a FROM t"),
    "withs": filled("WITH x AS (SELECT 1)", ", x AS (SELECT 1)", " SELECT a FROM t"),
    "selects": filled("", "SELECT "),
    "froms": filled("", "FROM "),
    "windows": filled("SELECT sum(a)", " OVER ()", " FROM t"),
    "pivots": filled("SELECT a FROM t", " PIVOT (SUM(a) FOR b IN ('x'))"),
    "rollups": filled("SELECT a FROM t GROUP BY ", "ROLLUP(a),", "a"),
    "semicolons": listed("SELECT a FROM t", ";"),
    "comments": listed("SELECT a ", "/**/", "FROM t"),
    "50 brackets": "SELECT " + "(" * 50 + "a" + ")" * 50 + " FROM t",
    "50 calls": "SELECT " + "f(" * 50 + "a" + ")" * 50 + " FROM t",
    "50 lists": "SELECT " + "[" * 50 + "a" + "]" * 50 + " FROM t",
    "50 queries": "SELECT a FROM " + "(SELECT a FROM " * 50 + "t" + ")" * 50,
}
DEPTHS = (0, 600, 900)
PRINTED = "|".join


def short(made: Verdicts) -> str:
    codes = [",".join(output.reasons) or "eligible" for output in made.outputs]
    return PRINTED((*made.reasons, *codes[:3]))


def under(depth: int, call: Callable[[], Verdicts]) -> Verdicts:
    """Call from so many frames further down."""
    return call() if depth == 0 else under(depth - 1, call)


def program(body: str) -> str:
    """Run Python in a process of its own, where the end of the stack is no harm; give its output."""
    root = str(Path(__file__).resolve().parent.parent)
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {root!r})\n{body}"],
        capture_output=True,
        text=True,
        timeout=1_000,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


THREADED = """
import threading
from tests.test_classify import HOSTILE, SCHEMA, classify, short
sys.setrecursionlimit({limit})
threading.stack_size({stack})
def run():
    for name, statement in HOSTILE.items():
        print(name, short(classify(statement, SCHEMA)), flush=True)
    print("done")
thread = threading.Thread(target=run)
thread.start()
thread.join()
"""


@pytest.mark.long
def test_no_text_ends_the_process_even_on_a_small_stack():
    printed = program(THREADED.format(limit=1_000, stack=512 * 1024))
    assert printed.endswith("done\n")
    assert program(THREADED.format(limit=100_000, stack=1024 * 1024)) == printed
    here = "".join(f"{name} {short(classify(text, SCHEMA))}\n" for name, text in HOSTILE.items())
    assert printed == here + "done\n"


@pytest.mark.parametrize("name", HOSTILE)
def test_the_verdict_does_not_depend_on_the_stack(name):
    statement = HOSTILE[name]
    first = classify(statement, SCHEMA)
    for depth in DEPTHS:
        assert under(depth, lambda: classify(statement, SCHEMA)) == first
    found: list[Verdicts] = []
    thread = threading.Thread(target=lambda: found.append(classify(statement, SCHEMA)))
    thread.start()
    thread.join()
    assert found == [first]


def test_a_caller_near_the_end_of_the_stack_gets_the_same():
    statement = "SELECT a, SUM(c) FROM t WHERE (((a = 1 OR f) AND b LIKE 'x%')) GROUP BY a"
    first = classify(statement, SCHEMA)
    assert first.any_eligible
    reached = 0
    for depth in range(700, 1000, 7):
        try:
            assert under(depth, lambda: classify(statement, SCHEMA)) == first
            reached = depth
        except RecursionError:
            # Here the caller itself has no frame left.
            break
    assert reached > 800


def test_what_no_stack_can_hold_is_too_nested(monkeypatch):
    def deep(_: str) -> None:
        raise RecursionError

    module = sys.modules[classify.__module__]
    monkeypatch.setattr(module, "read", deep)
    made = classify("SELECT a FROM t", SCHEMA)
    assert made.reasons == (Reason.TOO_NESTED,)
    assert classify("SELECT a FROM t", SCHEMA, "failed").reasons == (
        Reason.TOO_NESTED,
        Reason.ENGINE_FAILED,
    )
