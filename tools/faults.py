"""Harm the recorder at random moments in every way we know, and see what it does.

    python -m tools.faults [KILLS]      (`make faults`: 2,000)

Whatever is done to it, a statement ends in time with an observation or an error; an observation is
the true one and, where a ledger is kept, the ledger holds it and no other; the next statement is
answered; and no process and no file is left behind. What is not so is counted:

hangs           statements that took longer than their limit and some seconds
wrong           observations that are not what the table holds
from failures   observations of statements that cannot end well, and entries of a ledger that no
                caller was given
unanswered      statements after a fault, with no fault of their own, that were not answered
orphans         processes that live on
left behind     files and folders that are there and should not be, or are only half there
"""

import json
import os
import random
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import duckdb
import pyarrow as pa

import preview
from eligibility.sql.observation import Observation
from preview import recorder as recorders
from preview.errors import TargetError
from preview.ledger import Ledger
from preview.process.channel import Channel

ROOT = Path(__file__).resolve().parent.parent
KEPT = ROOT / "tools" / "soundness" / "faults.json"
KILLS = 2_000
# How long what ends well may take, and how much longer than its limit a statement may: no bound on
# the machine, it only ends what hangs.
PATIENCE_S = 1_000.0
# How long what never ends is given.
LIMIT_S = 10.0

_DOUBLED = ", ".join(f"c{n} + c{n} AS c{n + 1}" for n in range(10))
# Statements that end well unless they are harmed, by what most of their time goes to.
GOOD = {
    "little": "SELECT a, b FROM t",
    "binding": f"SELECT 1 AS c0, {_DOUBLED}",
    "executing": "SELECT sum(x.i * y.i) AS s FROM many x, many y WHERE (x.i + y.i) % 7 <> 3",
    "transfer": "SELECT i, repeat(i::VARCHAR || ' ', 300) AS s FROM many ORDER BY i LIMIT 50",
}
# Statements that never end well.
BAD = {
    "endless": "SELECT count(*) AS n FROM range(1000000000000)",
    "fails late": "SELECT sum(CASE WHEN x.i * y.i = 998001 THEN ('x' || x.i)::INTEGER ELSE 1 END) AS n"
    " FROM many x, many y",
    "long binding": "SELECT 1 AS c0, " + ", ".join(f"c{n} + c{n} AS c{n + 1}" for n in range(26)),
}
TOO_MUCH = (
    "SELECT list_sum(range(200000000))",
    "SELECT repeat('x', 4000000000)",
    "SELECT unnest(range(2000000000))",
    "SELECT " + ", ".join(["repeat('x', 100000000)"] * 90),
    "SELECT list(x) FROM (SELECT repeat(x.i::VARCHAR, 999) x FROM many x, many y)",
)
# What may be told of a good statement that was harmed: its child died at work, or at its start.
HONEST = (preview.StatementKilled, preview.RecorderFailed)
WRONG = ("hangs", "orphans", "from failures", "wrong", "unanswered", "left behind")


@dataclass
class Tally:
    """What was done, what came of it, and what went wrong.

    Attributes:
        done: faults, by kind.
        answers: outcomes of harmed statements, `observation` or the error's class.
        wrong: by what is counted, as the module says.
        first: of each of those, where it happened first.
    """

    done: Counter[str] = field(default_factory=Counter)
    answers: Counter[str] = field(default_factory=Counter)
    wrong: Counter[str] = field(default_factory=Counter)
    first: dict[str, str] = field(default_factory=dict)

    def bad(self, what: str, where: str) -> None:
        """Count what went wrong."""
        self.wrong[what] += 1
        self.first.setdefault(what, where)


