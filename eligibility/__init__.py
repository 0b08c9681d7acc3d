"""Which values of an executed SQL result may be stated as facts, and under what label.

The public names below are loaded when they are first asked for, so that the process that only
executes SQL never loads the parser.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from eligibility.classify import classify
    from eligibility.evidence import (
        Cell,
        Claim,
        EngineReading,
        EvidenceError,
        Fact,
        Observation,
        Pin,
        Release,
        ReturnedPreview,
        Schema,
        Verdict,
        Verdicts,
        from_json,
    )
    from eligibility.explaining.edits import edits
    from eligibility.explaining.found import Edit, Mark
    from eligibility.explaining.lessons import Explanation, explain
    from eligibility.explaining.marks import marks
    from eligibility.reasons import Reason
    from eligibility.release import release
    from eligibility.wording import parse

_PLACES = {
    "classify": "classify",
    "Cell": "evidence",
    "Claim": "evidence",
    "EngineReading": "evidence",
    "EvidenceError": "evidence",
    "Fact": "evidence",
    "Observation": "evidence",
    "Pin": "evidence",
    "Release": "evidence",
    "ReturnedPreview": "evidence",
    "Schema": "evidence",
    "Verdict": "evidence",
    "Verdicts": "evidence",
    "from_json": "evidence",
    "Edit": "explaining.found",
    "edits": "explaining.edits",
    "Explanation": "explaining.lessons",
    "explain": "explaining.lessons",
    "Mark": "explaining.found",
    "marks": "explaining.marks",
    "Reason": "reasons",
    "release": "release",
    "parse": "wording",
}

__all__ = [
    "Cell",
    "Claim",
    "Edit",
    "EngineReading",
    "EvidenceError",
    "Explanation",
    "Fact",
    "Mark",
    "Observation",
    "Pin",
    "Reason",
    "Release",
    "ReturnedPreview",
    "Schema",
    "Verdict",
    "Verdicts",
    "classify",
    "edits",
    "explain",
    "from_json",
    "marks",
    "parse",
    "release",
]


def __getattr__(name: str) -> Any:
    """Load a public name from the module that defines it."""
    if name not in _PLACES:
        raise AttributeError(f"module 'eligibility' has no attribute {name!r}")
    value = getattr(import_module(f"eligibility.{_PLACES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names."""
    return __all__


class _Package(ModuleType):
    """Keeps `classify` and `release` the functions once the modules of those names are loaded.

    The import system sets every loaded module as an attribute of its package, over what is there.
    """

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _PLACES and isinstance(value, ModuleType):
            value = getattr(value, name)
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
