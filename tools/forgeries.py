"""Bundles whose meaning is forged, with every hash and signature right (`make forgeries`).

python -m tools.forgeries [COUNT] [SEED]

The forger holds the key that is trusted. It takes an honest bundle and changes what it says: a
cell, a label, the filter, the group, the order of rows, the engine, its version, a bound, or the
statement, each time with the engine's own reading of what it then says. What is true is judged
apart from the verifier: facts by the oracle, positions by executing the statement plainly.

Invariants
  G1  A forged bundle that says something false fails where a snapshot is given.
  G2  Only where the statement gives other results from time to time, and no fact is false, may
      what cannot be told stay unverified, as `not-repeatable`.
  G3  Nothing false passes.
"""

import base64
import random
import sys
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from fractions import Fraction
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
import pyarrow as pa

import preview
from eligibility import release
from eligibility.evidence.bundle import PAYLOAD_TYPE, verify
from eligibility.evidence.entry import PublicKey
from eligibility.evidence.verification import Code, Verification
from eligibility.sql.observation import Observation
from preview.signing import SigningKey, make_key, read_private
from tests.bundles import Tree, canonical, enveloped, forged, payload_of, rehashed, sha256
from tests.oracle import Oracle

ROWS = 90
GROUPS = ("AA", "UA", "DL", None)
CALCULATIONS = ("SUM", "AVG", "MIN", "MAX", "COUNT")
NUMBERS = ("n", "x", "f", "d")
WORDS = ("-- now() age random uuid", "/* current_date */", "-- today() gen_random_uuid()")


@dataclass(frozen=True)
class Asked:
    """A statement in parts, so that one part can be exchanged.

    Attributes:
        outputs: as they are written.
        table: read.
        where, group, having, order: the clauses' texts; None for none.
        limit: rows; None for all.
        distinct: whether equal rows are one.
        changing: an output or condition that gives other values from time to time.
        word: a comment that reads like one.
    """

    outputs: tuple[str, ...]
    table: str = "trips"
    where: str | None = None
    group: str | None = None
    having: str | None = None
    order: str | None = None
    limit: int | None = None
    distinct: bool = False
    changing: str = ""
    word: str = ""

    @property
    def text(self) -> str:
        """The statement."""
        shown = ", ".join((*self.outputs, *([self.changing] if self.changing else [])))
        parts = ["SELECT DISTINCT" if self.distinct else "SELECT", shown, f"FROM {self.table}"]
        for clause, said in (
            ("WHERE", self.where),
            ("GROUP BY", self.group),
            ("HAVING", self.having),
            ("ORDER BY", self.order),
            ("LIMIT", self.limit),
        ):
            parts += [] if said is None else [f"{clause} {said}"]
        return " ".join((*parts, *([self.word] if self.word else [])))

    @property
    def position_is_settled(self) -> bool:
        """Whether the statement alone says which row stands where."""
        if self.changing or "random" in f"{self.having}{self.order}":
            return False
        if self.group is not None or self.distinct:
            return self.order is not None and self.order.split()[0] == self.outputs[0]
        calculated = any("(" in output for output in self.outputs)
        return calculated or self.order is None or self.order.startswith("id")


def asked(draw: random.Random) -> Asked:
    """Write one statement."""
    number = draw.choice(NUMBERS)
    sums = tuple(
        f"{draw.choice(CALCULATIONS)}({draw.choice(NUMBERS)})" for _ in range(draw.randint(1, 3))
    )
    made = draw.choice(
        [
            Asked(("id", "carrier", number), order=draw.choice(["id", "id DESC", "carrier", None])),
            Asked(("carrier", "n", "day"), order=draw.choice(["id", "id DESC", None])),
            Asked((*sums, "COUNT(*)")),
            Asked(
                ("carrier", *sums, "COUNT(*)"),
                group="carrier",
                order=draw.choice(["carrier", None]),
            ),
            Asked(
                ("n", "COUNT(*)", f"SUM({number})"),
                group="n",
                order=draw.choice(["n", "n DESC", None]),
            ),
            Asked(
                ("id", f"SUM({number})", "MAX(day)"), group="id", order=draw.choice(["id", None])
            ),
            Asked(("carrier", "flag"), distinct=True, order=draw.choice(["carrier", None])),
        ]
    )
    limit = draw.choice([None, None, None, 2, 7])
    where = draw.choice([None, "n > 3", "n <= 6", "carrier = 'AA'", "flag", "x > 0.5 AND n <> 4"])
    made = replace(made, where=where, limit=limit, word=draw.choice([*WORDS, "", "", ""]))
    if draw.random() < 0.15:
        made = replace(made, changing=draw.choice(["random()", "now()", "uuid()"]), distinct=False)
    elif draw.random() < 0.05 and made.group is not None:
        made = replace(made, having="random() < 2")
    return made


