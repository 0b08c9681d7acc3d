"""The ledger: nothing acknowledged is lost, nothing is changed, and what is missing is said."""

import hashlib
import multiprocessing
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest

import preview
from benchmarks.kill import kills, observation
from eligibility import Reason, release
from eligibility.evidence.entry import entry_hash, key_id
from eligibility.sql.observation import Observation
from preview import ledger as ledgers
from preview.audit import audit
from preview.signing import SigningKey, make_key, public_keys, read_private

ROOT = Path(__file__).parent.parent
STATEMENT = "SELECT carrier, SUM(distance) AS d FROM flights GROUP BY carrier"


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> preview.Snapshot:
    rows = pa.table({"carrier": ["AA", "UA", "AA"], "distance": [100, 200, 300]})
    return preview.pin({"flights": rows}, into=tmp_path_factory.mktemp("ledger") / "snapshot")


@pytest.fixture(scope="module")
def observed(snapshot: preview.Snapshot) -> Observation:
    with preview.Recorder(snapshot) as recorder:
        return recorder.capture(STATEMENT)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.db"


@pytest.fixture
def key(tmp_path: Path) -> SigningKey:
    make_key(tmp_path / "private.pem", tmp_path / "public.pem")
    return read_private(tmp_path / "private.pem")


@pytest.fixture
def five(path: Path) -> Path:
    """A ledger of five observations."""
    with preview.Ledger(path) as ledger:
        for number in range(5):
            ledger.record(observation(number))
    return path


def edited(path: Path, *statements: str) -> None:
    """Change a ledger as one could who has its file: the triggers are dropped and made again."""
    with sqlite3.connect(path, isolation_level=None) as db:
        triggers = db.execute("SELECT name, sql FROM sqlite_master WHERE type='trigger'").fetchall()
        for name, _ in triggers:
            db.execute(f"DROP TRIGGER {name}")
        for statement in statements:
            db.execute(statement)
        for _, sql in triggers:
            db.execute(sql)
    db.close()


# --- appending ----------------------------------------------------------------------------------


def test_what_is_captured_is_in_the_ledger_before_it_is_returned(
    snapshot: preview.Snapshot, path: Path
):
    with preview.Ledger(path) as ledger, preview.Recorder(snapshot, ledger=ledger) as recorder:
        seen = recorder.capture(STATEMENT)
        with preview.Ledger(path, readonly=True) as other:
            entry, stored = other.stored(seen.digest)
            _, manifest = other.snapshot(seen.manifest_sha256)
    assert stored.observation == seen
    assert manifest == snapshot.manifest
    assert (entry.sequence, entry.kind, entry.subject) == (2, "observation", seen.digest)


def test_a_release_is_appended_with_what_it_was_made_from(path: Path, observed: Observation):
    with preview.Ledger(path) as ledger:
        recorded = ledger.record(observed)
        made = ledger.release(observed.digest, observed.preview(), [{"row": 0, "column": 1}])
        (entry,) = ledger.releases(observed.digest)
        kept = ledger.released(entry)
    assert made == release(
        observed, observed.preview(), [{"row": 0, "column": 1}], digest=observed.digest
    )
    assert (made.origin, len(made.facts)) == ("verified", 1)
    assert kept.release == made
    assert (kept.recorded, kept.returned) == (recorded.hash, observed.preview())
    assert kept.claims is not None
    assert kept.programs.sqlglot == "30.30.0"


@pytest.mark.parametrize(
    ("returned", "claims", "reason"),
    [
        ("{", None, Reason.PREVIEW_MALFORMED),
        (None, None, Reason.PREVIEW_MALFORMED),
        ("good", "[{}", Reason.CLAIMS_MALFORMED),
        ("good", [{"row": 10**30, "column": 0}], Reason.CLAIM_UNKNOWN),
        ("good", [], Reason.NO_CLAIMS),
    ],
)
def test_a_malformed_input_is_not_kept(
    path: Path, observed: Observation, returned: object, claims: object, reason: Reason
):
    back = observed.preview() if returned == "good" else returned
    with preview.Ledger(path) as ledger:
        ledger.record(observed)
        made = ledger.release(observed.digest, back, claims)
        (entry,) = ledger.releases(observed.digest)
        kept = ledger.released(entry)
        assert audit(ledger).whole
    assert made.no_answer_reason is reason
    assert kept.release == made
    assert kept.claims == (() if claims == [] else None)
    assert (kept.returned is None) == (returned != "good")


