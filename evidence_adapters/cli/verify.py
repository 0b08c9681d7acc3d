"""The verb `verify`: a bundle against itself, given keys and a given snapshot.

Invariants
  H1  The bundle is one plain file that the user names: no link, no address, nothing that waits.
      Nothing that stands in it is opened, and nothing is written.
  H2  Exit status 0 where it passed or is unverified, which is for a person to review; 2 where it
      failed or is blocked; never 1.
  H3  What is printed are codes, counts, hashes, JSON pointers and fixed sentences.
"""

import os
import stat
from typing import TYPE_CHECKING, Annotated

import typer

from evidence_adapters.cli.limits import MEMORY_MIB, TIMEOUT_S, MemoryOption, TimeoutOption
from evidence_adapters.cli.program import DONE, TROUBLE, Answer
from evidence_adapters.cli.progress import open_shown
from evidence_adapters.cli.trouble import Trouble

if TYPE_CHECKING:
    from eligibility.evidence.entry import PublicKey
    from eligibility.evidence.verification import Verification
    from evidence_adapters.cli.screen import Screen

_SIGNS = {"blocked": "red", "failed": "red", "unverified": "yellow", "note": "dim"}


def verify(
    bundle: Annotated[str, typer.Argument(metavar="BUNDLE", help="The file of a bundle.")],
    key: Annotated[
        str | None,
        typer.Option("--key", metavar="FILE", help="Public keys that are trusted, in PEM."),
    ] = None,
    snapshot: Annotated[
        str | None,
        typer.Option("--snapshot", metavar="DIR", help="Execute the statement again over this."),
    ] = None,
    timeout: TimeoutOption = TIMEOUT_S,
    memory: MemoryOption = MEMORY_MIB,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON document, and nothing else.")
    ] = False,
) -> Answer:
    """Establish what a bundle of evidence shows, offline, and say what it does not.

    Every digest, link, signature and fact is derived again. Without a snapshot the engine's reading
    stays unverified; with one, what cannot be executed again over it fails. The status is 0 where it passed or is unverified, which is for a person to
    review, and 2 where it failed; meaning is never established.
    """
    trusted = None if key is None else trusted_keys(key)
    data = read_plainly(bundle, _bundle_bytes_max())
    if data is None:
        from eligibility.evidence.verification import Code, Report

        report = Report()
        report.add(Code.FILE_REFUSED, "")
        return _answer(report.verification(None))
    from eligibility.evidence.bundle import verify

    if snapshot is None:
        return _answer(verify(data, keys=trusted))
    from preview.reexecution import Executor

    with Executor(
        snapshot, timeout_s=timeout, memory_bytes=memory * 2**20, opening=open_shown
    ) as execute:
        return _answer(verify(data, keys=trusted, execute=execute))


def _bundle_bytes_max() -> int:
    from eligibility.evidence.bundle import BUNDLE_BYTES_MAX

    return BUNDLE_BYTES_MAX


def _answer(found: "Verification") -> Answer:
    status = TROUBLE if found.structural_status == "failed" else DONE
    return Answer(status, found.model_dump(mode="json"), lambda screen: _show(screen, found))


def _show(screen: "Screen", found: "Verification") -> None:
    said = "blocked" if found.blocked else found.structural_status
    screen.blank()
    screen.say(f"structural status: {said}", "bold")
    screen.say("overall pass: no - structure does not establish meaning")
    for each in found.codes:
        times = f" ({each.count:,} times, first" if each.count > 1 else " ("
        screen.say(
            f"{each.weight}: {each.code.value}{times} at {each.first or '/'}): "
            f"{each.code.sentence}".replace("( at", "(at"),
            _SIGNS[each.weight],
        )
    for advice in found.advice:
        screen.say(advice, "bold")
    screen.blank()
    for name, value in (found.hashes.model_dump() if found.hashes else {}).items():
        screen.say(f"{name.replace('_', ' ')}: {value or 'none'}", "dim")
    counts = found.counts.model_dump() if found.counts else {}
    if counts:
        screen.say(", ".join(f"{count:,} {name}" for name, count in counts.items()), "dim")
    screen.say("Not established: " + "; ".join(found.not_established) + ".")


# --- what the user names ------------------------------------------------------------------------


def trusted_keys(path: str) -> "tuple[PublicKey, ...]":
    """Read a file of public keys that the user names (H1).

    Args:
        path: of the file.

    Returns:
        The keys, at least one.

    Raises:
        Trouble: it cannot be read, or holds anything else.
    """
    from preview.errors import KeyFileError
    from preview.signing import KEY_FILE_BYTES_MAX, public_keys

    data = read_plainly(path, KEY_FILE_BYTES_MAX)
    if data is None:
        from eligibility.evidence.verification import Code

        raise Trouble(KeyFileError.code, f"{path}: {Code.FILE_REFUSED.sentence}")
    return public_keys(data)


def read_plainly(path: str, limit: int) -> bytes | None:
    """Read a plain file (H1).

    Args:
        path: of the file.
        limit: of its size, in bytes.

    Returns:
        Its bytes, one more than `limit` where there are more; None where it is no plain file.
    """
    if "://" in path or path.startswith(("//", "\\\\", "file:")):  # an address
        return None
    try:
        # A pipe must not make the program wait for a writer.
        opened = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(opened, "rb") as file:
            if not stat.S_ISREG(os.fstat(opened).st_mode):
                return None
            return file.read(limit + 1)
    except (OSError, ValueError):
        return None
