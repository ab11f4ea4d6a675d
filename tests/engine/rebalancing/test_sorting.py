from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kschedweb.engine.rebalancing.pods import (
    BEST_EFFORT,
    BURSTABLE,
    GUARANTEED,
    PREFER_NO_EVICTION,
    PodView,
    read_pod_view,
)
from kschedweb.engine.rebalancing.sorting import sort_by_age, sort_by_priority
from tests.engine.rebalancing.building import pod

CLASSES = [BEST_EFFORT, BURSTABLE, GUARANTEED]


@st.composite
def views(draw: st.DrawFn) -> PodView:
    raw: dict[str, Any] = pod(f"p{draw(st.integers(0, 10**6))}", "a")
    if (priority := draw(st.sampled_from([None, 0, 10, 100]))) is not None:
        raw["spec"]["priority"] = priority
    raw["status"]["qosClass"] = draw(st.sampled_from(CLASSES))
    raw["metadata"]["annotations"] = {PREFER_NO_EVICTION: ""} if draw(st.booleans()) else {}
    raw["metadata"]["creationTimestamp"] = f"2026-01-{draw(st.integers(10, 28))}T00:00:00Z"
    return read_pod_view(raw, {})


@given(st.lists(views(), max_size=12))
def test_low_priority_goes_first_then_little_quality_then_those_who_do_not_mind(pods: list[PodView]) -> None:
    listed = list(pods)
    sort_by_priority(listed)
    assert sorted(map(id, listed)) == sorted(map(id, pods))
    keys = [
        (
            -1 if candidate.priority is None else candidate.priority,
            CLASSES.index(candidate.qos_class),
            PREFER_NO_EVICTION in candidate.annotations,
        )
        for candidate in listed
    ]
    assert keys == sorted(keys)


@given(st.lists(views(), max_size=40))
def test_the_oldest_goes_first(pods: list[PodView]) -> None:
    listed = list(pods)
    sort_by_age(listed)
    assert [candidate.created for candidate in listed] == sorted(candidate.created or 0.0 for candidate in pods)


def test_equal_pods_come_out_in_reverse() -> None:
    pods = [read_pod_view(pod(name, "a", priority=1), {}) for name in "abc"]
    sort_by_priority(pods)
    assert [candidate.name for candidate in pods] == ["c", "b", "a"]
