"""`check --batch`: lines in, lines out, in order, by several processes that leave nothing behind."""

import errno
import io
import json
import os
import queue
import re
import select
import signal
import socket
import subprocess
import sys
import time
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow
import pytest

import preview
from eligibility import EvidenceError, Reason, Schema, classify
from evidence_adapters.cli import batch, main, verbs, workers
from evidence_adapters.cli.inputs import Source, opened
from evidence_adapters.cli.lines import LINE_BYTES_MAX, Judge, Tally, parsed
from evidence_adapters.cli.program import INTERRUPTED, run
from evidence_adapters.cli.trouble import Trouble
from preview.process.channel import Channel
from tests.corpus import cases

ROOT = Path(__file__).resolve().parent.parent
SCHEMA: dict[str | tuple[str, ...], Any] = {
    "flights": {"carrier": "VARCHAR", "month": "INTEGER", "distance": "BIGINT"}
}
TABLES = Schema.of(SCHEMA)
GOOD = "SELECT carrier FROM flights"
PARTLY = "SELECT carrier, 1 AS one, 2 AS two FROM flights"
BAD = "SELECT upper(carrier) FROM flights"


@pytest.fixture(autouse=True)
def _plain_terminal(monkeypatch):
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TERM", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a folder, the working one, with a schema in `schema.json`."""
    (tmp_path / "schema.json").write_text(json.dumps(SCHEMA))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def arguments(*more: str) -> list[str]:
    return [sys.executable, "-m", "evidence_adapters", "check", "--schema", "schema.json", *more]


def called(*given: str) -> tuple[int, bytes, str]:
    """Call the program in this process."""
    raw, err = io.BytesIO(), io.StringIO()
    out = io.TextIOWrapper(raw, "utf-8")
    with redirect_stdout(out), redirect_stderr(err):
        status = run(verbs.app, ["check", *given])
    return status, raw.getvalue(), err.getvalue()


def started(*more: str, **options: Any) -> "subprocess.Popen[bytes]":
    streams: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(arguments(*more), env=env, **(streams | options))


def ended(*more: str) -> tuple[int, bytes, str]:
    with started(*more) as process:
        out, err = process.communicate()
    return process.returncode, out, err.decode()


def children(parent: int) -> set[int]:
    listed = subprocess.run(["ps", "-A", "-o", "pid=,ppid="], stdout=subprocess.PIPE, check=True)
    pairs = (map(int, line.split()) for line in listed.stdout.splitlines())
    return {pid for pid, other in pairs if other == parent}


def is_gone(pid: int) -> bool:
    """Wait until a process has ended; the test's own time limit ends what hangs."""
    while True:
        listed = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], stdout=subprocess.PIPE)
        if not listed.stdout.strip() or listed.stdout.startswith(b"Z"):
            return True
        time.sleep(0.05)


# --- one line -----------------------------------------------------------------------------------

LINES: dict[str, tuple[bytes, str, bytes]] = {
    "a string": (b'"SELECT 1"', "SELECT 1", b""),
    "an object": (b'{"statement": "a"}', "a", b""),
    "an id before it": (b' {"id": "x\\n\xc3\xa9", "statement": "a"} \r', "a", b'"x\\n\xc3\xa9"'),
    "a null": (b'{"statement": "a", "id": null}', "a", b"null"),
    "a truth": (b'{"statement": "a", "id": true}', "a", b"true"),
    "a number as it was written": (b'{"statement": "a", "id": -0.10E+400}', "a", b"-0.10E+400"),
    "a large number": (b'{"statement": "a", "id": %b}' % (b"9" * 5000), "a", b"9" * 5000),
    "half a character": (b'{"statement": "\\ud800", "id": "\\ud800"}', "\ud800", b'"\\ud800"'),
    "an empty statement": (b'""', "", b""),
}


@pytest.mark.parametrize("name", LINES)
def test_lines_that_are_of_the_form(name):
    line, statement, given = LINES[name]
    assert parsed(line) == (statement, b', "id": ' + given if given else b"")


