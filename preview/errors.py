"""What `preview` raises: each class says whose fault it is and what to do (specification 9).

Invariants
  X1  Every error is a `PreviewError` with a stable kebab-case `code`.
  X2  No message holds cell text. An engine's message is shown only for parser, binder and
      catalog errors, which quote the statement and nothing else (specification 5).
  X3  An error survives pickling, so that a child process can hand it to its parent.
"""

from typing import ClassVar

from eligibility.reasons import Reason
from eligibility.wire.escape import is_shown


def _shown(character: str) -> str:
    shown = character == " " or is_shown(character)
    return character if shown else f"\\u{{{ord(character):X}}}"


class PreviewError(Exception):
    """Base of all that `preview` raises.

    Attributes:
        code: a stable name of the kind of error, for machines.
    """

    code: ClassVar[str] = "preview-error"


class SourceError(PreviewError):
    """A source cannot be pinned: mend the source, or the options it is read with."""

    code = "source-error"

    def __init__(self, message: str) -> None:
        """Keep the message on one line, since names of columns are written by the source.

        Args:
            message: what is wrong, where, and what to do.
        """
        super().__init__("".join(map(_shown, message)))


class TargetError(PreviewError):
    """The snapshot cannot be written where it should go: choose another folder, or make room."""

    code = "target-error"


class PinMismatch(PreviewError):
    """A snapshot is not what was pinned: pin again from the sources, and trust no copy of it."""

    code = "pin-mismatch"


class StatementRefused(PreviewError):
    """A statement is not run here, for a reason that is no judgement of its SQL.

    Attributes:
        reason: what was found in it.
        message: what the engine's parser said, where the text is not SQL; else None (X2).
    """

    code = "statement-refused"

    def __init__(self, reason: Reason, message: str | None = None) -> None:
        """Keep the reason and, where there is one, the parser's message.

        Args:
            reason: what was found in the statement.
            message: the message of the engine's parser.
        """
        super().__init__(reason, message)
        self.reason = reason
        self.message = message

    def __str__(self) -> str:
        """Say that it was not run, and what was found."""
        said = f": {self.message}" if self.message else ""
        return f"not run here: {self.reason.sentence} ({self.reason.value}){said}"


class StatementFailed(PreviewError):
    """The engine gave an error for a statement: mend the statement.

    Attributes:
        error_class: the engine's class of error, such as `BinderException`.
        message: the engine's message where it quotes nothing but the statement; else None (X2).
    """

    code = "statement-failed"

    def __init__(self, error_class: str, message: str | None = None) -> None:
        """Keep the engine's class of error and, where it may be shown, its message.

        Args:
            error_class: the engine's class of error.
            message: its message, only for parser, binder and catalog errors.
        """
        super().__init__(error_class, message)
        self.error_class = error_class
        self.message = message

    def __str__(self) -> str:
        """Give the message where it may be shown, else the class of error."""
        return self.message or f"the engine raised {self.error_class} while it ran the statement"


class StatementTimedOut(PreviewError):
    """A statement took longer than its time limit and was killed: ask for less."""

    code = "statement-timed-out"


class StatementKilled(PreviewError):
    """The process that ran a statement died, mostly for lack of memory: ask for less."""

    code = "statement-killed"


class RecorderFailed(PreviewError):
    """The recorder's process could not be started: look at the machine, not the statement."""

    code = "recorder-failed"


class RecorderClosed(PreviewError):
    """The recorder was closed before it was asked: make a new one."""

    code = "recorder-closed"


class LedgerError(PreviewError):
    """The ledger cannot be used where it is: look at its file and its folder."""

    code = "ledger-error"


class LedgerLocked(LedgerError):
    """Another process holds the ledger's write lock: end it, or wait longer."""

    code = "ledger-locked"


class LedgerFull(LedgerError):
    """There is no room to append to the ledger: make room on its disk."""

    code = "ledger-full"


class LedgerOutdated(LedgerError):
    """The ledger has another version's form: open it with the version that made it."""

    code = "ledger-outdated"


class LedgerBroken(LedgerError):
    """The ledger is not what was appended to it: trust nothing behind the first fault."""

    code = "ledger-broken"


class LedgerMissing(LedgerError):
    """What was asked for is not in the ledger; it is not made from anything else."""

    code = "ledger-missing"


class KeyFileError(PreviewError):
    """A key file cannot be used: give another, or mend its permissions."""

    code = "key-error"
