"""The published JSON Schemas: fresh, whole, and saying yes and no where the models do."""

import base64
import json
import re
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pyarrow
import pytest
from pydantic import TypeAdapter, ValidationError

import preview
from eligibility import Reason, classify, explain
from eligibility.evidence.bundle import verify
from eligibility.wire.model import Model
from tools.schemas import DOCUMENTS, FOLDER, pages, schema

STATEMENT = """
    SELECT "from", SUM(n) AS total, AVG(x), n + 1 FROM t
    WHERE n IN (1, 2) AND NOT ("from" LIKE 'a%' OR n < x2 OR b OR n >= 7) AND x IS NOT NULL
    GROUP BY "from", n ORDER BY 1 LIMIT 9
"""
# Those that say nothing of a value, and those that say nothing of one of another type.
WORDS = {
    *("$schema", "$defs", "title", "description", "default", "discriminator"),
    *("properties", "required", "additionalProperties", "prefixItems", "items"),
    *("minItems", "maxItems", "minimum", "maximum", "exclusiveMaximum", "pattern"),
}
MODULES = """sql.schema sql.shape sql.observation sql.verdicts sql.facts sql.manifest
    evidence.entry evidence.bundle evidence.verification""".split()


def allows(schema: dict[str, Any], value: Any, root: dict[str, Any]) -> bool:
    """Ask a schema of the words that the generator uses; any other word is an error."""
    return all(_holds(word, said, schema, value, root) for word, said in schema.items())


def _holds(word: str, said: Any, schema: dict[str, Any], value: Any, root: dict[str, Any]) -> bool:
    match word, value:
        case "$ref", _:
            return allows(root["$defs"][said.rpartition("/")[2]], value, root)
        case "anyOf", _:
            return any(allows(one, value, root) for one in said)
        case "oneOf", _:
            return sum(allows(one, value, root) for one in said) == 1
        case "type", _:
            return _is(said, value)
        case "const", _:
            return [value] == [said]
        case "enum", _:
            return value in said
        case "properties", dict():
            return all(allows(said[key], value[key], root) for key in said if key in value)
        case "required", dict():
            return all(key in value for key in said)
        case "additionalProperties", dict():
            return said is not False or value.keys() <= schema["properties"].keys()
        case "prefixItems", list():
            return all(allows(one, item, root) for one, item in zip(said, value, strict=False))
        case "items", list():
            return all(allows(said, item, root) for item in value)
        case "minItems", list():
            return not len(value) < said
        case "maxItems", list():
            return not len(value) > said
        case "minimum", int():
            return not value < said
        case "maximum", int():
            return not value > said
        case "exclusiveMaximum", int():
            return not value >= said
        case "pattern", str():
            return re.search(said, value) is not None
    assert word in WORDS
    return True


