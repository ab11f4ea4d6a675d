"""Calls of functions: evaluation of their arguments, cost, and the panics of kube-scheduler's cost estimate."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from kschedweb.engine.cel.cost import BUDGET, Frame, Run, count_elements, spend_steps
from kschedweb.engine.cel.errors import EvaluationError, ExpressionError, Panicked
from kschedweb.engine.cel.libraries import lists, regex, strings
from kschedweb.engine.cel.macros import SORT_BY_KEYS
from kschedweb.engine.cel.paths import Path
from kschedweb.engine.cel.syntax import BINARY, IN
from kschedweb.engine.cel.values import LISTS, MISSING, Uint, Value, go_name
from kschedweb.engine.patience import checkpoint
from kschedweb.engine.values import dataclass

# Functions whose effort depends on the size of their values, with the steps it takes.
_GROWING: dict[str, Callable[..., int]] = {
    **dict.fromkeys(strings.LIBRARY.functions, lambda *values: sum(map(count_elements, values))),
    **dict.fromkeys(
        (*lists.LIBRARY.functions, *lists.INCLUDES.functions, IN, BINARY["+"]),
        lambda *values: sum(map(count_elements, values)),
    ),
    **dict.fromkeys(regex.LIBRARY.functions, regex.search_cost),
    **dict.fromkeys(
        ("sets.contains", "sets.equivalent", "sets.intersects"),
        lambda first, second: count_elements(first) * count_elements(second),
    ),
    "distinct": lambda values: count_elements(values) ** 2,
}


# kube-scheduler tracks the cost of these functions, by (name, number of values), and casts one value to a list or int
# for it: it panics if that value is an error or of another type.
FIRST, KEYS, LEVEL = 0, 1, 2
MEASURED = {("distinct", 1): FIRST, ("sort", 1): FIRST, (SORT_BY_KEYS, 2): KEYS, ("flatten", 2): LEVEL}
# Go names the first missing method of an interface: types with `Add` lack `Contains`.
_ADDABLE = frozenset((str, bytes, int, Uint, float))


@dataclass(frozen=True, slots=True)
class Code:
    """The code of one part of an expression."""

    # Computes the value from a frame.
    run: Run
    # The value, where kube-scheduler's planner knows it as a constant; else MISSING.
    value: Value = MISSING
    # The path that a following selection or index extends, if any.
    path: Path | None = None
    # True if the value is the same for all devices.
    invariant: bool = False
    # True if it may end the whole evaluation.
    panics: bool = False

    @property
    def is_constant(self) -> bool:
        return self.value is not MISSING


def make_constant(value: Value) -> Code:
    """Return the code of a constant."""
    return Code(lambda _: value, value, invariant=True)


def no_frame() -> Frame:
    """Return a frame for code that needs no device."""
    return [None, BUDGET]


def apply_function(name: str, run: Callable[..., Value], args: list[Code]) -> Code:
    """Return the code of a call of ``run``, computed now if its values are invariant and it succeeds."""
    invariant, panics = all(arg.invariant for arg in args), name == IN or any(arg.panics for arg in args)
    code = Code(_make_call(run, [arg.run for arg in args], _GROWING.get(name)), invariant=invariant, panics=panics)
    if not invariant:
        return code
    checkpoint()
    try:
        value = code.run(no_frame())
    # An error belongs to the evaluation: `&&` or `||` may still absorb it there.
    except (EvaluationError, Panicked, ExpressionError):
        return code
    return Code(lambda _: value, invariant=True)


def _make_call(run: Callable[..., Value], args: list[Run], growing: Callable[..., int] | None) -> Run:
    """Return the code of a call that evaluates its arguments in order and, if ``growing``, spends its steps."""
    if growing:

        def run_measured(frame: Frame) -> Value:
            values = [arg(frame) for arg in args]
            spend_steps(frame, growing(*values))
            return run(*values)

        return run_measured
    # One and two arguments are the common cases; without a list they run faster.
    if len(args) == 1:
        (only,) = args
        return lambda frame: run(only(frame))
    if len(args) == 2:
        first, second = args
        return lambda frame: run(first(frame), second(frame))
    return lambda frame: run(*[arg(frame) for arg in args])


def with_both_evaluated(first: Code, second: Code) -> Code:
    """Return the code of ``first``, with ``second`` evaluated too where it fails.

    kube-scheduler evaluates both arguments before it looks at errors, so a panic of the second one still counts.
    """

    def run(frame: Frame) -> Value:
        try:
            return first.run(frame)
        except EvaluationError:
            with suppress(EvaluationError):
                second.run(frame)
            raise

    return replace(first, run=run)


def measured_call(name: str, run: Callable[..., Value], args: list[Run], measure: int) -> Run:
    """Return a call whose cost kube-scheduler tracks; it panics if the tracked value is of another type.

    ``measure`` tells which value is tracked: ``FIRST`` the list that comes first, ``KEYS`` the list that comes second,
    ``LEVEL`` the number that comes second.
    """
    effort = _GROWING[name]
    place, kinds = min(measure, KEYS), frozenset((int,)) if measure == LEVEL else LISTS

    def call(frame: Frame) -> Value:
        values: list[Value] = []
        problem: EvaluationError | None = None
        for at, arg in enumerate(args):
            try:
                values.append(arg(frame))
            except EvaluationError as error:
                if at == place:
                    raise _make_panic("*types.Err", measure, addable=False) from None
                problem = error
                values.append(None)
        if type(values[place]) not in kinds:
            raise _make_panic(go_name(values[place]), measure, addable=type(values[place]) in _ADDABLE)
        if problem:
            raise problem
        spend_steps(frame, effort(*values))
        return run(*values)

    return call


def _make_panic(name: str, measure: int, *, addable: bool) -> Panicked:
    if measure == LEVEL:
        return Panicked(f"internal error: interface conversion: ref.Val is {name}, not types.Int")
    method = "Contains" if addable else "Add"
    return Panicked(f"internal error: interface conversion: {name} is not traits.Lister: missing method {method}")