class Bench:
    """A snapshot in a folder, and what its statements truly return."""

    def __init__(self, folder: Path, seed: int) -> None:
        """Pin the tables."""
        self.folder, self.tally = folder, Tally()
        self.random = random.Random(seed)
        self.snapshot = preview.pin(tables(), into=folder / "snapshot")
        with duckdb.connect(str(self.snapshot.database), read_only=True) as connection:
            self.truth = {
                statement: [
                    tuple(None if cell is None else str(cell) for cell in row)
                    for row in connection.execute(statement).fetchmany(50)
                ]
                for statement in GOOD.values()
            }
        self.servers: set[int] = set()
        self.given: list[str] = []

    @contextmanager
    def recorder(
        self, snapshot: preview.Snapshot | None = None, **options: object
    ) -> Iterator[preview.Recorder]:
        """Give a recorder; whatever is left of it afterwards is an orphan."""
        with preview.Recorder(snapshot or self.snapshot, **options) as made:  # type: ignore[arg-type]
            self.note(made)
            yield made
            self.note(made)
        self.look_for_orphans("after a recorder was closed")

    def note(self, recorder: preview.Recorder) -> int | None:
        """Remember the fork server: whatever it starts is of its session."""
        process = recorder._server._process
        if process is not None:
            self.servers.add(process.pid)
        return None if process is None else process.pid

    def look_for_orphans(self, where: str) -> None:
        """Count processes of any fork server's session that live on."""
        until = time.monotonic() + PATIENCE_S
        while (left := living(self.servers)) and time.monotonic() < until:
            time.sleep(0.01)
        for pid in left:
            self.tally.bad("orphans", f"{where}: {pid}")

    def ask(
        self, recorder: preview.Recorder, statement: str, limit_s: float, where: str
    ) -> Observation | Exception:
        """Capture a statement that may be harmed, and judge what comes."""
        recorder._timeout_s = limit_s
        begun = time.monotonic()
        answer: Observation | Exception
        try:
            answer = recorder.capture(statement)
        except preview.PreviewError as error:
            answer = error
        if time.monotonic() - begun > limit_s + PATIENCE_S:
            self.tally.bad("hangs", f"{where}: {statement[:40]}")
        is_error = isinstance(answer, Exception)
        self.tally.answers[type(answer).__name__ if is_error else "observation"] += 1
        if isinstance(answer, Observation):
            self.given.append(answer.digest)
            self.judge(answer, where)
        return answer

    def judge(self, observation: Observation, where: str) -> None:
        """Hold an observation against what the table holds."""
        rows = [tuple(cell.text for cell in row) for row in observation.rows]
        if observation.statement not in self.truth:
            self.tally.bad("from failures", f"{where}: {observation.statement[:40]}")
        elif rows != self.truth[observation.statement]:
            self.tally.bad("wrong", f"{where}: {observation.statement[:40]}")
        elif observation.digest != observation.recomputed_digest():
            self.tally.bad("wrong", f"{where}: digest")

    def ask_unharmed(self, recorder: preview.Recorder, where: str) -> None:
        """Capture a statement that nothing is done to: it must be answered."""
        answer = self.ask(recorder, GOOD["little"], PATIENCE_S, where)
        if isinstance(answer, Exception):
            self.tally.bad("unanswered", f"{where}: {type(answer).__name__}")
        self.note(recorder)


def tables() -> dict[str | tuple[str, ...], str | os.PathLike[str] | pa.Table]:
    """Make the tables: a few rows, and enough to keep the engine busy."""
    few = {"a": pa.array([10, 20, 30], pa.int32()), "b": ["x", "y", None]}
    return {"t": pa.table(few), "many": pa.table({"i": pa.array(range(1000), pa.int64())})}


