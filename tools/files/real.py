"""Pin the data files that packages of the index ship, judge each, and write docs/real-files.md.

    python -m tools.files.real [--packages FOLDER] [--write]

A file is pinned with no option. Where it is refused, the option that the message says to paste is
pasted, and so on. What is pinned at last is compared with the file, every cell, by the judges of
this folder; JSON with what Python's `json` reads, its numbers by their text.
"""

import argparse
import hashlib
import json
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import preview
from preview.sources.files import Held, unpacked
from tests.sources.options import read_options
from tools.files import judge
from tools.files.door import read_back
from tools.files.finding import File

ROOT = Path(__file__).parent.parent.parent
LOCK = ROOT / "corpora" / "packages.lock"
KEPT = Path(__file__).with_name("real.json")
PAGE = ROOT / "docs" / "real-files.md"
TRIES_MAX = 60
BYTES_MAX = 5_000_000  # the judges are plain Python
PER_PACKAGE_MAX = 200
_OPTION = re.compile(
    r"--(?:name|records) (?:'[^']*'|\S+)|--(?:delimiter|encoding) \S+|--(?:no-)?header"
)
_TEXTS = (".csv", ".tsv", ".csv.gz", ".csv.zip", ".csv.zst")


def packages(folder: Path) -> Iterator[Path]:
    """Download what the lock names, check its hashes, and unpack it."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--require-hashes"]
    packed = folder / "packed"
    subprocess.run([*command, "--dest", str(packed), "--requirement", str(LOCK)], check=True)
    for archive in sorted(packed.iterdir()):
        place = folder / archive.name.split("-")[0].lower()
        _unpack(archive, place)
        for inner in list(place.rglob("*.tar.gz")):
            _unpack(inner, inner.with_suffix(".unpacked"))
        yield place


def _unpack(archive: Path, place: Path) -> None:
    if archive.name.endswith(".tar.gz"):
        with tarfile.open(archive) as opened:
            opened.extractall(place, filter="data")
    else:
        with zipfile.ZipFile(archive) as whole:
            whole.extractall(place)  # noqa: S202 - what the lock names


def data_files(place: Path) -> Iterator[Path]:
    """Give the first files that hold tables as text, in order, and each content once."""
    seen: set[bytes] = set()
    for path in sorted(place.rglob("*")):
        name = path.name.lower()
        if not name.endswith((*_TEXTS, ".json")) or name.startswith("._") or not path.is_file():
            continue
        digest = hashlib.sha256(path.read_bytes()).digest()
        if 0 < path.stat().st_size <= BYTES_MAX and digest not in seen:
            seen.add(digest)
            yield path
        if len(seen) == PER_PACKAGE_MAX:
            return


def tried(path: Path, folder: Path) -> tuple[list[str], preview.Snapshot | str]:
    """Pin a file, pasting what the messages say; give the options, and the snapshot or the error."""
    options: list[str] = []
    for _ in range(TRIES_MAX):
        into = folder / "made"
        shutil.rmtree(into, ignore_errors=True)
        try:
            given = read_options("t", options)
            return options, preview.pin({"t": path}, into=into, options=given)
        except preview.SourceError as error:
            # With a first record that may be data, both readings are good; data is the safer one.
            found = _OPTION.findall(str(error).partition(": ")[2])
            pasted = shlex.split(found[-1]) if found else []
            known = {tuple(options[at : at + len(pasted)]) for at in range(len(options))}
            if not pasted or tuple(pasted) in known or "--records" in (*options, "")[:1]:
                return options, str(error)
            options += pasted
    return options, "too many options"


def wrong(path: Path, options: list[str], made: preview.Snapshot, folder: Path) -> list[str]:
    """Say in what a pinned table is not its file."""
    (table,) = read_back(made.folder)
    with tempfile.TemporaryDirectory(dir=folder) as private, Held(lambda *_: None) as held:
        held.hold(path)
        data = unpacked(path, held.opened(path), Path(private), 2**30).read_bytes()
    if table.source["dialect"]["kind"] == "json":
        return _wrong_json(data, table)
    given = read_options("t", options)
    asked: dict[str, Any] = {"name": dict(given.name)} if given.name else {}
    for key in ("header", "delimiter", "encoding"):
        if getattr(given, key) is not None:
            asked[key] = getattr(given, key)
    name = (
        path.name.removesuffix(path.suffix) if path.suffix in (".gz", ".zip", ".zst") else path.name
    )
    return judge.faults(File(name, data, asked), table)


class Number(str):
    """The text of a number in JSON."""


def _wrong_json(data: bytes, table: judge.Pinned) -> list[str]:
    dialect = table.source["dialect"]
    text = data.decode(dialect["encoding"]).removeprefix("\ufeff")
    keep: dict[str, Any] = {"parse_int": Number, "parse_float": Number}
    if dialect["layout"] == "lines":
        records: Any = [json.loads(line, **keep) for line in text.splitlines() if line.strip()]
    else:
        records = json.loads(text, **keep)
    for part in (dialect["records"] or "").split("/")[1:]:
        part = part.replace("~1", "/").replace("~0", "~")
        records = records[int(part)] if isinstance(records, list) else records[part]
    if len(records) != len(table.rows):
        return ["another number of rows"]
    for place, (name, kind) in enumerate(table.columns):
        for record, row in zip(records, table.rows, strict=True):
            if not _same(record.get(name), row[place], kind):
                return [f"column {place + 1}: another value"]
    return []


def _same(value: Any, cell: Any, kind: str) -> bool:
    if value is None or cell is None:
        return value is None and cell is None
    if isinstance(value, bool):
        return str(cell).lower() == str(value).lower()
    if isinstance(value, dict | list):
        return bool(json.loads(cell, parse_int=Number, parse_float=Number) == value)
    if kind == "DOUBLE":
        return float(cell if not isinstance(cell, str) else float.fromhex(cell)) == float(value)
    if kind.startswith("DECIMAL") or kind in ("BIGINT", "HUGEINT"):
        from decimal import Decimal

        return Decimal(str(cell)) == Decimal(value)
    return kind != "VARCHAR" or str(cell) == str(value)


def measured(places: Iterator[Path], folder: Path) -> dict[str, Any]:
    """Pin and judge every file."""
    counts: dict[str, Counter[str]] = {"text": Counter(), "json": Counter()}
    used: Counter[str] = Counter()
    refusals: Counter[str] = Counter()
    doubts: Counter[str] = Counter()
    differ: list[str] = []
    by_package: Counter[str] = Counter()
    for place in places:
        for path in data_files(place):
            kind = "json" if path.name.lower().endswith(".json") else "text"
            by_package[place.name] += 1
            sys.stderr.write(f"\r\033[K{by_package.total():,} files, {place.name}")
            counts[kind]["files"] += 1
            options, made = tried(path, folder)
            if isinstance(made, str):
                counts[kind]["refused"] += 1
                refusals[_kind_of(made)] += 1
                continue
            counts[kind]["no option" if not options else "options pasted"] += 1
            used.update({one for one in options if one.startswith("--")})
            (source,) = made.manifest.sources
            doubts.update({doubt.code for doubt in getattr(source, "doubts", ())})
            if wrong_in := wrong(path, options, made, folder):
                differ.append(f"{path.name}: {wrong_in[0]}")
                sys.stdout.write(f"DIFFERS {path} {wrong_in}\n")
    return {
        "packages": {name: by_package[name] for name in sorted(by_package)},
        "counts": {kind: dict(sorted(found.items())) for kind, found in counts.items()},
        "options": dict(used.most_common()),
        "refusals": dict(refusals.most_common()),
        "doubts": dict(doubts.most_common()),
        "different": differ,
    }


def _kind_of(message: str) -> str:
    said = message.partition(": ")[2]
    said = re.sub(r"(?<=names lists: ).*|(?<=holds ).*|/\S+", "…", said)
    return re.sub(r"'[^']*'", "…", re.sub(r"[0-9][0-9,]*", "N", said))[:150]


def page(found: dict[str, Any]) -> str:
    """Write the page from what was found."""
    rows = []
    for kind, name in (("text", "delimited text"), ("json", "JSON")):
        one = found["counts"][kind]
        cells = [one.get(key, 0) for key in ("files", "no option", "options pasted", "refused")]
        rows.append(f"| {name} | " + " | ".join(f"{cell:,}" for cell in cells) + " |")
    listed = ", ".join(f"{name} ({count})" for name, count in found["packages"].items())
    used = "\n".join(f"| `{name}` | {count:,} |" for name, count in found["options"].items())
    refused = "\n".join(f"| {said} | {count:,} |" for said, count in found["refusals"].items())
    doubts = "\n".join(f"| `{code}` | {count:,} |" for code, count in found["doubts"].items())
    return f"""# Real files

