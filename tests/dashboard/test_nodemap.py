"""Node maps: columns there and back, groups by labels, and what a map says without being drawn."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kschedweb.dashboard import nodemap
from kschedweb.dashboard.nodemap import CORDONED, FULL_STATE, NOT_READY, WITH_PODS, WITHOUT_POD, Grouping, Now
from kschedweb.errors import Unprocessable


@given(st.lists(st.one_of(st.none(), st.integers(0, 70_000)), max_size=40))
def test_a_column_comes_back_as_it_was(numbers: list[int | None]) -> None:
    column = nodemap.packed(np.array([np.nan if one is None else one for one in numbers], dtype=np.float64))
    known = [one for one in numbers if one is not None]
    assert column["bytes"] == (2 if max(known, default=0) >= nodemap.NARROW else 1)
    absent = nodemap.WIDE if column["bytes"] == 2 else nodemap.NARROW
    expected = [absent if one is None else min(one, absent - 1) for one in numbers]
    assert nodemap.unpacked(column).tolist() == expected


def test_nodes_are_grouped_by_what_tells_them_apart() -> None:
    labels = [
        {
            "topology.kubernetes.io/zone": f"zone-{number % 2}",
            "beta.kubernetes.io/instance-type": "large",
            "kubernetes.io/hostname": f"node-{number}",
            "kubernetes.io/os": "linux",
            "team": "red" if number < 2 else "blue",
        }
        for number in range(5)
    ]
    del labels[4]["team"]
    found = nodemap.groupings(labels)
    assert [one.label for one in found] == ["zone", "instance type", "team"]
    team = found[2]
    assert [team.words(code) for code in team.codes.tolist()] == ["red", "red", "blue", "blue", "no team"]
    again = Grouping.of(team.to_dict())
    assert (again.values, again.codes.tolist()) == (team.values, team.codes.tolist())


def test_a_label_with_too_many_values_makes_no_groups_and_groupings_are_bounded() -> None:
    labels = [
        {"rack": str(number % 250), **{f"key-{key:02d}": str(number % 3) for key in range(40)}} for number in range(500)
    ]
    found = nodemap.groupings(labels)
    assert "rack" not in [one.label for one in found]
    assert len(found) == nodemap.MOST_GROUPINGS


def test_a_state_that_needs_a_person_covers_how_full_a_node_is() -> None:
    pods = np.array([0, 3, 9, 9, 9, np.nan])
    fullest = np.array([0, 50, 95, 99, 10, 0])
    cordoned = np.array([False, False, False, True, True, False])
    ready = np.array([True, True, True, True, False, False])
    found = nodemap.states(pods, fullest, cordoned, ready)
    assert found[:5].tolist() == [WITHOUT_POD, WITH_PODS, FULL_STATE, CORDONED, NOT_READY]
    assert np.isnan(found[5])


def zoned(show: nodemap.Show, values: list[float], pods: list[float]) -> tuple[Now, Grouping]:
    zone = Grouping("zone", ["", "a"], np.array([1, 1, 0, 1], dtype=np.int32))
    names = ["one", "two", "three", "four"]
    return Now(names, [zone], show, np.array(values), np.array(pods), "After 3 s"), zone


def test_a_map_says_what_it_shows_in_one_sentence_and_as_tables() -> None:
    now, zone = zoned(nodemap.requested("cpu"), [10.4, 90.6, np.nan, 50], [1, 7, np.nan, 0])
    assert now.summary() == (
        "After 3 s 3 nodes have CPU: 50 % is requested on average, 91 % of the fullest; 1 without a pod."
    )
    assert now.group_table(zone) == (
        ["Zone", "Nodes", "Mean (%)", "Most (%)", "Pods", "Without a pod"],
        [["a", 3, 50.3, 90.6, 8, 1]],
    )
    head, rows = now.node_table(zone)
    assert head == ["Node", "Zone", "CPU requested (%)", "Pods"]
    assert rows == [["two", "a", 90.6, 7], ["four", "a", 50, 0], ["one", "a", 10.4, 1]]
    assert now.node_table(zone, "no zone")[1] == []


def test_pods_and_states_are_counted() -> None:
    now, zone = zoned(nodemap.PODS, [1, 7, 0, 0], [1, 7, 0, 0])
    assert now.summary() == "After 3 s 4 nodes with 8 pods, at most 7 on one, 2 with none."
    assert now.node_table(zone)[1][0] == ["two", "a", 7]
    now, zone = zoned(nodemap.STATE, [WITHOUT_POD, NOT_READY, CORDONED, WITH_PODS], [0, 7, 1, 2])
    assert now.summary() == "After 3 s 4 nodes: 1 without a pod, 1 with pods, 0 full, 1 cordoned, 1 not ready."
    assert now.group_table(zone)[1] == [["no zone", 1, 0, 0, 0, 1, 0], ["a", 3, 1, 1, 0, 0, 1]]
    assert now.node_table(zone, "a")[1][0] == ["two", "a", "not ready", 7]


def test_more_nodes_than_a_map_draws_are_refused_with_what_to_do() -> None:
    with pytest.raises(Unprocessable, match="at most 20,000 nodes, these are 20,001: filter them first"):
        nodemap.bounded(20_001)
