"""Node maps: what a map says without being drawn."""

from __future__ import annotations

import numpy as np
import pytest

from kschedweb.playground.runs.charts import heatmap_chart
from kschedweb.playground.runs.maps.frames import Frames, heatmap_rows
from kschedweb.web.errors import Unprocessable
from kschedweb.web.nodemap import nodemap
from kschedweb.web.nodemap.grouping import Grouping
from kschedweb.web.nodemap.nodemap import CORDONED, FULL_STATE, NOT_READY, WITH_PODS, WITHOUT_POD, MapState


def test_a_state_that_needs_a_person_covers_how_full_a_node_is() -> None:
    pods = np.array([0, 3, 9, 9, 9, np.nan])
    fullest = np.array([0, 50, 95, 99, 10, 0])
    is_cordoned = np.array([False, False, False, True, True, False])
    ready = np.array([True, True, True, True, False, False])
    node_states = nodemap.classify_states(pods, fullest, is_cordoned, ready)
    assert node_states[:5].tolist() == [WITHOUT_POD, WITH_PODS, FULL_STATE, CORDONED, NOT_READY]
    assert np.isnan(node_states[5])


def map_with_zones(show: nodemap.NodeColouring, values: list[float], pods: list[float]) -> tuple[MapState, Grouping]:
    zone = Grouping("zone", ["", "a"], np.array([1, 1, 0, 1], dtype=np.int32))
    names = ["one", "two", "three", "four"]
    return MapState(names, [zone], show, np.array(values), np.array(pods), "After 3 s"), zone


def test_map_and_heatmap_say_one_mean() -> None:
    """Of the nodes' values as they are, not of rounded ones, which would be 48 here."""
    values = [47.6, 47.6, np.nan, 47.1]
    now, _ = map_with_zones(nodemap.show_requested("cpu"), values, [1, 7, np.nan, 0])
    assert "47 % requested on average, 48 % on the fullest" in now.summary()
    frames = Frames(np.array([0.0, 3.0]), list(now.names), np.array([values, values], dtype=np.float32))
    summary = heatmap_chart(frames, heatmap_rows(frames), now.show, 3.0).summary
    assert "at the end the mean is 47 %, the most 48 %" in summary


def test_a_map_says_what_it_shows_in_one_sentence_and_as_tables() -> None:
    now, zone = map_with_zones(nodemap.show_requested("cpu"), [10.4, 90.6, np.nan, 50], [1, 7, np.nan, 0])
    assert now.summary() == (
        "After 3 s, CPU of 3 nodes: 50 % requested on average, 91 % on the fullest; 1 node without a pod."
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
    now, zone = map_with_zones(nodemap.PODS, [1, 7, 0, 0], [1, 7, 0, 0])
    assert now.summary() == "After 3 s, 4 nodes with 8 pods, at most 7 on one, 2 with none."
    assert now.node_table(zone)[1][0] == ["two", "a", 7]
    now, zone = map_with_zones(nodemap.STATE, [WITHOUT_POD, NOT_READY, CORDONED, WITH_PODS], [0, 7, 1, 2])
    assert now.summary() == "After 3 s, 4 nodes: 1 without a pod, 1 with pods, 0 full, 1 cordoned, 1 not ready."
    assert now.group_table(zone)[1] == [["no zone", 1, 0, 0, 0, 1, 0], ["a", 3, 1, 1, 0, 0, 1]]
    assert now.node_table(zone, "a")[1][0] == ["two", "a", "not ready", 7]


def test_more_nodes_than_a_map_draws_are_refused_with_what_to_do() -> None:
    with pytest.raises(Unprocessable, match="at most 20,000 nodes, these are 20,001: filter them first"):
        nodemap.check_node_count(20_001)
