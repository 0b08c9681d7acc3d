"""Hostile files: delimited text that is likely to be read as something else than it says.

Invariants
  G1  A seed and a number give the same file in every run and on every machine.
"""

import random
from collections.abc import Callable, Sequence
from typing import Any

from tools.files.finding import File

Draw = random.Random
ENDS = ("\n", "\r\n", "\r")
ODD = (
    '"', '""', '"""', "'", "''", "#", "# x", "\\", "\\n", "\\\"", "\\N", "`", "a\"b", '"a"b', ' "a"', '"a" ',
    "it's", "'Til", "5\" pipe", "a,b", "a;b", "a|b", "a\tb", "a\nb", "a\r\nb", "a\rb", "\n", "\r", "\r\n", ",", ";",
    "\t", "|", " ", "  x", "x  ", "\ufeff", "x\ufeffy", "\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c", "\x1f",
    "\x7f", "\x01", "\x1a", "\u00a0", "\u200b", "é", "e\u0301", "ß", "\U0001f986", "\uffff", "\ufffd", "\u0661\u0662",
    "NULL", "null", "NA", "N/A", "nan", "None", "-", "--", "?", ".", "%", "$1", "{}", "[]", "{a:1}", "=1+1", "@x",
)  # fmt: skip
TEXTS = (
    "a",
    "b",
    "red",
    "green",
    "north",
    "Zürich",
    "x y",
    "Smith, John",
    "O'Neil",
    "NO",
    "yes",
    "F",
    "T",
    "no",
    "n",
    "y",
)
LOOK_ALIKES = (
    "01234", "007", "00", "+1", "+1.5", "1,234", "1.234,5", "1,5", "1 000", "1_000", "12E3", "1e5", "1E+5x", "0x1F", "0b11",
    "inf", "-inf", "nan", "NaN", "infinity", "Infinity", "epoch", "today", "now", "1:30", "2:05", "24:00:00", "23:59:60",
    "12:00", "12:00:00 PM", "01/02/2020", "13/02/2020", "02/13/2020", "2020/01/02", "1/2/2020", "01.02.2020",
    "10.11.12", "20-04-12", "2020-4-1", "2020-02-30", "2019-02-29", "2100-02-29", "0000-01-01", "10000-01-01",
    "2020-01-01 24:00:00", "2020-01-01T00:00", "2020-01-01t00:00:00", "2020-01-01 00:00:00 ", " 2020-01-01",
    "2020-01-01 00:00:00.1234567890", "2020-W01-1", "2020-001", "20200101", "Jan 1, 2020", "1.", ".5", "-.5", "5.e3",
    "1e400", "1e-400", "1e+400", "1e-400", "- 1", "--1", "1-", "(1)", "$5", "5%", "١٢", "１２", "½", "1\u00a0000",
    "t", "f", "on", "off", "tRUE", "TRUE ", "True.", "0true", "1.0.0", "1..0", "1e", "e+5", "1e+", "0e+5", "00e+5", ".", "-",
    "0.0000000000000000000000000000001", "1" * 40, "9" * 19, "9" * 39, "123456789012345678.9", "-0", "-0.0", "-00", "-0.00e+1",
    "2020-01-01T00:00:00Z", "2020-01-01T00:00:00+0100", "2020-01-01T00:00:00+01", "2020-01-01 00:00:00-00:00",
    "12:00:00Z", "12:00:00+01:00", "2020-01-01 00:00:00 UTC", "1677-01-01 00:00:00.1234567", "9999-12-31 23:59:59.999999",
)  # fmt: skip
NAMES = ("id", "name", "qty", "d", "when", "city", "zip", "note", "Ünïcode", "a b", " lead", "trail ", "select", "rowid", "x.y",
         "a\"b", "a,b", "a\nb", "1a", "_", "%", "'q'", "#", "\ufeffx", "A" * 70, "é", "e\u0301", "column1", "t=x")  # fmt: skip
