"""Change every byte of a bundle: each change must end in failure.

    python -m benchmarks.flip BUNDLE

At every position one bit is flipped, and another byte is put. The decision is called in process,
as the program calls it.
"""

import argparse
import multiprocessing
import os
import random
import sys
import time
from collections.abc import Iterable
from pathlib import Path

from eligibility.evidence.bundle import verify


def changed(data: bytes, place: int) -> tuple[bytes, bytes]:
    """Give a bundle with one bit flipped at a position, and with another byte put there."""
    draw = random.Random(place)  # noqa: S311 - no secret
    flipped = data[place] ^ (1 << draw.randrange(8))
    other = draw.choice([byte for byte in range(256) if byte not in (data[place], flipped)])
    return tuple(data[:place] + bytes([byte]) + data[place + 1 :] for byte in (flipped, other))  # type: ignore[return-value]


def not_failed(data: bytes, places: Iterable[int]) -> list[int]:
    """Give the positions at which a change does not end in failure."""
    return [
        place
        for place in places
        for each in changed(data, place)
        if verify(each).structural_status != "failed"
    ]


def _part(task: tuple[bytes, int, int]) -> list[int]:
    data, first, step = task
    return not_failed(data, range(first, len(data), step))


def main() -> int:
    """Change every byte of a file and print what came of it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.flip", description=__doc__)
    parser.add_argument("bundle", type=Path, metavar="BUNDLE", help="a file that holds a bundle")
    path = parser.parse_args().bundle
    try:
        data = path.read_bytes()
    except OSError as error:
        parser.error(f"{path}: {error.strerror}")
    if verify(data).structural_status == "failed":
        print("the bundle fails as it is")
        return 1
    started = time.perf_counter()
    workers = os.cpu_count() or 1
    with multiprocessing.Pool(workers) as pool:
        found = pool.map(_part, [(data, first, workers) for first in range(workers)])
    passed = sum(map(len, found))
    print(
        f"{len(data):,} bytes, {2 * len(data):,} changes, {passed} not failed, "
        f"in {time.perf_counter() - started:.0f} s"
    )
    return int(passed > 0)


if __name__ == "__main__":
    sys.exit(main())
