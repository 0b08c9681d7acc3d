"""Small faults in a module: every place where one node can be another one.

A mutant differs from the module in one node. Left alone are docstrings, annotations, decorators,
imports, asserts and `strict=True`: they decide nothing.
"""

import ast
import copy
import difflib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TypeVar

_COMPARED: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
_CALCULATED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
}
_NAMED = {"any": "all", "all": "any", "min": "max", "max": "min", "sorted": "list"}
_METHODS = {
    "startswith": "endswith",
    "endswith": "startswith",
    "strip": "rstrip",
    "rstrip": "lstrip",
    "fullmatch": "match",
}
_SEQUENCES = (ast.Compare, ast.ExceptHandler, ast.For, ast.Call, ast.Starred)
# How much of an unchanged line is shown on either side of what differs, in characters.
_BESIDE = 60


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Mutant:
    """A module with one small fault.

    Attributes:
        unit: the function or method that holds it; the assigned name for one outside of them.
        lines: first and last line of what differs.
        removed, added: the lines that differ, as the syntax tree is written.
        top: the changed statement of the module's body.
        nth: counts the mutants of a unit that are written alike, from 0.
    """

    unit: str
    lines: tuple[int, int]
    removed: str
    added: str
    top: ast.stmt = field(compare=False)
    nth: int = 0

    @property
    def key(self) -> str:
        """What stays the same when the module's lines move."""
        again = f" ({self.nth + 1})" if self.nth else ""
        return f"{self.unit}{again}\n{self.removed}\n{self.added}"


def mutants(source: str) -> list[Mutant]:
    """Make every mutant of a module.

    Args:
        source: its text.

    Returns:
        The mutants in the order of the text; no two of a unit are the same tree.
    """
    made: list[Mutant] = []
    counted: dict[str, int] = {}
    for top in ast.parse(source).body:
        for name, unit in _units(top):
            written = ast.unparse(unit)
            seen = {written}
            for lines in _changes(unit):
                changed = ast.unparse(unit)
                if changed in seen:
                    continue
                seen.add(changed)
                removed, added = _difference(written, changed)
                one = Mutant(name, lines, removed, added, copy.deepcopy(top))
                nth = counted[one.key] = counted.get(one.key, -1) + 1
                made.append(replace(one, nth=nth))
    return made


def _units(top: ast.stmt) -> Iterator[tuple[str, ast.stmt]]:
    match top:
        case ast.FunctionDef():
            yield top.name, top
        case ast.ClassDef():
            for member in top.body:
                if isinstance(member, ast.FunctionDef):
                    yield f"{top.name}.{member.name}", member
        case ast.Assign(value=ast.BinOp(op=ast.BitOr()) | ast.Subscript()):
            pass  # the name of a type
        case ast.Assign(value=ast.Call(func=ast.Name(id="TypeVar"))):
            pass  # likewise
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            yield name, top
        case _:
            pass


def _difference(written: str, changed: str) -> tuple[str, str]:
    lines = list(difflib.ndiff(written.splitlines(), changed.splitlines()))

    def of(sign: str) -> list[str]:
        return [line[2:].strip() for line in lines if line.startswith(f"{sign} ")]

    old, new = of("-"), of("+")
    if len(old) == len(new) == 1:
        return _around(old[0], new[0])
    return "- " + (" / ".join(old) or "nothing"), "+ " + (" / ".join(new) or "nothing")


def _around(old: str, new: str) -> tuple[str, str]:
    """Cut what two lines have in common, but for some of it beside what differs."""
    shorter = min(len(old), len(new))
    start = next((at for at in range(shorter) if old[at] != new[at]), shorter)
    rest = shorter - start
    end = next((at for at in range(rest) if old[-1 - at] != new[-1 - at]), rest)
    first, behind = max(0, start - _BESIDE), max(0, end - _BESIDE)

    def cut(line: str) -> str:
        kept = line[first : len(line) - behind]
        return f"{'…' if first else ''}{kept}{'…' if behind else ''}"

    return f"- {cut(old)}", f"+ {cut(new)}"


