"""The verbs of the program `eligibility` (specification 9).

Each reads what it is given, asks `eligibility` and `preview`, and gives an `Answer`; it decides
nothing itself. What a verb needs is imported in it, so that help loads no database (program G3).
"""

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Annotated

import typer

from evidence_adapters.cli.ledger import SignOption, opened_ledger
from evidence_adapters.cli.ledger import ledger as ledger_verbs
from evidence_adapters.cli.limits import MEMORY_MIB, TIMEOUT_S, MemoryOption, TimeoutOption
from evidence_adapters.cli.pinning import PinCommand, pin, snapshot_document
from evidence_adapters.cli.program import DONE, NOTHING, Answer, Stream
from evidence_adapters.cli.progress import open_shown
from evidence_adapters.cli.trouble import Trouble, UsageError
from evidence_adapters.cli.verify import verify

if TYPE_CHECKING:
    from collections.abc import Callable

    from eligibility.sql.schema import Schema
    from evidence_adapters.cli.screen import Screen
    from preview import Ledger, Recorder, Snapshot

JOBS_MAX = 1024

app = typer.Typer(
    name="eligibility",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"]},
)

StatementArgument = Annotated[
    str, typer.Argument(metavar="STATEMENT", help="SQL text, or - for standard input.")
]
SnapshotOption = Annotated[
    str, typer.Option("--snapshot", metavar="DIR", help="The snapshot that the statement reads.")
]
LedgerOption = Annotated[
    str | None,
    typer.Option("--ledger", metavar="FILE", help="Keep it in this ledger before it is shown."),
]
AllOption = Annotated[bool, typer.Option("--all", help="Show long lists whole.")]
# `run` looks for it itself, since trouble has to be JSON too.
JsonOption = Annotated[
    bool, typer.Option("--json", help="Print one JSON document, and nothing else.")
]


@app.callback(invoke_without_command=True)
def program(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Show versions and exit.")] = False,
) -> Answer | None:
    """Decide which values of a SQL result may be stated as facts, and under what label."""
    if version:
        raise typer.Exit(_print_versions())
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise UsageError("no verb was given")
    return None


def _print_versions() -> int:
    from importlib.metadata import PackageNotFoundError, version

    for name in ("eligibility", "duckdb", "sqlglot"):
        try:
            typer.echo(f"{name} {version(name)}")
        except PackageNotFoundError:  # run from a checkout
            typer.echo(f"{name} not installed")
    return DONE


# --- pinning ------------------------------------------------------------------------------------


app.command(cls=PinCommand)(pin)


# --- deciding -----------------------------------------------------------------------------------


@app.command()
def check(
    statement: Annotated[
        str | None, typer.Argument(metavar="STATEMENT", help="SQL text, or - for standard input.")
    ] = None,
    snapshot: Annotated[
        str | None, typer.Option("--snapshot", metavar="DIR", help="Ask the engine too.")
    ] = None,
    schema: Annotated[
        str | None,
        typer.Option("--schema", metavar="FILE", help="Read the text alone, over this schema."),
    ] = None,
    batch: Annotated[
        str | None,
        typer.Option(
            "--batch",
            metavar="FILE",
            help="Check every line of a file, or of - for standard input.",
        ),
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option(
            "--jobs",
            metavar="N",
            min=1,
            max=JOBS_MAX,
            help="--batch: by how many processes; by default, one a processor.",
        ),
    ] = None,
    out: Annotated[
        str | None,
        typer.Option("--out", metavar="FILE", help="--batch: a new file for what is printed."),
    ] = None,
    timeout: TimeoutOption = TIMEOUT_S,
    memory: MemoryOption = MEMORY_MIB,
    as_json: JsonOption = False,
) -> Answer | Stream:
    """Say which outputs could be stated; run nothing.

    With a snapshot, the text and the engine's plan must agree. With a schema file, a JSON object of
    tables, their columns and types, the text alone is read. A statement that the engine does not
    run, cannot bind, or does not bind in time is withheld.

    A batch has one JSON value a line: a statement, or an object with statement and optionally id.
    For each there is one line out, in the same order: its number, its id, and its verdicts as --json
    gives them, or an error where it is of another form. The engine is asked only where the text
    leaves something eligible. The status is 0 where something is in any line, 1 where nothing is,
    and 2 where a line is of another form.
    """
    from evidence_adapters.cli import inputs

    if (snapshot is None) == (schema is None):
        raise UsageError("give either --snapshot or --schema")
    if (statement is None) == (batch is None):
        raise UsageError("give either STATEMENT or --batch")
    if batch is not None:
        if batch == schema == inputs.STANDARD_INPUT:
            raise UsageError("only one of the files can be standard input")
        return _batch(batch, snapshot, schema, jobs, out, (timeout, memory), as_json)
    if jobs is not None or out is not None:
        raise UsageError("--jobs and --out are for --batch")
    text = inputs.statement(statement or "")
    if schema is not None:
        return _checked(text, inputs.schema(schema), None)
    opened = open_shown(snapshot or "")
    with _recorder(opened, timeout, memory) as recorder:
        return _checked(text, opened.schema, recorder)


