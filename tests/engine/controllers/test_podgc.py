"""Collection of pods whose nodes do not exist."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kschedweb.engine.controllers.podgc import PERIOD, QUARANTINE, PodCollection


def test_the_next_look_is_at_a_whole_number_of_periods() -> None:
    assert [PodCollection.next_time(time) for time in (0.0, 0.1, 20.0, 59.0)] == [0.0, 20.0, 20.0, 60.0]


def test_a_node_is_missed_for_the_whole_quarantine() -> None:
    collection = PodCollection()
    assert [collection.collect_nodes({"x"}, time) for time in (20.0, 40.0, 60.0)] == [set(), set(), {"x"}]


def test_a_node_that_came_meanwhile_keeps_its_pods() -> None:
    collection = PodCollection()
    collection.collect_nodes({"x"}, 0.0)
    assert collection.collect_nodes(set(), 40.0) == set()
    assert collection.collect_nodes({"x"}, 60.0) == set()
    assert collection.collect_nodes({"x"}, 100.0) == {"x"}


@given(st.lists(st.booleans(), min_size=8, max_size=30))
def test_pods_go_only_after_their_node_was_missed_for_a_quarantine(missing: list[bool]) -> None:
    collection, first = PodCollection(), None
    for turn, is_missing in enumerate(missing):
        now = turn * PERIOD
        collected = collection.collect_nodes({"x"} if is_missing else set(), now)
        first = (now if first is None else first) if is_missing or first is not None else None
        if collected:
            assert is_missing
            assert first is not None
            assert now - first >= QUARANTINE
