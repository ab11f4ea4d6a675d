"""Planner: builds a function that computes a checked expression, from one closure for each part."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kschedweb.engine.cel.calls import (
    MEASURED,
    Code,
    apply_function,
    make_constant,
    measured_call,
    no_frame,
    with_both_evaluated,
)
from kschedweb.engine.cel.checker import CheckedExpr
from kschedweb.engine.cel.comprehensions import Loop, make_bind, make_comprehension, read_bound
from kschedweb.engine.cel.cost import Frame, Run
from kschedweb.engine.cel.environment import DEVICE_NAME, Language
from kschedweb.engine.cel.errors import EvaluationError, ExpressionError
from kschedweb.engine.cel.functions import Function, Overload
from kschedweb.engine.cel.libraries import kubernetes, regex, standard
from kschedweb.engine.cel.macros import BIND
from kschedweb.engine.cel.matching import compile_program
from kschedweb.engine.cel.operators import (
    conditional,
    conjunction,
    disjunction,
    equality,
    make_list,
    make_map,
    member_of,
    or_else,
)
from kschedweb.engine.cel.paths import KEYS, Path, PathStep
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
    ListExpr,
    Literal,
    MapExpr,
    Node,
    Select,
)
from kschedweb.engine.cel.values import MISSING, OptionalValue, TypeName, Value

# The slots before it hold the device and the steps left: see `cost.Frame`.
_FIRST_SLOT = 2


def plan_expression(checked: CheckedExpr, language: Language) -> tuple[Run, int]:
    """Return the function that computes an expression, and the length of its frame; raise ExpressionError."""
    planner = _Planner(checked.calls, typed_optionals=language.typed_optionals)
    return planner.plan_node(checked.root).run, planner.slots


class _Planner:
    """Turns nodes into code, as cel-go's planner does."""

    def __init__(self, calls: dict[Call, tuple[Function, list[Overload]]], *, typed_optionals: bool) -> None:
        self.calls, self.typed_optionals = calls, typed_optionals
        self.slots = _FIRST_SLOT
        self.scopes: list[dict[str, Code]] = []
        # Names of all functions that the expression calls.
        self.names = {function.name for function, _ in calls.values()}

    def plan_node(self, node: Node) -> Code:
        match node:
            case Literal():
                code = make_constant(node.value)
            case Ident():
                code = self.plan_ident(node.name, global_=node.rooted and self.typed_optionals)
            case Select():
                code = self.plan_select(node)
            case Call():
                code = self.plan_call(node)
            case ListExpr():
                code = self.plan_create_list(node)
            case MapExpr():
                code = self.plan_create_map(node)
            case _:
                assert isinstance(node, Fold)
                code = self.plan_bound(node) if node.kind == BIND else self.plan_comprehension(node)
        return code

    def plan_ident(self, name: str, *, global_: bool) -> Code:
        for scope in () if global_ else reversed(self.scopes):
            if name in scope:
                return scope[name]
        if name != DEVICE_NAME:
            return make_constant(TypeName(name))
        return _make_path_code(
            Path(
                lambda frame: frame[0].fields, is_variable=True, from_device=True, typed_optionals=self.typed_optionals
            )
        )

    def new_slot(self) -> int:
        self.slots += 1
        return self.slots - 1

    def plan_select(self, node: Select) -> Code:
        code = self.plan_step(self.plan_node(node.operand), PathStep(node.field, presence_test=node.test))
        if not node.test:
            return code
        run = code.run

        def test(frame: Frame) -> bool:
            value = run(frame)
            return value.value is not MISSING if type(value) is OptionalValue else bool(value)

        return Code(test, panics=code.panics)

    def plan_step(self, before: Code, step: PathStep, panics: bool = False) -> Code:
        return _make_path_code(
            (before.path or Path(before.run, typed_optionals=self.typed_optionals)).append_step(step),
            panics or before.panics,
        )

    def plan_call(self, node: Call) -> Code:
        """Return the code of a call, with the special forms that evaluate their own arguments."""
        if node.function == OPTIONAL_SELECT:
            operand, name = node.args
            assert isinstance(name, Literal)
            return self.plan_step(self.plan_node(operand), PathStep(name.value, optional=True))
        function, overloads = self.calls[node]
        # A target that is no parameter is a part of the function's name, as in `sets.contains`.
        with_target = node.target is not None and overloads[0].member
        nodes = ([node.target] if with_target and node.target else []) + node.args
        args = [self.plan_node(arg) for arg in nodes]
        # A panic of the second argument counts even if the first one fails.
        if len(args) == 2 and (function.run or len(overloads) == 1) and args[1].panics:
            args[0] = with_both_evaluated(*args)
        if function.name == IN:
            return self.plan_member(function, overloads, args)
        special = _SPECIAL.get(function.name)
        if special:
            return special(self, args, overloads)
        if function.name in regex.CONSTANT:
            run = self.plan_pattern(node, function, args)
            if run:
                return apply_function(function.name, run, args)
        shared = bool(nodes) and not (isinstance(nodes[0], Call) and nodes[0].function in kubernetes.FRESH)
        return self.plan_function_call(function, overloads, args, shared=shared)

    def plan_pattern(self, node: Call, function: Function, args: list[Code]) -> Callable[..., Value] | None:
        """Return the search for a constant pattern, None if it is not constant; raise ExpressionError."""
        if function.name == regex.MATCHES and isinstance(node.args[0], Literal):
            compile_program(node.args[0].value)
        pattern = args[1].value
        if type(pattern) is not str:
            return None
        compile_program(pattern)
        return regex.CONSTANT[function.name]

    def plan_function_call(
        self, function: Function, overloads: list[Overload], args: list[Code], *, shared: bool = False
    ) -> Code:
        """Return the code of a call; ``shared`` means that its first value may be used elsewhere too."""
        only = overloads[0] if len(overloads) == 1 else None
        run = function.run or (function.bind_overload(only) if only else function.dispatch)
        if shared:
            run = kubernetes.guard_mutation(function.name, run, self.names, sums=not self.typed_optionals)
        measure = MEASURED.get((function.name, len(args))) if only else None
        if measure is not None:
            return Code(measured_call(function.name, run, [arg.run for arg in args], measure), panics=True)
        code = apply_function(function.name, run, args)
        # cel-go folds conversions of constants when it plans, so a failing one fails the whole expression.
        if function.name not in standard.CONVERSIONS or not args[0].is_constant:
            return code
        try:
            return make_constant(code.run(no_frame()))
        except EvaluationError as error:
            raise ExpressionError(f"it has no value for any device: {error}") from None

    def plan_member(self, function: Function, overloads: list[Overload], args: list[Code]) -> Code:
        """Return the code of ``element in container``, with a set where the container is constant."""
        element, container = args
        only_list = len(overloads) == 1 and overloads[0].params[1].kind == "list"
        if only_list and container.is_constant:
            run = member_of(element.run, container.value)
            if run:
                return Code(run, panics=True) if container.value else make_constant(False)
        return self.plan_function_call(function, overloads, args)

    def plan_index(self, args: list[Code], *, optional: bool) -> Code:
        before, key = args
        # The bare variable as a key is refused below, like a constant of another type.
        is_device = key.path is not None and key.path.from_device and not key.path.steps
        if not key.is_constant and not is_device:
            return self.plan_step(before, PathStep(compute_key=key.run, optional=optional), key.panics)
        if type(key.value) not in KEYS:
            raise ExpressionError("an index is no string, number or bool")
        return self.plan_step(before, PathStep(key.value, optional=optional))

    def plan_create_list(self, node: ListExpr) -> Code:
        codes = [self.plan_node(part) for part in node.elements]
        run = make_list([code.run for code in codes], node.optional)
        all_constant = all(code.is_constant for code in codes) and not node.optional
        return make_constant(run(no_frame())) if all_constant else _make_code(run, codes)

    def plan_create_map(self, node: MapExpr) -> Code:
        codes = [(self.plan_node(key), self.plan_node(value), optional) for key, value, optional in node.entries]
        run = make_map([(key.run, value.run, optional) for key, value, optional in codes])
        all_constant = all(key.is_constant and value.is_constant and not optional for key, value, optional in codes)
        # A key may be of a type that cannot be hashed.
        return make_constant(run(no_frame())) if all_constant else Code(run, panics=True)

    def plan_comprehension(self, node: Fold) -> Code:
        over = self.plan_node(node.range)
        slots = tuple(self.new_slot() for _ in node.variables)
        self.scopes.append({name: self.plan_variable(slot) for name, slot in zip(node.variables, slots, strict=True)})
        arguments = [self.plan_node(part) if part else None for part in (node.filter, node.value)]
        self.scopes.pop()
        condition, value = (argument.run if argument else None for argument in arguments)
        parts = [over, *(argument for argument in arguments if argument)]
        return _make_code(make_comprehension(node.kind, Loop(over.run, slots, condition, value)), parts)

    def plan_variable(self, slot: int) -> Code:
        return _make_path_code(Path(lambda frame: frame[slot], is_variable=True, typed_optionals=self.typed_optionals))

    def plan_bound(self, node: Fold) -> Code:
        slot = self.new_slot()
        start = self.plan_node(node.start)
        variable = _make_path_code(
            Path(read_bound(slot, start.run), is_variable=True, typed_optionals=self.typed_optionals), start.panics
        )
        self.scopes.append({node.accumulator: variable})
        body = self.plan_node(node.result)
        self.scopes.pop()
        return _make_code(make_bind(slot, body.run), [body])


