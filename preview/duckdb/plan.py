"""DuckDB's bound plan → Shape; the only file that knows DuckDB's plan format (specification 3).

The plan is the unoptimised logical plan that `json_serialize_plan` gives. Columns are followed by
index from the scan upwards, never by name or rendered text. This reading shares no decision with
the text reading: literals are evaluated here from the plan's own constants and casts.

Invariants
  N1  Total: any text gives a `PlanReading`; what is not known makes the output, or the statement,
      unreadable.
  N2  A column is (scan, column index); its name is taken from the scan and checked against the pin.
  N3  An aggregate is known by its catalog path as a list, `["system", "main", "sum"]`.
  N4  A statement is repeatable unless its plan holds a sample, or a function whose value is another
      one at another time: told by the function that the engine bound, never by a word in the text.
  N5  The nodes of a readable plan stand in one order: limit, order, distinct, having, aggregate,
      where, scan, with projections above having only.
"""

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

from eligibility.reasons import Reason, in_order
from eligibility.sql.observation import EngineReading, SortKey
from eligibility.sql.policy import FILTER_DEPTH_MAX, FILTER_LITERALS_MAX
from eligibility.sql.schema import CATALOG, Pin
from eligibility.sql.shape import (
    FLIPPED,
    Aggregate,
    Calculation,
    ColumnComparison,
    Comparison,
    Derivation,
    DirectColumn,
    GroupKey,
    InList,
    IsNull,
    Like,
    Negation,
    Operator,
    Other,
    Predicate,
    Selection,
    Shape,
    Truth,
    Unstatable,
    Value,
    added,
    conjoin,
    measure,
)
from eligibility.sql.types import FLOAT_DIGITS, FRACTION_DIGITS, INTEGER_RANGES, decimal_size
from eligibility.wire.model import COUNT_MAX

PLAN_QUERY = "SELECT json_serialize_plan(?::VARCHAR)"

Node = dict[str, Any]


@dataclass(frozen=True, slots=True)
class PlanReading:
    """What the plan says.

    Attributes:
        reading: the shape, or why there is none, and the hash of the plan's text.
        types: base type name of each output, by position; None where the plan does not tell.
    """

    reading: EngineReading
    types: tuple[str | None, ...]


class _Unreadable(Exception):
    """The plan holds something that gives the statement no shape."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason)
        self.reason = reason


def plan_error(text: str) -> tuple[str, str] | None:
    """Give the engine's own error that stands in place of a plan.

    Args:
        text: what `json_serialize_plan` returned.

    Returns:
        (error type, message), or None where there is no such error.
    """
    tree = parse_plan(text)
    if tree is None or tree.get("error") is not True:
        return None
    return str(tree.get("error_type", "")), str(tree.get("error_message", ""))


def read_plan(text: str, pins: tuple[Pin, ...], tree: Node | None = None) -> PlanReading:
    """Read a bound plan (specification 3).

    Args:
        text: what `json_serialize_plan` returned for the statement.
        pins: the pinned tables.
        tree: what `parse_plan` made of the text, where that is at hand.

    Returns:
        The reading; never raises.
    """
    digest = hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()
    tree = parse_plan(text) if tree is None else tree
    plans = tree.get("plans") if tree is not None and tree.get("error") is False else None
    shape: Shape | None = None
    order: tuple[SortKey, ...] | None = None
    reasons: tuple[Reason, ...] = ()
    types: tuple[str | None, ...] = ()
    try:
        if not isinstance(plans, list) or len(plans) != 1:
            raise _Unreadable(Reason.PLAN_UNREADABLE)
        types = _types(plans[0])
        shape, order = _shape(plans[0], pins)
    except _Unreadable as unreadable:
        reasons = _found_in(plans) or (unreadable.reason,)
    except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError, RecursionError):
        reasons = (Reason.PLAN_UNREADABLE,)
    reading = EngineReading(
        shape=shape,
        reasons=reasons,
        plan_sha256=digest,
        repeatable=None if plans is None else _is_repeatable(text, plans),
        order=order,
    )
    return PlanReading(reading, types)


_PLANS = json.JSONDecoder(parse_float=str)


def parse_plan(text: str) -> Node | None:
    """Parse a plan's JSON text, every float kept as text; None where it is no JSON object."""
    try:
        tree = _PLANS.decode(text)
    except (ValueError, RecursionError):
        return None
    return tree if isinstance(tree, dict) else None


