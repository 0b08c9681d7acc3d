"""Changes the decision in every small way, and sees which changes its tests notice.

    python -m tools.mutation [--sample N] [--file NAME] [--only UNIT]        (`make mutants`)

Every mutant lives in a process of its own, forked from one that has loaded the tests; there the
functions or constants that differ are put in place, and the tests that reach a line of the change
run, short ones first, until one fails. One that never ends is killed and counts as noticed.

Why no other tool: the one that is at hand changes function bodies alone, and a good part of what is
decided here stands in tables beside them; and it starts the tests anew for every mutant.

Ends with status 1 where a mutant lives that `argued.txt` does not argue away, or where that file
argues about one that is noticed or gone.
"""

import argparse
import ast
import gc
import importlib
import json
import os
import random
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import cache, partial
from itertools import starmap
from pathlib import Path
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any

import pytest

from tools.mutation.operators import Mutant, mutants

ROOT = Path(__file__).resolve().parents[2]
MODULES = (
    "eligibility.sql.policy",
    "eligibility.sql.resolve",
    "eligibility.sql.rules",
    "eligibility.sql.received",
    "eligibility.sql.release",
    "eligibility.wire.received",
    "preview.duckdb.plan",
)
KEPT = ROOT / "tools" / "soundness" / "mutation.json"
ARGUED = Path(__file__).with_name("argued.txt")
# As far as they are there; the corpora come with `fast.py`.
TESTS = (
    "tests/test_mutants.py",
    "tools/mutation/fast.py",
    "tests/test_policy.py",
    "tests/test_rules.py",
    "tests/test_received.py",
    "tests/test_release.py",
    "tests/test_plan.py",
    "tests/test_sealed.py",
)
LONG_S = 0.3  # a test that takes longer runs behind the others
SLOW_S = 60.0  # a test that takes longer is left out
_GRACE_S = 5.0
_LIVES, _NOTICED, _STUCK = "lives", "noticed", "stuck"


@dataclass(frozen=True)
class Reach:
    """What one test takes, and which lines of the modules it reaches."""

    seconds: float
    lines: dict[str, frozenset[int]]


