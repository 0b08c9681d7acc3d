"""The child that can be killed: what it gives, what stops it, and that nothing of it stays."""

import gc
import hashlib
import os
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

import preview
from eligibility import classify
from eligibility.reasons import Reason
from eligibility.sql.observation import Observation
from eligibility.wire.untrusted import from_json
from preview import recorder as recorders
from preview.duckdb import engine as duckdb_engine
from preview.engine import Captured, engine_named
from preview.process import fork_server
from preview.process.channel import FRAME_BYTES_MAX, Channel

# How long what ends well may take: no bound on the machine, it only ends what hangs.
PATIENCE_S = 1_000.0
# How long what never ends is given.
HURRY_S = 0.5
GOOD = "SELECT sum(a) AS s, min(b) AS m FROM t"
GOOD_ROW = ("60", "x")
ENDLESS = "SELECT count(*) FROM range(1000000000000)"
# 250 bytes that take the binder minutes; while it binds, the engine heeds no interrupt.
STUCK = "SELECT 1 AS c0, " + ", ".join(f"c{n} + c{n} AS c{n + 1}" for n in range(18))


WORK_TICKS = 10


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> preview.Snapshot:
    columns = {"a": pa.array([10, 20, 30], pa.int32()), "b": ["x", "y", None]}
    return preview.pin(
        {"t": pa.table(columns), "many": pa.table({"i": pa.array(range(1000))})},
        into=tmp_path_factory.mktemp("recorder") / "snapshot",
    )


@pytest.fixture(scope="module")
def recorder(snapshot: preview.Snapshot) -> Iterator[preview.Recorder]:
    with preview.Recorder(snapshot, timeout_s=PATIENCE_S) as made:
        yield made


@contextmanager
def hurried(recorder: preview.Recorder) -> Iterator[None]:
    """Give the statements inside the time limit of what never ends."""
    recorder._timeout_s = HURRY_S
    try:
        yield
    finally:
        recorder._timeout_s = PATIENCE_S


def texts(observation: Observation) -> list[tuple[str | None, ...]]:
    return [tuple(cell.text for cell in row) for row in observation.rows]


def children(of: int) -> list[int]:
    """List the processes that a process has started and that have not ended."""
    listing = subprocess.Popen(
        ["ps", "-A", "-o", "pid=,ppid=,stat="], stdout=subprocess.PIPE, text=True
    )
    listed, _ = listing.communicate()
    rows = [line.split() for line in listed.splitlines()]
    found = [int(pid) for pid, parent, state in rows if int(parent) == of and state[0] != "Z"]
    return [pid for pid in found if pid != listing.pid]


def processes(recorder: preview.Recorder) -> tuple[int, int]:
    """Give the fork server and its child, ready for a statement."""
    return processes_of(recorder, GOOD, GOOD_ROW)


def processes_of(
    recorder: preview.Recorder, statement: str, row: tuple[str | None, ...]
) -> tuple[int, int]:
    assert texts(recorder.capture(statement)) == [row]
    process = recorder._server._process
    assert process is not None
    (child,) = children(process.pid)
    return process.pid, child


def is_running(pid: int) -> bool:
    state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True)
    return state.stdout.strip()[:1] not in ("", "Z")


def speaks(recorder: preview.Recorder) -> bool:
    """Say whether the child's end of the channel is open: its threads end one by one."""
    channel = recorder._server.channel
    return channel is not None and not channel.is_dead()


def ends(condition: Callable[[], bool]) -> bool:
    until = time.monotonic() + PATIENCE_S
    while condition():
        if time.monotonic() > until:
            return False
        time.sleep(0.01)
    return True


def ticks(pid: int) -> int:
    """Give how long a process has had a processor, in ticks of a hundredth of a second."""
    return sum(map(int, Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]))


def when_at_work(pid: int, act: Callable[[], object]) -> threading.Thread:
    """Do something once a process has worked for a while, on what it is asked next."""
    until = ticks(pid) + WORK_TICKS

    def wait() -> None:
        assert ends(lambda: ticks(pid) < until)
        act()

    thread = threading.Thread(target=wait)
    thread.start()
    return thread


# --- what it gives ------------------------------------------------------------------------------


