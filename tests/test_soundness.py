"""A share of the soundness campaign: the same generator and judges, where Hypothesis shrinks."""

import json
import random
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import hypothesis
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from eligibility import (
    Claim,
    Fact,
    Observation,
    Release,
    ReturnedPreview,
    Verdicts,
    classify,
    from_json,
    parse,
    release,
)
from eligibility.reasons import Reason
from eligibility.sql.observation import Cell, EngineReading
from preview.duckdb.capture import read
from preview.engine import Read
from tools.soundness import page
from tools.soundness.campaign import MIX
from tools.soundness.generator import BESIDE, Writer
from tools.soundness.judges import Judge
from tools.soundness.seeded import FAULTS, Hit, find
from tools.soundness.tables import RECOMPUTED, SETS, TAINTED, Column, owners
from tools.soundness.third_reader import Origins, disputes, made_of, read_tree
from tools.soundness.trial import Trial

ROOT = Path(__file__).resolve().parent.parent
STATEMENTS = 3_000
SEEDED_S_MAX = 120.0

QUICK = settings(
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
    max_examples=150,
)


@pytest.fixture(scope="module")
def trials() -> Iterator[dict[tuple[str, bool], Trial]]:
    made = {key: Trial(key[0], shadowed=key[1]) for key in set(MIX)}
    yield made
    for trial in made.values():
        trial.__exit__(None, None, None)


@pytest.fixture(scope="module")
def plain(trials: dict[tuple[str, bool], Trial]) -> Trial:
    return trials["recomputed", False]


def seeded_below(seed: int) -> Callable[[int], int]:
    draw = random.Random(seed).random
    return lambda limit: int(draw() * limit)


@st.composite
def statements(draw, name: str) -> str:
    return Writer(SETS[name], lambda limit: draw(st.integers(0, limit - 1)), calm=True).statement()


# --- what is released is true -------------------------------------------------------------------


@pytest.mark.parametrize("key", sorted(set(MIX)))
def test_what_is_released_is_true(trials, key):
    trial = trials[key]

    @QUICK
    @given(statements(key[0]))
    def holds(statement):
        assert trial.run(statement, trial.classify(statement)).faults == []

    holds()


@pytest.mark.long
def test_what_is_released_is_true_of_many_more(trials):
    below = seeded_below(4)
    writers = {key: Writer(trial.tables, below, calm=True) for key, trial in trials.items()}
    faults, facts, executed = [], 0, 0
    for _ in range(STATEMENTS):
        key = MIX[below(len(MIX))]
        statement = writers[key].statement()
        verdicts = trials[key].classify(statement)
        if verdicts.any_eligible or below(100) == 0:
            outcome = trials[key].run(statement, verdicts, whole=below(10) == 0)
            faults += [(statement, fault) for fault in outcome.faults]
            executed += outcome.ran
            facts += sum(outcome.facts)
    assert faults == []
    assert executed > STATEMENTS / 50
    assert facts > STATEMENTS


# --- the judges can find ------------------------------------------------------------------------


# Seeds under which some hundred statements do; a campaign finds each under any, in less time than
# it has.
QUICK_SEEDS = (4, 1, 3, 5, 1, 14, 1, 10)
SEEDED = list(zip(FAULTS, QUICK_SEEDS, strict=True))


@pytest.mark.parametrize(("seeded", "seed"), SEEDED, ids=[fault.name for fault in FAULTS])
def test_a_seeded_fault_is_found(trials, seeded, seed):
    hit = find(seeded, trials, seed, SEEDED_S_MAX, calm=True)
    assert isinstance(hit, Hit)


@pytest.mark.long
def test_a_found_statement_shrinks_to_a_readable_one(trials):
    (seeded,) = (fault for fault in FAULTS if "labelled by their name" in fault.name)
    trial = trials["tainted", False]

    def is_wrong(statement: str) -> bool:
        verdicts = trial.classify(statement)
        return verdicts.any_eligible and bool(trial.run(statement, verdicts).faults)

    with seeded.planted():
        smallest = hypothesis.find(
            statements("tainted"), is_wrong, settings=settings(QUICK, max_examples=1_000)
        )
    assert len(smallest) < 60