def _need(condition: bool, reason: Reason = Reason.PLAN_UNREADABLE) -> None:
    if not condition:
        raise _Unreadable(reason)


def _natural(number: object) -> int:
    """Give a whole number that is not negative; in JSON, true is none."""
    if type(number) is not int or number < 0:
        raise _Unreadable(Reason.PLAN_UNREADABLE)
    return number


def _walk(node: Any) -> Iterator[Node]:
    """Give every JSON object of the plan."""
    waiting = [node]
    while waiting:
        here = waiting.pop()
        if isinstance(here, dict):
            yield here
            waiting.extend(here.values())
        elif isinstance(here, list):
            waiting.extend(here)


# --- the same again? ----------------------------------------------------------------------------

# Functions whose value is another one at another time, or that look at how rows are stored.
CHANGING = frozenset(
    {
        "current_date",
        "current_localtime",
        "current_localtimestamp",
        "gen_random_uuid",
        "get_current_time",
        "get_current_timestamp",
        "now",
        "random",
        "reservoir_quantile",
        "stats",
        "today",
        "transaction_timestamp",
        "uuid",
        "uuidv4",
        "uuidv7",
        "vector_type",
    }
)
# A plan without any of these words needs no walk.
_MAY_CHANGE = re.compile(
    rf'"(?:{"|".join(sorted(CHANGING))}|age|LOGICAL_SAMPLE)"|"sample_options":(?!null)'
)


def _is_repeatable(text: str, plans: object) -> bool:
    """Say whether the plan gives the same values every time (N4)."""
    return _MAY_CHANGE.search(text) is None or not any(map(_changes, _walk(plans)))


def _changes(node: Node) -> bool:
    if node.get("type") == "LOGICAL_SAMPLE" or node.get("sample_options") is not None:
        return True
    name, path = node.get("qname"), None
    if isinstance(name, dict):
        path = name.get("path")
    if not isinstance(path, list) or not path:
        return False
    # Of one date or time, an age is as of today.
    return path[-1] in CHANGING or (path[-1] == "age" and len(node.get("children", ())) == 1)


# --- types --------------------------------------------------------------------------------------


def _type(node: Node) -> str:
    """Give the base name of a serialised type."""
    info = node.get("type_info")
    if not info:
        return str(node["id"])
    if info.get("type") == "DECIMAL_TYPE_INFO":
        return f"DECIMAL({info['width']},{info['scale']})"
    return str(info.get("alias") or node["id"])


def _types(plan: Node) -> tuple[str | None, ...]:
    node = plan
    while node["type"] != "LOGICAL_PROJECTION":
        if node["type"] not in ("LOGICAL_LIMIT", "LOGICAL_ORDER_BY", "LOGICAL_DISTINCT"):
            return ()
        node = node["children"][0]
    return tuple(_expression_type(expression) for expression in node["expressions"])


def _expression_type(expression: Node) -> str | None:
    if "return_type" in expression:
        return _type(expression["return_type"])
    if expression["expression_class"] == "BOUND_CONSTANT":
        return _type(expression["value"]["type"])
    return "BOOLEAN" if expression["expression_class"] == "BOUND_CONJUNCTION" else None


# --- the statement ------------------------------------------------------------------------------

