"""From a checked expression to a function that computes it, put together from closures, one for each part."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kschedweb.engine.cel.calls import MEASURED, Code, applied, constant, measured, no_frame, watched
from kschedweb.engine.cel.checker import Checked
from kschedweb.engine.cel.effort import Frame, Run
from kschedweb.engine.cel.environment import DEVICE_NAME, Language
from kschedweb.engine.cel.errors import EvaluationError, Refused
from kschedweb.engine.cel.folds import Loop, bind, bound, fold
from kschedweb.engine.cel.functions import Function, Overload
from kschedweb.engine.cel.libraries import kubernetes, regex, standard
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


def planned(checked: Checked, language: Language) -> tuple[Run, int]:
    """What computes an expression, and how long its frame is; raises Refused."""
    planner = _Planner(checked.calls, keeps=language.keeps)
    return planner.plan(checked.root).run, planner.slots


class _Planner:
    def __init__(self, calls: dict[Call, tuple[Function, list[Overload]]], *, keeps: bool) -> None:
        self.calls, self.keeps = calls, keeps
        self.slots = _FIRST_SLOT
        self.scopes: list[dict[str, Code]] = []
        self.names = {function.name for function, _ in calls.values()}

    def plan(self, node: Node) -> Code:
        match node:
            case Literal():
                code = constant(node.value)
            case Ident():
                code = self.ident(node.name, global_=node.rooted and self.keeps)
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
                code = self.bound(node) if node.kind == BIND else self.fold(node)
        return code

    def ident(self, name: str, *, global_: bool) -> Code:
        for scope in () if global_ else reversed(self.scopes):
            if name in scope:
                return scope[name]
        if name != DEVICE_NAME:
            return constant(TypeName(name))
        return _follow(Path(lambda frame: frame[0].fields, variable=True, from_device=True, keeps=self.keeps))

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

        return Code(test, panics=code.panics)

    def step(self, before: Code, step: Step, panics: bool = False) -> Code:
        return _follow((before.path or Path(before.run, keeps=self.keeps)).then(step), panics or before.panics)

    def call(self, node: Call) -> Code:
        if node.function == OPTIONAL_SELECT:
            operand, name = node.args
            assert isinstance(name, Literal)
            return self.step(self.plan(operand), Step(name.value, optional=True))
        function, overloads = self.calls[node]
        # A target that is no parameter is part of the function's name.
        with_target = node.target is not None and overloads[0].member
        nodes = ([node.target] if with_target and node.target else []) + node.args
        args = [self.plan(arg) for arg in nodes]
        if len(args) == 2 and (function.run or len(overloads) == 1) and args[1].panics:
            args[0] = watched(*args)
        if function.name == IN:
            return self.member(function, overloads, args)
        special = _SPECIAL.get(function.name)
        if special:
            return special(self, args, overloads)
        if function.name in regex.CONSTANT:
            run = self.pattern(node, function, args)
            if run:
                return applied(function.name, run, args)
        shared = bool(nodes) and not (isinstance(nodes[0], Call) and nodes[0].function in kubernetes.FRESH)
        return self.applied(function, overloads, args, shared=shared)

    def pattern(self, node: Call, function: Function, args: list[Code]) -> Callable[..., Value] | None:
        """What searches for a pattern that is written out; raises Refused where that is not understood."""
        if function.name == regex.MATCHES and isinstance(node.args[0], Literal):
            program(node.args[0].value)
        pattern = args[1].value
        if type(pattern) is not str:
            return None
        program(pattern)
        return regex.CONSTANT[function.name]

    def applied(self, function: Function, overloads: list[Overload], args: list[Code], *, shared: bool = False) -> Code:
        """A call; ``shared``: its first value may be used elsewhere too."""
        only = overloads[0] if len(overloads) == 1 else None
        run = function.run or (function.only(only) if only else function.dispatch)
        if shared:
            run = kubernetes.keeping(function.name, run, self.names, sums=not self.keeps)
        what = MEASURED.get((function.name, len(args))) if only else None
        if what is not None:
            return Code(measured(function.name, run, [arg.run for arg in args], what), panics=True)
        code = applied(function.name, run, args)
        if function.name not in standard.CONVERSIONS or not args[0].constant:
            return code
        try:
            return constant(code.run(no_frame()))
        except EvaluationError as error:
            raise Refused(f"it has no value for any device: {error}") from None

    def member(self, function: Function, overloads: list[Overload], args: list[Code]) -> Code:
        """``element in within``; values that are written out are looked up."""
        element, within = args
        only_list = len(overloads) == 1 and overloads[0].params[1].kind == "list"
        if only_list and within.constant:
            run = member_of(element.run, within.value)
            if run:
                return Code(run, panics=True) if within.value else constant(False)
        return self.applied(function, overloads, args)

    def index(self, args: list[Code], *, optional: bool) -> Code:
        before, key = args
        is_device = key.path is not None and key.path.from_device and not key.path.steps
        if not key.constant and not is_device:
            return self.step(before, Step(run=key.run, optional=optional), key.panics)
        if type(key.value) not in KEYS:
            raise Refused("an index is no string, number or bool")
        return self.step(before, Step(key.value, optional=optional))

    def list_of(self, node: ListOf) -> Code:
        codes = [self.plan(part) for part in node.elements]
        run = made_list([code.run for code in codes], node.optional)
        known = all(code.constant for code in codes) and not node.optional
        return constant(run(no_frame())) if known else _coded(run, codes)

    def map_of(self, node: MapOf) -> Code:
        codes = [(self.plan(key), self.plan(value), optional) for key, value, optional in node.entries]
        run = made_map([(key.run, value.run, optional) for key, value, optional in codes])
        known = all(key.constant and value.constant and not optional for key, value, optional in codes)
        # A key may be none that can be looked up.
        return constant(run(no_frame())) if known else Code(run, panics=True)

    def fold(self, node: Fold) -> Code:
        over = self.plan(node.range)
        slots = tuple(self.slot() for _ in node.variables)
        self.scopes.append({name: self.variable(slot) for name, slot in zip(node.variables, slots, strict=True)})
        arguments = [self.plan(part) if part else None for part in (node.filter, node.value)]
        self.scopes.pop()
        condition, value = (argument.run if argument else None for argument in arguments)
        parts = [over, *(argument for argument in arguments if argument)]
        return _coded(fold(node.kind, Loop(over.run, slots, condition, value)), parts)

    def variable(self, slot: int) -> Code:
        return _follow(Path(lambda frame: frame[slot], variable=True, keeps=self.keeps))

    def bound(self, node: Fold) -> Code:
        slot = self.slot()
        start = self.plan(node.start)
        variable = _follow(Path(bound(slot, start.run), variable=True, keeps=self.keeps), start.panics)
        self.scopes.append({node.accumulator: variable})
        body = self.plan(node.result)
        self.scopes.pop()
        return _coded(bind(slot, body.run), [body])


def _follow(path: Path, panics: bool = False) -> Code:
    return Code(path.run(), path=path, panics=panics)


def _coded(run: Run, parts: list[Code], path: Path | None = None) -> Code:
    """What ``run`` computes from ``parts``."""
    return Code(run, path=path, panics=any(part.panics for part in parts))


def _conditional(planner: _Planner, args: list[Code], _: Any) -> Code:
    condition, *ways = args
    run = conditional(condition.run, *((way.run, planner.keeps or way.path is not None) for way in ways))
    return _coded(run, args, Path(run, keeps=planner.keeps))


def _or_else(planner: _Planner, args: list[Code], *, unpacked: bool) -> Code:
    return _coded(or_else(args[0].run, args[1].run, unpacked=unpacked, others=not planner.keeps), args)


def _equality(args: list[Code], *, negative: bool) -> Code:
    left, right = args
    return _coded(equality(left.run, right.run, right.value, negative=negative), args)


_Special = Callable[[_Planner, list[Code], list[Overload]], Code]
_SPECIAL: dict[str, _Special] = {
    AND: lambda _, args, __: _coded(conjunction([arg.run for arg in args]), args),
    OR: lambda _, args, __: _coded(disjunction([arg.run for arg in args]), args),
    CONDITIONAL: _conditional,
    BINARY["=="]: lambda _, args, __: _equality(args, negative=False),
    BINARY["!="]: lambda _, args, __: _equality(args, negative=True),
    INDEX: lambda planner, args, _: planner.index(args, optional=False),
    OPTIONAL_INDEX: lambda planner, args, _: planner.index(args, optional=True),
    "or": lambda planner, args, _: _or_else(planner, args, unpacked=False),
    "orValue": lambda planner, args, _: _or_else(planner, args, unpacked=True),
}