def _changes(unit: ast.stmt) -> Iterator[tuple[int, int]]:
    """Change the unit in every way, one at a time; each way is undone when the next is asked for."""
    for parent, name, lines in _places(unit):
        old = getattr(parent, name)
        for new in _instead(parent, name, old):
            setattr(parent, name, new)
            yield lines
        setattr(parent, name, old)


def _places(unit: ast.stmt) -> Iterator[tuple[ast.AST, str, tuple[int, int]]]:
    """Give every field of every node that a mutant may change, and the lines of its statement."""
    waiting: list[tuple[ast.AST, tuple[int, int]]] = [(unit, _lines(unit, (0, 0)))]
    while waiting:
        node, lines = waiting.pop()
        below: list[tuple[ast.AST, tuple[int, int]]] = []
        for name, value in ast.iter_fields(node):
            if _is_left_alone(node, name):
                continue
            yield node, name, lines
            children = value if isinstance(value, list) else [value]
            below += [
                (child, _lines(child, lines))
                for child in children
                if isinstance(child, ast.AST) and not _is_silent(child)
            ]
        waiting.extend(reversed(below))


def _is_left_alone(node: ast.AST, name: str) -> bool:
    if name in ("annotation", "returns", "decorator_list", "ctx", "targets", "target"):
        return True
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)  # a docstring


def _is_silent(node: ast.AST) -> bool:
    """Say whether a node only states what cannot be otherwise, or is none of the module's own."""
    match node:
        case ast.Assert() | ast.Import() | ast.ImportFrom():
            return True
        case ast.Expr(value=ast.Call(func=ast.Name(id="assert_never"))):
            return True
        case ast.keyword(arg="strict"):
            return True
        case _:
            return False


def _lines(node: ast.AST, around: tuple[int, int]) -> tuple[int, int]:
    """Give the lines on which it shows that a statement or case was reached."""
    match node:
        case ast.If(test=head) | ast.While(test=head) | ast.Match(subject=head):
            return node.lineno, head.end_lineno or head.lineno
        case ast.For(iter=head):
            return node.lineno, head.end_lineno or head.lineno
        case ast.match_case(pattern=head):
            return head.lineno, head.end_lineno or head.lineno
        case ast.With(items=items):
            return node.lineno, items[-1].context_expr.end_lineno or node.lineno
        case ast.Try() | ast.ExceptHandler():
            return node.lineno, node.lineno
        case ast.stmt():
            return node.lineno, node.end_lineno or node.lineno
        case _:
            return around


# --- what can stand instead ----------------------------------------------------------------------


def _instead(parent: ast.AST, name: str, old: object) -> Iterator[object]:
    """Give the other values of one field of a node."""
    match parent:
        case ast.Compare() if name == "ops":
            for at, operator in enumerate(parent.ops):
                for other in _COMPARED[type(operator)]:
                    yield _with(parent.ops, at, other())
        case ast.BoolOp() if name == "op":
            yield ast.Or() if isinstance(parent.op, ast.And) else ast.And()
        case ast.BinOp() | ast.AugAssign() if name == "op":
            if type(parent.op) in _CALCULATED:
                yield _CALCULATED[type(parent.op)]()
        case ast.Constant() if name == "value":
            yield from _other_constants(parent.value)
        case ast.Attribute() if name == "attr":
            yield from _other_attributes(parent)
        case ast.Call() if name == "args" and isinstance(old, list):
            called = parent.func.id if isinstance(parent.func, ast.Name) else ""
            if len(old) > 1 and called not in ("isinstance", "max", "min"):
                yield [old[1], old[0], *old[2:]]
        case ast.Call() if name == "keywords" and isinstance(old, list):
            yield from (_without(old, at) for at, one in enumerate(old) if not _is_silent(one))
        case ast.Slice() if name in ("lower", "upper") and old is not None:
            yield None
        case ast.comprehension() if name == "ifs" and isinstance(old, list):
            yield from _each_less(old)
        case ast.MatchOr() if name == "patterns" and isinstance(old, list):
            yield from _each_less(old) if len(old) > 2 else ()
        case ast.match_case() if name == "guard" and old is not None:
            yield None
        case ast.Match() if name == "cases" and isinstance(old, list):
            yield from (_without(old, at) for at in range(len(old) - 1))
        case ast.Return() if name == "value" and old is not None:
            if not (isinstance(old, ast.Constant) and old.value is None):
                yield ast.Constant(value=None)
        case _:
            pass
    if name in ("body", "orelse", "finalbody") and isinstance(old, list):
        yield from _shorter(old)
    elif isinstance(old, list):
        for at, child in enumerate(old):
            if isinstance(child, ast.expr):
                others = _other_expressions(child, parent)
                yield from (_with(old, at, other) for other in others)
    elif isinstance(old, ast.expr):
        yield from _other_expressions(old, parent)
    if name in ("test", "guard") and isinstance(old, ast.expr):
        yield from _other_conditions(old)


