"""Macros: calls that expand to a larger expression, such as ``list.all(x, x > 0)``."""

from __future__ import annotations

from collections.abc import Callable

from kschedweb.engine.cel.errors import ExpressionError
from kschedweb.engine.cel.syntax import (
    AND,
    BINARY,
    CONDITIONAL,
    NOT,
    OR,
    Call,
    Fold,
    Ident,
    ListExpr,
    Literal,
    MapExpr,
    Node,
    Select,
)

# cel-go's name for the variable that a comprehension carries along.
ACCUMULATOR = "__result__"
# cel-go's internal functions, which only macros can call.
NOT_STRICTLY_FALSE, INSERT, SORT_BY_KEYS = "@not_strictly_false", "cel.@mapInsert", "@sortByAssociatedKeys"
_SORTED = "@__sortBy_input__"

# The kinds of macro that `comprehensions.make_comprehension` computes; BIND has its own.
ALL, EXISTS, EXISTS_ONE, LIST, MAP, ENTRIES, BIND = "all", "exists", "exists_one", "list", "map", "entries", "bind"


def expand_macro(call: Call) -> Node | None:
    """Return the expansion of ``call``, None if it is no macro; raise ExpressionError if its arguments do not fit."""
    if call.target is None:
        return _make_has(call.args[0]) if call.function == "has" and len(call.args) == 1 else None
    if call.function == "bind":
        is_macro = len(call.args) == 3 and isinstance(call.target, Ident) and call.target.name == "cel"
        return _make_bind(_variable_name(call.args[0]), call.args[1], call.args[2]) if is_macro else None
    macro = _MACROS.get((call.function, len(call.args)))
    return macro(call.target, call.args) if macro else None


def _make_has(argument: Node) -> Node:
    if not isinstance(argument, Select) or argument.test:
        raise ExpressionError("has() takes a field selection")
    return Select(argument.operand, argument.field, test=True)


def _variable_name(node: Node) -> str:
    if not isinstance(node, Ident):
        raise ExpressionError("the variable of a macro must be a simple name")
    if node.name == ACCUMULATOR:
        raise ExpressionError(f"a variable cannot be called {ACCUMULATOR}")
    return node.name


def _variable_names(nodes: list[Node]) -> tuple[str, ...]:
    names = tuple(_variable_name(node) for node in nodes)
    if len(set(names)) < len(names):
        raise ExpressionError(f"the variable {names[0]} is named twice")
    return names


def _make_bind(name: str, value: Node, body: Node) -> Node:
    return Fold(BIND, ListExpr([]), ("#unused",), name, value, Literal(False), Ident(name), body, value=body)


def _make_quantifier(kind: str, count: int) -> Callable[[Node, list[Node]], Node]:
    """Return the macro ``all``, ``exists`` or ``exists_one`` with ``count`` variables."""

    def expand(target: Node, args: list[Node]) -> Node:
        accumulator, condition = Ident(ACCUMULATOR), args[count]
        holds: Node = Literal(True)
        result: Node = accumulator
        if kind == ALL:
            start, step = Literal(True), Call(AND, [accumulator, condition])
            holds = Call(NOT_STRICTLY_FALSE, [accumulator])
        elif kind == EXISTS:
            start, step = Literal(False), Call(OR, [accumulator, condition])
            holds = Call(NOT_STRICTLY_FALSE, [Call(NOT, [accumulator])])
        else:
            more = Call(BINARY["+"], [accumulator, Literal(1)])
            start, step = Literal(0), Call(CONDITIONAL, [condition, more, accumulator])
            result = Call(BINARY["=="], [accumulator, Literal(1)])
        variables = _variable_names(args[:count])
        return Fold(kind, target, variables, ACCUMULATOR, start, holds, step, result, filter=condition)

    return expand


def _make_collector(kind: str, count: int, *, filtered: bool) -> Callable[[Node, list[Node]], Node]:
    """Return a macro that collects its last argument in a list or map, if ``filtered`` after a condition."""

    def expand(target: Node, args: list[Node]) -> Node:
        return _make_collection(
            kind, target, _variable_names(args[:count]), args[count] if filtered else None, args[-1]
        )

    return expand


def _make_collection(kind: str, target: Node, variables: tuple[str, ...], condition: Node | None, value: Node) -> Node:
    accumulator = Ident(ACCUMULATOR)
    step: Node = Call(BINARY["+"], [accumulator, ListExpr([value])])
    if kind == MAP:
        step = Call(INSERT, [accumulator, Ident(variables[0]), value])
    elif kind == ENTRIES:
        step = Call(INSERT, [accumulator, value])
    if condition:
        step = Call(CONDITIONAL, [condition, step, accumulator])
    start: Node = ListExpr([]) if kind == LIST else MapExpr([])
    return Fold(
        kind, target, variables, ACCUMULATOR, start, Literal(True), step, accumulator, filter=condition, value=value
    )


def _make_filter(target: Node, args: list[Node]) -> Node:
    return _make_collection(LIST, target, _variable_names(args[:1]), args[1], args[0])


def _sort_by(target: Node, args: list[Node]) -> Node:
    if isinstance(target, Literal | MapExpr):
        raise ExpressionError(
            "sortBy can only be applied to a list, identifier, comprehension, call or select expression"
        )
    keys = _make_collection(LIST, Ident(_SORTED), _variable_names(args[:1]), None, args[1])
    return _make_bind(_SORTED, target, Call(SORT_BY_KEYS, [keys], Ident(_SORTED)))


def _opt_map(target: Node, args: list[Node]) -> Node:
    mapped = _make_bind(_variable_name(args[0]), Call("value", [], target), args[1])
    return _if_present(target, Call("of", [mapped], Ident("optional")))


def _opt_flat_map(target: Node, args: list[Node]) -> Node:
    return _if_present(target, _make_bind(_variable_name(args[0]), Call("value", [], target), args[1]))


def _if_present(target: Node, accepted: Node) -> Node:
    return Call(CONDITIONAL, [Call("hasValue", [], target), accepted, Call("none", [], Ident("optional"))])


_MACROS: dict[tuple[str, int], Callable[[Node, list[Node]], Node]] = {
    ("all", 2): _make_quantifier(ALL, 1),
    ("all", 3): _make_quantifier(ALL, 2),
    ("exists", 2): _make_quantifier(EXISTS, 1),
    ("exists", 3): _make_quantifier(EXISTS, 2),
    ("exists_one", 2): _make_quantifier(EXISTS_ONE, 1),
    ("exists_one", 3): _make_quantifier(EXISTS_ONE, 2),
    ("existsOne", 2): _make_quantifier(EXISTS_ONE, 1),
    ("existsOne", 3): _make_quantifier(EXISTS_ONE, 2),
    ("map", 2): _make_collector(LIST, 1, filtered=False),
    ("map", 3): _make_collector(LIST, 1, filtered=True),
    ("filter", 2): _make_filter,
    ("transformList", 3): _make_collector(LIST, 2, filtered=False),
    ("transformList", 4): _make_collector(LIST, 2, filtered=True),
    ("transformMap", 3): _make_collector(MAP, 2, filtered=False),
    ("transformMap", 4): _make_collector(MAP, 2, filtered=True),
    ("transformMapEntry", 3): _make_collector(ENTRIES, 2, filtered=False),
    ("transformMapEntry", 4): _make_collector(ENTRIES, 2, filtered=True),
    ("sortBy", 2): _sort_by,
    ("optMap", 2): _opt_map,
    ("optFlatMap", 2): _opt_flat_map,
}