def _is(said: str, value: Any) -> bool:
    if isinstance(value, bool) or said == "boolean":
        return said == "boolean" and isinstance(value, bool)
    kinds = {"object": dict, "array": list, "string": str, "integer": int, "null": type(None)}
    return isinstance(value, kinds[said])


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Make one real document of every kind."""
    folder = tmp_path_factory.mktemp("schemas")
    rows = {"from": ["b", "c"], "n": [1, 2], "x2": [0, 1], "x": [0.5, 1.5], "b": [False, True]}
    snapshot = preview.pin({"t": pyarrow.table(rows)}, into=folder / "pinned")
    with (
        preview.Ledger(folder / "ledger") as ledger,
        preview.Recorder(snapshot, ledger=ledger) as recorder,
    ):
        observation = recorder.capture(STATEMENT)
        claims = [{"row": 0, "column": 0, "text": "b"}, {"row": 0, "column": 1}]
        answer = ledger.release(observation.digest, observation.preview(), claims)
        (entry,) = ledger.releases(observation.digest)
        bundle = ledger.export(entry)
        _, record = ledger.stored(observation.digest)
        made: dict[str, Any] = {
            "schema": snapshot.schema,
            "manifest": snapshot.manifest,
            "shape": observation.reading.shape,
            "engine-reading": observation.reading,
            "verdicts": classify(STATEMENT, snapshot.schema, observation.reading),
            "observation": observation,
            "returned-preview": observation.preview(),
            "fact": answer.facts[0],
            "release": answer,
            "ledger-entry": entry,
            "observation-record": record,
            "release-record": ledger.released(entry),
            "verification": verify(bundle),
            "checked": preview.check(STATEMENT, recorder),
            "explanation": explain(Reason.EXPRESSION),
        }
    envelope = json.loads(bundle)
    return {name: model.model_dump(mode="json") for name, model in made.items()} | {
        "claims": claims,
        "bundle-envelope": envelope,
        "bundle-statement": json.loads(base64.b64decode(envelope["payload"])),
    }


def edits(tree: Any) -> Iterator[Any]:
    """Change a document in one place: a value of another kind, a key too many, a key too few."""
    yield [tree] if isinstance(tree, dict) else {"a": tree}
    if isinstance(tree, dict):
        yield tree | {"another": 1}
        for key, part in tree.items():
            yield {name: other for name, other in tree.items() if name != key}
            for changed in edits(part):
                yield tree | {key: changed}
    if isinstance(tree, list):
        for place, part in enumerate(tree[:2]):
            for changed in edits(part):
                yield [*tree[:place], changed, *tree[place + 1 :]]


def test_the_files_are_what_the_models_give_and_no_others():
    made = pages()
    assert len(made) == len(DOCUMENTS) > 10
    assert set(FOLDER.iterdir()) == made.keys()
    assert not [path for path, text in made.items() if path.read_text() != text]


def test_every_boundary_model_stands_in_one():
    published = {
        title
        for text in pages().values()
        for title in (json.loads(text).get("title"), *json.loads(text).get("$defs", {}))
    }
    models = {
        value.__name__
        for module in MODULES
        for value in vars(import_module(f"eligibility.{module}")).values()
        if isinstance(value, type) and issubclass(value, Model) and value is not Model
    }
    assert len(models) > 40
    assert models - published == set()


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_schema_takes_a_real_document_and_no_other_form_of_it(name, documents):
    schema = json.loads((FOLDER / f"{name}.json").read_text())
    adapter: TypeAdapter[Any] = TypeAdapter(DOCUMENTS[name])
    assert allows(schema, documents[name], schema)

    tried = 0
    for changed in edits(documents[name]):
        try:
            adapter.validate_json(json.dumps(changed))
            valid = True
        except ValidationError:
            valid = False
        # The model may know more than its schema, never less.
        assert allows(schema, changed, schema) or not valid
        tried += 1
        if tried <= 2:
            assert not allows(schema, changed, schema)
    assert tried >= 8


@pytest.mark.parametrize(
    ("name", "pointer", "value"),
    [
        ("observation", ("digest",), "0" * 63),
        ("observation", ("truncated",), "all"),
        ("observation", ("rows",), [[]] * 51),
        ("claims", (), [{"row": 0, "column": 0}] * 1_001),
        ("claims", (0, "row"), "0"),
        ("release", ("no_answer_reason",), "because"),
        ("verdicts", ("outputs", 0, "verdict"), "maybe"),
        ("shape", ("selection", "limit"), -1),
        ("manifest", ("logical", "tables"), []),
    ],
)
def test_limits_and_closed_choices_stand_in_the_schema(name, pointer, value, documents):
    schema = json.loads((FOLDER / f"{name}.json").read_text())
    tree = json.loads(json.dumps({"top": documents[name]}))
    here: Any = tree
    path = ("top", *pointer)
    for part in path[:-1]:
        here = here[part]
    here[path[-1]] = value
    assert not allows(schema, tree["top"], schema)


def test_every_whole_number_in_a_document_is_bounded():
    """What is signed is canonical JSON, which has no number beyond 2**53.

    Only a claim may name a row that no canonical JSON can: it leads nowhere, and is not kept.
    """
    unbounded, seen = [], 0

    def walk(part: Any, where: str) -> None:
        nonlocal seen
        if isinstance(part, list):
            for one in part:
                walk(one, where)
        elif isinstance(part, dict):
            if part.get("type") == "integer":
                seen += 1
                low = part.get("minimum", part.get("exclusiveMinimum"))
                high = part.get("maximum", part.get("exclusiveMaximum"))
                if "/$defs/SqlClaim/" in where:
                    assert (low, high) == (None, None)
                elif low is None or high is None or not -(2**53) < low <= high < 2**53:
                    unbounded.append(where)
            for name, one in part.items():
                walk(one, f"{where}/{name}")

    for name in DOCUMENTS:
        walk(schema(name), name)
    assert seen > 30
    assert unbounded == []