def test_an_observation_says_what_was_run_on_what_by_what(snapshot, recorder):
    statement = "SELECT b, count(*) AS n FROM t GROUP BY b ORDER BY b; -- é"
    seen = recorder.capture(statement)
    assert seen.statement == statement
    assert seen.statement_sha256 == hashlib.sha256(statement.encode()).hexdigest()
    assert seen.snapshot == snapshot.id
    assert seen.manifest_sha256 == snapshot.manifest_sha256
    assert seen.pins == snapshot.pins
    assert (seen.engine.name, seen.engine.version) == ("duckdb", duckdb.__version__)
    assert ("lock_configuration", "true") in seen.engine.settings
    assert [(c.position, c.name, c.type) for c in seen.columns] == [
        (0, "b", "VARCHAR"),
        (1, "n", "BIGINT"),
    ]
    assert texts(seen) == [("x", "1"), ("y", "1"), (None, "1")]
    assert seen.truncated is None
    assert seen.reading.shape is not None
    assert re.fullmatch(r"[0-9-]{10}T[0-9:]{8}\.[0-9]{6}Z", seen.captured_at)
    assert seen.digest == seen.recomputed_digest()
    assert from_json(Observation, seen.to_json()) == seen


def test_a_reading_executes_nothing(recorder):
    assert recorder.read(ENDLESS).shape is None
    reading = recorder.read("SELECT a FROM t")
    assert reading.shape is not None
    assert recorder.capture("SELECT a FROM t").reading == reading


def test_text_crosses_whole(recorder):
    written = "a\0b 👩‍👩‍👧 \u202e\ue000 é " + "\x01\x1f\x7f\u2028 \\ \" ' {"
    parts = " || ".join(f"chr({ord(character)})" for character in written)
    assert texts(recorder.capture(f"SELECT {parts}")) == [(written,)]


def test_rows_and_bytes_are_bounded(recorder):
    seen = recorder.capture("SELECT i FROM many")
    assert (len(seen.rows), seen.truncated) == (50, "rows")
    seen = recorder.capture("SELECT repeat('x', 100000) FROM many")
    assert (len(seen.rows), seen.truncated) == (0, "bytes")
    # The longest answer there can be: every character is written as six.
    seen = recorder.capture("SELECT repeat(chr(1), 65536)")
    assert texts(seen) == [("\x01" * 65536,)]


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("", Reason.NO_STATEMENT),
        ("SELECT 1; SELECT 2", Reason.SEVERAL_STATEMENTS),
        ("SELECT 1 FROM (", Reason.BRACKETS_UNBALANCED),
        ("(" * 5000 + "a FROM t", Reason.BRACKETS_UNBALANCED),
        ("SELECT " + "(" * 51 + "1" + ")" * 51, Reason.BRACKETS_TOO_DEEP),
        ("SELECT '" + "x" * 16384 + "'", Reason.STATEMENT_TOO_LONG),
        ("SELECT '\ud800'", Reason.NOT_TEXT),
        ("SELECT '\0'", Reason.NOT_TEXT),
        ("DELETE FROM t", Reason.NOT_A_SELECT),
        ("SELECT setseed(0.5)", Reason.ENGINE_REFUSED),
        ("FROM read_blob('snapshot.duckdb')", Reason.ENGINE_REFUSED),
    ],
)
def test_a_refusal_says_why(recorder, statement, reason):
    for ask in (recorder.capture, recorder.read):
        with pytest.raises(preview.StatementRefused) as caught:
            ask(statement)
        assert caught.value.reason is reason


@pytest.mark.parametrize("given", [None, 5, b"SELECT 1", ["SELECT 1"], object()])
def test_what_is_no_text_is_refused_as_such(snapshot, recorder, given):
    for ask in (recorder.capture, recorder.read):
        with pytest.raises(preview.StatementRefused) as caught:
            ask(given)
        assert caught.value.reason is Reason.NOT_TEXT
    found = classify(given, snapshot.schema)
    assert (found.reasons, found.outputs) == ((Reason.NOT_TEXT,), ())
    with pytest.raises(preview.PinMismatch):
        preview.open_snapshot([given])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="takes a snapshot"):
        preview.Recorder(given)