BAD_NAMES = ("", "id", "ID", "Name", "2021", "1.5", "2020-01-01", "true", "NA", " ")
Maker = Callable[[Draw], str]


def _int(draw: Draw) -> str:
    size = draw.choice((1, 1, 2, 3, 5, 10))
    return str(draw.randrange(-(10**size), 10**size))


def _big(draw: Draw) -> str:
    edge = draw.choice((2**31, 2**53, 2**63, 2**63, 10**18, 10**19))
    return str(draw.choice((1, -1)) * (edge + draw.randrange(-2, 3)))


def _huge(draw: Draw) -> str:
    edge = draw.choice((2**64, 2**127, 2**127, 10**38, 10**39, 10**20))
    return str(draw.choice((1, -1)) * (edge + draw.randrange(-2, 3)))


def _decimal(draw: Draw) -> str:
    scale = draw.choice((1, 2, 2, 3, 6))
    return f"{draw.choice(('', '', '-'))}{draw.randrange(1, 10 ** draw.choice((1, 3, 6)))}.{draw.randrange(10**scale):0{scale}}"


def _long_decimal(draw: Draw) -> str:
    digits = draw.choice((15, 16, 17, 18, 18, 19, 20, 25))
    scale = draw.randrange(1, digits + 1)
    text = "".join(draw.choice("0123456789") for _ in range(digits))
    return f"{int(text[:-scale] or '0')}.{text[-scale:]}"


def _double(draw: Draw) -> str:
    return draw.choice(
        (
            repr(draw.uniform(-1e6, 1e6)),
            f"{draw.uniform(-10, 10):.3e}",
            f"{draw.randrange(1, 99)}e{draw.choice('+-')}{draw.randrange(0, 30)}",
            "-0",
            "-0.0",
            ".5",
            "5.",
            f"{draw.uniform(0, 1):.17f}",
            f"{draw.uniform(0, 1):.20f}",
            "1E+5",
            "0.1",
        )
    )


def _shared(draw: Draw) -> str:
    return draw.choice(
        ("9007199254740993.0", "9007199254740992.0", "9007199254740992", "0.1", "0.10000000000000001",
         "0.1000000000000000055511151231257827", "1e+16", "10000000000000001", "0.30000000000000004", "0.3")
    )  # fmt: skip


def _date(draw: Draw) -> str:
    year = draw.choice((1, 1582, 1900, 1970, 1999, 2000, 2020, 2024, 9999))
    return f"{year:04}-{draw.randrange(1, 13):02}-{draw.randrange(1, 29):02}"


def _time(draw: Draw, digits: Sequence[int] = (0, 0, 1, 3, 6)) -> str:
    clock = f"{draw.randrange(24):02}:{draw.randrange(60):02}:{draw.randrange(60):02}"
    count = draw.choice(digits)
    return clock + (f".{draw.randrange(10**count):0{count}}" if count else "")


def _stamp(draw: Draw) -> str:
    return f"{_date(draw)}{draw.choice(' T')}{_time(draw)}"


def _fine(draw: Draw) -> str:
    year = draw.choice((1678, 1970, 2020, 2261, 2261, 1677, 2262))
    return (
        f"{year}-{draw.randrange(1, 13):02}-{draw.randrange(1, 29):02} {_time(draw, (7, 9, 9, 3))}"
    )


