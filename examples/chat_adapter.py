"""Between a model and a reader: the model writes SQL and claims, the reader sees facts or no answer.

Run it in a clone, behind `make demo`: `.venv/bin/python examples/chat_adapter.py`. Nothing goes over
a network: the model is a script. Every turn says what the reader must see, and the exit status is 0
only where that came true. `docs/adapters.md` answers what comes up when one wires this for real.
"""

import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pyarrow

import eligibility
import preview

FLIGHTS = pyarrow.table({"carrier": ["UA", "AA", "UA"], "distance": [1400, 1089, 1416]})
TOTALS = 'SELECT carrier, SUM(distance) AS "profit" FROM flights GROUP BY carrier ORDER BY carrier'
UA = "SUM(flights.distance) = 2816 for flights.carrier = 'UA'"


@dataclass(frozen=True)
class Turn:
    """What the scripted model does in one turn, and what the reader must then see."""

    title: str
    claims: str  # JSON, as a model gives it
    reader: str  # nothing stands for no answer
    sql: str = TOTALS
    edit: tuple[str, str] = ("", "")  # what the model changes in the preview it hands back


TURNS = (
    Turn("right", '[{"row": 1, "column": 1, "type": "HUGEINT", "text": "2816"}]', UA),
    Turn("renamed: it calls the sum a profit", '[{"row": 1, "column": 1}]', UA),
    Turn("renamed in the preview", '[{"row": 1, "column": 1}]', "", edit=("profit", "loss")),
    Turn("with prose", '[{"row": 1, "column": 1, "say": "profits soared"}]', ""),
    Turn("invented", '[{"row": 1, "column": 1, "text": "9999"}]', ""),
    Turn("outside the preview", '[{"row": 7, "column": 1}]', ""),
    Turn("right value, wrong column", '[{"row": 1, "column": 0, "text": "2816"}]', ""),
    Turn("nothing that may be stated", '[{"row": 0, "column": 0}]', "", "SELECT 1 FROM flights"),
    Turn("a statement that is not run", "[]", "", "DROP TABLE flights"),
)


def answer(turn: Turn, recorder: preview.Recorder) -> dict[str, object]:
    """Take one question from the model's SQL to what the reader may see."""
    try:
        observation = recorder.capture(turn.sql)  # recorded before the model sees a row
    except preview.PreviewError:  # its message may go to the model, and never to the reader
        return {"answer": "", "citations": [], "no_answer": True}
    kept = observation.digest  # stays with the host
    shown = observation.preview().model_dump_json()  # goes to the model
    returned = shown.replace(*turn.edit) if turn.edit[0] else shown  # comes back with the claims
    return eligibility.release(observation, returned, turn.claims, digest=kept).answer()


def main() -> int:
    """Play every turn, and say whether each reader saw what they must."""
    faults = 0
    with tempfile.TemporaryDirectory() as folder:
        snapshot = preview.pin({"flights": FLIGHTS}, into=Path(folder) / "snapshot")
        with preview.Recorder(snapshot) as recorder:
            for turn in TURNS:
                seen = answer(turn, recorder)
                right = (seen["answer"], seen["no_answer"]) == (turn.reader, not turn.reader)
                faults += not right
                print(f"{'✓' if right else '✗'} {turn.title}\n    {seen['answer'] or 'No answer.'}")
    print(f"{len(TURNS)} turns, {faults} of them not as they must be")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
