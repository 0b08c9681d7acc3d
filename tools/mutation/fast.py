"""Every corpus case by both readings and release, in this process and without a recorder.

Run by `python -m tools.mutation`; what needs the engine was asked before (`evidence.py`).
"""

import os
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from eligibility import classify, release
from eligibility.sql.observation import Observation
from eligibility.sql.schema import Schema
from preview.duckdb.plan import read_plan
from preview.snapshot import DATABASE_NAME
from tests.corpus import Case, cases, complete_line, merged, released_lines
from tests.oracle import Oracle
from tools.mutation.evidence import Said, read

FOLDER = Path(os.environ["MUTATION_EVIDENCE"])
EVIDENCE = read(FOLDER)
# Without those that were written since the engine was asked.
CASES = [case for case in cases() if case.name in EVIDENCE]
RUN = [case for case in CASES if EVIDENCE[case.name].observation is not None]


def named(wanted: list[Case]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", wanted, ids=[case.name for case in wanted])


def observed(said: Said) -> Observation:
    """Give the observation as a child with this very code would have recorded it."""
    assert said.observation is not None
    assert said.plan is not None
    fields = {name: value for name, value in said.observation if name not in ("format", "digest")}
    fields["reading"] = read_plan(said.plan, said.pins).reading
    return Observation.sealed(**fields)


@named(CASES)
def test_case(case):
    said = EVIDENCE[case.name]
    schema = Schema(tables=said.pins)
    text = classify(case.statement, schema)
    if said.plan is None:
        both = classify(case.statement, schema, "refused" if said.refused else "failed")
        assert merged(text, both, said.refused) == list(case.expected)
        return
    plan = read_plan(said.plan, said.pins)
    both = classify(case.statement, schema, plan.reading)
    lines = merged(text, both)
    if said.observation is None:
        lines += [] if case.before else ["run failed"]
    else:
        made = release(observed(said), said.observation.preview())
        lines += released_lines(made) if case.wants_facts else []
        lines += [complete_line(made)] if case.wants_complete else []
        for told, kind in zip(plan.types, said.types, strict=False):
            assert told in (None, kind)
        assert len(plan.types) in (0, len(said.types))
    assert lines == list(case.expected)


@pytest.fixture(scope="module")
def oracle() -> Iterator[Oracle]:
    said = EVIDENCE[RUN[0].name]
    with duckdb.connect(str(FOLDER / DATABASE_NAME), read_only=True) as connection:
        yield Oracle(connection, Schema(tables=said.pins))


@named(RUN)
def test_facts_are_true(case, oracle):
    observation = observed(EVIDENCE[case.name])
    oracle.check_release(release(observation, observation.preview()), observation)
