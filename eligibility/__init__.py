"""Which values of an executed SQL result may be stated as facts, and under what label.

The public names below are loaded when they are first asked for, so that the process that only
executes SQL never loads the parser.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from eligibility.explaining.edits import edits
    from eligibility.explaining.found import Edit, Mark
    from eligibility.explaining.lessons import Explanation, explain
    from eligibility.explaining.marks import marks
    from eligibility.reasons import Reason
    from eligibility.sql.classify import classify
    from eligibility.sql.facts import Claim, Fact, Release
    from eligibility.sql.line_parser import parse
    from eligibility.sql.observation import Cell, EngineReading, Observation, ReturnedPreview
    from eligibility.sql.release import release
    from eligibility.sql.schema import Pin, Schema
    from eligibility.sql.verdicts import Verdict, Verdicts
    from eligibility.wire.untrusted import EvidenceError, from_json

_PLACES = {
    "classify": "sql.classify",
    "Cell": "sql.observation",
    "Claim": "sql.facts",
    "EngineReading": "sql.observation",
    "EvidenceError": "wire.untrusted",
    "Fact": "sql.facts",
    "Observation": "sql.observation",
    "Pin": "sql.schema",
    "Release": "sql.facts",
    "ReturnedPreview": "sql.observation",
    "Schema": "sql.schema",
    "Verdict": "sql.verdicts",
    "Verdicts": "sql.verdicts",
    "from_json": "wire.untrusted",
    "Edit": "explaining.found",
    "edits": "explaining.edits",
    "Explanation": "explaining.lessons",
    "explain": "explaining.lessons",
    "Mark": "explaining.found",
    "marks": "explaining.marks",
    "Reason": "reasons",
    "release": "sql.release",
    "parse": "sql.line_parser",
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
