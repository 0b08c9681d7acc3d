"""Run every benchmark and write the page: `make bench`.

    python -m benchmarks.every [--quick] [--only SCRIPT …] [--folder FOLDER]

A script that fails is reported, its place on the page says so, and the others still run. The exit
status is 1 where one has failed; a bar that is missed is a result, and no failure.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

from benchmarks import page, timing

SCRIPT_S_MAX = 900.0


def main() -> int:
    """Run the scripts one after the other, then write the page."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.every",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--quick", action="store_true", help="small sizes and few turns: a trial")
    parser.add_argument("--only", nargs="+", choices=page.SCRIPTS, help="run these alone")
    parser.add_argument(
        "--folder",
        type=Path,
        default=os.environ.get(timing.FOLDER),
        help=f"keep data there (default: {timing.FOLDER}, else a folder that is removed)",
    )
    asked = parser.parse_args()
    started = time.perf_counter()
    chosen = tuple(asked.only or page.SCRIPTS)
    with timing.scratch(asked.folder) as folder:
        failed = [name for name in chosen if not _ran(name, folder, quick=asked.quick)]
    page.write()
    print(
        f"\n{len(chosen)} benchmarks in {time.perf_counter() - started:.0f} s; see docs/benchmarks.md"
    )
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return int(bool(failed))


def _ran(name: str, folder: Path, *, quick: bool) -> bool:
    """Run one script; where it leaves no results behind, leave word that it failed."""
    print(f"\n--- {name} ---", flush=True)
    results = page.RESULTS / f"{name}.json"
    results.unlink(missing_ok=True)
    command = [sys.executable, "-m", f"benchmarks.{name}", "--json", str(results)]
    command += ["--folder", str(folder), *(["--quick"] if quick else [])]
    process = subprocess.Popen(command, cwd=timing.ROOT, start_new_session=True)
    try:
        ended = process.wait(SCRIPT_S_MAX)
        why = f"it ended with {ended}"
    except subprocess.TimeoutExpired:
        ended, why = 1, f"it took more than {SCRIPT_S_MAX:.0f} s"
    finally:
        with suppress(ProcessLookupError):  # nothing of it is left, mostly
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    if not results.exists():
        timing.write_json(results, timing.report(name, quick=quick, failed=why))
    return ended == 0 and json.loads(results.read_text())["failed"] is None


if __name__ == "__main__":
    sys.exit(main())