def test_an_observation_and_a_snapshot_are_kept_once(path: Path, snapshot: preview.Snapshot):
    with preview.Ledger(path) as ledger:
        first = [ledger.record(observation(1)), ledger.record_snapshot(snapshot.manifest)]
        again = [ledger.record(observation(1)), ledger.record_snapshot(snapshot.manifest)]
        assert first == again
        assert [entry.sequence for entry in ledger.entries()] == [1, 2]


def test_what_is_missing_is_said_to_be_missing(path: Path, observed: Observation):
    with preview.Ledger(path) as ledger:
        assert ledger.head() is None
        for asked in (
            lambda: ledger.release(observed.digest, observed.preview()),
            lambda: ledger.stored(observed.digest),
            lambda: ledger.snapshot(observed.manifest_sha256),
            lambda: ledger.entry(1),
        ):
            with pytest.raises(preview.LedgerMissing):
                asked()
        entry = ledger.record(observed)
        with pytest.raises(preview.LedgerMissing):  # its manifest is not there
            ledger.export(entry)


def test_a_snapshot_alone_is_no_bundle(path: Path, snapshot: preview.Snapshot):
    with preview.Ledger(path) as ledger, pytest.raises(preview.LedgerMissing):
        ledger.export(ledger.record_snapshot(snapshot.manifest))


def test_a_closed_ledger_appends_nothing(path: Path):
    ledger = preview.Ledger(path)
    ledger.close()
    ledger.close()
    with pytest.raises(preview.LedgerError):
        ledger.record(observation(1))


# --- what the database refuses ------------------------------------------------------------------

NEXT = (
    "INSERT {how} INTO entry SELECT {sequence}, time, kind, subject, payload_sha256, {previous},"
    " hash, key, signature, payload FROM entry WHERE sequence = 5"
)
REFUSED = {
    "update": "UPDATE entry SET payload = x'00' WHERE sequence = 3",
    "update or replace": "UPDATE OR REPLACE entry SET sequence = 9 WHERE sequence = 3",
    "update or ignore": "UPDATE OR IGNORE entry SET time = '' WHERE sequence = 3",
    "delete": "DELETE FROM entry WHERE sequence = 3",
    "delete all": "DELETE FROM entry",
    "replace": "REPLACE INTO entry SELECT * FROM entry WHERE sequence = 3",
    "doubled": NEXT.format(how="", sequence=5, previous="previous"),
    "replaced": NEXT.format(how="OR REPLACE", sequence=5, previous="previous"),
    "ignored": NEXT.format(how="OR IGNORE", sequence=7, previous="hash"),
    "a gap": NEXT.format(how="", sequence=7, previous="hash"),
    "unlinked": NEXT.format(how="", sequence=6, previous="previous"),
    "no number": NEXT.format(how="", sequence="NULL", previous="hash"),
    "another id": "UPDATE ledger SET id = 'x'",
    "no id": "DELETE FROM ledger",
    "two ids": "INSERT OR REPLACE INTO ledger VALUES (1, 'x')",
    "a key changed": "UPDATE public_key SET ed25519 = 'x'",
    "a key replaced": "REPLACE INTO public_key SELECT id, 'x' FROM public_key",
    "a key removed": "DELETE FROM public_key",
}


@pytest.mark.parametrize("what", REFUSED)
def test_the_database_itself_refuses(what: str, five: Path, key: SigningKey):
    with preview.Ledger(five, key=key):
        pass
    before = hashlib.sha256(five.read_bytes()).hexdigest()
    with sqlite3.connect(five, isolation_level=None) as db, pytest.raises(sqlite3.IntegrityError):
        db.execute(REFUSED[what])
    db.close()
    assert hashlib.sha256(five.read_bytes()).hexdigest() == before
    with preview.Ledger(five) as ledger:
        assert audit(ledger).whole