def _make_path_code(path: Path, panics: bool = False) -> Code:
    return Code(path.compile(), path=path, panics=panics)


def _make_code(run: Run, parts: list[Code], path: Path | None = None) -> Code:
    """Return the code of ``run``, which evaluates ``parts``."""
    return Code(run, path=path, panics=any(part.panics for part in parts))


def _plan_conditional(planner: _Planner, args: list[Code], _: Any) -> Code:
    condition, *branches = args
    run = conditional(
        condition.run, *((branch.run, planner.typed_optionals or branch.path is not None) for branch in branches)
    )
    return _make_code(run, args, Path(run, typed_optionals=planner.typed_optionals))


def _plan_or_else(planner: _Planner, args: list[Code], *, unpacked: bool) -> Code:
    return _make_code(or_else(args[0].run, args[1].run, unpacked=unpacked, lenient=not planner.typed_optionals), args)


def _plan_equality(args: list[Code], *, negative: bool) -> Code:
    lhs, rhs = args
    return _make_code(equality(lhs.run, rhs.run, rhs.value, negative=negative), args)


_Special = Callable[[_Planner, list[Code], list[Overload]], Code]
_SPECIAL: dict[str, _Special] = {
    AND: lambda _, args, __: _make_code(conjunction([arg.run for arg in args]), args),
    OR: lambda _, args, __: _make_code(disjunction([arg.run for arg in args]), args),
    CONDITIONAL: _plan_conditional,
    BINARY["=="]: lambda _, args, __: _plan_equality(args, negative=False),
    BINARY["!="]: lambda _, args, __: _plan_equality(args, negative=True),
    INDEX: lambda planner, args, _: planner.plan_index(args, optional=False),
    OPTIONAL_INDEX: lambda planner, args, _: planner.plan_index(args, optional=True),
    "or": lambda planner, args, _: _plan_or_else(planner, args, unpacked=False),
    "orValue": lambda planner, args, _: _plan_or_else(planner, args, unpacked=True),
}