MAKERS: dict[str, Maker] = {
    "int": _int,
    "digit": lambda draw: str(draw.randrange(10)),
    "big": _big,
    "huge": _huge,
    "decimal": _decimal,
    "long": _long_decimal,
    "double": _double,
    "shared": _shared,
    "date": _date,
    "time": _time,
    "fine time": lambda draw: _time(draw, (7, 8, 9, 0)),
    "stamp": _stamp,
    "fine": _fine,
    "zoned": lambda draw: _stamp(draw) + draw.choice(("Z", "Z", "Z", "Z", "Z", "Z", "+00:00")),
    "offset": lambda draw: _stamp(draw) + "+02:00",
    "minus": lambda draw: _stamp(draw) + "-05:30",
    "offsets": lambda draw: _stamp(draw) + draw.choice(("+01:00", "+02:00")),
    "timetz": lambda draw: _time(draw) + "+01:00",
    "bool": lambda draw: draw.choice(("true", "false", "TRUE", "False")),
    "slash": lambda draw: (
        f"{draw.randrange(1, 13):02}/{draw.randrange(1, 29):02}/{draw.randrange(1990, 2030)}"
    ),
    "code": lambda draw: f"{draw.randrange(10**5):05}",
    "text": lambda draw: draw.choice(TEXTS),
    "odd": lambda draw: draw.choice(ODD),
    "look-alike": lambda draw: draw.choice(LOOK_ALIKES),
    "soup": lambda draw: "".join(
        draw.choice("ab \"',;|\t\r\n#\\01") for _ in range(draw.randrange(8))
    ),
    "long text": lambda draw: draw.choice('xé"\n') * draw.choice((100, 1000, 5000)),
    "empty": lambda draw: "",
}
PLAIN = (
    "int",
    "digit",
    "decimal",
    "date",
    "time",
    "stamp",
    "bool",
    "text",
    "text",
    "double",
    "big",
    "zoned",
    "offset",
)
SPOILERS = (*LOOK_ALIKES, *ODD, *TEXTS, "", "0", "1", "1.5", "2020-01-01", "true", "12:00:00")


def written(text: str, delimiter: str | None, draw: Draw, *, quote: float = 0.1) -> str:
    """Write a field so that a reader gets this text, quoted where it must be or by chance."""
    must = text.startswith('"') or any(one in text for one in ("\r", "\n"))
    must |= delimiter is not None and delimiter in text
    if must or draw.random() < quote:
        return '"' + text.replace('"', '""') + '"'
    return text


