"""The parts of a parsed expression. Two parts are equal only if they are the same one."""

from __future__ import annotations

from typing import Any

from kschedweb.engine.values import dataclass

# The names under which operators are declared as functions; kube-scheduler's words show some of them.
AND, OR, NOT, NEGATE, CONDITIONAL = "_&&_", "_||_", "!_", "-_", "_?_:_"
INDEX, OPTIONAL_INDEX, OPTIONAL_SELECT, IN = "_[_]", "_[?_]", "_?._", "@in"
BINARY = {sign: f"_{sign}_" for sign in ("+", "-", "*", "/", "%", "<", "<=", ">", ">=", "==", "!=")} | {"in": IN}


@dataclass(slots=True, eq=False)
class Node:
    """A part of an expression."""


@dataclass(slots=True, eq=False)
class Literal(Node):
    """A value written out: None, bool, int, Uint, float, str or bytes."""

    value: Any


@dataclass(slots=True, eq=False)
class Ident(Node):
    """A name; ``rooted``: after a dot, ``.name``."""

    name: str
    rooted: bool = False


@dataclass(slots=True, eq=False)
class Select(Node):
    """``operand.field``; ``test``: only whether it is there, ``has(operand.field)``."""

    operand: Node
    field: str
    test: bool = False


@dataclass(slots=True, eq=False)
class Call(Node):
    """A function or operator; ``target`` is what stands before the dot of ``target.function(…)``."""

    function: str
    args: list[Node]
    target: Node | None = None


@dataclass(slots=True, eq=False)
class ListExpr(Node):
    """``[a, ?b]``; ``optional`` holds the places of those with a question mark."""

    elements: list[Node]
    optional: frozenset[int] = frozenset()


@dataclass(slots=True, eq=False)
class MapExpr(Node):
    """``{a: b, ?c: d}`` as (key, value, optional)."""

    entries: list[tuple[Node, Node, bool]]


@dataclass(slots=True, eq=False)
class Fold(Node):
    """What a macro over a list or map stands for.

    Its type follows from all of it: ``step`` computes ``accumulator`` anew for each element while ``condition`` holds,
    ``result`` is taken from the last. ``kind`` says which macro it was, ``filter`` and ``value`` are its arguments.
    """

    kind: str
    range: Node
    variables: tuple[str, ...]
    accumulator: str
    start: Node
    condition: Node
    step: Node
    result: Node
    filter: Node | None = None
    value: Node | None = None