_NODES: dict[str, Reason] = {
    "LOGICAL_COMPARISON_JOIN": Reason.JOIN,
    "LOGICAL_ANY_JOIN": Reason.JOIN,
    "LOGICAL_CROSS_PRODUCT": Reason.JOIN,
    "LOGICAL_POSITIONAL_JOIN": Reason.JOIN,
    "LOGICAL_ASOF_JOIN": Reason.JOIN,
    "LOGICAL_DELIM_JOIN": Reason.JOIN,
    "LOGICAL_DEPENDENT_JOIN": Reason.JOIN,
    "LOGICAL_MATERIALIZED_CTE": Reason.CTE,
    "LOGICAL_RECURSIVE_CTE": Reason.CTE,
    "LOGICAL_CTE_REF": Reason.CTE,
    "LOGICAL_UNION": Reason.SET_OPERATION,
    "LOGICAL_EXCEPT": Reason.SET_OPERATION,
    "LOGICAL_INTERSECT": Reason.SET_OPERATION,
    "LOGICAL_WINDOW": Reason.WINDOW,
    "LOGICAL_UNNEST": Reason.TABLE_FUNCTION,
    "LOGICAL_SAMPLE": Reason.SAMPLE,
    "LOGICAL_EXPRESSION_GET": Reason.VALUES,
    "LOGICAL_DUMMY_SCAN": Reason.NO_SOURCE,
}


def _found_in(plans: object) -> tuple[Reason, ...]:
    """Name the plan nodes that withhold the whole statement."""
    found = set()
    for node in _walk(plans):
        kind = node.get("type")
        if isinstance(kind, str) and kind in _NODES:
            found.add(_NODES[kind])
        if kind == "LOGICAL_GET" and node.get("qname") != {"path": ["seq_scan"]}:
            found.add(Reason.TABLE_FUNCTION)
    if len(found) > 1:
        found.discard(Reason.NO_SOURCE)  # the dummy row under something else, such as UNNEST
    return in_order(found)


@dataclass(frozen=True, slots=True)
class _Native:
    """A column of the scan, and its base type."""

    name: str
    type: str


_Column = _Native | Aggregate | Other
_STAGES = {
    "LOGICAL_LIMIT": 1,
    "LOGICAL_ORDER_BY": 2,
    "LOGICAL_DISTINCT": 3,
    "LOGICAL_FILTER": 4,
    "LOGICAL_AGGREGATE_AND_GROUP_BY": 5,
    "LOGICAL_GET": 7,
}


def _shape(plan: Node, pins: tuple[Pin, ...]) -> tuple[Shape, tuple[SortKey, ...]]:
    nodes = _in_order(plan)
    kinds = [node["type"] for node in nodes]
    table, columns = _scan(nodes[-1], pins)
    condition: Predicate | None = None
    groups: tuple[GroupKey, ...] = ()
    aggregated = "LOGICAL_AGGREGATE_AND_GROUP_BY" in kinds
    seen: dict[str, Any] = {"having": False, "distinct": False, "order_by": False}
    below_aggregate = aggregated
    order: list[tuple[int | None, str | None]] = []
    for node in reversed(nodes[:-1]):
        match node["type"]:
            case "LOGICAL_FILTER":
                _need(node["projection_map"] == [])
                if below_aggregate or not aggregated:
                    condition = _where(node["expressions"], columns)
                else:
                    seen["having"] = True
            case "LOGICAL_AGGREGATE_AND_GROUP_BY":
                groups, columns = _aggregation(node, columns)
                below_aggregate = False
            case "LOGICAL_PROJECTION":
                order = [(_place(key, node["expressions"]), name) for key, name in order]
                columns = [_output(expression, columns) for expression in node["expressions"]]
            case "LOGICAL_DISTINCT":
                _need(node["distinct_type"] == "DISTINCT", Reason.DISTINCT_ON)
                _need(node["order_by"] is None)
                seen["distinct"] = True
            case "LOGICAL_ORDER_BY":
                _need(node["projections"] == [])
                seen["order_by"] = True
                order = [_sort_key(key["expression"], columns) for key in node["orders"]]
            case _:
                seen["limit"] = _limit(node["limit_val"])
                seen["offset"] = _limit(node["offset_val"])
    shape = Shape(
        table=table,
        outputs=tuple(_derivation(column) for column in columns),
        filter=condition,
        groups=groups,
        aggregated=aggregated,
        selection=Selection(**seen),
    )
    return shape, tuple([SortKey(output=place, column=name) for place, name in order])