class Writer:
    """Draws files; each is determined by its seed and number (G1)."""

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def file(self, number: int) -> File:
        """Draw one file."""
        draw = random.Random(f"{self._seed}/{number}")
        kind = draw.random()
        chunk = draw.choice((*[None] * 18, 1, 2, 7, 16, 64, 300))
        if kind < 0.5:
            name, data, options = self._table(draw, hostile=False)
        elif kind < 0.75:
            name, data, options = self._table(draw, hostile=True)
        elif kind < 0.82:
            name, data, options = self._soup(draw)
        else:
            name, data, options = self._table(draw, hostile=True)
            data = _mutated(data, draw)
        if kind >= 0.4 and draw.random() < 0.45:
            options = {**options, **_options(draw, data)}
        strict = draw.random() < 0.05
        return File(name, data, options, strict, chunk)

    def _soup(self, draw: Draw) -> tuple[str, bytes, dict[str, Any]]:
        alphabet = draw.choice(('a,"\n', 'a1,"\n\r', 'ab;,"\n #', "a,\r\n\"'", '1,"\n;|\t', ',"\n'))
        text = "".join(draw.choice(alphabet) for _ in range(draw.randrange(0, 40)))
        return draw.choice(("t.csv", "t.csv", "t.tsv")), text.encode(), {}

    def _table(self, draw: Draw, *, hostile: bool) -> tuple[str, bytes, dict[str, Any]]:
        delimiter = draw.choice((",", ",", ",", ";", "\t", "|"))
        width = draw.choice((1, 1, 2, 2, 3, 3, 4, 6, 9))
        if hostile and draw.random() < 0.01:
            width = draw.choice((100, 300, 1200))
        rows = draw.choice((0, 1, 1, 2, 3, 5, 8, 12, 30))
        if draw.random() < 0.02:
            rows = draw.choice((200, 2500))
        rows = min(rows, 3000 // width)
        end = draw.choice(ENDS if hostile else ("\n", "\n", "\r\n", "\r"))
        options: dict[str, Any] = {}
        kinds = [draw.choice(list(MAKERS) if draw.random() < 0.5 else PLAIN) for _ in range(width)]
        columns = []
        for kind in kinds:
            cells = [MAKERS[kind](draw) for _ in range(rows)]
            chance = draw.random()
            if rows and chance < 0.25:  # one that is not like the others, early or late
                place = draw.choice((0, rows - 1, draw.randrange(rows)))
                cells[place] = draw.choice(SPOILERS)
            elif rows and chance < 0.4:
                for place in range(rows):
                    cells[place] = "" if draw.random() < 0.3 else cells[place]
            elif rows and chance < 0.45:
                cells = ["NA" if draw.random() < 0.3 else cell for cell in cells]
            columns.append(cells)
        names = _names(draw, width, hostile=hostile)
        quote = draw.choice((0.0, 0.1, 0.5, 1.0)) if draw.random() < 0.8 else 0.1
        lines = [[written(name, delimiter, draw, quote=quote) for name in names]]
        for place in range(rows):
            lines.append([written(cells[place], delimiter, draw, quote=quote) for cells in columns])
        if hostile and draw.random() < 0.1:
            lines = lines[1:]
        if hostile and lines and draw.random() < 0.3:
            _spoil(lines, draw)
        text = ""
        for line in lines:
            here = draw.choice(ENDS) if hostile and draw.random() < 0.1 else end
            text += delimiter.join(line) + here
        if draw.random() < 0.3 and not text.endswith(delimiter):
            text = text[:-2] if text.endswith("\r\n") else text[:-1]
        name = "t.tsv" if delimiter == "\t" and draw.random() < 0.5 else "t.csv"
        data, more = _encoded(text, draw, hostile=hostile)
        return name, data, {**options, **more}


def _names(draw: Draw, width: int, *, hostile: bool) -> list[str]:
    names = [f"c{n}" for n in range(1, width + 1)]
    for place in range(width):
        if draw.random() < 0.4:
            names[place] = draw.choice(NAMES)
        if hostile and draw.random() < 0.05:
            names[place] = draw.choice(BAD_NAMES)
    if not hostile:  # no two alike
        seen: set[str] = set()
        for place, name in enumerate(names):
            if name.casefold() in seen:
                names[place] = f"n{place}"
            seen.add(names[place].casefold())
    return names


def _spoil(lines: list[list[str]], draw: Draw) -> None:
    """Make one record another than the rest: early, late or last."""
    place = draw.choice((len(lines) - 1, len(lines) - 1, draw.randrange(len(lines))))
    line = lines[place]
    match draw.randrange(8):
        case 0:
            line.append(draw.choice(("", "x", '""')))
        case 1:
            if len(line) > 1:
                line.pop()
        case 2:
            lines.insert(place, [""])
        case 3:
            lines.append([""])
        case 4:
            lines.insert(place, ["# comment"])
        case 5:
            at = draw.randrange(len(line))
            line[at] = draw.choice(ODD)
        case 6:
            at = draw.randrange(len(line))
            line[at] = '"' + line[at]
        case 7:
            line[0] = draw.choice(("#", " ", "'", '"a" ')) + line[0]


def _encoded(text: str, draw: Draw, *, hostile: bool) -> tuple[bytes, dict[str, Any]]:
    chance = draw.random()
    if chance < 0.8:
        return text.encode(), {}
    if chance < 0.86:
        return b"\xef\xbb\xbf" + text.encode(), {}
    if chance < 0.9:
        return b"\xff\xfe" + text.encode("utf-16-le"), {}
    if chance < 0.93:
        return b"\xfe\xff" + text.encode("utf-16-be"), {}
    codec = draw.choice(("latin-1", "cp1252", "utf-16-le", "utf-8"))
    try:
        data = text.encode(codec)
    except UnicodeEncodeError:
        return text.encode(), {}
    if hostile and draw.random() < 0.3:
        return data, {}
    return data, {"encoding": codec}


def _mutated(data: bytes, draw: Draw) -> bytes:
    """Change a few bytes: where, and into what, is likely to matter."""
    pieces = (
        b'"',
        b",",
        b"\n",
        b"\r",
        b"\r\n",
        b"\xff",
        b"\x00",
        b"\xef\xbb\xbf",
        b"\xc3",
        b"\xed\xa0\x80",
        b" ",
        b"#",
        b"\\",
        b";",
        b'""',
        b"\t",
        b"\x80",
        b"0",
        b"\xf4\x90\x80\x80",
        b"\xc0\x80",
    )
    for _ in range(draw.choice((1, 1, 1, 2, 3))):
        place = draw.choice((0, len(data), draw.randrange(len(data) + 1)))
        match draw.randrange(4):
            case 0 | 1:
                data = data[:place] + draw.choice(pieces) + data[place:]
            case 2:
                data = data[:place] + data[place + draw.randrange(1, 4) :]
            case 3:
                data = data[:place] + draw.choice(pieces) + data[place + 1 :]
    return data


def _options(draw: Draw, data: bytes) -> dict[str, Any]:
    first = data.decode("latin-1").splitlines()[:1]
    names = (
        [name.strip('"') for name in first[0].replace(";", ",").replace("\t", ",").split(",")]
        if first
        else []
    )
    names = [name for name in names if name] or ["c1"]
    one = draw.choice(names)
    made: dict[str, Any] = {}
    for _ in range(draw.choice((1, 1, 2, 3))):
        match draw.randrange(17):
            case 0:
                made["skip"] = draw.choice((0, 1, 1, 2, 5))
            case 1:
                made["comment"] = draw.choice(("#", "#", "//", "a", ","))
            case 2 | 3:
                made["delimiter"] = draw.choice(
                    (",", ",", ";", "\t", "tab", "|", "none", " ", "a", ",,", "é", '"')
                )
            case 4 | 5:
                made["header"] = draw.random() < 0.5
            case 6:
                made["name"] = {draw.choice((1, 1, 2, 3, 99)): draw.choice(("z", "c2", "", "A b"))}
            case 7:
                count = draw.choice((len(names), len(names), 2))
                made["names"] = [draw.choice((f"m{n}", f"m{n}", "m1")) for n in range(1, count + 1)]
            case 8 | 9:
                made["null"] = draw.sample(
                    ["NA", "NULL", "-", "0", "a", "", "nan", " "], draw.randrange(1, 3)
                )
            case 10:
                made["decimal"] = draw.choice((",", ",", ".", {one: ","}, {"nope": ","}))
            case 11:
                made["thousands"] = draw.choice((",", ".", " ", {one: ","}, "'"))
            case 12:
                made["trim"] = draw.choice((True, True, [one], ["nope"]))
            case 13:
                made["date_format"] = {
                    one: draw.choice(
                        ("%d/%m/%Y", "%m/%d/%Y", "%Y-%m-%d", "%Y%m%d", "%Y-%m-%d %H:%M:%S")
                    )
                }
            case 14 | 15:
                made["types"] = {
                    draw.choice((one, one, "nope") if draw.random() < 0.3 else (one,)): draw.choice(
                        ("VARCHAR", "VARCHAR", "BIGINT", "INTEGER", "DOUBLE", "FLOAT", "DECIMAL(18,2)", "DECIMAL(38,10)",
                         "DATE", "TIMESTAMP", "BOOLEAN", "TIME", "HUGEINT", "UBIGINT", "TINYINT", "TIMESTAMPTZ", "TIMESTAMP_NS")
                    )
                }  # fmt: skip
            case 16:
                made["encoding"] = draw.choice(
                    ("utf-8", "latin-1", "cp1252", "utf-16", "nope", "ascii")
                )
    return made
