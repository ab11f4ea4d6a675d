"""PrioritySort: the more important pod first, and of equals the one that waits longer."""

from __future__ import annotations

from functools import cmp_to_key

from hypothesis import given
from hypothesis import strategies as st

from kschedweb.engine import Pod
from kschedweb.engine.plugins.prioritysort import PrioritySort
from tests.engine.builders import pod

SORT = PrioritySort({})
Queued = tuple[Pod, float]


def queued(priority: int | None, at: float) -> Queued:
    raw = pod("p")
    if priority is not None:
        raw["spec"]["priority"] = priority
    return Pod.from_json(raw), at


def compare(a: Queued, b: Queued) -> int:
    return less(b, a) - less(a, b)


def less(a: Queued, b: Queued) -> bool:
    return SORT.less(*a, *b)


def test_priority_goes_before_time() -> None:
    assert less(queued(10, 2.0), queued(5, 1.0))
    assert not less(queued(5, 1.0), queued(10, 2.0))
    assert less(queued(5, 1.0), queued(5, 2.0))
    assert not less(queued(5, 1.0), queued(5, 1.0))


def test_no_priority_is_0() -> None:
    assert less(queued(None, 1.0), queued(0, 2.0))
    assert less(queued(0, 1.0), queued(None, 2.0))
    assert less(queued(None, 2.0), queued(-1, 1.0))


@given(st.lists(st.tuples(st.integers(-(2**31), 2**31 - 1), st.floats(0, 100)), max_size=6))
def test_it_orders_all_pods(drawn: list[tuple[int, float]]) -> None:
    pods = [queued(*priority_and_time) for priority_and_time in drawn]
    ordered = sorted(pods, key=cmp_to_key(compare))
    assert [(queued_pod.priority, at) for queued_pod, at in ordered] == sorted(
        drawn, key=lambda item: (-item[0], item[1])
    )
