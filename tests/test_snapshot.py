"""Opening a snapshot: what was pinned opens, and nothing else does."""

import json
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

import preview
from eligibility.sql.manifest import Manifest, logical_id
from eligibility.wire.canonical import canonical_bytes
from preview import snapshot as snapshots
from preview.sources import files as sources
from tests.pinned import database, flip, pin_one, rows_of, writable

# --- opening ------------------------------------------------------------------------------------


@pytest.fixture
def made(tmp_path):
    return preview.pin(
        {"t": pa.table({"a": [1, 2], "s": ["x", None]})}, into=tmp_path / "snapshots" / "made"
    )


def test_a_snapshot_opens_as_what_was_pinned(made):
    assert sorted(path.name for path in made.folder.iterdir()) == [
        "manifest.json",
        "snapshot.duckdb",
    ]
    assert {path.stat().st_mode & 0o222 for path in made.folder.iterdir()} == {0}
    assert made.created
    opened = preview.open_snapshot(made.folder)
    assert not opened.created
    assert (opened.id, opened.pins, opened.manifest_sha256) == (
        made.id,
        made.pins,
        made.manifest_sha256,
    )
    assert opened.identity == made.identity
    assert rows_of(made, "SELECT current_catalog()") == [("snapshot",)]
    assert str(made.folder.parent) not in (made.folder / "manifest.json").read_text()
    shutil.rmtree(made.folder)


# --- what is held is not hashed again -------------------------------------------------------------


@pytest.fixture
def hashed(monkeypatch):
    """The names of the files that are hashed."""
    names, hashing = [], sources.fingerprint

    def seen(path, progress):
        names.append(path.name)
        return hashing(path, progress)

    monkeypatch.setattr(snapshots, "fingerprint", seen)
    return names


@pytest.fixture
def settled(monkeypatch):
    """Take every file for one that was written long ago."""
    monkeypatch.setattr(snapshots, "SETTLED_S", -60.0)


def test_what_is_held_is_not_hashed_again(made, hashed, settled, tmp_path):
    first = preview.open_snapshot(made.folder)
    assert preview.open_snapshot(made.folder) is first
    linked = tmp_path / "linked"
    linked.symlink_to(made.folder)
    again = preview.open_snapshot(linked)
    assert (again.folder, again.identity, again.manifest) == (linked, first.identity, made.manifest)
    assert hashed == ["snapshot.duckdb"]
    del first
    assert preview.open_snapshot(linked) is again
    del again
    preview.open_snapshot(made.folder)
    assert hashed == ["snapshot.duckdb"] * 2


def test_what_was_written_just_now_is_hashed_again(made, hashed):
    opened = [preview.open_snapshot(made.folder) for _ in range(2)]
    assert len(opened) == len(hashed) == 2