WRONG_LINES: dict[str, tuple[bytes, str]] = {
    "no JSON": (b"SELECT secret FROM t", "/: this is not valid JSON"),
    "two values": (b'"secret" "secret"', "/: this is not valid JSON"),
    "not UTF-8": (b'"secret \xff"', "/: this is not UTF-8 text"),
    "deep": (b"[" * 100_000, "/: this is not valid JSON"),
    "a number": (b"5", "/: this is neither a string nor an object"),
    "a list": (b'["secret"]', "/: this is neither a string nor an object"),
    "a null": (b"null", "/: this is neither a string nor an object"),
    "NaN": (b'{"statement": "secret", "id": NaN}', "/: NaN and Infinity are not JSON"),
    "no statement": (b'{"id": "secret"}', "/statement: this field is missing"),
    "another field": (b'{"statement": "secret", "secret": 1}', "/: there is an unknown field"),
    "a statement twice": (b'{"statement": "secret", "statement": "b"}', "/: a key is repeated"),
    "a statement of a number": (b'{"statement": 5}', "/statement: this is not a string"),
    "an id of a list": (
        b'{"statement": "a", "id": ["secret"]}',
        "/id: this is not a string, a number, true, false or null",
    ),
    "too long": (
        b'"' + b" " * LINE_BYTES_MAX + b'"',
        "/: this is larger than 1,048,576 bytes",
    ),
}


@pytest.mark.parametrize("name", WRONG_LINES)
def test_lines_that_are_not_and_what_is_said_of_them(name):
    line, said = WRONG_LINES[name]
    with pytest.raises(EvidenceError) as error:
        parsed(line)
    assert str(error.value) == said


def test_what_is_counted():
    statements = [GOOD, PARTLY, BAD, "SELECT a b c", GOOD]
    data = b"\n".join([b"", b"5", *(json.dumps(s).encode() for s in statements), b"6"])
    _, tally = Judge(TABLES).judged(data, 7)
    assert tally.document() == {
        "statements": 5,
        "eligible": 2,
        "partly": 1,
        "withheld": 2,
        "malformed": 2,
        "reasons": {"not-sql": 1, "constant": 1, "function": 1},
    }
    assert tally.first_malformed == 8
    _, later = Judge(TABLES).judged(json.dumps(PARTLY).encode(), 20)
    later.add(tally)
    assert (later.statements, later.first_malformed) == (6, 8)
    assert later.by_frequency()[0] == (Reason.CONSTANT, 2)


def test_a_line_is_what_check_prints_byte_for_byte(folder):
    statements = [GOOD, PARTLY, BAD, "SELECT '\ud800'", 'SELECT carrier AS "é" FROM flights']
    for statement in statements:
        _, single, _ = called(statement, "--schema", "schema.json", "--json")
        made, _ = Judge(TABLES).judged(json.dumps(statement).encode(), 3)
        verdicts = made.removeprefix(b'{"line": 3, "verdicts": ').removesuffix(b"}\n")
        assert single.startswith(verdicts[:-1] + b', "note": ')


# --- many lines ---------------------------------------------------------------------------------


@pytest.mark.long
def test_order_ids_and_numbers_and_that_the_number_of_processes_does_not_matter(folder):
    lines = [b"", b"no JSON", json.dumps(GOOD).encode(), b" \t\r", b'{"statement": 1}']
    statements = [case.statement for case in cases()][::6]
    for number, statement in enumerate(statements):
        lines.append(json.dumps({"id": number, "statement": statement}).encode() + b" " * 1000)
    lines += [b'"' + b"x" * (LINE_BYTES_MAX + 100_000) + b'"', json.dumps(PARTLY).encode()]
    Path("in").write_bytes(b"\n".join(lines))  # the last one does not end
    assert len(b"\n".join(lines[:-2])) > 2 * batch.BLOCK_BYTES
    one, out, err = ended("--batch", "in", "--jobs", "1", "--json")
    two = ended("--batch", "in", "--jobs", "2", "--out", "out", "--json")
    assert Path("out").read_bytes() == out[: out.rindex(b'{"error"')]
    assert (one, two[0]) == (2, 2)
    assert json.loads(two[1]) == {
        "error": {
            "code": "line-malformed",
            "message": "in: 3 lines are of another form; the first is line 2",
        }
    }
    made = [json.loads(line) for line in Path("out").read_bytes().splitlines()]
    assert [one["line"] for one in made] == [
        number for number, line in enumerate(lines, start=1) if line.strip()
    ]
    assert [one["id"] for one in made if "id" in one] == list(range(len(statements)))
    assert [one["error"] for one in made if "error" in one] == [
        "/: this is not valid JSON",
        "/statement: this is not a string",
        "/: this is larger than 1,048,576 bytes",
    ]
    for found, statement in zip(made[3:-2], statements, strict=True):
        assert found["verdicts"] == classify(statement, TABLES).model_dump(mode="json")
    counted, trouble = err.splitlines()
    assert json.loads(counted)["statements"] == len(statements) + 2
    assert trouble == "eligibility: in: 3 lines are of another form; the first is line 2"
    again = ended("--batch", "in", "--out", "out")
    assert (again[0], again[1]) == (2, b"")
    assert f"out: {os.strerror(errno.EEXIST)}" in again[2]


