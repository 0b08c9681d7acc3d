"""The observation: pinned tables, sealed execution, recorded rows (specification 4, 5, 6).

The public names are imported when they are first used, so that a process which needs one of
them does not load the others.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from preview.arrow import to_arrow
    from preview.checking import Checked, check
    from preview.errors import (
        KeyFileError,
        LedgerBroken,
        LedgerError,
        LedgerFull,
        LedgerLocked,
        LedgerMissing,
        LedgerOutdated,
        PinMismatch,
        PreviewError,
        RecorderClosed,
        RecorderFailed,
        SourceError,
        StatementFailed,
        StatementKilled,
        StatementRefused,
        StatementTimedOut,
        TargetError,
    )
    from preview.ledger import Ledger
    from preview.pinning import pin
    from preview.recorder import Recorder
    from preview.reexecution import reexecute
    from preview.snapshot import Snapshot, open_snapshot
    from preview.sources.options import ReadOptions

_PLACES = {
    "Checked": "checking",
    "KeyFileError": "errors",
    "Ledger": "ledger",
    "LedgerBroken": "errors",
    "LedgerError": "errors",
    "LedgerFull": "errors",
    "LedgerLocked": "errors",
    "LedgerMissing": "errors",
    "LedgerOutdated": "errors",
    "PinMismatch": "errors",
    "PreviewError": "errors",
    "ReadOptions": "sources.options",
    "Recorder": "recorder",
    "RecorderClosed": "errors",
    "RecorderFailed": "errors",
    "Snapshot": "snapshot",
    "SourceError": "errors",
    "StatementFailed": "errors",
    "StatementKilled": "errors",
    "StatementRefused": "errors",
    "StatementTimedOut": "errors",
    "TargetError": "errors",
    "check": "checking",
    "open_snapshot": "snapshot",
    "pin": "pinning",
    "reexecute": "reexecution",
    "to_arrow": "arrow",
}

__all__ = [
    "Checked",
    "KeyFileError",
    "Ledger",
    "LedgerBroken",
    "LedgerError",
    "LedgerFull",
    "LedgerLocked",
    "LedgerMissing",
    "LedgerOutdated",
    "PinMismatch",
    "PreviewError",
    "ReadOptions",
    "Recorder",
    "RecorderClosed",
    "RecorderFailed",
    "Snapshot",
    "SourceError",
    "StatementFailed",
    "StatementKilled",
    "StatementRefused",
    "StatementTimedOut",
    "TargetError",
    "check",
    "open_snapshot",
    "pin",
    "reexecute",
    "to_arrow",
]


def __getattr__(name: str) -> Any:
    """Load a public name from the module that defines it."""
    if name not in _PLACES:
        raise AttributeError(f"module 'preview' has no attribute {name!r}")
    value = getattr(import_module(f"preview.{_PLACES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names."""
    return __all__