def another(made: Asked, draw: random.Random) -> tuple[str, Asked]:
    """Change one part of a statement; gives which."""
    part = draw.choice(
        ["label", "label", "filter", "filter", "group", "order", "statement", "table"]
    )
    outputs = list(made.outputs)
    at = draw.randrange(len(outputs))
    if part == "label" and "(" in outputs[at]:
        outputs[at] = f"{draw.choice(CALCULATIONS)}({draw.choice(NUMBERS)})"
        return part, replace(made, outputs=tuple(outputs))
    if part == "group" and made.group in ("n", "id"):
        other = {"n": "id", "id": "n"}[made.group]
        order = None if made.order is None else other
        return part, replace(made, outputs=(other, *outputs[1:]), group=other, order=order)
    if part == "order":
        order = draw.choice(["id", "id DESC", "n"]) if made.group is None else made.outputs[0]
        if made.group is not None or made.distinct:
            order = f"{made.outputs[0]} DESC"
        if not any("(" in output for output in outputs) or made.group is not None:
            return part, replace(made, order=order)
    if part == "table":
        return part, replace(made, table="others")
    if part == "statement":
        return part, replace(made, limit=draw.choice([None, 1, 3]), word=draw.choice(WORDS))
    where = draw.choice([None, "n > 5", "n <= 2", "carrier = 'UA'", "NOT flag", "carrier IS NULL"])
    return "filter", replace(made, where=where)


# --- the world ----------------------------------------------------------------------------------


def rows(draw: random.Random) -> dict[str, Any]:
    """Make the rows of one table: every third number is missing somewhere, some values tie."""
    return {
        "id": list(range(ROWS)),
        "carrier": [draw.choice(GROUPS) for _ in range(ROWS)],
        "n": [draw.randint(0, 8) for _ in range(ROWS)],
        "x": [draw.choice([0.1, 0.25, 3.7, 1e3, 12.5, None]) for _ in range(ROWS)],
        "f": pa.array([draw.choice([0.1, 0.5, 7.25]) for _ in range(ROWS)], pa.float32()),
        "d": pa.array([draw.randint(1, 9999) for _ in range(ROWS)]).cast(pa.decimal128(20, 0)),
        "flag": [draw.choice([True, False, None]) for _ in range(ROWS)],
        "day": pa.array([draw.randint(0, 400) for _ in range(ROWS)], pa.int32()).cast(pa.date32()),
    }


@dataclass
class Tally:
    """What became of the forgeries.

    Attributes:
        made: how many of each part.
        fate: of (part, false or true, status).
        codes: how often each code was found.
        wrong: what must not be.
    """

    made: Counter[str] = field(default_factory=Counter)
    fate: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    codes: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)