<!-- Written by `make real`; do not edit. -->

The CSV, TSV and JSON files that {len(found["packages"])} packages of the index ship, at most
{PER_PACKAGE_MAX} of each and none over {BYTES_MAX:,} bytes, were pinned: first with no option,
then with each option that the message said to paste. What was pinned was compared with the file,
cell for cell, by a second reading under the recorded dialect.
**{len(found["different"])} differed.** `corpora/packages.lock` names the packages; their files are
downloaded, and never part of this project.

| | files | pinned with no option | with the options pasted | refused |
|---|---|---|---|---|
{chr(10).join(rows)}

Which options were pasted, in how many files:

| option | files |
|---|---|
{used}

What was said of those that are refused:

| message | files |
|---|---|
{refused}

Files in which something looks like more than it was read as, by kind of doubt:

| doubt | files |
|---|---|
{doubts}

Files by package: {listed}.
"""


def main() -> int:
    """Measure; 0 where no file differs."""
    parser = argparse.ArgumentParser(prog="tools.files.real")
    parser.add_argument("--packages", type=Path, help="a folder for what is downloaded")
    parser.add_argument("--write", action="store_true", help="write the page")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as private:
        folder = given.packages or Path(private)
        folder.mkdir(exist_ok=True)
        found = measured(packages(folder), Path(private))
    sys.stdout.write(json.dumps(found, indent=1) + "\n")
    if given.write:
        KEPT.write_text(json.dumps(found, indent=1) + "\n")
        PAGE.write_text(page(found))
    return int(bool(found["different"]))


if __name__ == "__main__":
    sys.exit(main())