FACTS = {
    "stored": "SELECT a, g FROM n LIMIT 3",
    "counted": "SELECT g, COUNT(*), COUNT(a) FROM n WHERE bo OR NOT (c <> 2) GROUP BY g ORDER BY 1",
    "added": "SELECT g, SUM(d1), AVG(e), SUM(e) FROM n WHERE a IS NOT NULL GROUP BY g ORDER BY 1",
    "ordered": "SELECT bo, MIN(s), MAX(ts_ns) FROM x WHERE s2 ILIKE 'a' GROUP BY bo ORDER BY 1",
}


def released(trial: Trial, statement: str) -> Release:
    observation = trial.observe(statement)
    assert observation is not None
    answer = release(observation, observation.preview(), digest=observation.digest)
    assert answer.facts
    return answer


def falsified(fact: Fact) -> Iterator[tuple[str, Fact]]:
    """Give untrue neighbours of a fact: its JSON changed, its line, or both."""
    tree = fact.model_dump(mode="json")

    def changed(**parts: object) -> Fact:
        return Fact.model_validate_json(json.dumps({**tree, **parts}))

    text = fact.value.text or ""
    if text and text[-1].isdigit() and "-" not in text[1:]:
        other = text[:-1] + str((int(text[-1]) + 1) % 10)
        yield "value", changed(value={**tree["value"], "text": other})
        yield (
            "both",
            changed(
                value={**tree["value"], "text": other},
                text=fact.text.replace(f" {text}", f" {other}"),
            ),
        )
    yield "line", changed(text=fact.text.replace(" for ", " of ").replace(" in ", " at "))
    yield "exact", changed(exact=not fact.exact)
    if fact.label.column is not None:
        yield "column", changed(label={**tree["label"], "column": "z"})
    if fact.filter.kind == "stated" and fact.label.kind == "aggregate":
        yield "filter", changed(filter={"kind": "none", "predicate": None, "text": None})
        yield "not stated", changed(filter={"kind": "not-stated", "predicate": None, "text": None})
    if fact.group:
        yield "group", changed(group=[])


@pytest.mark.parametrize("name", FACTS)
def test_an_untrue_fact_is_found(plain, name):
    answer = released(plain, FACTS[name])
    assert plain.judge.faults(answer) == []
    count = 0
    for fact in answer.facts:
        for what, untrue in falsified(fact):
            wrong = Release(**{**dict(answer), "facts": (untrue,)})
            assert plain.judge.faults(wrong), what
            count += 1
    assert count > 10


def test_facts_of_two_rows_are_not_of_one(trials):
    trial = trials["tainted", False]
    answer = released(trial, "SELECT a, c FROM t LIMIT 2")
    moved = [Fact(**{**dict(fact), "row": 0}) for fact in answer.facts if fact.row == fact.column]
    lines = [Fact(**{**dict(f), "text": f.text.replace("row 2", "row 1")}) for f in moved]
    assert trial.judge.faults(Release(**{**dict(answer), "facts": tuple(lines)}))


# --- the data sets ------------------------------------------------------------------------------


def test_every_tainted_text_tells_its_cell():
    texts = [text for text, *_ in owners(TAINTED)]
    assert len(texts) == len(set(texts)) > 500


def test_every_statable_type_is_there():
    kinds = {column.base for table in TAINTED for column in table.columns}
    assert len(kinds) > 28
    edges = {column.name: column for table in RECOMPUTED for column in table.columns}
    assert "nan" in edges["nan"].texts
    assert "-0.0" in edges["d"].texts
    assert None in edges["g"].texts


def test_the_judge_has_one_value_for_equal_texts():
    assert Column("a", "DECIMAL(4,1)", ("1.0", "1", "-0", None)).values == (1, 1, 0, None)
    assert Column("a", "TIMESTAMP", ("2020-01-01", "2020-01-01 00:00:00.000")).places.keys() == {
        Column("b", "TIMESTAMP WITH TIME ZONE", ("2020-01-01 02:00:00+02:00",)).values[0]
    }
    assert Column("a", "DOUBLE", ("nan", "-0.0", "0.0")).rows_of(0.0) == {1, 2}


# --- two more readers ---------------------------------------------------------------------------