class Campaign:
    """A pytest plugin whose test loop tries every mutant."""

    def __init__(self, chosen: dict[str, list[Mutant]], slow_s: float) -> None:
        """Take the mutants by module, and how long a test may take."""
        self.chosen, self._slow_s = chosen, slow_s
        self.lived: list[tuple[str, Mutant]] = []
        self.counts: dict[str, Counter[str]] = {name: Counter() for name in chosen}
        self.seconds = 0.0
        self.tests = 0
        self._failed = False
        self._why = ""
        self._items: list[pytest.Item] = []

    # Called by pytest.

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note a failure."""
        if report.failed:
            self._failed, self._why = True, report.longreprtext

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Note what cannot be loaded."""
        if report.failed:
            self._why = report.longreprtext

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Try every mutant."""
        if session.testsfailed:
            raise SystemExit(f"a file of tests cannot be loaded: {self._why}")
        self._items = session.items
        gc.collect()
        gc.freeze()  # or every child would copy what it never looks at
        reached = self._reached()
        modules = {name: importlib.import_module(name) for name in self.chosen}
        begun = time.monotonic()
        for name, ones in self.chosen.items():
            for at, one in enumerate(ones):
                order = self._order(one, modules[name], reached)
                fate = self._try(one, modules[name], order, reached)
                self.counts[name][fate] += 1
                if fate == _LIVES:
                    self.lived.append((name, one))
                    _tell(f"{name} {one.key}\n")
                if at % 200 == 199:
                    _tell(f"# {name} {at + 1} of {len(ones)}")
        self.seconds = time.monotonic() - begun
        return True

    def _run(self, at: int, following: int | None) -> bool:
        item = self._items[at]
        behind = None if following is None else self._items[following]
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=behind)
        return not self._failed

    def _reached(self) -> dict[int, Reach]:
        """Run every test once, as the code stands, and see which lines it reaches."""
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(read)
            with os.fdopen(write, "w") as told:
                for at, item in enumerate(self._items):
                    begun = time.monotonic()
                    following = at + 1 if at + 1 < len(self._items) else None
                    lines = _traced(partial(self._run, at, following))
                    if self._failed:
                        told.write(json.dumps(f"{item.nodeid}\n{self._why}") + "\n")
                        break
                    told.write(json.dumps([at, time.monotonic() - begun, lines]) + "\n")
            os._exit(0)
        os.close(write)
        found: dict[int, Reach] = {}
        with os.fdopen(read) as lines_told:
            for line in lines_told:
                made = json.loads(line)
                if isinstance(made, str):
                    raise SystemExit(f"as the code stands, a test fails: {made}")
                at, seconds, lines = made
                by_module = {name: frozenset(numbers) for name, numbers in lines.items()}
                if seconds < self._slow_s and any(by_module.values()):
                    found[at] = Reach(seconds, by_module)
        os.waitpid(pid, 0)
        self.tests = len(found)
        _tell(f"# {self.tests} tests, {sum(r.seconds for r in found.values()):.1f} s")
        return found

    def _order(self, one: Mutant, module: ModuleType, reached: dict[int, Reach]) -> list[int]:
        """Give the tests that reach the change: short ones first, by file for their fixtures."""
        lines = _lines(one, module)
        name = module.__name__
        near = [at for at, reach in reached.items() if lines & reach.lines.get(name, set())]
        near = near or list(reached)  # a constant for other modules

        def place(at: int) -> tuple[bool, int, str, float]:
            item, seconds = self._items[at], reached[at].seconds
            file = item.path.relative_to(ROOT).as_posix()
            return seconds > LONG_S, TESTS.index(file), item.name.split("[")[0], seconds

        return sorted(near, key=place)

    def _try(
        self, one: Mutant, module: ModuleType, order: list[int], reached: dict[int, Reach]
    ) -> str:
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            fate = _NOTICED
            gc.disable()
            try:
                _put_in_place(one, module)
                if all(starmap(self._run, zip(order, [*order[1:], None], strict=False))):
                    fate = _LIVES
            finally:
                os.write(write, fate.encode())
                os._exit(0)
        os.close(write)
        fate = _STUCK
        # Second by second: this process may be made to wait as well.
        for _ in range(int(_GRACE_S + 5 * sum(reached[at].seconds for at in order))):
            if select.select([read], [], [], 1)[0]:
                fate = os.read(read, 16).decode()
                break
        os.close(read)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        return fate or _NOTICED  # it died


def _tell(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


@cache
def _source(name: str) -> str:
    """Read a module once: someone may edit it meanwhile."""
    return (ROOT / f"{name.replace('.', '/')}.py").read_text()


@cache
def _tree(name: str) -> ast.Module:
    return ast.parse(_source(name))


def _traced(run: Any) -> dict[str, list[int]]:
    files = {str(ROOT / f"{name.replace('.', '/')}.py"): name for name in MODULES}
    seen: dict[str, set[int]] = defaultdict(set)

    def local(frame: FrameType, event: str, _: object) -> Any:
        seen[files[frame.f_code.co_filename]].add(frame.f_lineno)
        return local

    def enter(frame: FrameType, event: str, arg: object) -> Any:
        return local(frame, event, arg) if frame.f_code.co_filename in files else None

    sys.settrace(enter)
    try:
        run()
    finally:
        sys.settrace(None)
    return {name: sorted(lines) for name, lines in seen.items()}


def _lines(one: Mutant, module: ModuleType) -> frozenset[int]:
    if isinstance(one.top, ast.FunctionDef | ast.ClassDef):
        return frozenset(range(one.lines[0], one.lines[1] + 1))
    # A constant is reached by every function that names it, or names one that is made of it.
    names, lines = {one.unit}, set[int]()
    for top in _tree(module.__name__).body:
        for part in [top, *(top.body if isinstance(top, ast.ClassDef) else [])]:
            if names.isdisjoint(n.id for n in ast.walk(part) if isinstance(n, ast.Name)):
                continue
            if isinstance(part, ast.FunctionDef):
                lines.update(range(part.body[0].lineno, (part.end_lineno or 0) + 1))
            elif isinstance(part, ast.Assign | ast.AnnAssign):
                target = part.targets[0] if isinstance(part, ast.Assign) else part.target
                names.update({target.id} if isinstance(target, ast.Name) else ())
    return frozenset(lines)


def _put_in_place(one: Mutant, module: ModuleType) -> None:
    """Make the module, as it is loaded everywhere, the mutant."""
    code = compile(ast.Module(body=[one.top], type_ignores=[]), module.__file__ or "", "exec")
    if isinstance(one.top, ast.ClassDef):
        held, name = one.unit.split(".")
        _function(vars(getattr(module, held))[name]).__code__ = _code(code, one.unit)
        return
    space = dict(vars(module))
    exec(code, space)  # noqa: S102 - the module's own code, but for one node
    old, new = getattr(module, one.unit), space[one.unit]
    if isinstance(old, FunctionType):
        old.__code__ = new.__code__
        old.__defaults__, old.__kwdefaults__ = new.__defaults__, new.__kwdefaults__
        return
    constants = _made_of(one.unit, module)
    for name in constants:
        before = getattr(module, name)
        if name != one.unit:
            exec(constants[name], space)  # noqa: S102 - as above
        for other in list(sys.modules.values()):
            space_of = getattr(other, "__dict__", {})
            if space_of.get(name) is before:
                space_of[name] = space[name]


def _function(member: Any) -> FunctionType:
    assert isinstance(member, FunctionType)
    return member


def _code(code: CodeType, unit: str) -> CodeType:
    waiting = [code]
    while waiting:
        here = waiting.pop()
        if here.co_qualname == unit:
            return here
        waiting += [const for const in here.co_consts if isinstance(const, CodeType)]
    raise LookupError(unit)


def _made_of(unit: str, module: ModuleType) -> dict[str, CodeType]:
    """Give a constant and the ones made of it, with the code that makes them, in order."""
    file = module.__file__ or ""
    made: dict[str, CodeType] = {}
    for top in _tree(module.__name__).body:
        if isinstance(top, ast.Assign | ast.AnnAssign):
            target = top.targets[0] if isinstance(top, ast.Assign) else top.target
            names = {n.id for n in ast.walk(top) if isinstance(n, ast.Name)}
            if isinstance(target, ast.Name) and (target.id == unit or names & made.keys()):
                made[target.id] = compile(ast.Module([top], type_ignores=[]), file, "exec")
    return made


# --- survivors ----------------------------------------------------------------------------------


def argued(text: str) -> dict[str, dict[str, str]]:
    """Read the arguments: by module, why each mutant, by its key, changes nothing.

    A line `= MODULE` opens the part of a module. A block is the mutant's unit, its `-` line, its
    `+` line, and the argument; blank lines part blocks.
    """
    found: dict[str, dict[str, str]] = defaultdict(dict)
    module = ""
    for block in text.split("\n\n"):
        lines = [line for line in block.splitlines() if not line.startswith("#")]
        if lines and lines[0].startswith("= "):
            module = lines.pop(0)[2:]
        if len(lines) > 3:
            found[module]["\n".join(lines[:3])] = " ".join(lines[3:])
        elif lines:
            raise ValueError(f"not a mutant and its argument: {lines}")
    return found


def main(arguments: list[str]) -> int:
    """Try the mutants, and keep the counts where all of them were tried."""
    parser = argparse.ArgumentParser(prog="python -m tools.mutation")
    parser.add_argument("--sample", type=int, metavar="N", help="try N mutants of each module")
    parser.add_argument("--file", choices=MODULES, help="try one module")
    parser.add_argument("--only", metavar="UNIT", help="try one function or constant")
    parser.add_argument("--quick", action="store_true", help="leave out the long tests")
    options = parser.parse_args(arguments)
    chosen = {}
    for name in [options.file] if options.file else MODULES:
        every = mutants(_source(name))
        every = [one for one in every if options.only in (None, one.unit)]
        if options.sample and options.sample < len(every):
            every = random.Random(0).sample(every, options.sample)
        chosen[name] = every
    campaign = Campaign(chosen, LONG_S if options.quick else SLOW_S)
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "tools.mutation.evidence", folder]
        subprocess.run(command, cwd=ROOT, check=True)
        os.environ["MUTATION_EVIDENCE"] = folder
        os.environ["HYPOTHESIS_PROFILE"] = "mutation"
        files = [str(ROOT / test) for test in TESTS]
        # Not the project's settings: they are for tests that report on a terminal.
        options_of_pytest = ["-c", os.devnull, "--rootdir", str(ROOT), "--import-mode=importlib"]
        absent = ("cacheprovider", "faulthandler", "terminal", "xdist", "cov")
        options_of_pytest += [f"-pno:{plugin}" for plugin in absent]
        options_of_pytest += ["-s", "-Werror", "-ptools.mutation.hypotheses"]
        pytest.main([*options_of_pytest, *filter(os.path.exists, files)], plugins=[campaign])
    if not campaign.tests:
        return 2
    return _conclude(
        campaign, whole=not (options.file or options.only or options.sample or options.quick)
    )


def _conclude(campaign: Campaign, *, whole: bool) -> int:
    reasons = argued(ARGUED.read_text())
    unargued = [(name, one) for name, one in campaign.lived if one.key not in reasons[name]]
    lived = {(name, one.key) for name, one in campaign.lived}
    stale = [
        (name, key)
        for name, keys in reasons.items()
        for key in keys
        if whole and (name, key) not in lived
    ]
    rows = []
    for name, counts in campaign.counts.items():
        rows.append(
            {
                "module": name,
                "mutants": counts.total(),
                "noticed": counts[_NOTICED] + counts[_STUCK],
                "of which never ended": counts[_STUCK],
                "argued": sum(1 for n, one in campaign.lived if n == name)
                - sum(1 for n, _ in unargued if n == name),
                "unargued": sum(1 for n, _ in unargued if n == name),
            }
        )
    kept = {"tests": campaign.tests, "seconds": round(campaign.seconds), "modules": rows}
    _tell(json.dumps(kept, indent=2))
    for name, one in unargued:
        _tell(f"lives: {name} {one.key}\n")
    for name, key in stale:
        _tell(f"argued, but noticed or gone: {name} {key}\n")
    if whole:
        KEPT.write_text(json.dumps(kept, indent=2) + "\n")
    return 1 if unargued or stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
