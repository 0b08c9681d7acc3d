"""The verbs below `ledger`: what was recorded then, from the ledger alone."""

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, assert_never

import typer

from evidence_adapters.cli.program import DONE, NOTHING, TROUBLE, Answer
from evidence_adapters.cli.trouble import FILE, Trouble, UsageError
from evidence_adapters.cli.visible import visible

if TYPE_CHECKING:
    from eligibility.evidence.entry import Entry, ReleaseRecord
    from eligibility.sql.facts import Release
    from eligibility.sql.manifest import Manifest
    from eligibility.sql.observation import Observation
    from evidence_adapters.cli.screen import Screen
    from preview import Ledger
    from preview.audit import Audit

LISTED = 50

ledger = typer.Typer(
    name="ledger",
    help="Read a ledger: what was recorded, whether it is whole, and bundles of it.",
    rich_markup_mode=None,
    no_args_is_help=False,
    context_settings={"help_option_names": ["--help", "-h"]},
)

LedgerArgument = Annotated[str, typer.Argument(metavar="LEDGER", help="The ledger's file.")]
WhatArgument = Annotated[
    str,
    typer.Argument(metavar="WHAT", help="An entry's number, or an observation's digest."),
]
SignOption = Annotated[
    str | None,
    typer.Option("--sign", metavar="FILE", help="A private key that signs what is kept."),
]
JsonOption = Annotated[
    bool, typer.Option("--json", help="Print one JSON document, and nothing else.")
]


@ledger.command("list")
def listed(
    file: LedgerArgument,
    everything: Annotated[bool, typer.Option("--all", help="Show long lists whole.")] = False,
    as_json: JsonOption = False,
) -> Answer:
    """List the entries, the newest first: number, time, kind, what they are about."""
    with _opened(file) as opened:
        limit = -1 if everything or as_json else LISTED
        entries = list(opened.entries(newest_first=True, limit=limit))
        total = entries[0].sequence if entries else 0

    def show(screen: "Screen") -> None:
        for entry in entries:
            signed = "signed" if entry.signature else "not signed"
            screen.say(
                f"{entry.sequence}  {entry.time}  {entry.kind}  {entry.subject[:16]}  {signed}"
            )
        if total > len(entries):
            screen.say(f"and {total - len(entries):,} more (--all shows them)", "dim")

    document = {"ledger": opened.id, "entries": [_plain(entry) for entry in entries]}
    return Answer(DONE, document, show)


@ledger.command("show")
def shown(file: LedgerArgument, what: WhatArgument, as_json: JsonOption = False) -> Answer:
    """Show what a reader saw then; nothing is made anew, and what is missing is said."""
    with _opened(file) as opened:
        entry = _wanted(opened, what)
        match entry.kind:
            case "snapshot":
                return _shown_snapshot(entry, opened.snapshot(entry.subject)[1])
            case "observation":
                wanted = opened.releases(entry.subject)
            case "release":
                wanted = (entry,)
            case _:
                assert_never(entry.kind)
        observation = _observation(opened, entry)
        releases = [(each, opened.released(each)) for each in wanted]
    missing = [
        *(["observation"] if observation is None else []),
        *(["release"] if not releases else []),
    ]
    document = {
        "entry": _plain(entry),
        "observation": None if observation is None else observation.model_dump(mode="json"),
        "releases": [
            {"entry": _plain(each), "record": record.model_dump(mode="json")}
            for each, record in releases
        ],
        "missing": missing,
    }
    return Answer(DONE, document, _showing(observation, releases, missing))


def _shown_snapshot(entry: "Entry", manifest: "Manifest") -> Answer:
    document = {"entry": _plain(entry), "manifest": manifest.model_dump(mode="json")}
    tables = ", ".join(".".join(pin.path) for pin in manifest.logical.tables)
    return Answer(DONE, document, lambda screen: screen.say(visible(f"pinned: {tables}")))


def _observation(opened: "Ledger", entry: "Entry") -> "Observation | None":
    from preview import LedgerMissing

    try:
        return opened.stored(entry.subject)[1].observation
    except LedgerMissing:
        return None