def test_the_parsers_message_helps_to_mend_a_statement(recorder):
    with pytest.raises(preview.StatementRefused, match="syntax error") as refusal:
        recorder.capture("SELECT a FRM t WHERE")
    assert refusal.value.reason is Reason.NOT_SQL
    with pytest.raises(preview.StatementFailed, match="nope") as failure:
        recorder.capture("SELECT nope FROM t")
    assert failure.value.error_class == "BinderException"


def test_no_error_quotes_a_cell(recorder):
    with pytest.raises(preview.StatementFailed) as caught:
        recorder.capture("SELECT ('secret ' || b)::INTEGER FROM t")
    assert caught.value.error_class == "ConversionException"
    assert "secret" not in f"{caught.value} {caught.value!r}"


# --- what stops it ------------------------------------------------------------------------------


def nested_lambdas(depth: int) -> str:
    inner = "1"
    for level in range(depth):
        inner = f"list_transform([1], lambda x{level}: {inner})"
    return f"SELECT {inner}"


HOSTILE = {
    "alias-doubling": STUCK,
    "nested-lambdas": nested_lambdas(20),
    "endless": ENDLESS,
    "endless-sort": "SELECT * FROM many x, many y, many z ORDER BY x.i + y.i + z.i, z.i",
    "endless-recursion": "WITH RECURSIVE r AS (SELECT 1 n UNION ALL SELECT n + 1 FROM r)"
    " SELECT max(n) FROM r",
    "long-list": "SELECT list_sum(range(200000000))",
    "long-unnest": "SELECT unnest(range(2000000000))",
    "long-text": "SELECT repeat('x', 4000000000)",
    "many-long-texts": "SELECT " + ", ".join(["repeat('x', 100000000)"] * 90),
    "much-state": "SELECT list(x) FROM (SELECT repeat(x.i::VARCHAR, 999) x FROM many x, many y)",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_statement_ends_and_the_next_one_answers(recorder, name):
    _, child = processes(recorder)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with hurried(recorder), pytest.raises((preview.StatementTimedOut, preview.StatementKilled)):
        recorder.capture(HOSTILE[name])
    assert processes(recorder)[1] != child
    assert not is_running(child)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak < 20_000


@pytest.mark.long
def test_even_what_no_limit_on_text_stopped_is_killed(recorder, monkeypatch):
    monkeypatch.setattr(recorders, "refusal", lambda statement: None)
    with pytest.raises((preview.StatementTimedOut, preview.StatementKilled)):
        recorder.capture("SELECT " + "(" * 5000 + "a FROM t")
    assert texts(recorder.capture(GOOD)) == [GOOD_ROW]


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TEMP MACRO sum(x) AS 42",
        "CREATE OR REPLACE TEMP MACRO count_star() AS 42",
        "CREATE TEMP TABLE t AS SELECT 1 AS a, 'z' AS b",
        "CREATE TEMP VIEW t AS SELECT 1 AS a, 'z' AS b",
        "SET schema = 'temp'",
        "SET search_path = 'temp'",
        "SET VARIABLE v = 1",
        "USE temp",
        "SET default_order = 'DESC'",
        "PREPARE p AS SELECT 1",
        "BEGIN",
        "WITH x AS (DELETE FROM t RETURNING *) FROM x",
        "WITH x AS (COPY t TO 'out.csv') FROM x",
        "ATTACH ':memory:' AS other",
        "PRAGMA enable_verification",
    ],
)
def test_a_refused_statement_leaves_no_trace(recorder, statement):
    with pytest.raises(preview.StatementRefused):
        recorder.capture(statement)
    assert texts(recorder.capture(GOOD)) == [GOOD_ROW]


def test_no_statement_can_fix_the_seed_of_another(recorder):
    drawn = set()
    for _ in range(3):
        with pytest.raises(preview.StatementRefused):
            recorder.capture("SELECT setseed(0.5)")
        drawn.update(texts(recorder.capture("SELECT random()")))
    assert len(drawn) == 3


def test_a_child_that_was_killed_idle_is_replaced(recorder):
    server, child = processes(recorder)
    os.kill(child, signal.SIGKILL)
    assert ends(lambda: speaks(recorder))
    assert processes(recorder)[0] == server