def _sort_key(expression: Node, columns: list[_Column]) -> tuple[int | None, str | None]:
    """Give the column below that a key of ORDER BY is, and its native name where it has one."""
    column = _at(expression, columns)
    if column is None:
        return None, None
    return expression["index"], column.name if isinstance(column, _Native) else None


def _place(below: int | None, expressions: list[Node]) -> int | None:
    """Give the first output of a projection that is a column below it; None for none."""
    refs = [
        each["index"] if each["expression_class"] == "BOUND_REF" else -1 for each in expressions
    ]
    return refs.index(below) if below in refs else None


def _in_order(plan: Node) -> list[Node]:
    """Give the nodes from the top to the scan, in the one order that is readable (N5)."""
    nodes, stage, node = [plan], 0, plan
    while True:
        kind = node["type"]
        if kind == "LOGICAL_PROJECTION":
            _need(stage < _STAGES["LOGICAL_FILTER"])
        else:
            _need(kind in _STAGES)
            here = _STAGES[kind]
            if kind == "LOGICAL_FILTER" and stage >= _STAGES["LOGICAL_AGGREGATE_AND_GROUP_BY"]:
                here = 6
            _need(here > stage)
            stage = here
        if kind == "LOGICAL_GET":
            _need(node["children"] == [])
            return nodes
        _need(len(node["children"]) == 1)
        node = node["children"][0]
        nodes.append(node)


def _limit(bound: Node) -> int | None:
    if bound["type"] == "UNSET":
        return None
    _need(bound["type"] == "CONSTANT_VALUE", Reason.LIMIT_NOT_A_NUMBER)
    return min(_natural(bound["constant_integer"]), COUNT_MAX)


def _scan(node: Node, pins: tuple[Pin, ...]) -> tuple[tuple[str, str], list[_Column]]:
    """Read the scan: one pinned table, its columns by index (N2)."""
    _need(node["qname"]["path"] == ["seq_scan"])  # `_found_in` says why
    _need(node["extra_info"]["sample_options"] is None, Reason.SAMPLE)
    _need(node["at_clause"] is None, Reason.TIME_TRAVEL)
    _need(node["table_filters"] == {"filters": [], "multi_column_filters": []})
    for empty in ("projection_ids", "parameters", "named_parameters", "projected_input"):
        _need(node[empty] == [])
    path = node["function_data"]["qualified_name"]["path"]
    pin = next((pin for pin in pins if [CATALOG, *pin.path] == path), None)
    if pin is None:
        raise _Unreadable(Reason.TABLE_UNKNOWN)
    names = node["names"]
    _need(names == [column.name for column in pin.columns])
    types = [_type(kind) for kind in node["returned_types"]]
    columns: list[_Column] = []
    for place in node["column_indexes"]:
        _need(place["child_indexes"] == [] and place["index_type"] == "FULL_READ")
        index = _natural(place["index"])
        if index < len(names):
            columns.append(_Native(names[index], types[index]))
        else:
            columns.append(Other(reason=Reason.COLUMN_UNKNOWN))
    return pin.path, columns


def _derivation(column: _Column) -> Derivation:
    return DirectColumn(column=column.name) if isinstance(column, _Native) else column


def _at(expression: Node, columns: list[_Column]) -> _Column | None:
    """Follow a plain reference to a column of the node below; None for anything else."""
    if expression["expression_class"] != "BOUND_REF":
        return None
    return columns[_natural(expression["index"])]


