"""The cases of corpora/files: small files, the options they are pinned with, what must come of it."""

import re
import shlex
from dataclasses import dataclass, field
from pathlib import Path

FOLDER = Path(__file__).parent.parent / "corpora" / "files"
_ESCAPES = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"\\": b"\\"}


@dataclass
class FileCase:
    title: str
    name: str
    options: list[str]
    data: bytes = b""
    columns: str | None = None
    rows: list[tuple[str | None, ...]] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)
    error: str | None = None


def cases() -> list[FileCase]:
    found = [
        _case(block)
        for path in sorted(FOLDER.glob("*.txt"))
        for block in re.split(r"\n\n+(?=# )", path.read_text().strip("\n"))
    ]
    assert len({case.title for case in found}) == len(found)
    return found


def _case(block: str) -> FileCase:
    lines = block.split("\n")
    title = lines[0].removeprefix("# ")
    body = [line for line in lines[1:] if not line.startswith("# ")]
    name, *options = shlex.split(body[0].replace("#", "'#'"))
    case = FileCase(title, name, options)
    for line in body[1:]:
        if line.startswith("-->"):
            _expect(case, line.removeprefix("-->"))
        elif line.startswith("~"):
            case.data += _unescaped(line[2:].encode())
        else:
            assert line.startswith("|"), (title, line)
            case.data += line[2:].encode() + b"\n"
    assert case.error or case.columns, title
    return case


def _expect(case: FileCase, line: str) -> None:
    what, _, rest = line.strip().partition("  ")
    match what:
        case "columns":
            case.columns = rest
        case "row":
            case.rows.append(tuple(map(_value, rest.split(" | "))))
        case "doubt":
            case.doubts.append(rest)
        case "error":
            case.error = rest
        case _:
            raise AssertionError(line)


def _value(text: str) -> str | None:
    if text == "NULL":
        return None
    if len(text) > 1 and text[0] == text[-1] == "'":
        return _unescaped(text[1:-1].encode()).decode()
    return text


def _unescaped(data: bytes) -> bytes:
    def one(found: re.Match[bytes]) -> bytes:
        if found[1].startswith(b"x"):
            return bytes([int(found[1][1:], 16)])
        return _ESCAPES[found[1]]

    return re.sub(rb"\\(x[0-9A-F]{2}|[nrt\\])", one, data)