def test_a_child_that_dies_with_a_statement_is_replaced(recorder):
    _, child = processes(recorder)
    killer = when_at_work(child, lambda: os.kill(child, signal.SIGKILL))
    with pytest.raises(preview.StatementKilled):
        recorder.capture(ENDLESS)
    killer.join()
    assert texts(recorder.capture(GOOD)) == [GOOD_ROW]


def test_a_fork_server_that_was_killed_is_replaced_and_its_child_ends(recorder):
    server, child = processes(recorder)
    os.kill(server, signal.SIGKILL)
    assert ends(lambda: is_running(child) or speaks(recorder))
    assert processes(recorder)[0] != server


def test_a_child_ends_with_its_server_even_while_it_binds(recorder):
    server, child = processes(recorder)
    killer = when_at_work(child, lambda: os.kill(server, signal.SIGKILL))
    with pytest.raises(preview.StatementKilled):
        recorder.capture(STUCK)
    killer.join()
    assert ends(lambda: is_running(child))
    assert texts(recorder.capture(GOOD)) == [GOOD_ROW]


class Interrupted(BaseException):
    pass


def test_an_interrupted_statement_does_not_answer_for_the_next(recorder):
    def interrupt(*_):
        raise Interrupted

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        main = threading.main_thread().ident
        assert main is not None
        killer = when_at_work(
            processes(recorder)[1], lambda: signal.pthread_kill(main, signal.SIGALRM)
        )
        with pytest.raises(Interrupted):
            recorder.capture(ENDLESS)
        killer.join()
    finally:
        signal.signal(signal.SIGALRM, before)
    assert texts(recorder.capture(GOOD)) == [GOOD_ROW]


# --- the file -----------------------------------------------------------------------------------


def truncate(path: Path) -> None:
    path.chmod(0o644)
    os.truncate(path, 4096)


def rewrite(path: Path) -> None:
    path.chmod(0o644)
    with path.open("r+b") as file:
        byte = file.read(1)
        file.seek(0)
        file.write(byte)


def swap(path: Path) -> None:
    shutil.copy2(path, path.with_name("copy"))
    path.with_name("copy").replace(path)


@pytest.mark.parametrize(
    "harm",
    [
        Path.unlink,
        rewrite,
        swap,
        truncate,
        os.utime,
        lambda path: Path(f"{path}.wal").touch(),
    ],
)
def test_a_file_that_changes_is_noticed(tmp_path, harm):
    made = preview.pin({"t": pa.table({"a": [1]})}, into=tmp_path / "snapshot")
    with preview.Recorder(made, timeout_s=PATIENCE_S) as recorder:
        assert texts(recorder.capture("SELECT a FROM t")) == [("1",)]
        harm(made.database)
        for _ in range(2):
            with pytest.raises(preview.PinMismatch):
                recorder.capture("SELECT a FROM t")
    with pytest.raises(preview.PinMismatch):
        preview.Recorder(made)


def test_a_file_that_changes_under_a_statement_is_noticed(tmp_path, monkeypatch):
    made = preview.pin({"t": pa.table({"a": [1]})}, into=tmp_path / "snapshot")
    with preview.Recorder(made) as recorder:
        recorder.capture("SELECT a FROM t")
        exchange = recorder._exchange

        def swapping(*arguments):
            answer = exchange(*arguments)
            swap(made.database)
            return answer

        monkeypatch.setattr(recorder, "_exchange", swapping)
        with pytest.raises(preview.PinMismatch):
            recorder.capture("SELECT a FROM t")


def test_a_file_that_changed_before_the_child_opened_it_is_noticed(tmp_path, monkeypatch):
    made = preview.pin({"t": pa.table({"a": [1]})}, into=tmp_path / "snapshot")
    monkeypatch.setattr(recorders.Recorder, "_check_file", lambda self: None)
    swap(made.database)
    with preview.Recorder(made) as recorder, pytest.raises(preview.PinMismatch):
        recorder.capture("SELECT a FROM t")


def exchange(one: Path, other: Path) -> None:
    aside = one.with_name("aside")
    one.rename(aside)
    other.rename(one)
    aside.rename(other)


def _task(made: preview.Snapshot) -> recorders._Task:
    return recorders._Task(
        engine="duckdb",
        database=str(made.database),
        identity=made.identity,
        memory_bytes=recorders.MEMORY_BYTES,
        threads=1,
        pins=made.pins,
    )