class Forger:
    """A snapshot, a trusted key, and honest bundles to forge."""

    def __init__(self, folder: Path, seed: int) -> None:
        """Pin two tables and start a recorder."""
        self._draw = random.Random(seed)
        make_key(folder / "private.pem", folder / "public.pem")
        self.key: SigningKey = read_private(folder / "private.pem")
        tables: dict[Any, Any] = {name: pa.table(rows(self._draw)) for name in ("trips", "others")}
        self.snapshot = preview.pin(tables, into=folder / "snapshot")
        self.recorder = preview.Recorder(self.snapshot)
        self._plain = duckdb.connect(str(self.snapshot.database), read_only=True)
        self._oracle = Oracle(self._plain, self.snapshot.schema)
        self._ledger = preview.Ledger(folder / "answers.ledger", key=self.key)
        self._ledger.record_snapshot(self.snapshot.manifest)
        self._honest: dict[str, bytes] = {}
        self.tally = Tally()

    def close(self) -> None:
        """Close everything."""
        self._ledger.close()
        self.recorder.close()
        self._plain.close()

    def honest(self, statement: str) -> bytes:
        """Give an honest, signed bundle of a statement."""
        if statement not in self._honest:
            seen = self.recorder.capture(statement)
            self._ledger.record(seen)
            self._ledger.release(seen.digest, seen.preview())
            entry = self._ledger.releases(seen.digest)[-1]
            self._honest[statement] = self._ledger.export(entry)
        return self._honest[statement]

    def execute(self, observation: Observation, statement: str) -> Observation | Code:
        """Execute a statement as `eligibility verify --snapshot` does."""
        engine = self.recorder_engine
        if (observation.engine.name, observation.engine.version) != engine:
            return Code.ENGINE_ABSENT
        try:
            return self.recorder.capture(statement)
        except (preview.StatementRefused, preview.StatementFailed):
            return Code.RESULT_DIFFERS
        except preview.StatementTimedOut:
            return Code.EXECUTION_TOO_SLOW
        except preview.PreviewError:
            return Code.EXECUTION_FAILED

    @property
    def recorder_engine(self) -> tuple[str, str]:
        """Name and version of the engine that is here."""
        return "duckdb", duckdb.__version__

    def verify(self, bundle: bytes) -> Verification:
        """Verify with the key and the snapshot."""
        return verify(bundle, keys=[self.key.public], execute=self.execute)

    def signed(self, bundle: bytes) -> bytes:
        """Sign a forged bundle, every entry and the whole, with the trusted key."""
        statement = payload_of(bundle)
        predicate = statement["predicate"]
        previous = None
        for name in ("snapshot", "observation", "release"):
            entry = predicate[name]["entry"]
            if name == "release":
                payload = predicate[name]["payload"]
                payload["recorded"] = predicate["observation"]["entry"]["hash"]
                entry["payload_sha256"] = sha256(payload)
            if previous is not None and entry["sequence"] == previous["sequence"] + 1:
                entry["previous"] = previous["hash"]
            entry["hash"] = rehashed(entry)
            entry["signature"] = self.key.sign(entry["hash"]).model_dump(mode="json")
            previous = entry
        predicate["keys"] = [PublicKey.model_dump(self.key.public, mode="json")]
        payload = canonical(statement)
        kind = PAYLOAD_TYPE.encode()
        pae = b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(payload), payload)
        sig = base64.b64encode(self.key.sign_bytes(pae)).decode()
        return enveloped(payload, [{"keyid": self.key.public.id, "sig": sig}])

    # --- forging ---

    def forge(self) -> tuple[str, Asked, bytes]:
        """Make one forgery: which part, what it says was asked, and the bundle."""
        draw, made = self._draw, asked(self._draw)
        if draw.random() < 0.45:
            part, other = another(made, draw)
            then, change = self.recorder.capture(made.text), transplanted
            bundle = self.honest(other.text)
            return part, other, self._signed(bundle, lambda tree: change(tree, then))
        part, change_part = draw.choice(PARTS)
        return (
            part,
            made,
            self._signed(self.honest(made.text), lambda tree: change_part(tree, draw)),
        )

    def _signed(self, bundle: bytes, change: Callable[[Tree], object]) -> bytes:
        return self.signed(forged(bundle, lambda tree: change(observed(tree)), decide=True))

    def trial(self) -> None:
        """Forge once, judge, verify, and tell the two apart (G1, G2, G3)."""
        part, made, bundle = self.forge()
        seen = observed(payload_of(bundle)["predicate"])
        honest = observed(payload_of(self.honest(made.text))["predicate"])
        lie = self._lie(part, made, seen, honest)
        found = self.verify(bundle)
        status = found.structural_status
        self.tally.made[part] += 1
        self.tally.fate[part, "false" if lie else "true", status] += 1
        self.tally.codes.update(each.code.value for each in found.codes)
        if lie and status != "failed":
            codes = [each.code.value for each in found.codes]
            self.tally.wrong.append(f"{status} {part}: {lie}: {made.text}: {codes}")

    def _lie(self, part: str, made: Asked, seen: Tree, honest: Tree) -> str:
        """Say what is false in a forged observation; empty for nothing."""
        if seen["engine"] != honest["engine"]:
            return "another engine"
        later = ("order", "repeatable") if "bounds" in seen else ()
        if any(seen["reading"].get(name) != honest["reading"].get(name) for name in later):
            return "another reading"
        observation = Observation.model_validate_json(canonical(seen))
        answer = release(observation, observation.preview(), digest=observation.digest)
        try:
            self._oracle.check_release(answer, observation)
        except (AssertionError, ValueError, ZeroDivisionError):
            return "a fact"
        if self._position_is_false(made, observation):
            return "a position"
        if part == "bound" and _bounds_differ(seen["bounds"], honest["bounds"]):
            return "a bound"
        changing = made.changing or made.having
        if part == "cut" and not changing and seen["truncated"] != honest["truncated"]:
            return "what is complete"
        return ""

    def _position_is_false(self, made: Asked, observation: Observation) -> bool:
        if not made.position_is_settled:
            return False
        query = f"SELECT CAST(COLUMNS(*) AS VARCHAR) FROM ({made.text}\n) LIMIT 50"
        stored = [at for at, output in enumerate(made.outputs) if "(" not in output]
        true = [[row[at] for at in stored] for row in self._plain.execute(query).fetchall()]
        said = [[row[at].text for at in stored] for row in observation.rows]
        # Keys that tie leave open which row is first; the keys themselves are settled.
        if made.distinct:
            true, said = [row[:1] for row in true], [row[:1] for row in said]
        return said != true[: len(said)]


