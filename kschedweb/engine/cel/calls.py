"""Calls of functions: how their values are put together, and what kube-scheduler's own bookkeeping makes of errors."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from kschedweb.engine.cel.effort import BUDGET, Frame, Run, spend, weight
from kschedweb.engine.cel.errors import EvaluationError, Panicked, Refused
from kschedweb.engine.cel.libraries import lists, regex, strings
from kschedweb.engine.cel.macros import SORT_BY_KEYS
from kschedweb.engine.cel.paths import Path
from kschedweb.engine.cel.syntax import BINARY, IN
from kschedweb.engine.cel.values import LISTS, MISSING, Uint, Value, go_name
from kschedweb.engine.patience import checkpoint
from kschedweb.engine.values import dataclass

# Functions whose effort grows with their values, and by how much if not as these do.
_GROWING: dict[str, Callable[..., int]] = {
    **dict.fromkeys(strings.LIBRARY.functions, lambda *values: sum(map(weight, values))),
    **dict.fromkeys(
        (*lists.LIBRARY.functions, *lists.INCLUDES.functions, IN, BINARY["+"]), lambda *values: sum(map(weight, values))
    ),
    **dict.fromkeys(regex.LIBRARY.functions, regex.effort),
    **dict.fromkeys(
        ("sets.contains", "sets.equivalent", "sets.intersects"), lambda one, two: weight(one) * weight(two)
    ),
    "distinct": lambda values: weight(values) ** 2,
}


# Functions that kube-scheduler measures, by the number of their values: which of these it measures, as a list or int.
FIRST, KEYS, LEVEL = 0, 1, 2
MEASURED = {("distinct", 1): FIRST, ("sort", 1): FIRST, (SORT_BY_KEYS, 2): KEYS, ("flatten", 2): LEVEL}
_ADDABLE = frozenset((str, bytes, int, Uint, float))


@dataclass(frozen=True, slots=True)
class Code:
    """What computes a part. ``value`` is there where kube-scheduler knows it beforehand.

    ``path`` is there where dots and brackets after the part prolong a way. ``known``: it has one value for all devices.
    ``panics``: it may end the whole evaluation.
    """

    run: Run
    value: Value = MISSING
    path: Path | None = None
    known: bool = False
    panics: bool = False

    @property
    def constant(self) -> bool:
        return self.value is not MISSING


def constant(value: Value) -> Code:
    return Code(lambda _: value, value, known=True)


def no_frame() -> Frame:
    """For what needs no device."""
    return [None, BUDGET]


def applied(name: str, run: Callable[..., Value], args: list[Code]) -> Code:
    """A call of ``run``; computed at once where its values are known, unless that fails."""
    known, panics = all(arg.known for arg in args), name == IN or any(arg.panics for arg in args)
    code = Code(_calling(run, [arg.run for arg in args], _GROWING.get(name)), known=known, panics=panics)
    if not known:
        return code
    checkpoint()
    try:
        value = code.run(no_frame())
    except (EvaluationError, Panicked, Refused):
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


def watched(first: Code, second: Code) -> Code:
    """``first``, of two values that are both computed before kube-scheduler looks at the errors of either."""

    def run(frame: Frame) -> Value:
        try:
            return first.run(frame)
        except EvaluationError:
            with suppress(EvaluationError):
                second.run(frame)
            raise

    return replace(first, run=run)


def measured(name: str, run: Callable[..., Value], args: list[Run], what: int) -> Run:
    """A call of a function that kube-scheduler measures: it panics where what it measures is not there.

    ``what`` is ``FIRST`` for the list that is the first value, ``KEYS`` for the one that is the second, ``LEVEL`` for
    the number that is the second.
    """
    effort = _GROWING[name]
    place, kinds = min(what, KEYS), frozenset((int,)) if what == LEVEL else LISTS

    def call(frame: Frame) -> Value:
        values: list[Value] = []
        problem: EvaluationError | None = None
        for at, arg in enumerate(args):
            try:
                values.append(arg(frame))
            except EvaluationError as error:
                if at == place:
                    raise _panic("*types.Err", what, addable=False) from None
                problem = error
                values.append(None)
        if type(values[place]) not in kinds:
            raise _panic(go_name(values[place]), what, addable=type(values[place]) in _ADDABLE)
        if problem:
            raise problem
        spend(frame, effort(*values))
        return run(*values)

    return call


def _panic(name: str, what: int, *, addable: bool) -> Panicked:
    if what == LEVEL:
        return Panicked(f"internal error: interface conversion: ref.Val is {name}, not types.Int")
    method = "Contains" if addable else "Add"
    return Panicked(f"internal error: interface conversion: {name} is not traits.Lister: missing method {method}")
