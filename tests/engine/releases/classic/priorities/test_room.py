from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kschedweb.engine.releases.classic import Edition
from kschedweb.engine.releases.classic.catalogue import RESOURCE_LIMITS
from kschedweb.engine.releases.classic.priorities.room import broken_line
from tests.engine.builders import node, pod
from tests.engine.releases.classic.support import scores

SMALL = node("a", allocatable={"cpu": "1", "memory": "1000Mi"})
AMOUNTS = st.integers(0, 2**40)


def asking(cpu: int, memory: int) -> dict:
    return pod("p", requests={"cpu": f"{cpu}m", "memory": str(memory)})


def mapped(priority: str, raw: dict, *objects: dict, **how: Any) -> list[int]:
    return list(scores(priority, raw, *objects, **how)[0])


@given(st.integers(0, 3000), AMOUNTS, st.integers(0, 2000), AMOUNTS)
def test_least_and_most_requested_are_cut_as_whole_numbers_are(cpu: int, memory: int, cores: int, room: int) -> None:
    single_node = node("a", allocatable={"cpu": f"{cores}m", "memory": str(room)})

    def tenths(part: int, whole: int) -> int:
        return part * 10 // whole if whole else 0

    pairs = ((cpu, cores), (memory, room))
    least_requested = sum(tenths(whole - part, whole) if part <= whole else 0 for part, whole in pairs) // 2
    most_requested = sum(tenths(part, whole) if part <= whole else 0 for part, whole in pairs) // 2
    assert mapped("LeastRequestedPriority", asking(cpu, memory), single_node) == [least_requested]
    assert mapped("MostRequestedPriority", asking(cpu, memory), single_node) == [most_requested]


def test_who_does_not_ask_counts_with_100_m_and_200_mib() -> None:
    assert mapped("MostRequestedPriority", pod("p"), SMALL) == [(1 + 2) // 2]
    assert mapped("MostRequestedPriority", pod("p"), SMALL, pod("b", on="a")) == [(2 + 4) // 2]


@pytest.mark.parametrize(
    ("cpu", "mebibytes", "score"),
    [(500, 500, 10), (500, 250, 7), (1000, 100, 0), (0, 990, 0), (999, 0, 0), (300, 0, 7)],
)
def test_the_balance_is_what_the_shares_differ_by(cpu: int, mebibytes: int, score: int) -> None:
    assert mapped("BalancedResourceAllocation", asking(cpu, mebibytes << 20), SMALL) == [score]


@pytest.mark.parametrize(("cpu", "score"), [(0, 10), (250, 8), (500, 5), (1000, 0), (2000, 0)])
def test_without_an_argument_the_line_falls_from_ten_to_nought(cpu: int, score: int) -> None:
    memory = cpu << 20
    assert mapped("RequestedToCapacityRatioPriority", asking(cpu, memory), SMALL) == [score]


@given(
    st.lists(
        st.tuples(st.integers(0, 100), st.integers(0, 10)), min_size=1, max_size=5, unique_by=lambda point: point[0]
    )
)
def test_a_broken_line_passes_through_its_points_and_stays_between_them(points: list[tuple[int, int]]) -> None:
    points.sort()
    curve = broken_line(points).tolist()
    assert [curve[at] for at, _ in points] == [score for _, score in points]
    assert curve[0] == points[0][1]
    assert curve[100] == points[-1][1]
    for (left_end, low), (right, high) in pairwise(points):
        assert all(min(low, high) <= curve[at] <= max(low, high) for at in range(left_end, right + 1))


def test_a_shape_of_its_own_makes_a_priority_of_any_name() -> None:
    argument = {
        "requestedToCapacityRatioArguments": {
            "shape": [{"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}]
        }
    }
    assert mapped("Packing", asking(500, 500 << 20), SMALL, argument=argument) == [5]


def test_limits_that_the_node_could_meet_score_one() -> None:
    edition = Edition(gates=frozenset({RESOURCE_LIMITS}))
    raw = pod("p", container={"resources": {"limits": {"cpu": "2", "memory": "900Mi"}}})
    assert mapped("ResourceLimitsPriority", raw, SMALL, edition=edition) == [1]
    raw = pod("p", container={"resources": {"limits": {"cpu": "2"}}})
    assert mapped("ResourceLimitsPriority", raw, SMALL, edition=edition) == [0]
