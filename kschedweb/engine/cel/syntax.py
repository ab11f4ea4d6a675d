"""The syntax tree of an expression. Nodes compare by identity."""

from __future__ import annotations

from typing import Any

from kschedweb.engine.values import dataclass

# cel-go's names of the operators as functions; some of kube-scheduler's errors show them.
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
    """An identifier."""

    name: str
    # True after a leading dot, `.name`.
    rooted: bool = False


@dataclass(slots=True, eq=False)
class Select(Node):
    """A field selection, ``operand.field``."""

    operand: Node
    field: str
    # True for `has(operand.field)`.
    test: bool = False


@dataclass(slots=True, eq=False)
class Call(Node):
    """A call of a function or an operator."""

    function: str
    args: list[Node]
    # The node before the dot of `target.function(…)`.
    target: Node | None = None


@dataclass(slots=True, eq=False)
class ListExpr(Node):
    """A list, ``[a, ?b]``."""

    elements: list[Node]
    # Indexes of the elements with a question mark.
    optional: frozenset[int] = frozenset()


@dataclass(slots=True, eq=False)
class MapExpr(Node):
    """A map, ``{a: b, ?c: d}``."""

    # (key, value, has a question mark).
    entries: list[tuple[Node, Node, bool]]


@dataclass(slots=True, eq=False)
class Fold(Node):
    """The expansion of a macro over a list or map, cel-go's comprehension.

    The checker types all of it; the planner uses ``kind``, ``filter`` and ``value`` only.
    """

    # The macro: one of the constants in `macros`.
    kind: str
    # The list or map that the macro iterates over.
    range: Node
    variables: tuple[str, ...]
    accumulator: str
    # Initial value of the accumulator.
    start: Node
    # The iteration goes on while it holds.
    condition: Node
    # Value of the accumulator after each element.
    step: Node
    # Value of the whole, computed from the last accumulator.
    result: Node
    # The condition among the macro's arguments.
    filter: Node | None = None
    # The value among the macro's arguments.
    value: Node | None = None
