"""Options of `pin` as the corpora write them, by the program's own reading of them."""

from typing import Any

from preview import ReadOptions


def read_options(table: str, arguments: list[str]) -> ReadOptions:
    """Read options the plainest way; what the program makes of them is tested with it."""
    given: dict[str, Any] = {"name": [], "null": [], "types": [], "date_format": [], "trim": []}
    given |= {"decimal": [], "thousands": []}
    rest = iter(arguments)
    for option in rest:
        match option:
            case "--header" | "--no-header":
                given["header"] = option == "--header"
            case "--delimiter" | "--comment" | "--encoding" | "--records" | "--format":
                given[option[2:]] = next(rest)
            case "--skip":
                given["skip"] = int(next(rest))
            case "--null":
                given["null"].append(next(rest))
            case "--names":
                given["names"] = tuple(next(rest).removeprefix(f"{table}=").split(","))
            case "--trim":
                given["trim"].append(next(rest).removeprefix(f"{table}."))
            case "--name" | "--type" | "--date-format" | "--decimal" | "--thousands":
                column, value = next(rest).removeprefix(f"{table}.").split("=", 1)
                key = {"--type": "types", "--date-format": "date_format"}.get(option, option[2:])
                given[key].append((int(column) if key == "name" else column, value))
            case _:
                raise AssertionError(option)
    values: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in given.items()
    }
    return ReadOptions(**values)
