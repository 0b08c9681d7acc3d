"""A ledger that is forked, loses its log, or holds what nobody wrote: nothing is lost unsaid."""

import os
import shutil
import sqlite3
import subprocess
import sys
import textwrap
import threading
from pathlib import Path
from typing import get_args

import pyarrow as pa
import pytest

import preview
from benchmarks import beside, forks
from benchmarks.kill import observation
from preview.audit import FAULTS, Fault, audit
from preview.backup import backup
from preview.signing import SigningKey, make_key, public_keys, read_private
from tests.test_ledger import FORKS, edited, five, key, path

__all__ = ["five", "key", "path"]
ROOT = Path(__file__).parent.parent


def ended_well(child: int) -> bool:
    return os.waitpid(child, 0)[1] == 0


# --- forks --------------------------------------------------------------------------------------


@FORKS
def test_a_child_appends_on_when_its_parent_has_closed(path: Path):
    ledger = preview.Ledger(path)
    ledger.record(observation(1))
    ready, closed = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        try:
            ledger.record(observation(2))
            os.write(ready[1], b"x")
            os.read(closed[0], 1)
            for number in range(3, 13):
                ledger.record(observation(number))
            os._exit(0)
        finally:
            os._exit(1)
    os.read(ready[0], 1)
    ledger.record(observation(99))
    ledger.close()
    os.write(closed[1], b"x")
    assert ended_well(child)
    with preview.Ledger(path) as ledger:
        assert (audit(ledger).entries, audit(ledger).whole) == (13, True)


@FORKS
def test_forks_lose_nothing_and_do_not_hang(tmp_path: Path):
    folders = [tmp_path / "one", tmp_path / "two"]
    for folder in folders:
        folder.mkdir()
    told = forks.rounds(6, folders, seed=7)
    assert told["acknowledged"] > 100
    assert not any(told[what] for what in ("lost", "damaged", "hung", "refused"))


@FORKS
def test_a_fork_in_the_middle_of_an_append_of_its_own_thread_keeps_nothing_of_it(
    path: Path, monkeypatch: pytest.MonkeyPatch
):
    ledger = preview.Ledger(path)
    ledger.record(observation(1))
    inserted, children = ledger._inserted, []

    def forking(*given: object) -> object:
        made = inserted(*given)  # type: ignore[arg-type]
        children.append(os.fork())
        return made

    monkeypatch.setattr(ledger, "_inserted", forking)
    try:
        with pytest.raises(preview.LedgerError):
            ledger.record(observation(2))
        monkeypatch.undo()
        ledger.record(observation(3 if children[0] else 4))
    finally:
        if children == [0]:
            os._exit(0)
    assert ended_well(children[0])
    subjects = [entry.subject for entry in ledger.entries()]
    assert sorted(subjects[1:]) == sorted(observation(number).digest for number in (3, 4))
    assert audit(ledger).whole


@FORKS
def test_a_recorder_with_a_ledger_goes_on_on_both_sides_of_a_fork_from_a_thread(
    path: Path, tmp_path: Path
):
    rows = pa.table({"a": [1, 2, 3]})
    snapshot = preview.pin({"t": rows}, into=tmp_path / "snapshot")
    with preview.Ledger(path) as ledger, preview.Recorder(snapshot, ledger=ledger) as recorder:
        recorder.capture("SELECT a FROM t LIMIT 1")
        children = []

        def fork() -> None:
            children.append(os.fork())
            if children[-1] == 0:
                try:
                    recorder.capture("SELECT a FROM t LIMIT 2")
                    recorder.close()
                    os._exit(0)
                finally:
                    os._exit(1)

        threads = [threading.Thread(target=fork) for _ in range(2)]
        for thread in threads:
            thread.start()
        recorder.capture("SELECT a FROM t LIMIT 3")
        for thread in threads:
            thread.join()
        assert all(map(ended_well, children))
        recorder.capture("SELECT a FROM t")
        assert (audit(ledger).entries, audit(ledger).whole) == (6, True)


@pytest.mark.skipif(sys.platform != "linux", reason="needs a fork that Python does not see")
@FORKS
def test_a_child_of_a_fork_that_python_did_not_see_appends_nothing(path: Path):
    code = f"""
        import ctypes, os, preview
        from benchmarks.kill import observation
        ledger = preview.Ledger({str(path)!r})
        ledger.record(observation(1))
        child = ctypes.CDLL(None).fork()
        if child == 0:
            said = []
            for use in (lambda: ledger, lambda: preview.Ledger({str(path)!r})):
                try:
                    use().record(observation(2))
                except preview.LedgerError as error:
                    said.append("fork" in str(error))
            os._exit(said != [True, True])
        print(os.waitpid(child, 0)[1])
        ledger.record(observation(3))
    """
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout.split() == ["0"]
    with preview.Ledger(path) as ledger:
        assert (audit(ledger).entries, audit(ledger).whole) == (2, True)


