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

_HOMES = {
    "Checked": "checking",
    "check": "checking",
    "ReadOptions": "sources.options",
    "reexecute": "reexecution",
    "Ledger": "ledger",
    "Recorder": "recorder",
    "Snapshot": "snapshot",
    "open_snapshot": "snapshot",
    "pin": "pinning",
    "to_arrow": "arrow",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES.get(name, 'errors')}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