DISPUTED = {
    "an expression": ("SELECT a + 1 FROM n", "SELECT a FROM n"),
    "a cast": ("SELECT SUM(CAST(a AS BIGINT)) FROM n", "SELECT SUM(a) FROM n"),
    "a filter of its own": ("SELECT SUM(a) FILTER (WHERE bo) FROM n", "SELECT SUM(a) FROM n"),
    "an order": ("SELECT MAX(a ORDER BY c) FROM n", "SELECT MAX(a) FROM n"),
    "a list of aliases": ("SELECT a FROM n AS s(c, a)", "SELECT a FROM n"),
    "a join": ("SELECT n.a FROM n, n50", "SELECT a FROM n"),
    "a query": ("SELECT a FROM n WHERE a IN (SELECT 1)", "SELECT a FROM n WHERE a IN (1)"),
    "a set operation": ("SELECT a FROM n UNION SELECT a FROM n", "SELECT DISTINCT a FROM n"),
    "a CTE": ("WITH q AS (SELECT 1) SELECT a FROM n", "SELECT a FROM n"),
    "several sets": ("SELECT a, COUNT(*) FROM n GROUP BY ROLLUP (a)", "SELECT a, COUNT(*) FROM n GROUP BY a"),
    "a clause": ("SELECT a FROM n LIMIT 1", "SELECT a FROM n"),
    "another function": ("SELECT system.main.sum(a) FROM n", "SELECT SUM(a) FROM n"),
}  # fmt: skip


@pytest.mark.parametrize("name", DISPUTED)
def test_the_syntax_tree_disputes(plain, name):
    theirs, ours = DISPUTED[name]
    verdicts = classify(ours, plain.snapshot.schema)
    labels = [(v.position, made_of(v.label)) for v in verdicts.outputs if v.label]
    assert labels
    filtered = verdicts.filter.kind != "none"
    for statement, wanted in ((ours, False), (theirs, True)):
        tree = read_tree(plain.trees, statement, plain.tables)
        assert bool(disputes(tree, labels, verdicts.selection, filtered=filtered)) == wanted


def test_sqlite_tells_the_origin_of_columns():
    origins = Origins(RECOMPUTED)
    assert origins.of("SELECT a AS g, g, a + 1, MAX(a) FROM n") == [
        (("main", "n"), "a"),
        (("main", "n"), "g"),
        None,
        None,
    ]
    assert origins.of("SELECT a FROM main.n QUALIFY 1") is None


# --- what must not change a verdict -------------------------------------------------------------


def said(verdicts: Verdicts, of: range | None = None) -> list[object]:
    """Give what was decided, names aside."""
    outputs = [(v.verdict, v.label, v.reasons) for v in verdicts.outputs]
    return [
        verdicts.reasons,
        outputs if of is None else [outputs[i] for i in of if i < len(outputs)],
    ]


def both(trial: Trial, statement: str) -> Verdicts:
    found = read(trial.connection, statement, trial.snapshot.pins)
    engine: EngineReading | str = found.reading if isinstance(found, Read) else "failed"
    return classify(statement, trial.snapshot.schema, engine)  # type: ignore[arg-type]


SPACES = (" ", "\n", "\t \r\n", " /* , */ ", " -- it's\n", "/**/ ", " /* /* nested */ */ ")


def test_spaces_and_comments_change_nothing(trials):
    eligible = 0
    for seed in range(400):
        trial = trials["tainted" if seed % 2 else "recomputed", False]
        below = seeded_below(seed)
        tokens = Writer(trial.tables, below).tokens()
        once = trial.classify(" ".join(tokens))
        spaced = "".join(token + SPACES[below(len(SPACES))] for token in tokens)
        assert said(trial.classify(spaced)) == said(once), spaced
        eligible += once.any_eligible
    assert eligible > 50


class Quoted(Writer):
    """Writes the same statement with every name of the schema in quotes."""

    def _spelled(self, name: str) -> str:
        written = super()._spelled(name)
        return f'"{written}"' if written[0] not in '"`' else written


def test_quoting_changes_nothing(plain):
    eligible = 0
    for seed in range(400):
        bare = " ".join(Writer(plain.tables, seeded_below(seed)).tokens())
        quoted = " ".join(Quoted(plain.tables, seeded_below(seed)).tokens())
        assert said(plain.classify(quoted)) == said(plain.classify(bare)), quoted
        eligible += plain.classify(bare).any_eligible
    assert eligible > 50


def outputs_of(seed: int) -> tuple[list[str], str]:
    """Write outputs and what stands behind them, without aliases."""
    below = seeded_below(seed)
    keys = ["g", "bo", "h"][: below(3)]
    calls = ("a", "c", "SUM(a)", "COUNT(*)", "MIN(d1)", "AVG(e)", "a + 1", "MAX(nan)", "COUNT(s)")
    outputs = [*keys, *(calls[below(9)] for _ in range(1 + below(4)))]
    where = ("", " WHERE a > 1", " WHERE a + 1 > 2", " WHERE g = 'x' OR bo")[below(4)]
    return outputs, f" FROM n{where}" + (f" GROUP BY {', '.join(keys)}" if keys else "")