def _output(expression: Node, columns: list[_Column]) -> _Column:
    column = _at(expression, columns)
    if column is not None:
        return column
    is_constant = expression["expression_class"] == "BOUND_CONSTANT"
    return Other(reason=Reason.CONSTANT if is_constant else Reason.EXPRESSION)


# --- aggregates ---------------------------------------------------------------------------------

# `mean` is the engine's other name of `avg`; equal aggregates are merged under the first name.
_AGGREGATES: dict[str, Calculation] = {
    "sum": "SUM",
    "avg": "AVG",
    "mean": "AVG",
    "min": "MIN",
    "max": "MAX",
    "count": "COUNT",
}


def _aggregation(node: Node, columns: list[_Column]) -> tuple[tuple[GroupKey, ...], list[_Column]]:
    keys = [_at(expression, columns) for expression in node["groups"]]
    whole = [list(range(len(keys)))] if keys else []
    _need(node["grouping_sets"] in (whole, []), Reason.GROUPING_SETS)
    groups: list[GroupKey] = []
    above: list[_Column] = []
    for key in keys:
        if isinstance(key, _Native):
            groups.append(DirectColumn(column=key.name))
            above.append(key)
        else:
            groups.append(Other(reason=Reason.GROUP_KEY_NOT_A_COLUMN))
            above.append(Other(reason=Reason.EXPRESSION))
    above.extend(_aggregate(expression, columns) for expression in node["expressions"])
    above.extend(Other(reason=Reason.FUNCTION) for _ in node["grouping_functions"])
    if node["grouping_sets"] != whole:
        # A key that GROUP BY ALL takes from HAVING alone: no set is listed, it groups all the same.
        groups.append(Other(reason=Reason.GROUP_KEY_NOT_A_COLUMN))
    return tuple(dict.fromkeys(groups)), above


def _aggregate(expression: Node, columns: list[_Column]) -> Aggregate | Other:
    if (
        expression["expression_class"] != "BOUND_AGGREGATE"
        or expression["aggregate_type"] != "NON_DISTINCT"
        or expression["filter"] is not None
        or expression["order_bys"] is not None
        or expression["state_export"] != "NONE"
        or expression["named_arguments"] != []
    ):
        return Other(reason=Reason.AGGREGATE_MODIFIED)
    path, children = expression["qname"]["path"], expression["children"]
    if path == ["system", "main", "count_star"] and children == []:
        return Aggregate(calculation="COUNT", column=None)
    calculation = _AGGREGATES.get(path[-1])
    if path[:-1] != ["system", "main"] or calculation is None:
        return Other(reason=Reason.AGGREGATE_SPELLING)
    if len(children) != 1:
        return Other(reason=Reason.AGGREGATE_MODIFIED)
    argument = _cast_column(children[0], columns)
    if argument is None:
        return Other(reason=Reason.AGGREGATE_ARGUMENT)
    column, becomes = argument
    if becomes != column.type and not (
        added(calculation) is not None
        and (_widens(column.type, becomes) or (column.type, becomes) == ("FLOAT", "DOUBLE"))
    ):
        return Other(reason=Reason.AGGREGATE_TYPE)
    return Aggregate(calculation=calculation, column=column.name)


# --- casts --------------------------------------------------------------------------------------


def _cast_column(expression: Node, columns: list[_Column]) -> tuple[_Native, str] | None:
    """Read a native column under at most one cast: the column, and the type it becomes."""
    inner = _under_cast(expression)
    column = _at(expression if inner is None else inner, columns)
    if not isinstance(column, _Native):
        return None
    return column, column.type if inner is None else _type(expression["return_type"])


def _under_cast(expression: Node) -> Node | None:
    """Give what a plain cast is around; None for anything else, `TRY_CAST` included."""
    if (
        expression["expression_class"] == "BOUND_FUNCTION"
        and expression["type"] == "OPERATOR_CAST"
        and expression["qname"]["path"] == ["__cast"]
        and expression["function_data"]["try_cast"] is False
        and len(expression["children"]) == 1
    ):
        inner: Node = expression["children"][0]
        return inner
    return None