def served(task: recorders._Task) -> recorders.Answer:
    """Give what a child says of itself first."""
    ours, theirs = socket.socketpair()
    with theirs:
        child = threading.Thread(
            target=recorders._answer_statements,
            args=(task, engine_named("duckdb"), Channel(theirs)),
        )
        child.start()
        with ours:
            said = recorders._checked(Channel(ours).receive())
        child.join()
    return said


def test_a_log_that_grows_is_no_other_file(tmp_path, monkeypatch):
    """The child inherits what its host has open; others write to it while the snapshot is opened."""
    made = preview.pin({"t": pa.table({"a": [1]})}, into=tmp_path / "snapshot")
    opened = duckdb_engine.open_sealed  # type: ignore[attr-defined]
    with (tmp_path / "log").open("w") as log:

        def beside(database: Path, **options: int):
            log.write("a line")
            log.flush()
            return opened(database, **options)

        monkeypatch.setattr(duckdb_engine, "open_sealed", beside)
        assert isinstance(served(_task(made)), recorders.Ready)


@pytest.mark.parametrize("what", ["nothing", "folder", "file"])
def test_the_file_that_a_child_has_open_is_the_one_that_was_verified(tmp_path, monkeypatch, what):
    """Its path leads elsewhere while the child opens it, and back before anybody looks."""
    made = preview.pin({"t": pa.table({"a": [1]})}, into=tmp_path / "snapshot")
    other = preview.pin({"t": pa.table({"a": [2]})}, into=tmp_path / "other")
    pair = {
        "folder": (made.folder, other.folder),
        "file": (made.database, other.database),
        "nothing": None,
    }[what]
    for folder in (made.folder, other.folder):
        folder.chmod(0o755)
    opened = duckdb_engine.open_sealed  # type: ignore[attr-defined]
    identity = made.database.stat()

    def exchanged(database: Path, **options: int):
        if pair:
            exchange(*pair)
        try:
            return opened(database, **options)
        finally:
            if pair:
                exchange(*pair)

    monkeypatch.setattr(duckdb_engine, "open_sealed", exchanged)
    if what == "file":  # to rename a file changes one of its times: here nothing else may tell
        monkeypatch.setattr(recorders, "_identity", lambda path: made.identity)
    said = served(_task(made))
    assert identity.st_ino == made.database.stat().st_ino
    if what == "nothing":
        assert isinstance(said, recorders.Ready)
    else:
        assert said == recorders.Unready(error_class="PinMismatch")