def living(sessions: set[int]) -> list[int]:
    """Give the processes of these sessions that have not ended."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                # The name of the program, in parentheses, may hold anything.
                state, *rest = (entry / "stat").read_text().rpartition(")")[2].split()
                if int(rest[2]) not in sessions or state in "ZX":
                    continue
                # A number can be given to another program later.
                if b"preview.recorder" in (entry / "cmdline").read_bytes():
                    found.append(int(entry.name))
    return found


def child_of(server: int) -> int | None:
    """Give the child of a fork server; None where it has none at this moment."""
    with suppress(OSError, IndexError):
        return int(Path(f"/proc/{server}/task/{server}/children").read_text().split()[0])
    return None


def _strike(pid: int | None, number: signal.Signals) -> bool:
    if not pid:
        return False
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return False
    return True


# --- the faults ---------------------------------------------------------------------------------


def kills(bench: Bench, count: int) -> None:
    """Kill the child, sometimes the fork server, sometimes close a pipe, at random moments.

    Binding, executing and sending are met in turn, and so is the start of the next child: the one
    that was killed is not waited for.
    """
    tally, rng = bench.tally, bench.random
    path = bench.folder / "ledger"
    bench.given.clear()
    with Ledger(path) as ledger, bench.recorder(timeout_s=PATIENCE_S, ledger=ledger) as recorder:
        usual = {}
        for name, statement in GOOD.items():
            begun = time.monotonic()
            bench.ask(recorder, statement, PATIENCE_S, "before")
            usual[name] = time.monotonic() - begun
        while tally.done["kills"] < count:
            name = rng.choice([*GOOD, *GOOD, *BAD])
            way = rng.choices(("child", "fork server", "channel", "control"), (90, 4, 3, 3))[0]
            where = f"{way} while {name}"
            after = rng.random() * (1.2 * usual[name] if name in usual else 0.1)
            met: list[Channel | None] = []
            with _soon(partial(_harm, recorder, way, met), after) as struck:
                limit_s = PATIENCE_S if name in GOOD else LIMIT_S
                answer = bench.ask(recorder, (GOOD | BAD)[name], limit_s, where)
            if name in GOOD and not isinstance(answer, (Observation, *HONEST)):
                tally.bad("unanswered", f"{where}: {type(answer).__name__}")
            if struck == [True]:
                tally.done["kills"] += 1
                tally.done[f"{way}, {name}"] += 1
            if struck == [True] and isinstance(answer, (Observation, preview.StatementFailed)):
                _wait_until_it_shows(met[-1])  # it was answered before it was struck
            bench.note(recorder)
            if rng.random() < 0.5:
                bench.ask_unharmed(recorder, where)
        bench.ask_unharmed(recorder, "after the kills")
    with Ledger(path) as ledger:
        kept = [entry.subject for entry in ledger.entries() if entry.kind == "observation"]
    if sorted(kept) != sorted(bench.given):
        tally.bad("from failures", f"the ledger holds {len(kept)}, given were {len(bench.given)}")


def _harm(recorder: preview.Recorder, way: str, met: list[Channel | None]) -> bool:
    forks = recorder._server
    process, channel, control = forks._process, forks.channel, forks._control
    met.append(channel)
    server = None if process is None else process.pid
    with suppress(OSError):
        match way:
            case "child":
                return _strike(server and child_of(server), signal.SIGKILL)
            case "fork server":
                return _strike(server, signal.SIGKILL)
            case "channel" if channel is not None:
                channel._link.shutdown(socket.SHUT_RDWR)
                return True
            case "control" if control is not None:
                control.shutdown(socket.SHUT_RDWR)
                return True
    return False


def _wait_until_it_shows(channel: Channel | None) -> None:
    """Wait until the child has ended: a process that was killed ends a moment later.

    Where it had ended before the statement was sent, another child answered, and nothing is waited
    for.
    """
    until = time.monotonic() + PATIENCE_S
    while channel is not None and channel.fileno() >= 0 and time.monotonic() < until:
        if channel.is_dead():
            return
        time.sleep(0.005)


def stops(bench: Bench, count: int) -> None:
    """Stop the child, so that it neither ends nor answers: the time limit must."""
    limit_s = 0.4
    with bench.recorder(timeout_s=limit_s) as recorder:
        for _ in range(count):
            bench.ask_unharmed(recorder, "before a stop")
            server = bench.note(recorder)
            child = server and child_of(server)
            bench.tally.done["stops"] += _strike(child, signal.SIGSTOP)
            answer = bench.ask(recorder, GOOD["little"], limit_s, "stopped")
            if not isinstance(answer, preview.StatementTimedOut):
                bench.tally.bad("unanswered", f"stopped: {type(answer).__name__}")


def memory(bench: Bench, rounds: int) -> None:
    """Let statements ask for more memory than there is."""
    with bench.recorder(timeout_s=5, memory_bytes=recorders.MEMORY_BYTES_MIN) as recorder:
        for statement in TOO_MUCH * rounds:
            bench.tally.done["out of memory"] += 1
            bench.ask(recorder, statement, 5, "memory")
            bench.ask_unharmed(recorder, "after too much memory")


def threads(bench: Bench, statements: int, workers: int = 8) -> None:
    """Ask from several threads while children are killed under them."""
    wanted = [bench.random.choice([*GOOD.values()]) for _ in range(statements)]
    answered = threading.Semaphore(0)
    # After so many answers, not after so long: a slow machine is not struck more often.
    gaps = iter([bench.random.randint(2, 12) for _ in range(statements)])
    with bench.recorder(timeout_s=PATIENCE_S) as recorder:

        def ask(statement: str) -> Observation | Exception:
            try:
                return bench.ask(recorder, statement, PATIENCE_S, "threads")
            finally:
                answered.release()

        def kill() -> None:
            waited = 0
            while waited < statements:
                gap = min(next(gaps), statements - waited)
                for _ in range(gap):
                    answered.acquire()
                waited += gap
                bench.tally.done["kills under threads"] += _harm(recorder, "child", [])

        killer = threading.Thread(target=kill)
        killer.start()
        with ThreadPoolExecutor(workers) as pool:
            answers = list(pool.map(ask, wanted))
        killer.join()
        with suppress(preview.PreviewError):  # the last child may have been struck just now
            recorder.capture(GOOD["little"])
        bench.ask_unharmed(recorder, "after the threads")
    for answer in answers:
        if not isinstance(answer, (Observation, *HONEST)):
            bench.tally.bad("unanswered", f"threads: {type(answer).__name__}")
    bench.tally.done["statements from threads"] += len(answers)


def _replace(path: Path) -> None:
    Path(shutil.copy2(path, f"{path}.new")).replace(path)


def _cut(path: Path) -> None:
    path.chmod(0o644)
    os.truncate(path, 4096)


def _blank(path: Path) -> None:
    path.chmod(0o644)
    path.write_bytes(bytes(path.stat().st_size))


HARMS: dict[str, Callable[[Path], object]] = {
    "deleted": Path.unlink,
    "replaced by a copy": _replace,
    "cut": _cut,
    "blanked": _blank,
    "a log beside it": lambda path: Path(f"{path}.wal").touch(),
    "folder moved": lambda path: path.parent.rename(path.parent.with_name("moved")),
}


def files(bench: Bench, rounds: int) -> None:
    """Delete, replace or change the snapshot while a recorder reads it."""
    allowed = (preview.PinMismatch, preview.StatementFailed, preview.StatementKilled)
    for name, harm in list(HARMS.items()) * rounds:
        folder = bench.folder / "harmed"
        shutil.copytree(bench.snapshot.folder, folder)
        snapshot = preview.open_snapshot(folder)
        with bench.recorder(snapshot, timeout_s=PATIENCE_S) as recorder:
            bench.ask_unharmed(recorder, "before its file is harmed")
            after = bench.random.random() * 0.1
            with _soon(partial(harm, snapshot.database), after) as struck:
                answer = bench.ask(recorder, GOOD["executing"], PATIENCE_S, name)
            if not isinstance(answer, (Observation, *allowed)):
                bench.tally.bad("unanswered", f"{name}: {type(answer).__name__}")
            bench.tally.done["files harmed"] += len(struck)
            for statement in GOOD.values():
                answer = bench.ask(recorder, statement, PATIENCE_S, name)
                if not isinstance(answer, preview.PinMismatch):
                    bench.tally.bad("from failures", f"{name}: {type(answer).__name__}")
        for left in (folder, folder.with_name("moved")):
            shutil.rmtree(left, ignore_errors=True)


_HOST = """
import sys
import preview
from tools.faults import GOOD, BAD
recorder = preview.Recorder(preview.open_snapshot(sys.argv[1]), timeout_s=1_000)
recorder.capture(GOOD["little"])
print(recorder._server._process.pid, flush=True)
while True:
    recorder.capture((GOOD | BAD)[sys.argv[2]])