def observed(predicate: Tree) -> Tree:
    """Give the observation in a bundle."""
    made: Tree = predicate["observation"]["payload"]["observation"]
    return made


def transplanted(tree: Tree, then: Observation) -> None:
    """Put the rows of one observation under the statement of another."""
    said = then.model_dump(mode="json")
    tree["rows"], tree["truncated"], tree["bounds"] = (
        said["rows"],
        said["truncated"],
        said["bounds"],
    )
    for own, theirs in zip(tree["columns"], said["columns"], strict=True):
        own["type"] = theirs["type"]


def _bounds_differ(one: list[Tree], other: list[Tree]) -> bool:
    places = [[(each["row"], each["column"]) for each in bounds] for bounds in (one, other)]
    if places[0] != places[1]:
        return any(place not in places[1] for place in places[0])
    pairs = [(Fraction(a["bound"]), Fraction(b["bound"])) for a, b in zip(one, other, strict=True)]
    return any(abs(a - b) > max(a, b) / 10 for a, b in pairs)


# --- parts that are forged in place ---------------------------------------------------------------


def _cell(tree: Tree, draw: random.Random) -> None:
    """Change one cell: a digit, a neighbour's value, another text."""
    if not tree["rows"]:
        return
    row = draw.choice(tree["rows"])
    at = draw.randrange(len(row))
    text = row[at]["text"]
    others = [each[at]["text"] for each in tree["rows"] if each[at]["text"] != text]
    digits = [place for place, sign in enumerate(text or "") if sign.isdigit()]
    kind = draw.choice(["digit", "neighbour", "more", "null"])
    if kind == "digit" and digits:
        place = draw.choice(digits)
        row[at]["text"] = f"{text[:place]}{(int(text[place]) + 1) % 10}{text[place + 1 :]}"
    elif kind == "neighbour" and others:
        row[at]["text"] = draw.choice(others)
    elif kind == "null":
        row[at]["text"] = None
    elif text is not None:
        row[at]["text"] = {"true": "false", "false": "true"}.get(text, f"{text}1")


def _exchange(tree: Tree, draw: random.Random) -> None:
    """Exchange the keys of two groups, or two cells of one column."""
    if len(tree["rows"]) > 1:
        one, other = draw.sample(tree["rows"], 2)
        at = draw.randrange(len(one))
        one[at], other[at] = other[at], one[at]


def _order(tree: Tree, draw: random.Random) -> None:
    """Put the rows into another order, with their bounds."""
    places = list(range(len(tree["rows"])))
    if draw.random() < 0.5:
        places.reverse()
    else:
        draw.shuffle(places)
    tree["rows"] = [tree["rows"][place] for place in places]
    for bound in tree["bounds"]:
        bound["row"] = places.index(bound["row"])
    tree["bounds"].sort(key=lambda bound: (bound["row"], bound["column"]))


def _engine(tree: Tree, draw: random.Random) -> None:
    tree["engine"]["name"] = draw.choice(["sqlite", "DuckDB", "duckdb "])


def _version(tree: Tree, draw: random.Random) -> None:
    tree["engine"]["version"] = draw.choice(["1.5.0", "2.0.2", "2.0.1 ", "9", "\u202e2.0.1"])


