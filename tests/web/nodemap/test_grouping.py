"""Nodes in groups by their labels: columns there and back, and labels that change while time passes."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kschedweb.web.nodemap import grouping
from kschedweb.web.nodemap.grouping import Grouping, Relabelled, make_groupings, pack_column, unpack_column


@given(st.lists(st.one_of(st.none(), st.integers(0, 70_000)), max_size=40))
def test_a_column_comes_back_as_it_was(numbers: list[int | None]) -> None:
    column = pack_column(np.array([np.nan if number is None else number for number in numbers], dtype=np.float64))
    present_numbers = [number for number in numbers if number is not None]
    assert column["bytes"] == (2 if max(present_numbers, default=0) >= grouping.NARROW else 1)
    absent = grouping.WIDE if column["bytes"] == 2 else grouping.NARROW
    expected = [absent if number is None else min(number, absent - 1) for number in numbers]
    assert unpack_column(column).tolist() == expected


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
    groupings = make_groupings(labels)
    assert [grouping.label for grouping in groupings] == ["zone", "instance type", "team"]
    team = groupings[2]
    assert [team.group_name(code) for code in team.codes.tolist()] == ["red", "red", "blue", "blue", "no team"]
    restored = Grouping.from_dict(team.to_dict())
    assert (restored.values, restored.codes.tolist()) == (team.values, team.codes.tolist())


def test_a_label_with_too_many_values_makes_no_groups_and_groupings_are_bounded() -> None:
    labels = [
        {"rack": str(number % 250), **{f"key-{key:02d}": str(number % 3) for key in range(40)}} for number in range(500)
    ]
    groupings = make_groupings(labels)
    assert "rack" not in [grouping.label for grouping in groupings]
    assert len(groupings) == grouping.MOST_GROUPINGS


@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.sampled_from(["", "red", "blue", "green"])),
        max_size=12,
    )
)
def test_at_each_time_a_node_is_in_the_group_that_its_labels_say_then(label_changes: list[tuple[int, str]]) -> None:
    labels: list[dict[str, str]] = [{"team": "red"}, {"team": "blue"}, {"team": "red"}, {}]
    later = [
        Relabelled(10.0 * (place // 2), node, {"team": team} if team else {})
        for place, (node, team) in enumerate(label_changes)
    ]
    (team,) = (
        Grouping.from_dict(json.loads(json.dumps(grouping.to_dict()))) for grouping in make_groupings(labels, later)
    )
    for time in (-1.0, 0.0, 9.9, 10.0, 35.0, 100.0):
        now = [node_labels.get("team", "") for node_labels in labels]
        for change in later:
            if change.time <= time:
                now[change.node] = change.labels.get("team", "")
        assert [team.values[code] for code in team.at_time(time).codes.tolist()] == now


def test_a_label_that_only_comes_later_groups_nodes_too_and_one_that_stays_has_no_shifts() -> None:
    zones = [{"topology.kubernetes.io/zone": name} for name in "ab"]
    labels = [*zones, {}, {}]
    later = [Relabelled(60.0, 2, zones[1]), Relabelled(90.0, 0, {**zones[0], "team": "x"})]
    zone, team = make_groupings(labels, later)
    assert [zone.group_name(code) for code in zone.codes.tolist()] == ["a", "b", "no zone", "no zone"]
    assert [zone.group_name(code) for code in zone.at_time(60.0).codes.tolist()] == ["a", "b", "b", "no zone"]
    assert (zone.shifts.times.tolist(), team.label) == ([60.0], "team")
    assert [team.group_name(code) for code in team.at_time(59.0).codes.tolist()] == ["no team"] * 4


def test_a_label_that_changes_all_the_time_makes_no_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grouping, "MOST_SHIFTS", 3)
    labels: list[dict[str, str]] = [{"state": "0", "team": "x"}, {"state": "0"}, {"state": "0"}]
    later = [Relabelled(float(time), 0, {"state": str(time % 2), "team": "x"}) for time in range(1, 5)]
    assert [grouping.label for grouping in make_groupings(labels, later)] == ["team"]


def test_a_grouping_that_was_stored_before_shifts_were_is_read() -> None:
    stored_grouping = {"label": "zone", "values": ["a", "b"], "codes": pack_column(np.array([0, 1, 1]))}
    assert Grouping.from_dict(stored_grouping).at_time(5.0).codes.tolist() == [0, 1, 1]