def test_a_process_that_moves_keeps_its_snapshot(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    preview.pin({"t": pa.table({"a": [1]})}, into="snapshot")
    snapshot = preview.open_snapshot("snapshot")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir("elsewhere")
    with preview.Recorder(snapshot, timeout_s=PATIENCE_S) as recorder:
        assert texts(recorder.capture("SELECT a FROM t")) == [("1",)]
        monkeypatch.chdir("/")
        _, child = processes_of(recorder, "SELECT a FROM t", ("1",))
        os.kill(child, signal.SIGKILL)
        assert ends(lambda: speaks(recorder))
        assert texts(recorder.capture("SELECT a FROM t")) == [("1",)]


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # half-made sockets
def test_an_interrupt_while_the_helper_starts_spoils_nothing(snapshot):
    """Before each line that starts one, an interrupt arrives."""
    with preview.Recorder(snapshot, timeout_s=PATIENCE_S) as recorder:
        server = recorder._server
        server.close()
        lines = list(dict.fromkeys(stepped(server.new_child)))
        assert len(lines) >= 12
        for line in lines[-8:]:  # from where a process is there
            server.close()
            with pytest.raises(Interrupted):
                stepped(lambda: recorder.capture(GOOD), line)
            assert texts(recorder.capture(GOOD)) == [GOOD_ROW]


def stepped(act: Callable[[], object], interrupted_at: int | None = None) -> list[int]:
    """Run something, and give the lines that it went through to start a helper."""
    lines = []

    def trace(frame, event, _):
        if frame.f_code.co_filename != fork_server.__file__:
            return None
        if event == "line" and frame.f_code.co_name in ("_start", "_asked_child"):
            lines.append(frame.f_lineno)
            if frame.f_lineno == interrupted_at:
                raise Interrupted
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        act()
    finally:
        sys.settrace(before)
    return lines


YEARS = {"s": 9_300_000_000_000, "ms": 9_300_000_000_000_000}


@pytest.mark.parametrize("unit", YEARS)
def test_an_instant_that_has_no_text_fails_its_statement_alone(tmp_path, unit):
    instants = pa.array([0, YEARS[unit], None, 2**63 - 1], pa.timestamp(unit))
    rows = pa.table({"a": [1, 2, 3, 4], "ts": instants})
    # Arrow is refused such an instant; a database may hold one.
    with duckdb.connect(str(tmp_path / "d.duckdb")) as connection:
        connection.register("given", rows)
        connection.execute("CREATE TABLE t AS FROM given").fetchall()
    made = preview.pin({"t": f"{tmp_path / 'd.duckdb'}::t"}, into=tmp_path / "snapshot")
    with preview.Recorder(made, timeout_s=PATIENCE_S) as recorder:
        _, child = processes_of(recorder, "SELECT count(ts) FROM t", ("3",))
        for statement in ("SELECT ts FROM t", "SELECT a, ts AS a FROM t ORDER BY a; -- é"):
            with pytest.raises(preview.StatementFailed, match="ConversionException"):
                recorder.capture(statement)
        assert processes_of(recorder, "SELECT count(ts) FROM t", ("3",))[1] == child
        seen = recorder.capture("SELECT ts, a AS ts FROM t WHERE a <> 2 ORDER BY 2")
        assert [column.name for column in seen.columns] == ["ts", "ts"]
        assert [cell.type for cell in seen.rows[0]] == [f"TIMESTAMP_{unit.upper()}", "BIGINT"]
        assert texts(seen) == [("1970-01-01 00:00:00", "1"), (None, "3"), ("infinity", "4")]


def test_a_file_that_is_no_database_is_no_snapshot(tmp_path):
    made = preview.pin({"t": pa.table({"a": [1]})}, into=tmp_path / "snapshot")
    swap(made.database)
    made.database.chmod(0o644)
    made.database.write_bytes(b"not a database" * 1000)
    status = made.database.stat()
    times = (status.st_mtime_ns, status.st_ctime_ns)
    identity = (status.st_dev, status.st_ino, status.st_size, *times)
    object.__setattr__(made, "identity", identity)
    with preview.Recorder(made) as recorder, pytest.raises(preview.RecorderFailed):
        recorder.capture("SELECT a FROM t")


# --- several ------------------------------------------------------------------------------------


def test_several_threads_share_a_recorder(recorder):
    def ask(number: int) -> list[tuple[str | None, ...]]:
        return texts(recorder.capture(f"SELECT {number} AS n, i FROM many WHERE i = {number}"))

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(ask, range(64)))
    assert found == [[(str(number), str(number))] for number in range(64)]


def test_several_recorders_read_one_snapshot(snapshot):
    with preview.Recorder(snapshot) as one, preview.Recorder(snapshot) as other:
        assert texts(one.capture(GOOD)) == texts(other.capture(GOOD)) == [GOOD_ROW]
        one.close()
        assert texts(other.capture(GOOD)) == [GOOD_ROW]


# --- how it ends --------------------------------------------------------------------------------


def test_a_closed_recorder_leaves_nothing_and_says_so(snapshot):
    recorder = preview.Recorder(snapshot)
    server, child = processes(recorder)
    recorder.close()
    recorder.close()
    assert not is_running(server)
    assert not is_running(child)
    for ask in (recorder.capture, recorder.read):
        with pytest.raises(preview.RecorderClosed):
            ask(GOOD)


def test_a_recorder_that_was_never_asked_leaves_nothing(snapshot):
    before = set(children(os.getpid()))
    preview.Recorder(snapshot).close()
    assert set(children(os.getpid())) == before


def test_a_forgotten_recorder_leaves_nothing(snapshot):
    recorder = preview.Recorder(snapshot)
    pids = processes(recorder)
    del recorder
    gc.collect()
    assert not any(is_running(pid) for pid in pids)


# --- hosts of other kinds ------------------------------------------------------------------------