@pytest.mark.parametrize("alias", ["zz", "a", "g", '"profit of the year"', "n", '"SUM(a)"'])
def test_an_alias_changes_nothing(plain, alias):
    for seed in range(60):
        outputs, rest = outputs_of(seed)
        at = seed % len(outputs)
        named = [o if i != at else f"{o} AS {alias}" for i, o in enumerate(outputs)]
        once = both(plain, f"SELECT {', '.join(outputs)}{rest}")
        again = both(plain, f"SELECT {', '.join(named)}{rest}")
        assert said(again) == said(once), named


SYNTHETIC = ("1", "'x' AS a", "NULL", "COUNT(*) + 1", "random()", "DATE '2020-01-01' AS g")


def test_a_synthetic_output_changes_no_other(plain):
    for seed in range(120):
        outputs, rest = outputs_of(seed)
        once = both(plain, f"SELECT {', '.join(outputs)}{rest}")
        if once.engine != "agrees" or once.reasons:
            continue
        more = f"SELECT {', '.join([*outputs, SYNTHETIC[seed % 6]])}{rest}"
        again = both(plain, more)
        if again.engine != "failed":
            assert said(again, range(len(outputs))) == said(once), more
            assert again.outputs[-1].verdict == "withheld"


def test_every_beside_is_withheld(plain):
    """No output that is written to be none of the six forms may be stated, whatever it fills."""
    form = "SELECT {} FROM n"
    fill = {"c": "a", "d": "c", "n": "a", "t": "n", "u": "n50", "l": "1"}
    schema = plain.snapshot.schema
    stated = [b for b in BESIDE if classify(form.format(b.format(**fill)), schema).any_eligible]
    # Both parsers drop ALL, which changes nothing; `variant` is a column's name here.
    same = {"*", "COUNT( * )", "COUNT(/**/*)", "sum(ALL {c})", "avg(ALL {c})", "COUNT(ALL {c})"}
    assert set(stated) <= same | {"variant {c}"}


# --- release never gives more -------------------------------------------------------------------


@pytest.fixture(scope="module")
def observations(trials) -> list[Observation]:
    found: list[Observation] = []
    below = seeded_below(9)
    writers = [Writer(trials[name, False].tables, below) for name in SETS]
    pairs = list(zip(writers, [trials[name, False] for name in SETS], strict=True))
    while len(found) < 25:
        for writer, trial in pairs:
            statement = writer.statement()
            if trial.classify(statement).any_eligible:
                observation = trial.observe(statement)
                if observation is not None and released_facts(observation):
                    found.append(observation)
    return found


def released_facts(observation: Observation, **parts: object) -> list[Fact]:
    """Release every cell of an observation, or of one that is sealed anew with other parts."""
    fields = {k: v for k, v in dict(observation).items() if k not in ("format", "digest")}
    made = Observation.sealed(**{**fields, **parts}) if parts else observation
    return list(release(made, made.preview(), digest=made.digest).facts)


def stated(facts: list[Fact]) -> list[object]:
    return [(f.label, f.value, f.group, f.filter) for f in facts]


def test_a_refusal_releases_nothing(observations):
    for observation in observations:
        reading = EngineReading(
            shape=None,
            reasons=(Reason.PLAN_UNREADABLE,),
            plan_sha256=observation.reading.plan_sha256,
        )
        assert released_facts(observation, reading=reading) == []
        refused = classify(observation.statement, observation.schema_, "refused")
        assert not refused.any_eligible


def test_without_a_row_or_a_cell_nothing_more_is_released(observations):
    for observation in observations:
        facts = stated(released_facts(observation))
        fewer = stated(released_facts(observation, rows=observation.rows[1:], truncated="rows"))
        assert all(fact in facts for fact in fewer)
        first = (Cell(type=observation.columns[0].type, text=None), *observation.rows[0][1:])
        broken = released_facts(observation, rows=(first, *observation.rows[1:]))
        assert len(broken) <= len(facts)