# --- what shows ---------------------------------------------------------------------------------

SWAPPED = """CREATE TEMP TABLE old AS SELECT * FROM entry; UPDATE entry SET (time, subject, payload_sha256, hash, payload) = (
    SELECT time, subject, payload_sha256, hash, payload FROM old
    WHERE old.sequence = 5 - entry.sequence
) WHERE sequence IN (2, 3)"""
SHOWN = {
    "payload": ("UPDATE entry SET payload = x'7b7d' WHERE sequence = 3", {(3, "payload")}),
    "time": (
        "UPDATE entry SET time = '2020-01-01T00:00:00.000000Z' WHERE sequence = 3",
        {(3, "hash")},
    ),
    "a text that is more": (
        """UPDATE entry SET time = time || '","x":"' WHERE sequence = 3""",
        {(3, "hash")},
    ),
    "subject": ("UPDATE entry SET subject = lower(hex(zeroblob(32)))", {(3, "hash")}),
    "kind": ("UPDATE entry SET kind = 'release' WHERE sequence = 3", {(3, "hash")}),
    "removed": ("DELETE FROM entry WHERE sequence = 3", {(4, "gap"), (4, "link")}),
    "removed first": ("DELETE FROM entry WHERE sequence = 1", {(2, "gap"), (2, "link")}),
    "removed last": ("DELETE FROM entry WHERE sequence = 5", {(5, "end-missing")}),
    "removed and renumbered": (
        """DELETE FROM entry WHERE sequence = 3;
        UPDATE entry SET sequence = sequence - 1 WHERE sequence > 3""",
        {(3, "link"), (3, "hash"), (5, "end-missing")},
    ),
    "reordered": (SWAPPED, {(2, "hash"), (3, "hash")}),
    "of another ledger": ("UPDATE ledger SET id = lower(hex(zeroblob(32)))", {(1, "link")}),
    "half signed": ("UPDATE entry SET key = subject WHERE sequence = 3", {(3, "signature")}),
}


@pytest.mark.parametrize("what", SHOWN)
def test_a_change_of_the_file_shows(what: str, five: Path, key: SigningKey):
    statements, faults = SHOWN[what]
    edited(five, *statements.split(";"))
    with preview.Ledger(five) as ledger:
        found = audit(ledger)
    assert set(found.faults) >= faults


def test_all_entries_gone_shows(five: Path):
    edited(five, "DELETE FROM entry")
    with preview.Ledger(five) as ledger:
        assert audit(ledger).faults == ((1, "end-missing"),)


def test_a_forged_end_shows_against_an_entry_that_was_kept_elsewhere(five: Path):
    with preview.Ledger(five) as ledger:
        head = audit(ledger).head
        assert audit(ledger, after=head).whole
        assert audit(ledger, after=(0, ledger.id)).entries == 5
        assert not audit(ledger, after=(0, head[1])).whole
        assert not audit(ledger, after=(6, head[1])).whole
    edited(
        five,
        "DELETE FROM entry WHERE sequence = 5",
        "UPDATE sqlite_sequence SET seq = 4",
    )
    with preview.Ledger(five) as ledger:
        assert audit(ledger).whole
        found = audit(ledger, after=head)
        assert (found.faults, found.entries, found.head[0]) == (((5, "head-missing"),), 4, 4)
        ledger.record(observation(77))
        assert audit(ledger, after=head).faults == ((5, "head-differs"),)


def test_what_is_read_back_is_checked(path: Path, observed: Observation):
    with preview.Ledger(path) as ledger:
        ledger.record(observed)
    edited(path, "UPDATE entry SET payload = x'7b7d'")
    with preview.Ledger(path) as ledger:
        with pytest.raises(preview.LedgerBroken):
            ledger.stored(observed.digest)
        with pytest.raises(preview.LedgerBroken):
            ledger.release(observed.digest, observed.preview())
        assert [entry.kind for entry in ledger.entries()] == ["observation"]