def _showing(
    observation: "Observation | None",
    releases: "list[tuple[Entry, ReleaseRecord]]",
    missing: list[str],
) -> "Callable[[Screen], None]":
    def show(screen: "Screen") -> None:
        if observation is not None:
            screen.say(f"captured {visible(observation.captured_at)}", "dim")
            screen.say(visible(observation.statement))
            screen.captured(observation)
        for entry, record in releases:
            screen.blank()
            screen.say(f"entry {entry.sequence}, {entry.time}:", "bold")
            _show_release(screen, record.release)
        for what in missing:
            screen.say(f"No {what} is recorded.", "yellow")

    return show


def _show_release(screen: "Screen", release: "Release") -> None:
    for fact in release.facts:
        screen.say(visible(fact.text), "green")
    if release.no_answer_reason is not None:
        screen.say(f"Nothing is released: {release.no_answer_reason.sentence}")
    screen.say(f"{len(release.withheld):,} cells are withheld.", "dim")


@ledger.command("release")
def released(
    file: LedgerArgument,
    digest: Annotated[str, typer.Argument(metavar="DIGEST", help="A kept observation's digest.")],
    returned: Annotated[
        str,
        typer.Option(
            "--returned",
            metavar="FILE",
            help="The preview that came back: columns, rows, truncated.",
        ),
    ],
    claims: Annotated[
        str | None,
        typer.Option(
            "--claims", metavar="FILE", help="The cells to state; without it, every eligible cell."
        ),
    ] = None,
    sign: SignOption = None,
    as_json: JsonOption = False,
) -> Answer:
    """Release from a kept observation, and keep what was released.

    The files are those of `release`; the observation is the ledger's own.
    """
    from evidence_adapters.cli import inputs

    back = inputs.read(returned)
    wanted = None if claims is None else inputs.read(claims)
    with opened_ledger(file, sign) as opened:
        made = opened.release(digest, back, wanted)

    def show(screen: "Screen") -> None:
        _show_release(screen, made)

    return Answer(NOTHING if made.no_answer else DONE, made.model_dump(mode="json"), show)


@ledger.command("verify")
def verified(
    file: LedgerArgument,
    key: Annotated[
        str | None,
        typer.Option("--key", metavar="FILE", help="Public keys that are trusted, in PEM."),
    ] = None,
    head: Annotated[
        str | None,
        typer.Option(
            "--head", metavar="NUMBER:HASH", help="An entry that was kept elsewhere: go on from it."
        ),
    ] = None,
    as_json: JsonOption = False,
) -> Answer:
    """See whether every entry is as it was appended, and none is gone.

    Entries removed from the end show only against one that was kept elsewhere: give it as --head.
    What a fault's code means stands in docs/ledger.md. The status is 0 where the ledger is whole,
    2 where it is not.
    """
    from preview.audit import audit

    keys = None
    if key is not None:
        from evidence_adapters.cli.verify import trusted_keys

        keys = trusted_keys(key)
    with _opened(file) as opened:
        found = audit(opened, keys=keys, after=None if head is None else _head(head))

    return _audited(found)


def _audited(found: "Audit") -> Answer:
    from preview.audit import FAULTS

    def show(screen: "Screen") -> None:
        screen.say("whole" if found.whole else "not whole", "bold green" if found.whole else "red")
        for sequence, fault in found.faults:
            screen.say(f"entry {sequence}: {fault}: {FAULTS[fault]}", "red")
        screen.say(
            f"{found.entries:,} entries, {found.signed:,} with a trusted signature, "
            f"{found.unchecked:,} with one that was not checked, {found.unsigned:,} unsigned"
        )
        screen.say(f"head, to keep elsewhere: {found.head[0]}:{found.head[1]}")

    document = {
        "whole": found.whole,
        "entries": found.entries,
        "bytes": found.bytes,
        "signed": found.signed,
        "unchecked": found.unchecked,
        "unsigned": found.unsigned,
        "head": f"{found.head[0]}:{found.head[1]}",
        "faults": [{"entry": sequence, "fault": fault} for sequence, fault in found.faults],
        "faults_total": found.faults_total,
    }
    return Answer(DONE if found.whole else TROUBLE, document, show)


