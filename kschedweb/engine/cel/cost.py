"""Keeps the effort of one computation within bounds: what goes over them is refused.

kube-scheduler has a budget too, counted in another way: what it affords to no device selector is far above ours. How
long all computations of one question may take together is for whoever asks to say (patience.py).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from kschedweb.engine.cel.errors import ExpressionError
from kschedweb.engine.cel.values import LISTS, Mapping, Value

BUDGET: Final = 200_000  # elements that macros go over, and that operators and functions look at
MAX_SIZE: Final = 50_000  # of a list
MAX_LENGTH: Final = 1_000_000  # of a string
_CHARACTERS = 64  # that count like one element
_TOO_MUCH = f"it takes more than {BUDGET} steps"

# The device, how many steps are left, then the variables.
Frame = list[Value]
Run = Callable[[Frame], Value]


def spend_steps(frame: Frame, steps: int) -> None:
    """Take ``steps`` from what is left; raises Refused where that is less."""
    frame[1] -= steps
    if frame[1] < 0:
        raise ExpressionError(_TOO_MUCH)


def check_size(size: int, limit: int = MAX_SIZE) -> None:
    """Raise Refused where a list or string would get too long."""
    if size > limit:
        raise ExpressionError("it makes a list or string that is too long")


def count_elements(value: Value) -> int:
    """How many steps it takes to look at all of a value; raises Refused where that is more than the budget."""
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