def test_a_malformed_record_under_good_hashes_is_refused(path: Path, observed: Observation):
    with preview.Ledger(path) as ledger:
        entry = ledger.record(observed)
    payload = b'{"observation":{}}'
    digest = hashlib.sha256(payload).hexdigest()
    own = entry_hash(ledger.id, 1, entry.time, entry.kind, entry.subject, digest, ledger.id)
    edited(
        path, f"UPDATE entry SET payload=x'{payload.hex()}',payload_sha256='{digest}',hash='{own}'"
    )
    with preview.Ledger(path) as ledger:
        assert audit(ledger).whole
        with pytest.raises(preview.LedgerBroken):
            ledger.stored(observed.digest)


@pytest.mark.parametrize("column", ["hash", "time", "kind", "key"])
def test_a_malformed_entry_is_an_error_and_not_skipped(column: str, five: Path):
    edited(five, f"UPDATE entry SET {column} = 'x' WHERE sequence = 5")
    with preview.Ledger(five) as ledger:
        with pytest.raises(preview.LedgerBroken):
            list(ledger.entries())
        assert not audit(ledger).whole
        if column == "hash":
            with pytest.raises(preview.LedgerBroken):
                ledger.record(observation(9))


@pytest.mark.parametrize(
    "change",
    [
        "DROP TRIGGER entry_delete",
        "CREATE TABLE more (a INTEGER)",
        "DROP TABLE public_key",
        "DROP INDEX entry_subject",
    ],
)
def test_a_ledger_without_its_guards_is_not_opened(change: str, five: Path):
    with sqlite3.connect(five) as db:
        db.execute(change)
    db.close()
    with pytest.raises(preview.LedgerBroken):
        preview.Ledger(five)


def test_a_ledger_without_its_id_is_not_opened(five: Path):
    edited(five, "DELETE FROM ledger")
    with pytest.raises(preview.LedgerBroken):
        preview.Ledger(five)


# --- before the statement runs ------------------------------------------------------------------


def never(*_: object, **__: object) -> object:
    raise AssertionError("the statement was executed")


def test_a_locked_ledger_is_an_error_before_the_statement_runs(
    snapshot: preview.Snapshot, path: Path, monkeypatch: pytest.MonkeyPatch
):
    with (
        preview.Ledger(path, busy_s=0.1) as ledger,
        preview.Recorder(snapshot, ledger=ledger) as recorder,
    ):
        monkeypatch.setattr(recorder, "_ask", never)
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(preview.LedgerLocked):
            recorder.capture(STATEMENT)
        other.execute("ROLLBACK")
        other.close()
        assert [entry.kind for entry in ledger.entries()] == ["snapshot"]


def test_no_room_is_an_error_before_the_statement_runs(
    snapshot: preview.Snapshot, path: Path, monkeypatch: pytest.MonkeyPatch
):
    with preview.Ledger(path) as ledger, preview.Recorder(snapshot, ledger=ledger) as recorder:
        monkeypatch.setattr(recorder, "_ask", never)
        monkeypatch.setattr(ledgers, "ROOM_BYTES_MIN", 2**62)
        with pytest.raises(preview.LedgerFull):
            recorder.capture(STATEMENT)


@pytest.mark.parametrize("what", ["moved", "replaced", "removed"])
def test_another_file_in_its_place_is_an_error_before_the_statement_runs(
    what: str, snapshot: preview.Snapshot, path: Path, monkeypatch: pytest.MonkeyPatch
):
    with preview.Ledger(path) as ledger, preview.Recorder(snapshot, ledger=ledger) as recorder:
        monkeypatch.setattr(recorder, "_ask", never)
        path.rename(path.with_suffix(".old"))
        if what == "replaced":
            shutil.copy(path.with_suffix(".old"), path)
        with pytest.raises(preview.LedgerError):
            recorder.capture(STATEMENT)