def _widens(base: str, becomes: str) -> bool:
    """Say whether a cast around a column keeps every value (specification 3)."""
    if base in ("TIMESTAMP_S", "TIMESTAMP_MS"):
        return becomes == "TIMESTAMP"
    wide = decimal_size(becomes)
    if base in INTEGER_RANGES:
        low, high = INTEGER_RANGES[base]
        if becomes in INTEGER_RANGES:
            return INTEGER_RANGES[becomes][0] <= low and high <= INTEGER_RANGES[becomes][1]
        return wide is not None and wide[0] - wide[1] >= len(str(high))
    narrow = decimal_size(base)
    if narrow is None or wide is None:
        return False
    return wide[1] >= narrow[1] and wide[0] - wide[1] >= narrow[0] - narrow[1]


# --- the filter ---------------------------------------------------------------------------------

_OPERATORS: dict[str, Operator] = {
    "COMPARE_EQUAL": "=",
    "COMPARE_NOTEQUAL": "<>",
    "COMPARE_LESSTHAN": "<",
    "COMPARE_LESSTHANOREQUALTO": "<=",
    "COMPARE_GREATERTHAN": ">",
    "COMPARE_GREATERTHANOREQUALTO": ">=",
}
_LIKES: dict[str, tuple[bool, bool]] = {
    "~~": (False, False),
    "!~~": (False, True),
    "~~*": (True, False),
    "!~~*": (True, True),
}
_NOT_STATABLE = Unstatable(reason=Reason.FILTER_NOT_STATABLE)
_NOT_EXACT = Unstatable(reason=Reason.LITERAL_NOT_EXACT)


def _where(expressions: list[Node], columns: list[_Column]) -> Predicate:
    predicate = conjoin("and", (_condition(expression, columns) for expression in expressions))
    depth, literals = measure(predicate)
    if depth > FILTER_DEPTH_MAX or literals > FILTER_LITERALS_MAX:
        return Unstatable(reason=Reason.FILTER_TOO_LARGE)
    return predicate


def _condition(expression: Node, columns: list[_Column]) -> Predicate:
    kind, children = expression["type"], expression.get("children", [])
    match expression["expression_class"]:
        case "BOUND_CONJUNCTION" if kind in ("CONJUNCTION_AND", "CONJUNCTION_OR"):
            members = (_condition(child, columns) for child in children)
            return conjoin("and" if kind == "CONJUNCTION_AND" else "or", members)
        case "BOUND_OPERATOR" if kind == "OPERATOR_NOT" and len(children) == 1:
            return Negation(member=_condition(children[0], columns))
        case "BOUND_OPERATOR" if kind in ("OPERATOR_IS_NULL", "OPERATOR_IS_NOT_NULL"):
            column = _at(children[0], columns)
            if not isinstance(column, _Native) or len(children) != 1:
                return _NOT_STATABLE
            null = IsNull(column=column.name)
            return null if kind == "OPERATOR_IS_NULL" else Negation(member=null)
        case "BOUND_OPERATOR" if kind == "COMPARE_IN":
            return _membership(children, columns)
        case "BOUND_REF":
            column = _at(expression, columns)
            if isinstance(column, _Native) and column.type == "BOOLEAN":
                return Truth(column=column.name)
            return _NOT_STATABLE
        case "BOUND_FUNCTION" if kind in _OPERATORS and len(children) == 2:
            operator = _OPERATORS[kind]
            _need(expression["qname"]["path"] == ["!=" if operator == "<>" else operator])
            return _comparison(children[0], operator, children[1], columns)
        case "BOUND_FUNCTION" if kind == "COMPARE_BETWEEN" and len(children) == 3:
            _need(expression["qname"]["path"] == ["__between"])
            bounds = expression["function_data"]
            low: Operator = ">=" if bounds["lower_inclusive"] else ">"
            high: Operator = "<=" if bounds["upper_inclusive"] else "<"
            return conjoin(
                "and",
                iter(
                    (
                        _comparison(children[0], low, children[1], columns),
                        _comparison(children[0], high, children[2], columns),
                    )
                ),
            )
        case "BOUND_FUNCTION" if expression["qname"]["path"][:-1] == ["system", "main"]:
            return _like(expression["qname"]["path"][-1], children, columns)
        case _:
            return _NOT_STATABLE