"""


def hosts(bench: Bench, count: int) -> None:
    """Kill the process that holds the recorder, in the midst of a capture."""
    for _ in range(count):
        name = bench.random.choice(["executing", "binding", "transfer", "endless", "long binding"])
        host = subprocess.Popen(
            [sys.executable, "-c", _HOST, str(bench.snapshot.folder), name],
            stdout=subprocess.PIPE,
            cwd=ROOT,
        )
        with host:
            assert host.stdout is not None
            bench.servers.add(int(host.stdout.readline()))
            time.sleep(bench.random.random() * 0.3)
            host.kill()
        bench.tally.done["hosts killed"] += 1
        bench.look_for_orphans(f"host killed while {name}")


# --- pinning ------------------------------------------------------------------------------------


def full_disk_by_limit(bench: Bench, count: int) -> None:
    """Pin while files may not grow over a random size."""
    whole = sum(file.stat().st_size for file in bench.snapshot.folder.iterdir())
    for _ in range(count):
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        size = int(bench.random.random() * 1.2 * whole)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
        try:
            _pin_without_room(bench, bench.folder / "full")
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)


def _pin_without_room(bench: Bench, parent: Path) -> None:
    parent.mkdir(exist_ok=True)
    target = parent / "snapshot"
    try:
        made = preview.pin(tables(), into=target)
        bench.tally.answers["pinned"] += 1
        if preview.open_snapshot(target).id != made.id:
            bench.tally.bad("wrong", "another snapshot")
    except TargetError:
        bench.tally.answers["TargetError"] += 1
        if left := list(parent.iterdir()):
            bench.tally.bad("left behind", f"no room: {left[0].name}")
    bench.tally.done["pins without room"] += 1
    shutil.rmtree(target, ignore_errors=True)


_PIN = """
import sys
import preview
from tools.faults import tables
made = tables()
print(flush=True)
preview.pin(made, into=sys.argv[1])
"""


def killed_pins(bench: Bench, count: int) -> None:
    """Kill a process that pins: there is a whole snapshot, or none."""
    parent = bench.folder / "killed"
    for _ in range(count):
        target = parent / "snapshot"
        pinning = subprocess.Popen(
            [sys.executable, "-c", _PIN, str(target)], stdout=subprocess.PIPE, cwd=ROOT
        )
        with pinning:
            assert pinning.stdout is not None
            pinning.stdout.readline()
            time.sleep(bench.random.random() * 0.15)
            pinning.kill()
        bench.tally.done["pins killed"] += 1
        if target.exists():
            try:
                preview.open_snapshot(target)
            except preview.PreviewError:
                bench.tally.bad("left behind", "half a snapshot")
            shutil.rmtree(target)
    if not parent.exists():
        return
    # What a process that died could not remove, a later one does.
    for private in parent.iterdir():
        os.utime(private, (0, 0))
    preview.pin(tables(), into=parent / "snapshot")
    if [entry.name for entry in parent.iterdir()] != ["snapshot"]:
        bench.tally.bad("left behind", "the folder of a process that died")


_NO_DISK = 77
_ON_A_DISK_OF_ITS_OWN = (
    "unshare", "--map-root-user", "--mount", sys.executable, "-m", "tools.faults", "--on-disks"
)  # fmt: skip


def full_disk(bench: Bench, count: int) -> None:
    """Pin on disks of random sizes that run full, where this system lets one be made."""
    whole = sum(file.stat().st_size for file in bench.snapshot.folder.iterdir())
    disk = bench.folder / "disk"
    disk.mkdir()
    page = os.sysconf("SC_PAGE_SIZE")
    sizes = [int(bench.random.random() * 1.2 * whole) + page for _ in range(count)]
    sizes += [page * pages for pages in range(1, min(count, 24))]
    run = subprocess.run(
        [*_ON_A_DISK_OF_ITS_OWN, str(disk), *map(str, sizes)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if run.returncode == _NO_DISK or run.stderr.startswith("unshare:"):
        sys.stderr.write("no disk of a few kilobytes can be made here\n")
        return
    if run.returncode:
        bench.tally.bad("wrong", f"full disk: {run.stderr[-500:]}")
        return
    told = json.loads(run.stdout)
    bench.tally.done.update({"disks run full": told["disks"]})
    bench.tally.answers.update(told["answers"])
    for what, where in told["first"].items():
        bench.tally.bad(what, where)


def _on_disks(disk: Path, sizes: list[int]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder), 0)
        for size in sizes:
            mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(disk)]
            if subprocess.run(mount, check=False).returncode:
                sys.exit(_NO_DISK)
            _pin_without_room(bench, disk / "parent")
            subprocess.run(["umount", str(disk)], check=True)
    tally = bench.tally
    told = {"disks": len(sizes), "answers": tally.answers, "first": tally.first}
    sys.stdout.write(json.dumps(told) + "\n")


# --- the campaign -------------------------------------------------------------------------------


@contextmanager
def _soon(act: Callable[[], object], after_s: float) -> Iterator[list[bool]]:
    """Do something in a while, and again until it met something; at the end it was done once."""
    struck: list[bool] = []
    over = threading.Event()

    def strike() -> None:
        time.sleep(after_s)
        struck.append(act() is not False)
        while not struck[-1] and not over.wait(0.05):
            struck[-1] = act() is not False

    striker = threading.Thread(target=strike)
    striker.start()
    yield struck
    over.set()
    striker.join()


def campaign(bench: Bench, count: int) -> None:
    """Do everything, in amounts that go with the number of kills."""
    part = max(1, count // 100)
    kills(bench, count)
    stops(bench, part)
    memory(bench, max(1, count // 500))
    threads(bench, 200)
    files(bench, max(1, count // 200))
    hosts(bench, 3 * part)
    full_disk_by_limit(bench, 2 * part)
    full_disk(bench, 2 * part)
    killed_pins(bench, 2 * part)


def main(arguments: list[str]) -> int:
    """Run the campaign, keep its counts, and print them."""
    if arguments[:1] == ["--on-disks"]:
        _on_disks(Path(arguments[1]), [int(size) for size in arguments[2:]])
        return 0
    count = int(arguments[0]) if arguments else KILLS
    seed = int(time.time())
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder), seed)
        campaign(bench, count)
    kept = {
        "seed": seed,
        "seconds": round(time.monotonic() - begun),
        "kills": bench.tally.done["kills"],
        **{what: bench.tally.wrong[what] for what in WRONG},
        "done": dict(sorted(bench.tally.done.items())),
        "answers": dict(sorted(bench.tally.answers.items())),
        "first": bench.tally.first,
    }
    sys.stdout.write(json.dumps(kept, indent=2) + "\n")
    if count >= KILLS:
        KEPT.write_text(json.dumps(kept, indent=2) + "\n")
    return 1 if bench.tally.wrong.total() else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