def test_an_entry_that_finds_no_room_leaves_nothing(snapshot: preview.Snapshot, path: Path):
    with preview.Ledger(path) as ledger, preview.Recorder(snapshot, ledger=ledger) as recorder:
        (pages,) = ledger._db.execute("PRAGMA page_count").fetchone()
        ledger._db.execute(f"PRAGMA max_page_count={pages + 1}")
        with pytest.raises(preview.LedgerFull):
            recorder.capture(STATEMENT)
        assert [entry.kind for entry in ledger.entries()] == ["snapshot"]
        ledger._db.execute("PRAGMA max_page_count=1000000")
        assert recorder.capture(STATEMENT).rows
        assert audit(ledger).whole


OLDER = {
    "older": ("PRAGMA user_version=0", preview.LedgerOutdated),
    "newer": ("PRAGMA user_version=2", preview.LedgerOutdated),
    "another": ("PRAGMA application_id=1", preview.LedgerError),
}


@pytest.mark.parametrize("what", OLDER)
def test_a_database_of_another_version_is_left_alone(what: str, five: Path):
    change, error = OLDER[what]
    with sqlite3.connect(five) as db:
        db.execute(change)
    db.close()
    before = five.read_bytes()
    with pytest.raises(error):
        preview.Ledger(five)
    assert five.read_bytes() == before


def test_a_database_that_is_no_ledger_is_left_alone(path: Path):
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE mine (a)")
    db.close()
    before = path.read_bytes()
    with pytest.raises(preview.LedgerError):
        preview.Ledger(path)
    assert path.read_bytes() == before
    path.write_bytes(b"no database at all" * 100)
    with pytest.raises(preview.LedgerError):
        preview.Ledger(path)


def test_a_damaged_file_is_an_error(five: Path):
    data = bytearray(five.read_bytes())
    data[4096 * 2 :] = os.urandom(len(data) - 4096 * 2)
    five.write_bytes(data)
    with preview.Ledger(five) as ledger:
        assert audit(ledger).faults == ((1, "unreadable"),)
    five.write_bytes(os.urandom(len(data)))
    with pytest.raises(preview.LedgerError):
        preview.Ledger(five)


def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path):
    with pytest.raises(preview.LedgerError):
        preview.Ledger(tmp_path / "nowhere" / "ledger.db")
    with pytest.raises(preview.LedgerError):
        preview.Ledger(tmp_path / "ledger.db", readonly=True)


# A file system of its own, 40 MiB large or read-only, where the machine lets one be made.
def in_a_small_world(folder: Path, mount: str, code: str) -> str:
    script = f"mount {mount} {folder} && exec {sys.executable} -c '{textwrap.dedent(code)}'"
    try:
        run = subprocess.run(
            ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=1_000,
        )
    except OSError:
        pytest.skip("no file system can be made here")
    if "mount:" in run.stderr or "unshare:" in run.stderr:
        pytest.skip("no file system can be made here")
    assert run.returncode == 0, run.stderr
    return run.stdout


def test_a_disk_that_fills_up_leaves_nothing_half_written(tmp_path: Path):
    told = in_a_small_world(
        tmp_path,
        "-t tmpfs -o size=2m tmpfs",
        f"""
        import preview, preview.ledger as ledgers
        from preview.audit import audit
        from benchmarks.kill import observation
        path = "{tmp_path}/ledger.db"
        ledgers.ROOM_BYTES_MIN = 0
        kept = []
        with preview.Ledger(path) as ledger:
            try:
                for number in range(100000):
                    kept.append(ledger.record(observation(number, rows=50)).subject)
            except preview.LedgerFull:
                print("full")
        ledgers.ROOM_BYTES_MIN = 32 * 2**20
        with preview.Ledger(path, readonly=True) as ledger:
            print(len(kept) > 20, audit(ledger).whole, audit(ledger).entries == len(kept))
            print(all(ledger.stored(digest) for digest in kept))
            (said,) = ledger._db.execute("PRAGMA integrity_check").fetchone()
            print(said)
        try:
            preview.Ledger(path).check()
        except preview.LedgerFull:
            print("full")
        """,
    )
    assert told.split() == ["full", "True", "True", "True", "True", "ok", "full"]


