"""Write the JSON schemas of what leaves the program: `python -m tests.tools.schemas`."""

import json
from pathlib import Path

from eligibility.bundle import Envelope, Statement
from eligibility.shape import Model
from eligibility.verification import Verification

FOLDER = Path(__file__).parent.parent.parent / "docs" / "schemas"
MODELS: dict[str, type[Model]] = {
    "bundle-envelope": Envelope,
    "bundle-statement": Statement,
    "verification": Verification,
}


def pages() -> dict[Path, str]:
    """Give every schema's file and text."""
    return {
        FOLDER / f"{name}.json": json.dumps(model.model_json_schema(), indent=2) + "\n"
        for name, model in MODELS.items()
    }


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for path, text in pages().items():
        path.write_text(text)
