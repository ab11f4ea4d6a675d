"""Calls of functions: how their values are put together, and what kube-scheduler's own bookkeeping makes of errors."""

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

# Functions whose effort grows with their values, and by how much if not as these do.
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


# Functions that kube-scheduler measures, by the number of their values: which of these it measures, as a list or int.
FIRST, KEYS, LEVEL = 0, 1, 2
MEASURED = {("distinct", 1): FIRST, ("sort", 1): FIRST, (SORT_BY_KEYS, 2): KEYS, ("flatten", 2): LEVEL}
_ADDABLE = frozenset((str, bytes, int, Uint, float))


@dataclass(frozen=True, slots=True)
class Code:
    """What computes a part. ``value`` is there where kube-scheduler knows it beforehand.

    ``path`` is there where dots and brackets after the part prolong a way. ``invariant``: it has one value for all
    devices. ``panics``: it may end the whole evaluation.
    """

    run: Run
    value: Value = MISSING
    path: Path | None = None
    invariant: bool = False
    panics: bool = False

    @property
    def is_constant(self) -> bool:
        return self.value is not MISSING


def make_constant(value: Value) -> Code:
    return Code(lambda _: value, value, invariant=True)


def no_frame() -> Frame:
    """For what needs no device."""
    return [None, BUDGET]


def apply_function(name: str, run: Callable[..., Value], args: list[Code]) -> Code:
    """A call of ``run``; computed at once where its values are known, unless that fails."""
    invariant, panics = all(arg.invariant for arg in args), name == IN or any(arg.panics for arg in args)
    code = Code(_make_call(run, [arg.run for arg in args], _GROWING.get(name)), invariant=invariant, panics=panics)
    if not invariant:
        return code
    checkpoint()
    try:
        value = code.run(no_frame())
    except (EvaluationError, Panicked, ExpressionError):
        return code
    return Code(lambda _: value, invariant=True)


def _make_call(run: Callable[..., Value], args: list[Run], growing: Callable[..., int] | None) -> Run:
    if growing:

        def run_measured(frame: Frame) -> Value:
            values = [arg(frame) for arg in args]
            spend_steps(frame, growing(*values))
            return run(*values)

        return run_measured
    if len(args) == 1:
        (only,) = args
        return lambda frame: run(only(frame))
    if len(args) == 2:
        first, second = args
        return lambda frame: run(first(frame), second(frame))
    return lambda frame: run(*[arg(frame) for arg in args])


def with_both_evaluated(first: Code, second: Code) -> Code:
    """``first``, of two values that are both computed before kube-scheduler looks at the errors of either."""

    def run(frame: Frame) -> Value:
        try:
            return first.run(frame)
        except EvaluationError:
            with suppress(EvaluationError):
                second.run(frame)
            raise

    return replace(first, run=run)


def measured_call(name: str, run: Callable[..., Value], args: list[Run], measure: int) -> Run:
    """A call of a function that kube-scheduler measures: it panics where what it measures is not there.

    ``measure`` is ``FIRST`` for the list that is the first value, ``KEYS`` for the one that is the second, ``LEVEL``
    for the number that is the second.
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
