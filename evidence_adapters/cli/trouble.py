"""What went wrong, as a stable code and one line (specification 9, exit status 2).

Invariants
  B1  A code is the reason's where a statement is refused or evidence is malformed, else one word
      for the kind of error; it never changes.
  B2  A message is one line, says what and where, and holds no cell text.
"""

from evidence_adapters.cli.visible import one_line


class Trouble(Exception):
    """Ends the program with exit status 2.

    Attributes:
        code: for machines.
        message: for people, one line.
    """

    def __init__(self, code: str, message: str) -> None:
        """Keep both.

        Args:
            code: kebab-case.
            message: what is wrong and where.
        """
        super().__init__(message)
        self.code = code
        self.message = one_line(message)


USAGE = "usage"
FILE = "file"
SCHEMA = "schema-malformed"
LINE = "line-malformed"
WORKER = "worker-failed"


class UsageError(Trouble):
    """The program was called in a wrong way."""

    def __init__(self, message: str) -> None:
        """Keep what is wrong and how it is called right."""
        super().__init__(USAGE, message)


def from_error(error: BaseException) -> Trouble | None:
    """Say what an expected error is.

    Args:
        error: anything that was raised.

    Returns:
        The trouble; None for an error that nobody expected, which is a bug.
    """
    from preview.errors import PreviewError, StatementRefused

    match error:
        case Trouble():
            return error
        case StatementRefused():
            return Trouble(error.reason.value, str(error))
        case PreviewError():
            return Trouble(error.code, str(error))
        case OSError():
            return Trouble(FILE, _where(error))
        case _:
            return None


def _where(error: OSError) -> str:
    said = error.strerror or type(error).__name__
    return said if error.filename is None else f"{error.filename}: {said}"