@FORKS
def test_an_audit_goes_on_when_its_process_forks_in_the_middle(
    path: Path, monkeypatch: pytest.MonkeyPatch
):
    from preview import audit as audits

    monkeypatch.setattr(audits, "_ROWS_AT_ONCE", 2)
    with preview.Ledger(path) as ledger:
        for number in range(9):
            ledger.record(observation(number))
        row, children = audits._Checking._row, []

        def forking(checking: object, stored: tuple[object, ...]) -> None:
            row(checking, stored)  # type: ignore[arg-type]
            children.append(os.fork())
            if children[-1] == 0:
                os._exit(0)

        monkeypatch.setattr(audits._Checking, "_row", forking)
        found = audit(ledger)
    assert (found.entries, found.whole, len(children)) == (9, True, 9)
    assert all(map(ended_well, children))


@FORKS
def test_a_ledger_is_whole_while_others_append(path: Path):
    told = beside.runs(20, path)
    assert (told["runs"], told["not whole"]) == (20, 0)
    assert told["entries"] > 0


# --- files --------------------------------------------------------------------------------------


@pytest.mark.parametrize("gone", ["-wal", "-shm"])
@pytest.mark.parametrize("how", ["removed", "replaced", "moved away"])
def test_without_its_log_nothing_is_acknowledged_and_nothing_is_lost(
    gone: str, how: str, path: Path
):
    ledger = preview.Ledger(path)
    kept = [ledger.record(observation(number)) for number in range(10)]
    log = path.with_name(path.name + gone)
    if how == "moved away":
        log.rename(path.with_name("elsewhere"))
    else:
        held = log.read_bytes()
        log.unlink()
        if how == "replaced":
            log.write_bytes(held)
    for again in range(3):
        with pytest.raises(preview.LedgerBroken):
            ledger.record(observation(0))  # it is there, and yet not acknowledged again
        with pytest.raises(preview.LedgerBroken):
            ledger.record(observation(100 + again))
        with pytest.raises(preview.LedgerBroken):
            ledger.check()
    ledger.close()
    read = """import sys, preview
from preview.audit import audit
with preview.Ledger(sys.argv[1]) as ledger: print(audit(ledger).entries)"""
    run = subprocess.run(
        [sys.executable, "-c", read, str(path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if how == "replaced" and run.returncode:
        assert "Ledger" in run.stderr  # said, not lost unsaid
    else:
        assert run.stdout.split() == [str(len(kept))]


def test_an_older_copy_in_its_place_is_noticed(path: Path):
    with preview.Ledger(path) as ledger:
        ledger.record(observation(1))
    older = path.read_bytes()
    ledger = preview.Ledger(path)
    ledger.record(observation(2))
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()
    with path.open("r+b") as file:
        file.write(older)
        file.truncate(len(older))
    with pytest.raises(preview.LedgerError):
        ledger.record(observation(3))


def test_what_was_acknowledged_is_looked_for_before_more_is(five: Path):
    with preview.Ledger(five) as ledger:
        ledger.record(observation(77))
        edited(five, "DELETE FROM entry WHERE sequence = 6", "UPDATE sqlite_sequence SET seq = 5")
        with pytest.raises(preview.LedgerBroken):
            ledger.record(observation(78))
        with pytest.raises(preview.LedgerBroken):
            ledger.check()


# --- the schema ---------------------------------------------------------------------------------

SWALLOWS = "CREATE TRIGGER {} BEFORE INSERT ON entry BEGIN SELECT RAISE(IGNORE); END"


@pytest.mark.parametrize(
    "added",
    [
        SWALLOWS.format("sqliteXdrop"),
        SWALLOWS.format("sqlite5"),
        "CREATE VIEW sqliteXview AS SELECT 1",
        "CREATE INDEX sqliteXindex ON entry (time)",
        "CREATE TABLE sqliteXtable (a)",
        "ANALYZE",
    ],
)
def test_nothing_can_be_added_to_the_schema(added: str, five: Path):
    opened = preview.Ledger(five)
    with sqlite3.connect(five) as db:
        db.execute(added)
    db.close()
    with pytest.raises(preview.LedgerBroken):
        preview.Ledger(five)
    with pytest.raises(preview.LedgerBroken):  # also where it was open before
        opened.record(observation(9))
    opened.close()


def test_an_entry_that_changes_no_row_is_an_error(five: Path):
    with preview.Ledger(five) as ledger:
        # A trigger of the connection alone stands in no schema.
        ledger._db.execute(
            "CREATE TEMP TRIGGER gone BEFORE INSERT ON main.entry BEGIN SELECT RAISE(IGNORE); END"
        )
        with pytest.raises(preview.LedgerBroken):
            ledger.record(observation(9))


# --- malformed rows -----------------------------------------------------------------------------


def smuggled(path: Path, *statements: str) -> None:
    """Store what the tables' types forbid: they are made loose, and strict again."""
    with sqlite3.connect(path, isolation_level=None) as db:
        triggers = db.execute("SELECT name, sql FROM sqlite_schema WHERE type='trigger'").fetchall()
        for name, _ in triggers:
            db.execute(f"DROP TRIGGER {name}")
        db.execute("PRAGMA writable_schema=ON")
        loose = "UPDATE sqlite_schema SET sql = replace(replace(sql, ' STRICT', ''), ' NOT NULL', ' /**/')"
        db.execute(loose)
        (at,) = db.execute("PRAGMA schema_version").fetchone()
        db.execute(f"PRAGMA schema_version={at + 1}")
    db.close()
    with sqlite3.connect(path, isolation_level=None) as db:
        for statement in statements:
            db.execute(statement)
        db.execute("PRAGMA writable_schema=ON")
        db.execute(
            "UPDATE sqlite_schema SET sql = replace(sql, ' /**/', ' NOT NULL') || ' STRICT'"
            " WHERE name IN ('ledger', 'public_key', 'entry')"
        )
        db.execute(f"PRAGMA schema_version={at + 9}")
    db.close()
    with sqlite3.connect(path, isolation_level=None) as db:
        for _, sql in triggers:
            db.execute(sql)
    db.close()


STORED = ("NULL", "7", "1.5", "x'ff'", "CAST(x'ff' AS TEXT)", "''", "'zz'", "char(0)", "char(34)")


@pytest.mark.parametrize(
    "column", "time kind subject payload_sha256 previous hash key signature payload".split()
)
def test_a_malformed_row_is_a_fault_and_hides_no_other(column: str, five: Path, key: SigningKey):
    with preview.Ledger(five, key=key) as ledger:
        for number in range(5, 5 + len(STORED)):
            ledger.record(observation(number))
    smuggled(
        five,
        "UPDATE entry SET payload = x'00' WHERE sequence = 2",
        *(
            f"UPDATE entry SET {column} = {value} WHERE sequence = {6 + number}"
            for number, value in enumerate(STORED)
        ),
    )
    with preview.Ledger(five, readonly=True) as ledger:
        for keys in (None, [key.public]):
            found = audit(ledger, keys=keys)
            faulty = {sequence for sequence, _ in found.faults}
            assert faulty >= {2, *range(6, 6 + len(STORED))} or found.faults_total > 40
            assert found.entries == 5 + len(STORED)
        for ask in (lambda: list(ledger.entries()), lambda: ledger.public_keys()):
            try:
                ask()
            except preview.LedgerError:
                pass


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ("UPDATE sqlite_sequence SET seq = 'x'", (5, "end-malformed")),
        ("UPDATE sqlite_sequence SET seq = NULL", (5, "end-malformed")),
        ("UPDATE sqlite_sequence SET seq = 3", (5, "end-malformed")),
        ("INSERT INTO sqlite_sequence VALUES ('entry', 5)", (5, "end-malformed")),
        ("DELETE FROM sqlite_sequence", (5, "end-malformed")),
        ("UPDATE entry SET sequence = -5 WHERE sequence = 5", (-5, "malformed")),
        ("UPDATE entry SET sequence = 0 WHERE sequence = 1", (0, "malformed")),
        (f"UPDATE entry SET sequence = {2**63 - 1} WHERE sequence = 5", (2**63 - 1, "gap")),
        ("INSERT INTO public_key VALUES ('a', 'b')", (0, "key-malformed")),
    ],
)
def test_what_stands_beside_the_entries_is_checked_too(
    change: str, fault: tuple[int, str], five: Path
):
    edited(five, change)
    with preview.Ledger(five) as ledger:
        assert fault in audit(ledger).faults
        try:
            ledger.record(observation(9))
        except preview.LedgerError:
            pass


@pytest.mark.parametrize("signature", ["zz", "AB" * 64, " " + "a" * 127, ""])
def test_a_malformed_signature_is_a_fault_also_without_keys(signature: str, five: Path):
    edited(five, f"UPDATE entry SET key = '{'a' * 64}', signature = '{signature}'")
    with preview.Ledger(five) as ledger:
        found = audit(ledger)
    assert found.faults == tuple((number, "signature") for number in range(1, 6))
    assert found.unchecked == 0


def test_every_code_of_a_fault_is_explained_on_a_page():
    page = (ROOT / "docs" / "ledger.md").read_text()
    assert tuple(FAULTS) == get_args(Fault)
    for code, sentence in FAULTS.items():
        assert f"| `{code}` | {sentence} |" in page


# --- backup -------------------------------------------------------------------------------------


def test_a_backup_holds_what_was_acknowledged_while_others_append(path: Path, tmp_path: Path):
    stop, heads = threading.Event(), []
    with preview.Ledger(path) as ledger, preview.Ledger(path) as other:

        def append() -> None:
            number = 100
            while not stop.is_set():
                other.record(observation(number))
                number += 1

        ledger.record(observation(1))
        writer = threading.Thread(target=append)
        writer.start()
        try:
            for number in range(5):
                entry = ledger.record(observation(number))
                found = backup(ledger, tmp_path / f"{number}.ledger")
                heads.append(found.head)
                assert found.whole
                assert found.head[0] >= entry.sequence
        finally:
            stop.set()
            writer.join()
        assert set(heads) < {(entry.sequence, entry.hash) for entry in ledger.entries()}
    assert not [*tmp_path.glob(".*")]
    with preview.Ledger(tmp_path / "4.ledger") as copy:
        assert copy.id == ledger.id
        copy.record(observation(10**6))
        assert audit(copy).whole


def test_a_backup_is_written_to_a_new_file_or_not_at_all(five: Path, tmp_path: Path):
    before = five.read_bytes()
    with preview.Ledger(five, readonly=True) as ledger:
        for to in (five, tmp_path / "nowhere" / "file", tmp_path):
            with pytest.raises(preview.LedgerError):
                backup(ledger, to)
    assert five.read_bytes() == before
    assert not [*tmp_path.glob(".*")]
    edited(five, "UPDATE entry SET payload = x'00' WHERE sequence = 3")
    with preview.Ledger(five, readonly=True) as ledger:
        assert backup(ledger, tmp_path / "faulty").faults == ((3, "payload"),)


# --- keys of other programs ---------------------------------------------------------------------


def _made(command: str, folder: Path) -> None:
    if shutil.which(command.split()[0]) is None:
        pytest.skip("the program is not there")
    subprocess.run(command, shell=True, cwd=folder, check=True, capture_output=True)  # noqa: S602


def _version_2(folder: Path, tag: bytes) -> Path:
    import base64

    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    made = Ed25519PrivateKey.generate()
    inner = bytes.fromhex("020101300506032b657004220420") + made.private_bytes_raw()
    inner += tag + made.public_key().public_bytes_raw()
    text = base64.encodebytes(b"\x30" + bytes([len(inner)]) + inner)
    file = folder / "private.pem"
    file.write_bytes(b"-----BEGIN PRIVATE KEY-----\n" + text + b"-----END PRIVATE KEY-----\n")
    file.chmod(0o600)
    return file


@pytest.mark.parametrize("tag", [b"\x81\x21\x00", b"\xa1\x23\x03\x21\x00", None])
def test_a_key_in_pkcs8_of_version_2_is_read(tag: bytes | None, tmp_path: Path):
    file = _version_2(tmp_path, tag or b"\x81\x21\x00" + b"x")
    if tag is not None:
        assert read_private(file).public.id
    else:  # the public part is of another key
        with pytest.raises(preview.KeyFileError, match="openssl pkey"):
            read_private(file)


def test_a_key_of_openssh_is_read(tmp_path: Path):
    _made("ssh-keygen -q -t ed25519 -N '' -f key -C 'who it is'", tmp_path)
    public = public_keys((tmp_path / "key.pub").read_bytes())
    assert public == (read_private(tmp_path / "key").public,)
    make_key(tmp_path / "private.pem", tmp_path / "key.pub")
    assert len(public_keys((tmp_path / "key.pub").read_bytes())) == 2


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("ssh-keygen -q -t ed25519 -N secret -f key", "ssh-keygen -p"),
        ("openssl genpkey -algorithm ed25519 -aes256 -pass pass:secret -out key", "a password"),
        ("openssl genpkey -algorithm ed25519 | openssl pkey -pubout -out key", "a public key"),
        ("openssl ecparam -name prime256v1 -genkey -noout -out key", "not an Ed25519 key"),
        ("echo none > key", "ledger keygen"),
    ],
)
def test_of_a_key_that_is_not_read_it_is_said_what_to_do(command: str, said: str, tmp_path: Path):
    _made(command, tmp_path)
    (tmp_path / "key").chmod(0o600)
    with pytest.raises(preview.KeyFileError, match=said):
        read_private(tmp_path / "key")