def test_a_change_of_what_is_held_is_a_mismatch(made, settled):
    held = preview.open_snapshot(made.folder)
    before = held.database.stat()
    time.sleep(0.05)  # longer than a tick of the file system's clock
    flip(held.database, before.st_size // 2)
    os.utime(held.database, ns=(before.st_atime_ns, before.st_mtime_ns))
    after = held.database.stat()
    assert (after.st_ino, after.st_size, after.st_mtime_ns) == held.identity[1:4]
    with pytest.raises(preview.PinMismatch, match="another content"):
        preview.open_snapshot(made.folder)


def test_a_copy_in_place_of_what_is_held_is_hashed(made, hashed, settled):
    held = preview.open_snapshot(made.folder)
    copy = held.database.with_name("copy")
    shutil.copy2(held.database, copy)
    copy.rename(held.database)
    again = preview.open_snapshot(made.folder)
    assert again.identity != held.identity
    assert len(hashed) == 2


def test_another_manifest_beside_what_is_held_is_read(made, settled):
    held = preview.open_snapshot(made.folder)
    manifest = made.folder / "manifest.json"
    text = writable(manifest).read_bytes()
    manifest.write_bytes(text.replace(b'"rows":2', b'"rows":3'))
    with pytest.raises(preview.PinMismatch, match="canonical"):
        preview.open_snapshot(made.folder)
    manifest.write_bytes(text)
    assert preview.open_snapshot(made.folder) is held


def test_a_log_beside_what_is_held_is_a_mismatch(made, settled):
    held = preview.open_snapshot(made.folder)
    held.database.with_name("snapshot.duckdb.wal").write_bytes(b"")
    with pytest.raises(preview.PinMismatch, match="log"):
        preview.open_snapshot(made.folder)


# --- what is not what was pinned ------------------------------------------------------------------


def test_any_flipped_byte_is_a_mismatch(made):
    data = made.database.read_bytes()
    for place in (0, 8, 4096, len(data) // 2, len(data) - 1):
        flip(made.database, place)
        with pytest.raises(preview.PinMismatch):
            preview.open_snapshot(made.folder)
        made.database.write_bytes(data)
    manifest = made.folder / "manifest.json"
    for place in range(0, len(manifest.read_bytes()), 11):
        # Sources and versions are no part of what is verified here; the manifest's hash is kept.
        text = manifest.read_bytes()
        flip(manifest, place)
        try:
            opened = preview.open_snapshot(made.folder)
        except preview.PinMismatch:
            pass
        else:
            assert (opened.id, opened.manifest.database) == (made.id, made.manifest.database)
            assert opened.manifest_sha256 != made.manifest_sha256
        manifest.write_bytes(text)


def test_what_is_missing_cut_or_added_is_a_mismatch(made, tmp_path):
    folder = tmp_path / "copy"

    def mismatch(change: Callable[[Path, Path], object]) -> None:
        shutil.copytree(made.folder, folder)
        change(folder / "snapshot.duckdb", folder / "manifest.json")
        with pytest.raises(preview.PinMismatch):
            preview.open_snapshot(folder)
        shutil.rmtree(folder)

    def swap(path: Path, by: Path) -> None:
        path.unlink()
        shutil.copy(by, path)

    def make_folder(file: Path, manifest: Path) -> None:
        file.unlink()
        file.mkdir()

    def make_pipe(file: Path, manifest: Path) -> None:
        manifest.unlink()
        os.mkfifo(manifest)

    other = pin_one(pa.table({"b": [1]}), tmp_path)
    mismatch(lambda file, manifest: file.rename(file.with_name("away")))
    mismatch(lambda file, manifest: manifest.rename(file.with_name("away")))
    mismatch(lambda file, manifest: os.truncate(writable(file), file.stat().st_size - 1))
    mismatch(lambda file, manifest: os.truncate(writable(file), file.stat().st_size + 1))
    mismatch(lambda file, manifest: os.truncate(writable(file), 0))
    mismatch(lambda file, manifest: os.truncate(writable(manifest), 100))
    mismatch(lambda file, manifest: os.truncate(writable(manifest), 0))
    mismatch(lambda file, manifest: swap(file, other.database))
    mismatch(lambda file, manifest: swap(manifest, other.folder / "manifest.json"))
    mismatch(lambda file, manifest: file.with_name("snapshot.duckdb.wal").write_bytes(b""))
    mismatch(make_folder)
    mismatch(make_pipe)
    shutil.copytree(made.folder, tmp_path / "a?b")
    for path in (tmp_path / "a?b", tmp_path / "absent", made.database, tmp_path, "a\0b", "\udcff"):
        with pytest.raises(preview.PinMismatch):
            preview.open_snapshot(path)


def forge(
    folder: Path, *statements: str, change: Callable[[Any], None] = lambda tree: None
) -> Path:
    """Change the database, and make a manifest that fits the changed file."""
    path, manifest = folder / "snapshot.duckdb", folder / "manifest.json"
    database(writable(path), *statements)
    tree = json.loads(manifest.read_text())
    file = sources.fingerprint(path, lambda *_: None).file
    tree["database"] = {"size": file.size, "sha256": file.sha256}
    change(tree)
    forged = Manifest.model_validate_json(json.dumps(tree))
    forged = Manifest.model_validate_json(json.dumps({**tree, "id": logical_id(forged.logical)}))
    writable(manifest).write_bytes(canonical_bytes(forged))
    return folder


FORGED = {
    "extra table": ["CREATE TABLE u (a INTEGER)"],
    "no table": ["DROP TABLE t"],
    "extra column": ["ALTER TABLE t ADD COLUMN b INTEGER"],
    "other type": ["ALTER TABLE t ALTER a TYPE INTEGER"],
    "other name": ["ALTER TABLE t RENAME a TO A"],
    "other schema": ["CREATE SCHEMA s", "CREATE TABLE s.t AS FROM t", "DROP TABLE t"],
    "view": ["CREATE VIEW v AS FROM t"],
    "view in its place": ["ALTER TABLE t RENAME TO u", "CREATE VIEW t AS FROM u"],
    "macro": ["CREATE MACRO sum(x) AS 42"],
    "table macro": ["CREATE MACRO f() AS TABLE SELECT 1"],
    "type": ["CREATE TYPE e AS ENUM ('a')"],
    "sequence": ["CREATE SEQUENCE q"],
    "index": ["CREATE INDEX i ON t (a)"],
    "constraint": ["ALTER TABLE t ALTER a SET NOT NULL"],
    "default": ["ALTER TABLE t ALTER a SET DEFAULT 3"],
    "generated": ["DROP TABLE t", "CREATE TABLE t (a BIGINT, s VARCHAR AS ('x'))"],
    "collation": ["DROP TABLE t", "CREATE TABLE t (a BIGINT, s VARCHAR COLLATE nocase)"],
}


@pytest.mark.parametrize("what", FORGED)
def test_a_catalog_that_is_not_the_manifests_is_a_mismatch(what, made):
    forge(made.folder)
    assert preview.open_snapshot(made.folder).id == made.id
    forge(made.folder, *FORGED[what])
    with pytest.raises(preview.PinMismatch, match="catalog"):
        preview.open_snapshot(made.folder)


def test_a_forged_manifest_is_a_mismatch(made):
    def other_members(tree: Any) -> None:
        tree["logical"]["tables"][0]["columns"][1] |= {"type": "ENUM", "members": ["x"]}

    with pytest.raises(preview.PinMismatch, match="catalog"):
        preview.open_snapshot(forge(made.folder, change=other_members))

    def hostile(tree: Any) -> None:
        tree["logical"]["tables"][0]["columns"][1] |= {
            "type": "INTEGER); DROP TABLE t; --",
            "members": None,
        }

    with pytest.raises(preview.PinMismatch, match="catalog"):
        preview.open_snapshot(forge(made.folder, change=hostile))


def test_the_members_of_an_enum_are_those_of_the_catalog(tmp_path):
    path = database(tmp_path / "e.duckdb", "CREATE TABLE t (e ENUM('a', 'b'))")
    made = pin_one(f"{path}::t", tmp_path)

    def other_order(tree: Any) -> None:
        tree["logical"]["tables"][0]["columns"][0]["members"] = ["b", "a"]

    with pytest.raises(preview.PinMismatch, match="catalog"):
        preview.open_snapshot(forge(made.folder, change=other_order))


@pytest.mark.parametrize("written", [b"[]", b"{", b'{"id": NaN}', b"\xff", b"[" * 100])
def test_a_malformed_manifest_is_a_mismatch(written, made):
    writable(made.folder / "manifest.json").write_bytes(written)
    with pytest.raises(preview.PinMismatch):
        preview.open_snapshot(made.folder)


def test_a_manifest_in_another_form_is_a_mismatch(made):
    manifest = made.folder / "manifest.json"
    text = manifest.read_text()
    for other in (text + "\n", json.dumps(json.loads(text)), text.replace(made.id, "0" * 64)):
        writable(manifest).write_text(other)
        with pytest.raises(preview.PinMismatch):
            preview.open_snapshot(made.folder)
