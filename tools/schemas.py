"""The JSON Schemas of what crosses a file or a process: `docs/schemas`, one document each.

python -m tools.pages  writes them with the other pages

A schema says less than the model: that paths differ, that JSON has no key twice, or what a digest
is made from, only the model knows.
"""

import json
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, TypeAdapter

from eligibility.evidence.bundle import Envelope, Statement
from eligibility.evidence.entry import Entry, ObservationRecord, ReleaseRecord
from eligibility.evidence.verification import Verification
from eligibility.explaining.lessons import Explanation
from eligibility.sql.facts import CLAIMS_MAX, Claim, Fact, Release
from eligibility.sql.manifest import Manifest
from eligibility.sql.observation import EngineReading, Observation, ReturnedPreview
from eligibility.sql.schema import Schema
from eligibility.sql.shape import Shape
from eligibility.sql.verdicts import Verdicts
from preview.checking import Checked

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "schemas"
DIALECT = "https://json-schema.org/draft/2020-12/schema"
DOCUMENTS: dict[str, Any] = {
    "schema": Schema,
    "manifest": Manifest,
    "shape": Shape,
    "engine-reading": EngineReading,
    "verdicts": Verdicts,
    "checked": Checked,
    "explanation": Explanation,
    "observation": Observation,
    "returned-preview": ReturnedPreview,
    "claims": Annotated[tuple[Claim, ...], Field(max_length=CLAIMS_MAX)],
    "fact": Fact,
    "release": Release,
    "ledger-entry": Entry,
    "observation-record": ObservationRecord,
    "release-record": ReleaseRecord,
    "bundle-envelope": Envelope,
    "bundle-statement": Statement,
    "verification": Verification,
}


def schema(name: str) -> dict[str, Any]:
    """Give the JSON Schema of one document."""
    return {"$schema": DIALECT, **TypeAdapter(DOCUMENTS[name]).json_schema()}


def pages() -> dict[Path, str]:
    """Give every schema's file and text."""
    return {
        FOLDER / f"{name}.json": json.dumps(schema(name), indent=2) + "\n" for name in DOCUMENTS
    }
