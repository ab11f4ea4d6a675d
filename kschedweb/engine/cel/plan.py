"""From a checked expression to a function that computes it, put together from closures, one for each part."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kschedweb.engine.cel.checker import Checked
from kschedweb.engine.cel.effort import BUDGET, Frame, Run, spend, weight
from kschedweb.engine.cel.environment import DEVICE_NAME
from kschedweb.engine.cel.errors import EvaluationError, Panicked, Refused
from kschedweb.engine.cel.folds import Loop, bind, bound, fold
from kschedweb.engine.cel.functions import Function, Overload
from kschedweb.engine.cel.libraries import lists, regex, standard, strings
from kschedweb.engine.cel.macros import BIND
from kschedweb.engine.cel.matching import program
from kschedweb.engine.cel.operators import (
    conditional,
    conjunction,
    disjunction,
    equality,
    made_list,
    made_map,
    member_of,
    or_else,
)
from kschedweb.engine.cel.paths import KEYS, Path, Step
from kschedweb.engine.cel.syntax import (
    AND,
    BINARY,
    CONDITIONAL,
    IN,
    INDEX,
    OPTIONAL_INDEX,
    OPTIONAL_SELECT,
    OR,
    Call,
    Fold,
    Ident,
    ListOf,
    Literal,
    MapOf,
    Node,
    Select,
)
from kschedweb.engine.cel.values import MISSING, Perhaps, TypeName, Value

_FIRST_SLOT = 2
# Functions whose effort grows with their values, and by how much if not as these do.
_GROWING: dict[str, Callable[..., int]] = {
    **dict.fromkeys(strings.LIBRARY.functions, lambda *values: sum(map(weight, values))),
    **dict.fromkeys((*lists.LIBRARY.functions, IN, BINARY["+"]), lambda *values: sum(map(weight, values))),
    **dict.fromkeys(regex.LIBRARY.functions, regex.effort),
    **dict.fromkeys(
        ("sets.contains", "sets.equivalent", "sets.intersects"), lambda one, two: weight(one) * weight(two)
    ),
    "distinct": lambda values: weight(values) ** 2,
}


@dataclass(frozen=True, slots=True)
class Code:
    """What computes a part. ``value`` is there where kube-scheduler knows it beforehand.

    ``path`` is there where dots and brackets after the part prolong a way. ``known``: it has one value for all devices.
    """

    run: Run
    value: Value = MISSING
    path: Path | None = None
    known: bool = False

    @property
    def constant(self) -> bool:
        return self.value is not MISSING


def planned(checked: Checked) -> tuple[Run, int]:
    """What computes an expression, and how long its frame is; raises Refused."""
    planner = _Planner(checked.calls)
    return planner.plan(checked.root).run, planner.slots


def constant(value: Value) -> Code:
    return Code(lambda _: value, value, known=True)


class _Planner:
    def __init__(self, calls: dict[Call, tuple[Function, list[Overload]]]) -> None:
        self.calls = calls
        self.slots = _FIRST_SLOT
        self.scopes: list[dict[str, Run]] = []

    def plan(self, node: Node) -> Code:
        match node:
            case Literal():
                code = constant(node.value)
            case Ident():
                code = self.ident(node.name)
            case Select():
                code = self.selected(node)
            case Call():
                code = self.call(node)
            case ListOf():
                code = self.list_of(node)
            case MapOf():
                code = self.map_of(node)
            case _:
                assert isinstance(node, Fold)
                code = Code(self.bound(node) if node.kind == BIND else self.fold(node))
        return code

    def ident(self, name: str) -> Code:
        for scope in reversed(self.scopes):
            if name in scope:
                return _follow(Path(scope[name], variable=True))
        if name != DEVICE_NAME:
            return constant(TypeName(name))
        return _follow(Path(lambda frame: frame[0].fields, variable=True, from_device=True))

    def slot(self) -> int:
        self.slots += 1
        return self.slots - 1

    def selected(self, node: Select) -> Code:
        code = self.step(self.plan(node.operand), Step(node.field, test=node.test))
        if not node.test:
            return code
        run = code.run

        def test(frame: Frame) -> bool:
            found = run(frame)
            return found.value is not MISSING if type(found) is Perhaps else bool(found)

        return Code(test)

    def step(self, before: Code, step: Step) -> Code:
        return _follow((before.path or Path(before.run)).then(step))

    def call(self, node: Call) -> Code:
        if node.function == OPTIONAL_SELECT:
            operand, name = node.args
            assert isinstance(name, Literal)
            return self.step(self.plan(operand), Step(name.value, optional=True))
        function, overloads = self.calls[node]
        # A target that is no parameter is part of the function's name.
        with_target = node.target is not None and overloads[0].member
        args = [self.plan(arg) for arg in ([node.target] if with_target and node.target else []) + node.args]
        if function.name == IN:
            return self.member(function, overloads, args)
        special = _SPECIAL.get(function.name)
        if special:
            return special(self, args, overloads)
        if function.name in regex.CONSTANT:
            run = self.pattern(node, function, args)
            if run:
                return _applied(function.name, run, args)
        return self.applied(function, overloads, args)

    def pattern(self, node: Call, function: Function, args: list[Code]) -> Callable[..., Value] | None:
        """What searches for a pattern that is written out; raises Refused where that is not understood."""
        if function.name == regex.MATCHES and isinstance(node.args[0], Literal):
            program(node.args[0].value)
        pattern = args[1].value
        if type(pattern) is not str:
            return None
        program(pattern)
        return regex.CONSTANT[function.name]

    def applied(self, function: Function, overloads: list[Overload], args: list[Code]) -> Code:
        run = function.run or (function.only(overloads[0]) if len(overloads) == 1 else function.dispatch)
        code = _applied(function.name, run, args)
        if function.name not in standard.CONVERSIONS or not args[0].constant:
            return code
        try:
            return constant(code.run(_no_frame()))
        except EvaluationError as error:
            raise Refused(f"it has no value for any device: {error}") from None

    def member(self, function: Function, overloads: list[Overload], args: list[Code]) -> Code:
        """``element in within``; values that are written out are looked up."""
        element, within = args
        only_list = len(overloads) == 1 and overloads[0].params[1].kind == "list"
        if only_list and within.constant:
            run = member_of(element.run, within.value)
            if run:
                return Code(run) if within.value else constant(False)
        return self.applied(function, overloads, args)

    def index(self, args: list[Code], *, optional: bool) -> Code:
        before, key = args
        if not key.constant:
            return self.step(before, Step(run=key.run, optional=optional))
        if type(key.value) not in KEYS:
            raise Refused("an index is no string, number or bool")
        return self.step(before, Step(key.value, optional=optional))

    def list_of(self, node: ListOf) -> Code:
        codes = [self.plan(part) for part in node.elements]
        run = made_list([code.run for code in codes], node.optional)
        return constant(run(_no_frame())) if all(code.constant for code in codes) and not node.optional else Code(run)

    def map_of(self, node: MapOf) -> Code:
        codes = [(self.plan(key), self.plan(value), optional) for key, value, optional in node.entries]
        run = made_map([(key.run, value.run, optional) for key, value, optional in codes])
        known = all(key.constant and value.constant and not optional for key, value, optional in codes)
        return constant(run(_no_frame())) if known else Code(run)

    def fold(self, node: Fold) -> Run:
        over = self.plan(node.range).run
        slots = tuple(self.slot() for _ in node.variables)
        self.scopes.append({name: _reading(slot) for name, slot in zip(node.variables, slots, strict=True)})
        condition = self.plan(node.filter).run if node.filter else None
        value = self.plan(node.value).run if node.value else None
        self.scopes.pop()
        return fold(node.kind, Loop(over, slots, condition, value))

    def bound(self, node: Fold) -> Run:
        slot = self.slot()
        start = self.plan(node.start).run
        self.scopes.append({node.accumulator: bound(slot, start)})
        body = self.plan(node.result).run
        self.scopes.pop()
        return bind(slot, body)


def _reading(slot: int) -> Run:
    return lambda frame: frame[slot]


def _follow(path: Path) -> Code:
    return Code(path.run(), path=path)


def _no_frame() -> Frame:
    """For what needs no device."""
    return [None, BUDGET]


def _applied(name: str, run: Callable[..., Value], args: list[Code]) -> Code:
    """A call of ``run``; computed at once where its values are known, unless that fails."""
    code = Code(_calling(run, [arg.run for arg in args], _GROWING.get(name)), known=all(arg.known for arg in args))
    if not code.known:
        return code
    try:
        value = code.run(_no_frame())
    except (EvaluationError, Panicked):
        return code
    return Code(lambda _: value, known=True)


def _calling(run: Callable[..., Value], args: list[Run], growing: Callable[..., int] | None) -> Run:
    if growing:

        def measured(frame: Frame) -> Value:
            values = [arg(frame) for arg in args]
            spend(frame, growing(*values))
            return run(*values)

        return measured
    if len(args) == 1:
        (only,) = args
        return lambda frame: run(only(frame))
    if len(args) == 2:
        first, second = args
        return lambda frame: run(first(frame), second(frame))
    return lambda frame: run(*[arg(frame) for arg in args])


def _conditional(_: _Planner, args: list[Code], __: Any) -> Code:
    condition, *ways = args
    run = conditional(condition.run, *((way.run, way.path is not None) for way in ways))
    return Code(run, path=Path(run))


def _equality(args: list[Code], *, negative: bool) -> Code:
    left, right = args
    return Code(equality(left.run, right.run, right.value, negative=negative))


_Special = Callable[[_Planner, list[Code], list[Overload]], Code]
_SPECIAL: dict[str, _Special] = {
    AND: lambda _, args, __: Code(conjunction([arg.run for arg in args])),
    OR: lambda _, args, __: Code(disjunction([arg.run for arg in args])),
    CONDITIONAL: _conditional,
    BINARY["=="]: lambda _, args, __: _equality(args, negative=False),
    BINARY["!="]: lambda _, args, __: _equality(args, negative=True),
    INDEX: lambda planner, args, _: planner.index(args, optional=False),
    OPTIONAL_INDEX: lambda planner, args, _: planner.index(args, optional=True),
    "or": lambda _, args, __: Code(or_else(args[0].run, args[1].run, unpacked=False)),
    "orValue": lambda _, args, __: Code(or_else(args[0].run, args[1].run, unpacked=True)),
}