def _like(name: str, children: list[Node], columns: list[_Column]) -> Predicate:
    if name not in _LIKES or len(children) != 2:
        return _NOT_STATABLE
    column, pattern = _at(children[0], columns), _constant(children[1])
    if not isinstance(column, _Native) or column.type != "VARCHAR":
        return _NOT_STATABLE
    if pattern is None or pattern.type != "VARCHAR":
        return _NOT_STATABLE
    fold, negated = _LIKES[name]
    like = Like(column=column.name, pattern=pattern.text, fold=fold)
    return Negation(member=like) if negated else like


def _membership(children: list[Node], columns: list[_Column]) -> Predicate:
    compared = [_comparison(children[0], "=", child, columns) for child in children[1:]]
    values = tuple(one.value for one in compared if isinstance(one, Comparison))
    if not values or len(values) != len(compared):
        return next((one for one in compared if isinstance(one, Unstatable)), _NOT_STATABLE)
    return InList(column=_column_of(compared), values=values)


def _column_of(compared: list[Predicate]) -> str:
    first = compared[0]
    assert isinstance(first, Comparison)  # `_membership` lets nothing else through
    return first.column


def _comparison(left: Node, operator: Operator, right: Node, columns: list[_Column]) -> Predicate:
    one, other = _cast_column(left, columns), _cast_column(right, columns)
    if one is not None and other is not None:
        (column, becomes), (second, second_becomes) = one, other
        if not column.type == becomes == second.type == second_becomes:
            return _NOT_STATABLE
        return ColumnComparison(column=column.name, operator=operator, other=second.name)
    if one is None:
        one, right, operator = other, left, FLIPPED[operator]
    if one is None:
        return _NOT_STATABLE
    column, becomes = one
    if becomes != column.type and not (
        _widens(column.type, becomes)
        or (column.type == "ENUM" and becomes == "VARCHAR" and operator in ("=", "<>"))
    ):
        return _NOT_STATABLE
    constant = _constant(right)
    if constant is None or constant.type != becomes:
        return _NOT_EXACT
    value = constant if column.type == "ENUM" else _cast(constant, column.type)
    if value is None:
        return _NOT_EXACT
    return Comparison(
        column=column.name, operator=operator, value=Value(type=column.type, text=value.text)
    )


# --- constants, evaluated through the plan's casts ------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Constant:
    """A value of a type, in canonical text."""

    type: str
    text: str


def _constant(expression: Node) -> _Constant | None:
    """Evaluate a constant under casts; None where a cast is not exact or not known."""
    inner = _under_cast(expression)
    if inner is not None:
        below = _constant(inner)
        return None if below is None else _cast(below, _type(expression["return_type"]))
    if expression["expression_class"] != "BOUND_CONSTANT" or expression["value"]["is_null"]:
        return None
    base, value = _type(expression["value"]["type"]), expression["value"]["value"]
    size = decimal_size(base)
    if base == "VARCHAR":
        return _Constant(base, value)
    if base == "BOOLEAN":
        return _Constant(base, "true" if value else "false")
    if base in INTEGER_RANGES or size is not None:
        number = value["upper"] * 2**64 + value["lower"] if isinstance(value, dict) else value
        return _Constant(base, _plain(f"{number:d}e-{size[1] if size else 0}"))
    if base == "DOUBLE":
        return _float(value, base)
    return None


def _plain(text: str) -> str:
    """Write a number in full: no exponent, no zeros behind the point, no negative zero."""
    # Nothing here rounds: a decimal made from text, and formatted, keeps every digit.
    full = f"{Decimal(text):f}"
    full = full.rstrip("0").rstrip(".") if "." in full else full
    return "0" if full == "-0" else full


