"""One statement through the whole engine, and every judge over what came out.

Invariants
  R1  The observation is made as the recorder makes it: the same checks, the same sealed connection,
      the same observer; only the process differs. A campaign compares a sample with the recorder's.
  R2  A trial never fails: whatever is raised outside of the engine's own errors is a fault.
"""

import shutil
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Literal, Self

import duckdb

from eligibility import Observation, Release, Verdicts, classify, release
from eligibility.reasons import Reason
from eligibility.sql.facts import Claim
from eligibility.sql.limits import refusal
from eligibility.sql.observation import CellBound, Engine
from preview.bounds import question
from preview.duckdb.capture import capture, measure
from preview.duckdb.sealed import open_sealed
from preview.engine import Captured, Measured
from preview.observing import Observer
from tools.soundness.judges import Judge
from tools.soundness.tables import SETS, pin_set
from tools.soundness.third_reader import Made, Origins, disputes, made_of, read_tree

ENGINE_BYTES = 2**30

# A session in which the five calls, and COUNT(*), mean something else.
MACROS = (
    "CREATE MACRO sum(x) AS system.main.min(x)",
    "CREATE MACRO avg(x) AS system.main.max(x)",
    "CREATE MACRO min(x) AS system.main.max(x)",
    "CREATE MACRO max(x) AS system.main.min(x)",
    "CREATE MACRO count(x) AS 42",
    "CREATE MACRO count_star() AS 42",
)


@dataclass
class Outcome:
    """What became of one statement.

    Attributes:
        verdicts: by the text alone.
        ran: whether there is an observation.
        disagrees: whether both readings differ where the text alone would release.
        facts: how many facts of stored values, and of calculations, were judged.
        faults: what is not as promised.
        sqlite: how SQLite's origins compare.
    """

    verdicts: Verdicts
    ran: bool = False
    disagrees: bool = False
    facts: tuple[int, int] = (0, 0)
    faults: list[str] = field(default_factory=list)
    sqlite: Literal["not asked", "not taken", "same", "not told", "differs"] = "not asked"


ROWS_CLAIMED = 6


def _claims(observation: Observation) -> list[Claim]:
    """Claim every cell of a few rows, spread over the result."""
    last = len(observation.rows) - 1
    rows = {last * part // (ROWS_CLAIMED - 1) for part in range(ROWS_CLAIMED)} if last >= 0 else ()
    return [
        Claim(row=row, column=column.position)
        for row in sorted(rows)
        for column in observation.columns
    ]


class Trial(AbstractContextManager["Trial"]):
    """One data set, pinned, with a sealed connection and its judges.

    Attributes:
        tables: the data set.
        snapshot: of it.
    """

    def __init__(self, name: str, *, shadowed: bool = False) -> None:
        """Pin a data set; where `shadowed`, its database file holds macros of the five names."""
        self.tables = SETS[name]
        self.judge = Judge(self.tables, tainted=name == "tainted")
        self._folder = TemporaryDirectory()
        folder = Path(self._folder.name)
        self.snapshot = pin_set(self.tables, folder)
        database = self.snapshot.database
        if shadowed:
            database = Path(shutil.copy(database, folder / "snapshot.duckdb"))
            database.chmod(0o600)
            with duckdb.connect(str(database)) as connection:
                for macro in MACROS:
                    connection.execute(macro)
        self.connection, settings = open_sealed(database, memory_bytes=ENGINE_BYTES, threads=1)
        self._engine = Engine(name="duckdb", version=duckdb.__version__, settings=settings)
        self.trees = duckdb.connect(config={"threads": 1})
        self._observer = Observer(self.snapshot)
        self._origins = Origins(self.tables)
        self._shadowed = shadowed

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the connection and remove the snapshot."""
        self.connection.close()
        self.trees.close()
        self._folder.cleanup()

    def __enter__(self) -> Self:
        """Give itself."""
        return self

    def classify(self, statement: str) -> Verdicts:
        """Decide by the text alone."""
        return classify(statement, self.snapshot.schema)

    def observe(self, statement: str) -> Observation | None:
        """Execute a statement as the recorder would (R1); None where it is refused or fails."""
        if refusal(statement) is not None:
            return None
        outcome = capture(self.connection, statement, self.snapshot.pins)
        if not isinstance(outcome, Captured):
            return None
        bounds: tuple[CellBound, ...] = ()
        asked = question(outcome, self.snapshot.pins)
        if asked is not None:
            measured = measure(self.connection, asked.statement)
            bounds = asked.bounds(measured) if isinstance(measured, Measured) else ()
        return self._observer.observation(statement, outcome, self._engine, bounds)

    def run(
        self,
        statement: str,
        verdicts: Verdicts,
        stage: Callable[[str], object] = str,
        *,
        whole: bool = True,
    ) -> Outcome:
        """Execute a statement, release every cell, and judge (R2).

        Args:
            statement: SQL text.
            verdicts: by the text alone.
            stage: told what begins.
            whole: release every cell; else those of a few rows, first and last among them.

        Returns:
            What became of it.
        """
        outcome = Outcome(verdicts)
        try:
            stage("engine")
            observation = self.observe(statement)
            if observation is None:
                return outcome
            stage("release")
            outcome.ran = True
            answer = release(
                observation,
                observation.preview(),
                None if whole else _claims(observation),
                digest=observation.digest,
            )
            outcome.disagrees = any(
                Reason.READINGS_DISAGREE in withheld.reasons for withheld in answer.withheld
            )
            stage("judge")
            self._judged(outcome, statement, answer)
        except Exception as error:  # noqa: BLE001  whatever it is, it is a fault
            outcome.faults.append(f"raised {type(error).__name__}: {error}"[:500])
        return outcome

    def _judged(self, outcome: Outcome, statement: str, answer: Release) -> None:
        calculations = sum(fact.label.kind == "aggregate" for fact in answer.facts)
        outcome.facts = (len(answer.facts) - calculations, calculations)
        outcome.faults += self.judge.faults(answer)
        if not answer.facts:
            return
        labels = {fact.column: made_of(fact.label) for fact in answer.facts}
        clauses = {(fact.selection, fact.filter.kind != "none") for fact in answer.facts}
        if len(clauses) > 1:
            outcome.faults.append("facts of one release tell other clauses")
        selection, filtered = clauses.pop()
        tree = read_tree(self.trees, statement, self.tables)
        outcome.faults += disputes(tree, sorted(labels.items()), selection, filtered=filtered)
        self._compare_origins(outcome, statement, labels)

    def _compare_origins(self, outcome: Outcome, statement: str, labels: dict[int, Made]) -> None:
        origins = self._origins.of(statement)
        if origins is None:
            outcome.sqlite = "not taken"
            return
        outcome.sqlite = "same"
        for position, made in labels.items():
            theirs = origins[position] if position < len(origins) else None
            ours = made[1:3] if made[0] == "column" else None
            if ours is None and theirs is None:
                continue
            if theirs is None:
                outcome.sqlite = "not told"
            elif theirs != ours:
                outcome.sqlite = "differs"
                outcome.faults.append(f"output {position} is {ours}, to SQLite {theirs}")