SCRIPT = f"""
import os, sys, threading
import preview
snapshot = preview.open_snapshot(sys.argv[1])
def rows(recorder):
    return [[cell.text for cell in row] for row in recorder.capture({GOOD!r}).rows]
"""


def run(script: str, snapshot: preview.Snapshot, *options: str, **more: str) -> str:
    done = subprocess.run(
        [sys.executable, *options, str(snapshot.folder)],
        input=more.get("stdin"),
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        cwd=Path(preview.__file__).parent.parent,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, ""), script
    return done.stdout


@pytest.mark.parametrize("way", ["command", "standard input", "thread"])
def test_no_main_module_is_needed(snapshot, way):
    script = SCRIPT + "\nwith preview.Recorder(snapshot) as recorder: print(rows(recorder))\n"
    if way == "thread":
        script = SCRIPT + (
            "made = []\n"
            "start = lambda: made.append(preview.Recorder(snapshot))\n"
            "thread = threading.Thread(target=start); thread.start(); thread.join()\n"
            "print(rows(made[0]))\n"
        )
    if way == "standard input":
        said = run(script, snapshot, "-", stdin=script)
    else:
        said = run(script, snapshot, "-c", script)
    assert said == f"{[list(GOOD_ROW)]}\n"


def test_each_side_of_a_fork_has_its_own_child(snapshot):
    script = SCRIPT + textwrap.dedent("""
        import warnings
        warnings.simplefilter("ignore")
        recorder = preview.Recorder(snapshot)
        held = preview.Recorder(snapshot)
        held._lock.acquire()  # by a thread that the new process does not have
        first = rows(recorder)
        pid = os.fork()
        if pid == 0:
            same = rows(recorder) == first == rows(held)
            recorder.close()
            held.close()
            os._exit(0 if same else 1)
        assert os.waitpid(pid, 0)[1] == 0
        assert rows(recorder) == first
        held._lock.release()
        assert rows(held) == first
        print("both")
    """)
    assert run(script, snapshot, "-c", script) == "both\n"