def _batch(
    file: str,
    snapshot: str | None,
    schema: str | None,
    jobs: int | None,
    out: str | None,
    limits: tuple[float, int],
    as_json: bool,
) -> Stream:
    from evidence_adapters.cli import inputs
    from evidence_adapters.cli.batch import checked, processors, written_to
    from evidence_adapters.cli.workers import Task

    def write_all(write: "Callable[[bytes], None]") -> int:
        with inputs.opened(file) as source:
            if schema is not None:
                task = Task(inputs.schema(schema))
            else:
                opened = open_shown(snapshot or "")
                task = Task(opened.schema, opened, limits[0], limits[1] * 2**20)
            with nullcontext(write) if out is None else written_to(out) as lines:
                many = processors() if jobs is None else jobs
                return checked(source, task, many, lines, on_stdout=out is None, as_json=as_json)

    return Stream(write_all)


def _checked(text: str, schema: "Schema", recorder: "Recorder | None") -> Answer:
    from preview.checking import decided, explained

    found = explained(text, schema, decided(text, schema, recorder), recorder)

    def show(screen: "Screen") -> None:
        screen.checked(text, schema, found)

    status = DONE if found.any_eligible else NOTHING
    return Answer(status, found.model_dump(mode="json"), show)


# --- executing ----------------------------------------------------------------------------------


@app.command()
def run(
    statement: StatementArgument,
    snapshot: SnapshotOption,
    timeout: TimeoutOption = TIMEOUT_S,
    memory: MemoryOption = MEMORY_MIB,
    ledger: LedgerOption = None,
    sign: SignOption = None,
    everything: AllOption = False,
    as_json: JsonOption = False,
) -> Answer:
    """Run, record and release in one go.

    The statement is executed once, and every cell that may be stated is. The preview that is
    compared is the recorded one: where a model or a client is between, use `capture` and `release`.
    """
    from eligibility import classify, release
    from evidence_adapters.cli import inputs
    from preview.checking import Decided, explained

    text = inputs.statement(statement)
    opened = open_shown(snapshot)
    with _kept(ledger, sign) as kept, _recorder(opened, timeout, memory, kept) as recorder:
        observation = recorder.capture(text)
        back, digest = observation.preview(), observation.digest
        if kept is None:
            released = release(observation, back, digest=digest)
        else:
            released = kept.release(digest, back)
        verdicts = classify(text, opened.schema, observation.reading)
        # Only a screen shows what is at fault: the document is what was recorded and released.
        found = None if as_json else explained(text, opened.schema, Decided(verdicts), recorder)

    def show(screen: "Screen") -> None:
        if found is not None:
            screen.checked(text, opened.schema, found)
        screen.blank()
        screen.preview(observation, released, verdicts)
        screen.blank()
        screen.release(released, observation, verdicts)

    document = {
        "observation": observation.model_dump(mode="json"),
        "release": released.model_dump(mode="json"),
    }
    return Answer(NOTHING if released.no_answer else DONE, document, show, everything)


@app.command()
def capture(
    statement: StatementArgument,
    snapshot: SnapshotOption,
    timeout: TimeoutOption = TIMEOUT_S,
    memory: MemoryOption = MEMORY_MIB,
    ledger: LedgerOption = None,
    sign: SignOption = None,
    everything: AllOption = False,
    as_json: JsonOption = False,
) -> Answer:
    """Run a statement once; record at most 50 rows.

    With --json the observation is printed, for `release`; keep its digest where neither a model nor
    a client can write.
    """
    from evidence_adapters.cli import inputs

    text = inputs.statement(statement)
    opened = open_shown(snapshot)
    with _kept(ledger, sign) as kept, _recorder(opened, timeout, memory, kept) as recorder:
        observation = recorder.capture(text)

    def show(screen: "Screen") -> None:
        screen.captured(observation)

    return Answer(DONE, observation.model_dump(mode="json"), show, everything)


