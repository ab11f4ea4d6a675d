"""Nodes that do work, at a time and over all of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kschedweb.engine.simulation import NodeJoins, NodeLeaves, PodArrives, SimulationEvent, SimulationSettings
from kschedweb.engine.studies.measure.measures import compute_measures
from kschedweb.engine.studies.measure.occupancy import empty_nodes, node_hours
from kschedweb.engine.studies.play.outcome import RunOutcome
from kschedweb.engine.studies.play.run import run_scenario
from kschedweb.engine.studies.prepare.prepared import PreparedScenario
from tests.engine.builders import node, pod
from tests.engine.studies.worlds import configuration, make_crowded_scenario
from tests.support import tiers


def owned(raw: dict[str, Any], kind: str) -> dict[str, Any]:
    owner = {"apiVersion": "v1", "kind": kind, "name": "owner", "controller": True}
    raw["metadata"] |= {"ownerReferences": [owner]}
    return raw


def test_a_node_with_nothing_but_pods_of_daemonsets_and_static_pods_is_empty() -> None:
    on_nodes = [
        owned(pod("agent-a", on="a"), "DaemonSet"),
        owned(pod("agent-b", on="b"), "DaemonSet"),
        owned(pod("etcd-c", on="c"), "Node"),
        owned(pod("web", on="b"), "ReplicaSet"),
        pod("bare", on="d"),
    ]
    outcome = run_scenario(PreparedScenario([*(node(name) for name in "abcd"), *on_nodes], [], 1800.0), configuration())
    assert empty_nodes(outcome, [0.0, 1800.0]).tolist() == [2, 2]
    assert compute_measures(outcome)["nodes_empty"].value == 2.0
    assert compute_measures(outcome)["node_hours"].value == 2.0  # four nodes, half an hour
    assert compute_measures(outcome)["node_hours_used"].value == 1.0


def test_hours_are_those_for_which_nodes_were_there_and_worked() -> None:
    events: list[SimulationEvent] = [
        PodArrives(600.0, pod("short"), 1200.0),
        NodeJoins(1800.0, node("late")),
        NodeLeaves(2700.0, "begun"),
    ]
    outcome = run_scenario(
        PreparedScenario([node("begun")], events, 3600.0, SimulationSettings(cycle=0.0)), configuration()
    )
    assert node_hours(outcome) == pytest.approx((0.75 + 0.5, 1200 / 3600), abs=1e-6)
    assert empty_nodes(outcome, [0.0, 700.0, 1900.0, 3600.0]).tolist() == [1, 0, 2, 1]


def test_without_nodes_there_is_nothing() -> None:
    outcome = run_scenario(PreparedScenario([], [], 100.0), configuration())
    assert node_hours(outcome) == (0.0, 0.0)
    assert empty_nodes(outcome, [0.0]).tolist() == [0]


@settings(max_examples=tiers.count(8, 60), deadline=None)
@given(seed=st.integers(0, 10_000))
def test_hours_are_the_sum_of_what_is_seen_at_every_moment(seed: int) -> None:
    outcome: RunOutcome = run_scenario(make_crowded_scenario(seed, pods=25), configuration())
    edges = np.unique(
        np.concatenate([[0.0, outcome.end], outcome.moves.time, outcome.node_log.time]).clip(0, outcome.end)
    )
    node_counts = (~np.isnan(outcome.allocatable(edges, "cpu"))).sum(axis=1)
    used = node_counts - empty_nodes(outcome, edges)
    lasts = np.diff(edges) / 3600
    assert node_hours(outcome) == pytest.approx((float(node_counts[:-1] @ lasts), float(used[:-1] @ lasts)))