@ledger.command("export")
def exported(
    file: LedgerArgument,
    what: WhatArgument,
    out: Annotated[str, typer.Option("--out", metavar="FILE", help="The bundle to write.")],
    sign: Annotated[
        str | None,
        typer.Option("--sign", metavar="FILE", help="A private key that signs the bundle too."),
    ] = None,
    as_json: JsonOption = False,
) -> Answer:
    """Write a bundle of evidence: what was executed, returned and released, and its entries.

    Of a digest it holds the newest release; where there is none, the bundle says so.
    """
    import hashlib

    from eligibility.evidence.bundle import verify

    with _opened(file, sign) as opened:
        entry = _wanted(opened, what)
        if entry.kind == "observation":
            entry = (entry, *opened.releases(entry.subject))[-1]
        data = opened.export(entry)
    found = verify(data)
    if found.structural_status == "failed":
        first = found.codes[0]
        raise Trouble(first.code.value, f"{out}: not written: {first.code.sentence}")
    try:
        with os.fdopen(os.open(out, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as written:
            written.write(data)
    except OSError as error:
        raise Trouble(FILE, f"{out}: {error.strerror}") from None
    digest = hashlib.sha256(data).hexdigest()
    document = {"bundle_sha256": digest, "bytes": len(data), "entry": _plain(entry)}
    return Answer(DONE, document, lambda screen: screen.say(f"{len(data):,} bytes, {digest}"))


@ledger.command("backup")
def backed_up(
    file: LedgerArgument,
    out: Annotated[str, typer.Option("--out", metavar="FILE", help="The new file to write.")],
    as_json: JsonOption = False,
) -> Answer:
    """Copy a ledger to a new file, also while others append to it, and verify the copy.

    A plain copy of a ledger in use lacks what is still in its log. Example:
    eligibility ledger backup answers.ledger --out answers-2026-01-01.ledger
    The status is 0 where the copy is whole, 2 where it has faults, as the ledger then has, or
    could not be made.
    """
    from preview.backup import backup

    with _opened(file) as opened:
        found = backup(opened, out)
    return _audited(found)


@ledger.command("keygen")
def key_made(
    private: Annotated[
        str, typer.Argument(metavar="PRIVATE", help="A new file for the private key.")
    ],
    public: Annotated[
        str, typer.Argument(metavar="PUBLIC", help="The file of public keys; it grows.")
    ],
    as_json: JsonOption = False,
) -> Answer:
    """Make a key that signs entries, and add its public part to a file of public keys."""
    from preview.signing import make_key

    made = make_key(private, public)
    return Answer(DONE, made.model_dump(mode="json"), lambda screen: screen.say(f"key {made.id}"))


def opened_ledger(file: str, sign: str | None, *, readonly: bool = False) -> "Ledger":
    """Open a ledger, with a key where one is given.

    Args:
        file: the ledger's.
        sign: the file of a private key; None to sign nothing.
        readonly: to read it alone.

    Raises:
        PreviewError: one of them cannot be used.
    """
    from preview import Ledger
    from preview.signing import read_private

    return Ledger(file, readonly=readonly, key=None if sign is None else read_private(sign))


def _opened(file: str, sign: str | None = None) -> "Ledger":
    return opened_ledger(file, sign, readonly=True)


def _wanted(opened: "Ledger", what: str) -> "Entry":
    if len(what) == 64:
        return opened.about(what)
    if not (what.isascii() and what.isdigit() and len(what) < 16):
        raise UsageError("WHAT is an entry's number or a digest of 64 hexadecimal digits")
    return opened.entry(int(what))


def _head(written: str) -> tuple[int, str]:
    number, _, digest = written.partition(":")
    if not (number.isascii() and number.isdigit() and len(number) < 16 and len(digest) == 64):
        raise UsageError("--head takes a number, a colon and 64 hexadecimal digits")
    return int(number), digest


def _plain(entry: "Entry") -> dict[str, Any]:
    return entry.model_dump(mode="json")