def _bound(tree: Tree, draw: random.Random) -> None:
    """Change a bound, or make one up, and the value within it."""
    if not tree["bounds"] and tree["rows"]:
        at = draw.randrange(len(tree["columns"]))
        tree["bounds"] = [{"row": 0, "column": at, "bound": draw.choice(["0", "1e+0"])}]
        return
    if not tree["bounds"]:
        return
    bound = draw.choice(tree["bounds"])
    cell = tree["rows"][bound["row"]][bound["column"]]
    value = float(cell["text"])
    wide = draw.choice([1e-7, 1e-9, 1e-12]) * abs(value)
    kind = draw.choice(["wide", "wide and moved", "moved", "none", "zero"])
    if "wide" in kind and wide:
        digits, exponent = f"{wide:.2e}".split("e")
        bound["bound"] = f"{digits.rstrip('0').rstrip('.')}e{int(exponent):+d}"
    if "moved" in kind:
        cell["text"] = repr(value + draw.choice([0.9 * wide, 3 * float(bound["bound"])]))
    if kind == "none":
        tree["bounds"].remove(bound)
    if kind == "zero":
        bound["bound"] = "0"


def _reading(tree: Tree, draw: random.Random) -> None:
    """Say that the statement could give something else."""
    if draw.random() < 0.5:
        tree["reading"]["repeatable"] = not tree["reading"]["repeatable"]
    elif tree["reading"]["order"]:
        tree["reading"]["order"] = []
    _cell(tree, draw)


def _cut(tree: Tree, draw: random.Random) -> None:
    """Leave out rows, or say that there are no more."""
    if draw.random() < 0.5 and tree["rows"]:
        gone = len(tree["rows"]) - 1
        tree["rows"].pop()
        tree["bounds"] = [bound for bound in tree["bounds"] if bound["row"] != gone]
    tree["truncated"] = draw.choice([None, "rows", "bytes"])


def _older(tree: Tree, draw: random.Random) -> None:
    """Say it in the first format, which has no bounds, and change a cell."""
    tree["format"] = "eligibility-observation/1"
    for name in ("bounds", "characters"):
        del tree[name]
    for name in ("order", "repeatable"):
        tree["reading"].pop(name, None)
    _cell(tree, draw)


PARTS: tuple[tuple[str, Callable[[Tree, random.Random], None]], ...] = (
    ("cell", _cell),
    ("cell", _cell),
    ("group", _exchange),
    ("order", _order),
    ("engine", _engine),
    ("version", _version),
    ("bound", _bound),
    ("reading", _reading),
    ("cut", _cut),
    ("older", _older),
)


def run(count: int, seed: int) -> Tally:
    """Forge so many bundles.

    Args:
        count: how many.
        seed: of what is drawn.

    Returns:
        What became of them.
    """
    with TemporaryDirectory() as folder:
        forger = Forger(Path(folder), seed)
        try:
            for _ in range(count):
                forger.trial()
        finally:
            forger.close()
        return forger.tally


def campaign(count: int, seed: int) -> Tally:
    """Forge so many bundles on two processes, a hundred with each world."""
    parts = [(min(100, count - start), seed + start) for start in range(0, count, 100)]
    whole = Tally()
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        for tally in pool.map(run, *zip(*parts, strict=True)):
            whole.made += tally.made
            whole.fate += tally.fate
            whole.codes += tally.codes
            whole.wrong += tally.wrong
    return whole


def say(text: str) -> None:
    """Print a line."""
    sys.stdout.write(f"{text}\n")


def main() -> int:
    """Run the campaign and tell what was found."""
    given = [int(number) for number in sys.argv[1:]]
    count, seed = (*given, *(10_000, 1)[len(given) :])
    begun = time.monotonic()
    tally = campaign(count, seed)
    for (part, truth, status), times in sorted(tally.fate.items()):
        say(f"{part:10} {truth:6} {status:11} {times:6,}")
    say("codes: " + ", ".join(f"{code} {times:,}" for code, times in tally.codes.most_common()))
    false = sum(times for (_, truth, _), times in tally.fate.items() if truth == "false")
    seconds = time.monotonic() - begun
    say(f"{count:,} forgeries, {false:,} false, {len(tally.wrong)} wrong, {seconds:.0f} seconds")
    for wrong in tally.wrong[:20]:
        say(wrong)
    return 1 if tally.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