def test_another_preview_releases_nothing(observations):
    for observation in observations:
        shown = observation.preview()
        cell = observation.rows[0][0]
        other = Cell(type=cell.type, text=f"{cell.text}0")
        edits = [
            {"rows": shown.rows[1:]},
            {"rows": ((other, *shown.rows[0][1:]), *shown.rows[1:])},
            {"rows": (*shown.rows, shown.rows[0])[:50], "truncated": "bytes"},
            {"columns": shown.columns[:-1]},
        ]
        for edit in edits:
            returned = ReturnedPreview(**{**dict(shown), **edit})
            answer = release(observation, returned, digest=observation.digest)
            assert answer.no_answer
            assert answer.facts == ()


def test_a_claim_touches_no_other(observations):
    withheld_somewhere = 0
    for observation in observations:
        shown, digest = observation.preview(), observation.digest
        every = release(observation, shown, digest=digest)
        claims = [Claim(row=fact.row, column=fact.column) for fact in every.facts]
        assert release(observation, shown, claims, digest=digest).facts == every.facts
        beside = [Claim(row=w.row, column=w.column) for w in every.withheld[:3]]
        answer = release(observation, shown, [*beside, *claims], digest=digest)
        assert sorted(f.text for f in answer.facts) == sorted(f.text for f in every.facts)
        withheld_somewhere += bool(beside)
        for invented in (
            Claim(row=len(observation.rows), column=0),
            Claim(row=0, column=len(observation.columns)),
            Claim(row=0, column=0, text="of another world"),
        ):
            answer = release(observation, shown, [*claims, invented], digest=digest)
            assert answer.no_answer
            assert answer.facts == ()
    assert withheld_somewhere


def test_a_fact_survives_json_and_its_line_reads_back(observations):
    for observation in observations:
        assert from_json(Observation, observation.to_json()) == observation
        for fact in released_facts(observation):
            assert Fact.model_validate_json(fact.model_dump_json()) == fact
            line = parse(fact.text, observation.schema_)
            assert line is not None
            assert line.label == fact.label


# --- the same everywhere ------------------------------------------------------------------------

NESTED = [
    "SELECT a FROM n WHERE " + "NOT " * 300 + "bo",
    "SELECT " + "(" * 48 + "a" + ")" * 48 + " FROM n",
    "SELECT a FROM n WHERE " + " AND ".join(["a = 1"] * 400),
    "SELECT a FROM n WHERE " + "CASE WHEN bo THEN " * 40 + "bo" + " END" * 40,
]


@pytest.fixture(scope="module")
def spread(plain) -> list[str]:
    writer = Writer(plain.tables, seeded_below(3))
    return [*NESTED, *(writer.statement().replace("\ud800", "") for _ in range(60))]


def deep(depth: int, call: Callable[[], Verdicts]) -> Verdicts:
    return call() if depth == 0 else deep(depth - 1, call)


def test_verdicts_are_equal_from_any_depth_thread_and_process(plain, spread):
    schema = plain.snapshot.schema
    here = [classify(s, schema).model_dump_json() for s in spread]
    room = sys.getrecursionlimit() - _depth()
    for left in (60, 150, 300):
        there = [deep(room - left, lambda s=s: classify(s, schema)) for s in spread]  # type: ignore[misc]
        assert [v.model_dump_json() for v in there] == here
    threaded: dict[int, list[str]] = {}

    def decide(number: int) -> None:
        threaded[number] = [classify(s, schema).model_dump_json() for s in spread]

    threads = [threading.Thread(target=decide, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert list(threaded.values()) == [here] * 4
    code = (
        "import json, sys; from eligibility import Schema, classify\n"
        "schema, statements = json.load(sys.stdin)\n"
        "schema = Schema.model_validate_json(schema)\n"
        "print(json.dumps([classify(s, schema).model_dump_json() for s in statements]))"
    )
    run = subprocess.run(
        [sys.executable, "-c", code],
        input=json.dumps([schema.model_dump_json(), spread]),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(run.stdout) == here


def _depth() -> int:
    depth, frame = 0, sys._getframe()
    while frame.f_back is not None:
        depth, frame = depth + 1, frame.f_back
    return depth


# --- the page -----------------------------------------------------------------------------------


def test_the_page_says_what_was_counted():
    assert (ROOT / "docs" / "soundness.md").read_text() == page.page()


def test_the_kept_campaign_found_nothing():
    kept = page.campaign()
    assert kept["faults"] == kept["stuck or gone elsewhere"] == 0


def test_a_judge_is_of_one_data_set(plain):
    other = Judge(TAINTED, tainted=True)
    assert other.faults(released(plain, "SELECT a FROM n LIMIT 1"))