@pytest.mark.parametrize("while_it", ["sleeps", "binds"])
def test_nothing_outlives_a_parent_that_was_killed(snapshot, while_it):
    script = SCRIPT + textwrap.dedent(f"""
        recorder = preview.Recorder(snapshot, timeout_s=1_000)
        rows(recorder)
        print(recorder._server._process.pid, flush=True)
        recorder.capture({STUCK!r}) if {while_it == "binds"} else sys.stdin.read()
    """)
    parent = subprocess.Popen(
        [sys.executable, "-c", script, str(snapshot.folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=Path(preview.__file__).parent.parent,
    )
    with parent:
        assert parent.stdout is not None
        server = int(parent.stdout.readline())
        (child,) = children(server)
        if while_it == "binds":
            when_at_work(child, lambda: None).join()
        parent.kill()
        parent.wait()
        assert ends(lambda: is_running(server) or is_running(child))


# --- what the child is --------------------------------------------------------------------------


def test_the_child_holds_little(recorder):
    leak = os.open(os.devnull, os.O_RDONLY)
    os.set_inheritable(leak, True)
    try:
        recorder._server.close()
        _, child = processes(recorder)
    finally:
        os.close(leak)
    opened = [str(entry.readlink()) for entry in Path(f"/proc/{child}/fd").iterdir()]
    kinds = sorted(re.sub(r":.*|.*/", "", name) for name in opened if name != os.devnull)
    assert kinds == ["pipe", "snapshot.duckdb", "socket"]
    assert opened.count(os.devnull) == 3
    loaded = Path(f"/proc/{child}/maps").read_text()
    assert "duckdb" in loaded
    assert not re.search("pyarrow|sqlglot|numpy", loaded)
    limits = Path(f"/proc/{child}/limits").read_text()
    for name, limit in (("address space", 2 * 2**30), ("core file size", 0), ("file size", 0)):
        assert re.search(rf"Max {name}\s+{limit}\s+{limit}\s", limits)
    assert set(Path(f"/proc/{child}/environ").read_bytes().split(b"\0")) == {
        b"MALLOC_ARENA_MAX=2",
        b"",
    }


@pytest.mark.parametrize(
    "option",
    [
        {"timeout_s": 0},
        {"timeout_s": float("nan")},
        {"timeout_s": float("inf")},
        {"memory_bytes": 2**20},
        {"threads": 0},
        {"threads": None},
        {"timeout_s": "10"},
        {"memory_bytes": b"1"},
    ],
)
def test_limits_have_limits(snapshot, option):
    with pytest.raises(ValueError, match="out of range"):
        preview.Recorder(snapshot, **option)


def test_a_host_with_limits_of_its_own_keeps_them(snapshot):
    script = SCRIPT + textwrap.dedent(f"""
        import resource
        resource.setrlimit(resource.RLIMIT_AS, ({3 * 2**29}, {3 * 2**29}))
        with preview.Recorder(snapshot) as recorder: print(rows(recorder))
    """)
    assert run(script, snapshot, "-c", script) == f"{[list(GOOD_ROW)]}\n"


def test_the_smallest_memory_is_enough(snapshot):
    with preview.Recorder(snapshot, memory_bytes=recorders.MEMORY_BYTES_MIN) as recorder:
        assert texts(recorder.capture(GOOD)) == [GOOD_ROW]


def test_an_interpreter_that_does_not_start_is_named(snapshot, monkeypatch):
    monkeypatch.setattr("multiprocessing.spawn.get_executable", lambda: "/nowhere/python")
    with pytest.raises(preview.RecorderFailed):
        preview.Recorder(snapshot)


def test_a_fork_server_that_cannot_import_says_so(snapshot, monkeypatch):
    monkeypatch.setattr(recorders, "FORK_SERVER", "preview.nothing:forks")
    with preview.Recorder(snapshot) as recorder:
        for _ in range(2):
            with pytest.raises(preview.RecorderFailed, match="No module named"):
                recorder.capture(GOOD)


# --- what it may say ----------------------------------------------------------------------------

READING = '{"shape":null,"reasons":[],"plan_sha256":"' + "0" * 64 + '"}'


def captured(**changes: str) -> bytes:
    fields = {"kind": '"captured"', "reading": READING, "names": '["a","b"]'}
    fields |= {"types": '["T","U"]', "rows": '[["1",null]]', "truncated": "null"} | changes
    return ("{" + ",".join(f'"{name}":{value}' for name, value in fields.items()) + "}").encode()


def test_a_right_answer_is_taken():
    answer = recorders._checked(captured())
    assert isinstance(answer, Captured)
    assert answer.rows == (("1", None),)


FIFTY = "[" + ",".join(['["1","2"]'] * 50) + "]"


@pytest.mark.parametrize(
    "frame",
    [
        b"",
        b"null",
        b"{}",
        b"[" * 100_000,
        b'{"kind":"other"}',
        b"\x80\x04\x95",
        captured(names='["a"]'),
        captured(types='["T"]'),
        captured(rows='[["1"]]'),
        captured(rows='[["1","2","3"]]'),
        captured(rows='[["1",2]]'),
        captured(rows='[["1","\\ud800"]]'),
        captured(rows=f'[["{"x" * 65537}",null]]'),
        captured(rows=FIFTY[:-1] + ',["1","2"]]'),
        captured(truncated='"rows"'),
        captured(truncated='"some"'),
        captured(more="1"),
        captured(names=str(["a"] * 1001).replace("'", '"'), types=str(["T"] * 1001)),
        b'{"kind":"refused","reason":"no-such-code","message":null}',
        b'{"kind":"read","reading":null}',
    ],
)
def test_an_answer_of_another_form_is_an_error(frame):
    with pytest.raises(preview.RecorderFailed):
        recorders._checked(frame)


def test_a_child_that_talks_nonsense_is_replaced(recorder, monkeypatch):
    nonsense = (b"{", b'{"kind":"ready","version":"9","settings":[]}', captured(), READING.encode())
    for frame in nonsense:
        _, child = processes(recorder)
        with monkeypatch.context() as patch:
            patch.setattr(Channel, "receive", lambda self, deadline, frame=frame: frame)
            with pytest.raises(preview.RecorderFailed):
                recorder.read(GOOD)
        assert processes(recorder)[1] != child


def test_a_frame_has_a_limit():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall((FRAME_BYTES_MAX + 1).to_bytes(4, "big") + b"x")
        with pytest.raises(EOFError):
            Channel(ours).receive(time.monotonic() + PATIENCE_S)