def test_a_read_only_folder_is_an_error_and_can_still_be_read(five: Path):
    told = in_a_small_world(
        five.parent,
        f"--bind -o ro {five.parent}",
        f"""
        import preview
        from preview.audit import audit
        with preview.Ledger("{five}", readonly=True) as ledger:
            print(audit(ledger).entries)
        try:
            preview.Ledger("{five}").check()
        except preview.LedgerError as error:
            print(error.code)
        """,
    )
    assert told.split() == ["5", "ledger-error"]


def test_a_ledger_opened_to_be_read_is_not_written(five: Path):
    with preview.Ledger(five, readonly=True) as ledger:
        with pytest.raises(preview.LedgerError):
            ledger.check()
        with pytest.raises(preview.LedgerError):
            ledger.record(observation(9))


def test_only_its_owner_can_read_a_new_ledger(path: Path):
    with preview.Ledger(path) as ledger:
        ledger.record(observation(1))
        beside = [*path.parent.glob("ledger.db*")]
        assert {file.stat().st_mode & 0o077 for file in beside} == {0}


# --- many at once, and killed -------------------------------------------------------------------


# Newer interpreters warn of a fork beside threads; the children here touch none of theirs.
FORKS = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


def _append(path: Path, writer: int, count: int) -> None:
    with preview.Ledger(path, busy_s=60) as ledger:
        for number in range(count):
            ledger.record(observation(writer * 1000 + number))


@FORKS
def test_many_processes_append_at_once(path: Path):
    """They also make the ledger at once."""
    context = multiprocessing.get_context("fork")
    writers = [context.Process(target=_append, args=(path, writer, 25)) for writer in range(8)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert [writer.exitcode for writer in writers] == [0] * 8
    with preview.Ledger(path) as ledger:
        assert [entry.sequence for entry in ledger.entries()] == list(range(1, 201))
        assert audit(ledger).whole


def test_many_threads_append_at_once(path: Path):
    with preview.Ledger(path) as ledger:

        def append(writer: int) -> None:
            for number in range(20):
                ledger.record(observation(writer * 1000 + number))

        threads = [threading.Thread(target=append, args=(writer,)) for writer in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert audit(ledger).entries == 80
        assert audit(ledger).whole


@FORKS
def test_a_forked_process_has_a_connection_of_its_own(path: Path):
    with preview.Ledger(path) as ledger:
        ledger.record(observation(1))
        child = os.fork()
        if child == 0:
            try:
                ledger.record(observation(2))
                os._exit(0)
            finally:
                os._exit(1)
        assert os.waitpid(child, 0)[1] == 0
        ledger.record(observation(3))
        assert audit(ledger).entries == 3


@FORKS
def test_no_acknowledged_observation_is_lost_when_the_writer_is_killed(tmp_path: Path):
    told = kills(20, tmp_path, seed=1)
    assert (told["kills"], told["harmed"], told["lost"], told["broken"]) == (20, 10, 0, 0)
    assert told["acknowledged"] > 0


def test_no_captured_observation_is_lost_when_the_host_is_killed(
    snapshot: preview.Snapshot, path: Path
):
    code = f"""
        import preview
        snapshot = preview.open_snapshot({str(snapshot.folder)!r})
        with preview.Ledger({str(path)!r}) as ledger:
            with preview.Recorder(snapshot, ledger=ledger) as recorder:
                while True:
                    print(recorder.capture({STATEMENT!r}).digest, flush=True)
    """
    host = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code)], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    assert host.stdout is not None
    told = [host.stdout.readline().strip() for _ in range(5)]
    host.send_signal(signal.SIGKILL)
    rest, _ = host.communicate()
    told += [line for line in rest.split("\n")[:-1] if line]
    with preview.Ledger(path) as ledger:
        assert all(ledger.stored(digest) for digest in told)
        assert audit(ledger).whole


# --- signatures ---------------------------------------------------------------------------------