# --- releasing ----------------------------------------------------------------------------------


@app.command()
def release(
    observation: Annotated[
        str, typer.Argument(metavar="OBSERVATION", help="File with what `capture --json` printed.")
    ],
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
    digest: Annotated[
        str | None,
        typer.Option("--digest", metavar="HEX", help="The digest that was kept from the capture."),
    ] = None,
    everything: AllOption = False,
    as_json: JsonOption = False,
) -> Answer:
    """Say which recorded cells may be stated.

    The preview that came back must equal the observation in every cell, or nothing is released.
    One of the files may be - for standard input. Claims are a JSON list of objects with row and
    column, counted from 0, and optionally the type and text that are expected there.
    """
    from pydantic import TypeAdapter

    from eligibility import Claim, Observation, Reason, ReturnedPreview, classify, release
    from evidence_adapters.cli import inputs

    if [observation, returned, claims].count("-") > 1:
        raise UsageError("only one of the files can be standard input")
    kept = None if digest is None else _digest(digest)
    seen = inputs.evidence(observation, Observation, Reason.OBSERVATION_MALFORMED)
    back = inputs.evidence(returned, ReturnedPreview, Reason.PREVIEW_MALFORMED)
    wanted = None
    if claims is not None:
        listed = TypeAdapter(tuple[Claim, ...])
        wanted = inputs.evidence(claims, listed, Reason.CLAIMS_MALFORMED)
    made = release(seen, back, wanted, digest=kept)
    if made.no_answer_reason in (Reason.OBSERVATION_MALFORMED, Reason.CLAIMS_MALFORMED):
        file = claims if made.no_answer_reason is Reason.CLAIMS_MALFORMED else observation
        at = made.no_answer_at or "/"
        raise Trouble(made.no_answer_reason, f"{file}: {at}: {made.no_answer_reason.sentence}")

    def show(screen: "Screen") -> None:
        verdicts = classify(seen.statement, seen.schema_, seen.reading)
        screen.blank()
        screen.release(made, seen, verdicts)

    return Answer(
        NOTHING if made.no_answer else DONE, made.model_dump(mode="json"), show, everything
    )


def _digest(written: str) -> str:
    digest = written.lower()
    if len(digest) != 64 or not set(digest) <= set("0123456789abcdef"):
        raise UsageError("--digest takes 64 hexadecimal digits")
    return digest


# --- snapshots ----------------------------------------------------------------------------------


@app.command()
def tables(
    folder: Annotated[str, typer.Argument(metavar="DIR", help="The snapshot.")],
    everything: AllOption = False,
    as_json: JsonOption = False,
) -> Answer:
    """Verify a snapshot; list its tables.

    Each table with its rows, the hash of its content, and its columns with their types.
    """
    snapshot = open_shown(folder)

    def show(screen: "Screen") -> None:
        screen.snapshot(snapshot)

    return Answer(DONE, snapshot_document(snapshot), show, everything)


def _recorder(
    snapshot: "Snapshot", timeout: float, memory: int, ledger: "Ledger | None" = None
) -> "AbstractContextManager[Recorder]":
    from preview import Recorder

    return Recorder(snapshot, timeout_s=timeout, memory_bytes=memory * 2**20, ledger=ledger)


def _kept(file: str | None, sign: str | None) -> "AbstractContextManager[Ledger | None]":
    """Open the ledger that was asked for, if one was."""
    if file is None:
        if sign is not None:
            raise UsageError("--sign is for what --ledger keeps")
        return nullcontext()
    return opened_ledger(file, sign)


# --- teaching -----------------------------------------------------------------------------------


@app.command()
def reasons(
    code: Annotated[
        str | None, typer.Argument(metavar="CODE", help="One of them, with its example.")
    ] = None,
    as_json: JsonOption = False,
) -> Answer:
    """List the reasons, or explain one.

    Without a code, every reason why a value may not be stated, in order of precedence. With one,
    its smallest example, an eligible statement beside it, and the edit that would do.
    """
    from evidence_adapters.cli import teaching

    if code is None:
        return Answer(DONE, teaching.listed(), lambda screen: screen.reasons())
    lesson = teaching.lesson(code)
    return Answer(DONE, lesson.model_dump(mode="json"), lambda screen: screen.lesson(lesson))


# --- the ledger and bundles ---------------------------------------------------------------------

app.add_typer(ledger_verbs)
app.command()(verify)