def _float(text: str, base: str) -> _Constant | None:
    value = Decimal(text)
    if not value.is_finite():
        return None
    digits = "".join(map(str, value.as_tuple().digits)).rstrip("0")
    return _Constant(base, _plain(text)) if len(digits) <= FLOAT_DIGITS[base] else None


def _cast(constant: _Constant, to: str) -> _Constant | None:
    """Cast a constant as the engine does, where nothing is rounded, cut or dropped."""
    base, text = constant.type, constant.text
    if base == to:
        return constant
    is_number = base in INTEGER_RANGES or decimal_size(base) is not None
    if to in INTEGER_RANGES or decimal_size(to) is not None:
        if not is_number and not (
            base == "VARCHAR" and re.fullmatch(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?", text)
        ):
            return None
        return _number(text, to)
    if to in FLOAT_DIGITS:
        return _float(text, to) if is_number else None
    # Under a time zone, neither a date nor a plain timestamp is an instant: both lack an offset.
    if base in ("VARCHAR", "TIMESTAMP"):
        return _from_text(text, to)
    return _from_text(f"{text} 00:00:00", to) if base == "DATE" else None


def _number(text: str, to: str) -> _Constant | None:
    value, size = Fraction(text), decimal_size(to)
    if size is None:
        low, high = INTEGER_RANGES[to]
        exact = value.denominator == 1 and low <= value <= high
    else:
        unscaled = value * 10 ** size[1]
        exact = unscaled.denominator == 1 and abs(unscaled) < 10 ** size[0]
    return _Constant(to, _plain(text)) if exact else None


def _from_text(text: str, to: str) -> _Constant | None:
    """Cast a text to a date, time, timestamp or UUID, where it is written in full."""
    if to == "UUID":
        return _Constant(to, text) if re.fullmatch("[0-9a-f-]{36}", text) else None
    if to == "DATE":
        return _Constant(to, text) if _is_date(text) else None
    if to in ("TIME", "TIME_NS"):
        found = _instant(f"2000-01-01 {text}", to)
        return None if found is None else _Constant(to, found[0].split(" ")[1])
    if to not in FRACTION_DIGITS:
        return None
    found = _instant(f"{text} 00:00:00" if _is_date(text) else text, to)
    zoned = to in ("TIMESTAMP WITH TIME ZONE", "TIMESTAMPTZ_NS")
    if found is None or (found[1] is None) == zoned:
        return None
    if found[1] is None:
        return _Constant(to, found[0])
    whole, point, fraction = found[0].partition(".")
    try:
        utc = datetime.fromisoformat(whole) - found[1]
    except OverflowError:
        return None
    return _Constant(to, f"{utc.isoformat(sep=' ')}{point}{fraction}+00")


def _is_date(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def _instant(text: str, to: str) -> tuple[str, timedelta | None] | None:
    """Read `YYYY-MM-DD HH:MM:SS[.f][offset]`: the text without offset, and the offset."""
    match = re.fullmatch(
        r"(.{19})(?:\.([0-9]{1,9}))?(?:(Z)|([-+])([0-9]{2})(?::?([0-9]{2}))?)?", text, re.ASCII
    )
    if match is None:
        return None
    fraction = (match[2] or "").rstrip("0")
    try:
        moment = datetime.fromisoformat(match[1])
        clock = moment.isoformat(sep=" ")
    except ValueError:
        return None
    if clock != match[1] or len(fraction) > FRACTION_DIGITS[to]:
        return None
    offset: timedelta | None = None
    if match[3]:
        offset = timedelta()
    elif match[4]:
        offset = timedelta(hours=int(match[5]), minutes=int(match[6] or 0))
        offset = offset if match[4] == "+" else -offset
    return clock + (f".{fraction}" if fraction else ""), offset
