"""Limits on the effort of one evaluation.

kube-scheduler has a budget of its own, counted differently and far higher than ours for any device selector. `patience`
limits the time of a whole request.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from kschedweb.engine.cel.errors import ExpressionError
from kschedweb.engine.cel.values import LISTS, Mapping, Value

# Steps of one evaluation: elements that macros iterate over and that operators and functions read.
BUDGET: Final = 200_000
# Elements of a list.
MAX_SIZE: Final = 50_000
# Characters of a string.
MAX_LENGTH: Final = 1_000_000
# Characters of a string that count as one step.
_CHARACTERS = 64
_TOO_MUCH = f"it takes more than {BUDGET} steps"

# [device, steps left, variable, variable, …]: a list, as macros write to it at each element.
Frame = list[Value]
Run = Callable[[Frame], Value]


def spend_steps(frame: Frame, steps: int) -> None:
    """Subtract ``steps`` from the budget; raise ExpressionError when it is exhausted."""
    frame[1] -= steps
    if frame[1] < 0:
        raise ExpressionError(_TOO_MUCH)


def check_size(size: int, limit: int = MAX_SIZE) -> None:
    """Raise ExpressionError if a list or string would get too long."""
    if size > limit:
        raise ExpressionError("it makes a list or string that is too long")


def count_elements(value: Value) -> int:
    """Return the steps that it takes to read all of a value; raise ExpressionError above the budget."""
    kind = type(value)
    if kind is str or kind is bytes:
        return len(value) // _CHARACTERS
    if kind not in LISTS and not isinstance(value, Mapping):
        return 0
    total, waiting = 0, [value]
    while waiting:
        inner = waiting.pop()
        if isinstance(inner, Mapping):
            waiting += inner.entries.values()
            total += len(inner.entries)
        elif type(inner) in LISTS:
            waiting += inner
            total += len(inner)
        if total > BUDGET:
            raise ExpressionError(_TOO_MUCH)
    return total
