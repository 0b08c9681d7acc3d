"""Bundles for tests: made by a real ledger, forged so that every hash is right again, and hostile."""

import base64
import hashlib
import json
import random
from collections.abc import Callable, Iterator
from typing import Any

import rfc8785

from eligibility import release
from eligibility.evidence.entry import entry_hash
from eligibility.sql.facts import Claim
from eligibility.sql.observation import Observation, ReturnedPreview

Tree = dict[str, Any]
CANARY = "canaryQ7x"


def payload_of(bundle: bytes) -> Tree:
    """Give the Statement in a bundle."""
    statement: Tree = json.loads(base64.b64decode(json.loads(bundle)["payload"]))
    return statement


def canonical(tree: Any) -> bytes:
    """Write canonical JSON; of bundles these are the bytes of `rfc8785.dumps`, many times faster."""
    return json.dumps(tree, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def enveloped(payload: bytes, signatures: list[Tree] | None = None) -> bytes:
    """Put any payload into an envelope."""
    return rfc8785.dumps(
        {
            "payload": base64.b64encode(payload).decode(),
            "payloadType": "application/vnd.in-toto+json",
            "signatures": signatures or [],
        }
    )


def sha256(tree: Any) -> str:
    return hashlib.sha256(canonical(tree)).hexdigest()


def forged(
    bundle: bytes,
    change: Callable[[Tree], object],
    after: Callable[[Tree], object] = lambda _: None,
    *,
    decide: bool = False,
) -> bytes:
    """Change a bundle, then make every hash and link right again, as an attacker would.

    Args:
        bundle: a good one.
        change: edits the predicate before the hashes are made.
        after: edits it after they are made.
        decide: whether the release is decided again too.
    """
    statement = payload_of(bundle)
    predicate = statement["predicate"]
    change(predicate)
    predicate["keys"] = []
    _observe(predicate)
    if decide and predicate["release"] is not None:
        _decide(predicate)
    digest = predicate["observation"]["payload"]["observation"]["digest"]
    statement["subject"][0]["digest"]["sha256"] = digest
    _chain(predicate, digest)
    after(predicate)
    return enveloped(canonical(statement))


def _observe(predicate: Tree) -> None:
    seen = predicate["observation"]["payload"]["observation"]
    seen["statement_sha256"] = hashlib.sha256(seen["statement"].encode()).hexdigest()
    seen["digest"] = sha256({name: seen[name] for name in seen if name != "digest"})


def _decide(predicate: Tree) -> None:
    seen = predicate["observation"]["payload"]["observation"]
    kept = predicate["release"]["payload"]
    observation = Observation.model_validate_json(json.dumps(seen))
    kept["returned"] = observation.preview().model_dump(mode="json")
    claims = None
    if kept["claims"] is not None:
        claims = [Claim(**claim) for claim in kept["claims"]]
    made = release(
        observation,
        ReturnedPreview.model_validate_json(json.dumps(kept["returned"])),
        claims,
        digest=observation.digest,
    )
    kept["release"] = made.model_dump(mode="json")


def _chain(predicate: Tree, digest: str) -> None:
    previous = None
    for name in ("snapshot", "observation", "release"):
        part = predicate[name]
        if part is None:
            continue
        entry, payload = part["entry"], part["payload"]
        if name == "release":
            payload["observation"] = digest
            payload["recorded"] = predicate["observation"]["entry"]["hash"]
        entry["payload_sha256"] = sha256(payload)
        entry["subject"] = sha256(payload) if name == "snapshot" else digest
        entry["signature"] = None
        if previous is not None and entry["sequence"] == previous["sequence"] + 1:
            entry["previous"] = previous["hash"]
        entry["hash"] = rehashed(entry)
        previous = entry


def rehashed(entry: Tree) -> str:
    """Give the hash of an entry's parts."""
    made = entry_hash(
        entry["ledger"],
        entry["sequence"],
        entry["time"],
        entry["kind"],
        entry["subject"],
        entry["payload_sha256"],
        entry["previous"],
    )
    assert made is not None
    return made


# --- hostile files --------------------------------------------------------------------------------


def hostile(bundle: bytes, seed: int = 0) -> Iterator[tuple[str, bytes]]:
    """Make files that must be blocked or fail, each with its kind; `CANARY` is planted in most."""
    draw = random.Random(seed)
    statement = payload_of(bundle)
    payload = rfc8785.dumps(statement)
    paths = list(_paths(statement, ()))
    yield from _broken_texts(bundle, payload, draw)
    for place in range(160):
        path = draw.choice(paths)
        yield f"wrong type {place}", enveloped(_put(statement, path, draw.choice(_VALUES)))
    for place in range(60):
        path = draw.choice([p for p in paths if isinstance(_at(statement, p), dict)])
        more = {**_at(statement, path), draw.choice(_NAMES): CANARY}
        yield f"unknown field {place}", enveloped(_put(statement, path, more))
    for place in range(60):
        path = draw.choice([p for p in paths if isinstance(p[-1], str)])
        parent = {k: v for k, v in _at(statement, path[:-1]).items() if k != path[-1]}
        yield f"missing field {place}", enveloped(_put(statement, path[:-1], parent))
    texts = [p for p in paths if isinstance(_at(statement, p), str)]
    for place in range(60):
        odd = _at(statement, draw.choice(texts)) + draw.choice(_ODD_TEXTS) + CANARY
        path = draw.choice(texts)
        yield f"odd text {place}", enveloped(json.dumps(_put_tree(statement, path, odd)).encode())
    for place in range(50):
        yield f"a path {place}", forged(bundle, _with_name(draw.choice(_PATHS)))


_VALUES: list[Any] = [
    CANARY, None, True, 0, -1, 2**53 - 1, 1.5, [], {}, [CANARY], {CANARY: CANARY}, [[[[]]]], "",
]  # fmt: skip
_NAMES = [CANARY, "", "__proto__", "digest", "statement", "$ref", "\u202e" + CANARY, "facts"]
_ODD_TEXTS = ["\x00", "\ud800", "\u202e", "\ufeff", "\U0010ffff", "a\u0301", "\x7f", "\u2028", "\n"]
_PATHS = [
    f"../{CANARY}", f"/etc/{CANARY}", f"C:\\{CANARY}", f"a/../{CANARY}", "..", ".", "",
    f"file://{CANARY}", f"https://{CANARY}.example/x", f"\\\\host\\{CANARY}", f"{CANARY}\x00.csv",
]  # fmt: skip


def _with_name(name: str) -> Callable[[Tree], None]:
    def change(predicate: Tree) -> None:
        manifest = predicate["snapshot"]["payload"]
        manifest["sources"][0]["name"] = name
        digest = sha256(manifest)
        predicate["observation"]["payload"]["observation"]["manifest_sha256"] = digest

    return change


def _broken_texts(
    bundle: bytes, payload: bytes, draw: random.Random
) -> Iterator[tuple[str, bytes]]:
    yield "empty", b""
    yield "nothing", b"null"
    yield "a text", rfc8785.dumps(CANARY)
    yield "no UTF-8", bundle[:-1] + b"\xff}"
    yield "UTF-16", bundle.decode().encode("utf-16")
    yield "a mark in front", b"\xef\xbb\xbf" + bundle
    yield "a space behind", bundle + b" "
    yield "a line behind", bundle + b"\n"
    yield "twice", bundle + bundle
    yield "a list of it", b"[" + bundle + b"]"
    yield "indented", json.dumps(json.loads(bundle), indent=1).encode()
    yield "indented payload", enveloped(json.dumps(json.loads(payload), indent=1).encode())
    yield "escaped payload", enveloped(payload.replace(b"main", b"m\\u0061in", 1))
    yield "deep", b"[" * 100_000
    yield "deep and closed", b'{"payload":' * 60 + b"1" + b"}" * 60
    yield "deep payload", enveloped(b"[" * 49 + b"]" * 49)
    yield "too large", bundle + b" " * (16 * 2**20)
    yield "a large text", enveloped(b'"' + b"a" * 2**20 + b'"')
    yield (
        "a large number",
        enveloped(payload.replace(b'"sequence":1', b'"sequence":' + b"9" * 5000)),
    )
    for constant in (b"NaN", b"Infinity", b"-Infinity", b"1e999", b"01", b"+1", b"0x1", b"1.0"):
        yield (
            f"number {constant!r}",
            enveloped(payload.replace(b'"sequence":1', b'"sequence":' + constant)),
        )
    for name in (b"payload", b"payloadType", b"signatures"):
        yield f"{name!r} twice", b'{"' + name + b'":"' + CANARY.encode() + b'",' + bundle[1:]
    for name in (b"predicate", b"subject", b"_type", CANARY.encode()):
        twice = b'{"' + name + b'":1,"' + name + b'":2,' + payload[1:]
        yield f"{name!r} twice in the payload", enveloped(twice)
    for place in range(40):
        yield f"cut {place}", bundle[: draw.randrange(len(bundle))]
    for place in range(40):
        yield f"payload cut {place}", enveloped(payload[: draw.randrange(len(payload))])
    text = base64.b64encode(payload)
    for odd in (b"=", b"\\n", b" ", b"-", CANARY.encode(), b"===="):
        place = draw.randrange(len(text))
        yield f"base64 {odd!r}", bundle.replace(text, text[:place] + odd + text[place:])
    for kind in ("application/json", CANARY, ""):
        yield f"of type {kind}", bundle.replace(b"application/vnd.in-toto+json", kind.encode())
    for signature in ({"keyid": CANARY, "sig": ""}, {"keyid": "0" * 64, "sig": CANARY}, CANARY):
        yield f"signature {signature}", enveloped(payload, [signature])  # type: ignore[list-item]
    yield "many signatures", enveloped(payload, [{"keyid": "0" * 64, "sig": ""}] * 11)
    yield "long lists", enveloped(payload.replace(b'"keys":[', b'"keys":[' + b"1," * 60_000))


def _paths(tree: Any, path: tuple[str | int, ...]) -> Iterator[tuple[str | int, ...]]:
    if path:
        yield path
    if isinstance(tree, dict):
        for name, part in tree.items():
            yield from _paths(part, (*path, name))
    elif isinstance(tree, list):
        for place, part in enumerate(tree):
            yield from _paths(part, (*path, place))


def _at(tree: Any, path: tuple[str | int, ...]) -> Any:
    for part in path:
        tree = tree[part]
    return tree


def _put_tree(tree: Any, path: tuple[str | int, ...], value: Any) -> Any:
    if not path:
        return value
    copy: Any = dict(tree) if isinstance(tree, dict) else list(tree)
    copy[path[0]] = _put_tree(copy[path[0]], path[1:], value)
    return copy


def _put(tree: Any, path: tuple[str | int, ...], value: Any) -> bytes:
    changed = _put_tree(tree, path, value)
    if changed == tree:
        changed = _put_tree(tree, path, [CANARY])
    return json.dumps(changed, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