def _other_constants(value: object) -> Iterator[object]:
    match value:
        case bool():
            yield not value
        case int():
            yield value + 1
            if value > 0:
                yield value - 1
        case str():
            yield f"XX{value}" if value else "XX"
        case _:
            pass


def _other_attributes(node: ast.Attribute) -> Iterator[str]:
    if isinstance(node.value, ast.Name) and node.value.id == "Reason":
        yield "NO_STATEMENT" if node.attr != "NO_STATEMENT" else "NOT_SQL"
    elif node.attr in _METHODS:
        yield _METHODS[node.attr]


def _other_expressions(node: ast.expr, parent: ast.AST) -> Iterator[ast.expr]:
    match node:
        case ast.BoolOp():
            for at in range(len(node.values)):
                rest = _without(node.values, at)
                yield rest[0] if len(rest) == 1 else ast.BoolOp(op=node.op, values=rest)
        case ast.UnaryOp(op=ast.Not() | ast.USub()):
            yield node.operand
        case ast.Name() if node.id in _NAMED:
            yield ast.Name(id=_NAMED[node.id], ctx=ast.Load())
        case ast.Set() if len(node.elts) > 1:
            yield from (ast.Set(elts=rest) for rest in _each_less(node.elts))
        case ast.List(ctx=ast.Load()):
            yield from (ast.List(elts=rest, ctx=ast.Load()) for rest in _each_less(node.elts))
        case ast.Tuple(ctx=ast.Load()) if isinstance(parent, _SEQUENCES):
            yield from (ast.Tuple(elts=rest, ctx=ast.Load()) for rest in _each_less(node.elts))
        case ast.Dict():
            for at in range(len(node.keys)):
                yield ast.Dict(keys=_without(node.keys, at), values=_without(node.values, at))
        case _:
            pass


def _other_conditions(node: ast.expr) -> Iterator[ast.expr]:
    """Turn a condition round, and make it always or never hold."""
    simple = isinstance(node, ast.Compare) and len(node.ops) == 1
    if not simple and not isinstance(node, ast.UnaryOp):
        yield ast.UnaryOp(op=ast.Not(), operand=node)
    yield ast.Constant(value=True)
    yield ast.Constant(value=False)


def _shorter(body: list[ast.stmt]) -> Iterator[list[ast.stmt]]:
    """Leave out a statement that other code does not name."""
    for at, statement in enumerate(body):
        match statement:
            case ast.Expr(value=ast.Constant()):
                continue
            case _ if _is_silent(statement):
                continue
            case ast.Expr() | ast.AugAssign() | ast.Raise() | ast.Continue():
                pass
            case ast.Assign(targets=[ast.Subscript() | ast.Attribute()]):
                pass
            case _:
                continue
        yield _with(body, at, ast.Pass())


def _with(old: list[T], at: int, new: T) -> list[T]:
    return [*old[:at], new, *old[at + 1 :]]


def _without(old: list[T], at: int) -> list[T]:
    return [*old[:at], *old[at + 1 :]]


def _each_less(old: list[T]) -> Iterator[list[T]]:
    return (_without(old, at) for at in range(len(old)))