def test_lines_go_out_while_others_are_still_to_come(folder):
    with started("--batch", "-") as process:
        assert process.stdin
        assert process.stdout
        for number in (1, 2):
            process.stdin.write(json.dumps({"statement": GOOD, "id": number}).encode() + b"\n")
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["id"] == number
        out, err = process.communicate(json.dumps(BAD).encode())
    assert json.loads(out)["line"] == 3
    assert process.returncode == 0
    assert re.match(r"\n  3 statements in [0-9.]+ s\n", err.decode())
    assert re.search(r"(?m)^ +2  eligible: ", err.decode())
    assert err.decode().endswith("  1  The value is the result of a function. (function)\n")


@pytest.mark.parametrize(
    ("given", "status", "said"),
    [
        (b"", 1, "0 statements"),
        (b"\n \n", 1, "0 statements"),
        (b"5", 2, "in: line 1 is of another form"),
    ],
)
def test_nothing_to_judge(folder, given, status, said):
    Path("in").write_bytes(given)
    found, _, err = called("--batch", "in", "--schema", "schema.json")
    assert found == status
    assert said in err
    assert "Traceback" not in err


@pytest.mark.long
def test_memory_does_not_grow_with_the_input(folder):
    code = (
        "import resource, sys\n"
        "from evidence_adapters.cli.program import run\n"
        "from evidence_adapters.cli.verbs import app\n"
        "run(app, sys.argv[1:])\n"
        "for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):\n"
        "    print(resource.getrusage(who).ru_maxrss, file=sys.stderr)\n"
    )
    peaks = []
    for times in (100, 1500):
        given = b'""\n5\n{"statement": "", "id": 1}\n"; "\n\n' * times + b"x" * (times * 5000)
        Path("in").write_bytes(given)
        # A process counts the peak of the one that it was forked from: here that is a small shell.
        shell = ["sh", "-c", '"$@"; exit $?', "sh", sys.executable, "-c", code]
        done = subprocess.run(
            [*shell, *arguments("--batch", "in", "--jobs", "2", "--json")[3:]],
            capture_output=True,
            check=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        assert done.stdout.count(b'"line"') == 4 * times + 1
        peaks.append([int(line) for line in done.stderr.splitlines()[-2:]])
    unit = 1 if sys.platform == "darwin" else 1024
    for few, many in zip(*peaks, strict=True):
        assert (many - few) * unit < 8 * 2**20


# --- the engine ---------------------------------------------------------------------------------


def test_the_engine_is_asked_where_the_text_leaves_something(folder):
    table = pyarrow.table({"carrier": ["UA"], "month": [1], "distance": [1]})
    snapshot = preview.pin({"flights": table}, into="pinned")
    # The text alone takes the keys for the one column; the engine has two.
    keys = "SELECT carrier, COUNT(*) FROM flights GROUP BY ALL HAVING month = 1"
    statements = [GOOD, PARTLY, keys, "SELECT carrier FROM flights WHERE nothing = 1", BAD, "no"]
    Path("in").write_text("".join(json.dumps(statement) + "\n" for statement in statements))
    status, out, _ = called("--snapshot", "pinned", "--batch", "in", "--jobs", "1")
    assert status == 0
    found = [json.loads(line)["verdicts"] for line in out.splitlines()]
    assert [one["engine"] for one in found[:2]] == ["agrees", "agrees"]
    assert {one["engine"] for one in found[4:]} == {"not-asked"}
    with preview.Recorder(snapshot) as recorder:
        for statement, verdicts in zip(statements[:3], found, strict=False):
            reading = recorder.read(statement)
            expected = classify(statement, snapshot.schema, reading).model_dump(mode="json")
            assert verdicts == expected
    unbound = classify(statements[3], snapshot.schema, "failed")
    assert found[3] == unbound.model_dump(mode="json")


def test_a_snapshot_that_changes_ends_the_batch(folder):
    preview.pin({"flights": pyarrow.table({"carrier": ["UA"]})}, into="pinned")
    snapshot = preview.open_snapshot("pinned")
    task = workers.Task(snapshot.schema, snapshot, 10.0, 2**31)
    assert workers.Task.decoded(task.encoded()).snapshot is not None
    Path("pinned/snapshot.duckdb.wal").write_text("a log beside it")
    Path("in").write_text(json.dumps(GOOD))
    with opened("in") as source, pytest.raises(Trouble) as trouble:
        batch.judged(source, task, 1, lambda _: None)
    assert trouble.value.code == "pin-mismatch"


# --- ends that nobody planned -------------------------------------------------------------------


def running(folder: Path, **options: Any) -> "tuple[subprocess.Popen[bytes], int]":
    """Start a batch whose input does not end, and wait for its first line; give its worker too."""
    process = started("--batch", "-", "--jobs", "2", **options)
    assert process.stdin
    assert process.stdout
    process.stdin.write(json.dumps(GOOD).encode() + b"\n")
    process.stdin.flush()
    assert process.stdout.readline()
    (worker,) = children(process.pid)
    return process, worker


def test_a_killed_worker_ends_the_batch(folder):
    process, worker = running(folder)
    os.kill(worker, signal.SIGKILL)
    process.wait()
    out, err = process.communicate()
    said = "a process that judges lines was killed by signal 9; what it had is not judged"
    assert (process.returncode, out, err.decode()) == (2, b"", f"eligibility: {said}\n")


def heed_interrupts() -> None:
    """Undo what a shell does to what it runs in the background: there, interrupts are ignored."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def test_an_interrupt_ends_all_and_says_nothing(folder):
    process, worker = running(folder, preexec_fn=heed_interrupts)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate()
    assert (process.returncode, out, err) == (130, b"", b"")
    assert is_gone(worker)


def test_an_interrupt_while_the_program_is_loaded_says_nothing(monkeypatch):
    class Loading(ModuleType):
        def __getattr__(self, _: str) -> None:
            raise KeyboardInterrupt

    monkeypatch.setitem(sys.modules, "evidence_adapters.cli.program", Loading("program"))
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == INTERRUPTED


def test_a_killed_program_leaves_no_worker(folder):
    process, worker = running(folder)
    process.kill()
    process.communicate()
    assert is_gone(worker)


def test_a_closed_pipe_ends_all_and_says_nothing(folder):
    process, worker = running(folder)
    assert process.stdin
    assert process.stdout
    assert process.stderr
    process.stdout.close()
    process.stdin.write(json.dumps(GOOD).encode() + b"\n")
    process.stdin.close()
    assert process.wait(20) == 141
    assert process.stderr.read() == b""
    process.stderr.close()
    assert is_gone(worker)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_disk_is_trouble(folder):
    Path("in").write_text(json.dumps(GOOD))
    with open("/dev/full", "wb") as full:  # noqa: PTH123 - a device
        process = started("--batch", "in", stdout=full)
    _, err = process.communicate(timeout=20)
    assert process.returncode == 2
    assert err.decode() == f"eligibility: standard output: {os.strerror(errno.ENOSPC)}\n"


def test_the_progress_is_for_terminals_and_not_among_the_lines(folder):
    Path("in").write_text(json.dumps(GOOD) + "\n")
    for more, shown in ((["--out", "new"], True), ([], False)):
        ours, theirs = os.openpty()
        process = started("--batch", "in", *more, stdin=theirs, stdout=theirs, stderr=theirs)
        os.close(theirs)
        seen = b""
        while select.select([ours], [], [], 20)[0]:
            try:
                seen += os.read(ours, 2**16)
            except OSError:  # the other side is closed
                break
        os.close(ours)
        assert process.wait(20) == 0
        assert ("━".encode() in seen) is shown
        assert b"1 statement in " in seen


# --- inside the processes -----------------------------------------------------------------------


def test_a_worker_answers_until_it_is_told_to_end():
    ours, theirs = socket.socketpair()
    line = json.dumps(BAD).encode()
    for sent in (workers.Task(TABLES).encoded(), (5).to_bytes(8, "big") + line, b""):
        ours.sendall(len(sent).to_bytes(4, "big") + sent)
    workers.serve(theirs)
    channel = Channel(ours)
    head, _, made = channel.receive().partition(b"\n")
    assert json.loads(made)["line"] == 5
    assert isinstance(workers._tally(head), Tally)
    assert not channel.is_dead()
    ours.close()
    theirs.close()


def test_a_worker_tells_its_trouble_and_not_a_bug(monkeypatch):
    ours, theirs = socket.socketpair()
    for error, expected in ((Trouble("file", "x"), None), (ZeroDivisionError(), ZeroDivisionError)):

        def broken(*_: object, error: Exception = error) -> None:
            raise error

        monkeypatch.setattr(workers, "_answer", broken)
        monkeypatch.setattr(workers, "_receive", lambda *_: None)
        if expected is not None:
            with pytest.raises(expected):
                workers.serve(theirs)
            continue
        workers.serve(theirs)
        with pytest.raises(Trouble) as trouble:
            workers._tally(Channel(ours).receive())
        assert (trouble.value.code, trouble.value.message) == ("file", "x")
    ours.close()
    theirs.close()


def test_a_worker_ends_with_the_program(monkeypatch):
    class Ended(Exception):
        pass

    def end(status: int) -> None:
        raise Ended(status)

    monkeypatch.setattr(os, "_exit", end)
    ours, theirs = socket.socketpair()
    ours.close()
    with pytest.raises(Ended):
        workers._receive(Channel(theirs), queue.SimpleQueue())
    theirs.close()
    with pytest.raises(Ended):
        workers._receive(Channel(theirs), queue.SimpleQueue())
    workers._send(Channel(theirs), b"to nobody")


def test_a_process_that_cannot_be_started_is_trouble(monkeypatch):
    monkeypatch.setattr("multiprocessing.spawn.get_executable", lambda: "/nowhere/python")
    with pytest.raises(Trouble) as trouble:
        workers.Worker()
    assert trouble.value.code == "worker-failed"


def test_no_more_is_kept_than_a_line_may_have():
    reader, writer = os.pipe()
    cutter = batch._Cutter(Source(reader, "a pipe", None))
    for _ in range(100):
        os.write(writer, b"x" * batch.BLOCK_BYTES)
        assert cutter.whole_lines() == b""
        assert len(cutter._rest) <= LINE_BYTES_MAX + batch.BLOCK_BYTES
    os.write(writer, b"\na\nb")
    first = cutter.whole_lines()
    assert LINE_BYTES_MAX < len(first) <= LINE_BYTES_MAX + batch.BLOCK_BYTES + 3
    assert first.endswith(b"x\na\n")
    assert (cutter.line, cutter.bytes_cut) == (3, 100 * batch.BLOCK_BYTES + 3)
    os.close(writer)
    assert (cutter.whole_lines(), cutter.at_end) == (b"b", True)
    os.close(reader)


BAD_INPUT: dict[str, tuple[list[str], str]] = {
    "neither": ([], "usage"),
    "both": (["SELECT 1", "--batch", "in"], "usage"),
    "no such file": (["--batch", "absent"], "file"),
    "a folder": (["--batch", "folder"], "file"),
    "a path with a NUL": (["--batch", "a\0b"], "file"),
    "an output with a NUL": (["--batch", "in", "--out", "a\0b"], "file"),
    "a full disk": (["--batch", "in", "--out", "full"], "file"),
    "jobs without batch": (["SELECT 1", "--jobs", "2"], "usage"),
    "no jobs": (["--batch", "in", "--jobs", "0"], "usage"),
    "standard input twice": (["--batch", "-", "--schema", "-"], "usage"),
    "standard input that is not there": (["--batch", "-"], "file"),
    "no such schema": (["--batch", "in", "--schema", "absent"], "file"),
}


@pytest.mark.parametrize("name", BAD_INPUT)
def test_bad_input_is_one_line_and_status_2(folder, monkeypatch, name):
    given, code = BAD_INPUT[name]
    (folder / "folder").mkdir()
    (folder / "in").write_text(json.dumps(GOOD))
    if name == "a full disk":

        class Full(io.FileIO):
            def write(self, _: Any) -> int:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        monkeypatch.setattr(os, "fdopen", lambda fd, *_, **__: Full(fd, "wb"))
    if name == "standard input that is not there":
        monkeypatch.setattr(sys, "stdin", None)
    if "--schema" not in given:
        given = [*given, "--schema", "schema.json"]
    status, out, err = called(*given, "--json")
    assert status == 2
    assert re.fullmatch(r"eligibility: .+\n", err)
    assert json.loads(out)["error"]["code"] == code


def test_as_many_processes_as_there_are_processors(monkeypatch):
    assert batch.processors() >= 1
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    assert batch.processors() >= 1