def test_every_entry_is_signed_and_says_by_whom(path: Path, key: SigningKey, tmp_path: Path):
    with preview.Ledger(path) as ledger:
        ledger.record(observation(0))
    with preview.Ledger(path, key=key) as ledger:
        signed = [ledger.record(observation(number)) for number in range(1, 4)]
        assert {entry.signature.key for entry in signed if entry.signature} == {key.public.id}
        assert ledger.public_keys() == (key.public,)
        found = audit(ledger)
        assert (found.unsigned, found.unchecked, found.whole) == (1, 3, True)
        trusted = public_keys((tmp_path / "public.pem").read_bytes())
        found = audit(ledger, keys=trusted)
        assert (found.signed, found.faults) == (3, ((1, "signature"),))
        other = make_key(tmp_path / "other.pem", tmp_path / "others.pem")
        assert audit(ledger, keys=[other]).faults_total == 4


@pytest.mark.parametrize("signature", ["'x'", "NULL", "lower(hex(zeroblob(64)))"])
def test_a_changed_signature_shows(signature: str, path: Path, key: SigningKey):
    with preview.Ledger(path, key=key) as ledger:
        ledger.record(observation(0))
    edited(path, f"UPDATE entry SET signature = {signature}")
    with preview.Ledger(path) as ledger:
        assert audit(ledger, keys=[key.public]).faults == ((1, "signature"),)


def test_a_newer_key_goes_on_where_the_older_ended(path: Path, tmp_path: Path):
    keys = []
    for name in ("first", "second"):
        make_key(tmp_path / name, tmp_path / "public.pem")
        keys.append(read_private(tmp_path / name))
        with preview.Ledger(path, key=keys[-1]) as ledger:
            ledger.record(observation(len(keys)))
    both = public_keys((tmp_path / "public.pem").read_bytes())
    assert both == tuple(key.public for key in keys)
    with preview.Ledger(path) as ledger:
        assert audit(ledger, keys=both).signed == 2
        assert audit(ledger, keys=both[1:]).faults == ((1, "key-unknown"),)


def test_a_key_is_named_as_other_tools_would_name_it(tmp_path: Path):
    made = make_key(tmp_path / "private.pem", tmp_path / "public.pem")
    from cryptography.hazmat.primitives import serialization

    public = serialization.load_pem_public_key((tmp_path / "public.pem").read_bytes())
    der = public.public_bytes(
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    assert made.id == hashlib.sha256(der).hexdigest() == key_id(bytes.fromhex(made.ed25519))


def test_a_private_key_is_never_written_over_nor_shared(tmp_path: Path):
    private = tmp_path / "private.pem"
    make_key(private, tmp_path / "public.pem")
    assert private.stat().st_mode & 0o077 == 0
    with pytest.raises(preview.KeyFileError):
        make_key(private, tmp_path / "public.pem")
    private.chmod(0o640)
    with pytest.raises(preview.KeyFileError):
        read_private(private)


def _rsa() -> bytes:
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    made = ec.generate_private_key(ec.SECP256R1())
    return made.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    ) + made.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )


def _bad_keys() -> Iterator[tuple[str, Callable[[], bytes]]]:
    yield "nothing", lambda: b""
    yield "text", lambda: b"no key"
    yield "another kind", _rsa
    yield "only another kind", lambda: _rsa()[_rsa().index(b"-----BEGIN PUBLIC") :]
    yield "broken", lambda: b"-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n"
    yield "too long", lambda: b" " * 70_000


@pytest.mark.parametrize(("what", "made"), list(_bad_keys()))
def test_a_file_that_holds_no_key_is_refused(what: str, made: Callable[[], bytes], tmp_path: Path):
    bad = tmp_path / "bad.pem"
    bad.write_bytes(made())
    bad.chmod(0o600)
    with pytest.raises(preview.KeyFileError):
        read_private(bad)
    with pytest.raises(preview.KeyFileError):
        public_keys(bad.read_bytes())
    with pytest.raises(preview.KeyFileError):
        read_private(tmp_path / "absent.pem")


def test_what_follows_a_public_key_is_not_passed_over(tmp_path: Path):
    make_key(tmp_path / "private.pem", tmp_path / "public.pem")
    data = (tmp_path / "public.pem").read_bytes()
    assert len(public_keys(b"\n" + data + data.replace(b"\n", b"\r\n"))) == 2
    with pytest.raises(preview.KeyFileError):
        public_keys(data + b"more")
