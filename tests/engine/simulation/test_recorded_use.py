"""Pods that follow recorded curves: what nodes and workloads are measured to use."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kschedweb.engine import Pod
from kschedweb.engine.releases import load
from kschedweb.engine.simulation import PodArrives, Simulation, SimulationSettings, list_standard_actors
from kschedweb.engine.simulation.recorded_use import Follower, RecordedUse
from kschedweb.engine.simulation.use_balance import compute_skews, measure_balance
from kschedweb.engine.state.cluster_objects import ClusterObjects
from tests.engine.builders import CONFIGURATION, node, pod

STEP = 300.0
HHE = {"score": {"enabled": [{"name": "HheWaterLevelBalance", "weight": 100}]}}


def member(name: str, app: str, *, on: str = "a", cores: float = 1.0) -> Pod:
    raw = pod(name, on=on, requests={"cpu": f"{cores:g}", "memory": "1Gi"})
    raw["metadata"]["ownerReferences"] = [{"kind": "Deployment", "name": app, "controller": True}]
    return Pod.from_json(raw)


def use(curves: list[list[float]], cores: float = 4.0, nodes: float = 4.0, **more: Any) -> RecordedUse:
    """Deployments x, y, … follow the curves and may use ``cores`` a pod; nodes a and b."""
    followers = {f"default/Deployment/{'xyz'[row]}": Follower(row, cores) for row in range(len(curves))}
    return RecordedUse({"a": nodes, "b": nodes}, np.array(curves), STEP, followers, **more)


def test_a_node_uses_what_its_pods_use_for_as_long_as_they_run() -> None:
    used = use([[50.0, 25.0, 25.0]])
    used.add_pod(member("p", "x"), 0.0)
    assert used.measured(0.0).column("cpu", "1h").tolist() == [0.0, 0.0]
    assert used.measured(STEP).column("cpu", "5m").tolist() == [50.0, 0.0]
    used.remove_pod(member("p", "x"), STEP + 150.0)
    marks = used.measured(2 * STEP)
    assert marks.column("cpu", "5m").tolist() == [12.5, 0.0]  # 25 % for half of the time
    assert marks.column("cpu", "15m").tolist() == [31.25, 0.0]  # over what has been so far
    assert marks.column("cpu", "1h_max").tolist() == [50.0, 0.0]
    assert marks.column("cpu", "15m_std").tolist() == [18.75, 0.0]
    assert used.measured(3 * STEP).column("cpu", "5m").tolist() == [0.0, 0.0]


def test_windows_end_now_and_reach_back_as_long_as_they_are() -> None:
    curve = [80.0] + [0.0] * 11 + [40.0]
    used = use([curve])
    used.add_pod(member("p", "x"), 0.0)
    for place in range(12):
        marks = used.measured(place * STEP)
    marks = used.measured(12 * STEP)
    assert marks.column("cpu", "15m")[0] == 0.0
    assert marks.column("cpu", "1h")[0] == pytest.approx(80.0 / 12)
    marks = used.measured(13 * STEP)
    assert marks.column("cpu", "15m")[0] == pytest.approx(40.0 / 3)
    assert marks.column("cpu", "1h")[0] == pytest.approx(40.0 / 12)
    assert marks.column("cpu", "1d")[0] == pytest.approx(120.0 / 13)
    assert (marks.column("cpu", "1h_max")[0], marks.column("cpu", "1d_max")[0]) == (40.0, 80.0)
    assert marks.updated.tolist() == [13 * STEP] * 2
    assert used.compute_levels()[-1, 0] == pytest.approx(40.0 / 12)


def test_a_pod_is_known_by_what_its_workload_used_here() -> None:
    used = use([[50.0, 25.0], [10.0, 10.0]])
    used.add_pod(member("p", "x"), 0.0)
    used.measured(0.0)
    marks = used.measured(2 * 0.5 * STEP)
    objects = ClusterObjects()
    assert marks.workload_figures(member("q", "x", on=""), objects) == {"cpu": {"15m": 2.0, "1h": 2.0, "1d": 2.0}}
    assert marks.workload_figures(member("r", "y", on=""), objects) == {"cpu": {}}
    assert marks.workload_figures(member("s", "unknown", on=""), objects) is None


def test_curves_of_the_day_are_learnt_from_whole_hours() -> None:
    used = use([[50.0] * 12 + [25.0] * 12 * 24 + [50.0] * 12])  # from 00:00 to 02:00 two days later
    used.add_pod(member("p", "x"), 0.0)
    curves_by_step = {}
    for place in range(12 * 26 + 1):
        curves_by_step[place] = used.measured(place * STEP).curves
    assert curves_by_step[11] == {}
    first = curves_by_step[12]["default/Deployment/x"]
    assert first[0] == 2.0
    assert np.isnan(first[1:]).all()
    assert curves_by_step[23] is curves_by_step[12]  # until another hour is over
    day = curves_by_step[12 * 25]["default/Deployment/x"]
    assert day[0] == pytest.approx((0.5 * 2.0 + 1.0) / 1.5)
    assert day[1:].tolist() == [1.0] * 23
    assert curves_by_step[12 * 26]["default/Deployment/x"][1] == pytest.approx((0.5 * 1.0 + 2.0) / 1.5)


def test_a_recorded_past_is_known_without_any_pod() -> None:
    used = use([[50.0, 25.0]], recorded=True)
    used.measured(STEP)
    assert used.measured(2 * STEP).workloads["default/Deployment/x"] == {"cpu": {"15m": 1.5, "1h": 1.5, "1d": 1.5}}


def test_a_full_node_gives_what_was_requested_and_divides_the_rest() -> None:
    used = use([[100.0], [50.0], [20.0]])  # 4, 2 and 0.8 cores wanted, of 4
    for name, app in (("p", "x"), ("q", "y"), ("r", "z")):
        used.add_pod(member(name, app), 0.0)
    marks = used.measured(STEP)
    assert marks.column("cpu", "5m").tolist() == [100.0, 0.0]
    assert used.unserved[0] == pytest.approx(2.8)
    assert used.short[0] == 2  # the third wants less than it requested
    remaining = 4.0 - 1.0 - 1.0 - 0.8
    assert marks.workloads["default/Deployment/x"]["cpu"]["15m"] == pytest.approx(1.0 + remaining * 3.0 / 4.0)
    assert marks.workloads["default/Deployment/z"]["cpu"]["15m"] == pytest.approx(0.8)


def test_memory_is_unknown_unless_somebody_measures_it() -> None:
    assert math.isnan(use([[50.0]]).measured(0.0).column("memory", "15m")[0])
    used = use([[50.0]], memory=(0.5, np.full(2, 4.0 * (1 << 30))))
    used.add_pod(member("p", "x"), 0.0)
    used.measured(0.0)
    assert used.measured(STEP).column("memory", "15m").tolist() == [12.5, 0.0]


def test_the_scheduler_sees_what_was_measured_and_which_pods_are_newer() -> None:
    """The pods request the same and differ in use only: with watermarks each node gets one of each."""
    owner = {"ownerReferences": [{"kind": "Deployment", "name": "x", "controller": True}]}
    events = []
    for place, app in enumerate(("x", "x", "y", "y", "x", "x")):
        raw = pod(f"p{place}", requests={"cpu": "500m"}, container={"resources": {"limits": {"cpu": "2"}}})
        raw["spec"]["containers"][0]["resources"]["requests"] = {"cpu": "500m"}
        raw["metadata"]["ownerReferences"] = [{**owner["ownerReferences"][0], "name": app}]
        events.append(PodArrives(1.0 + 10.0 * place, raw))
    document = {**CONFIGURATION, "profiles": [{"schedulerName": "default-scheduler", "plugins": HHE}]}
    configuration = load(document).configuration
    assert configuration is not None
    used = use([[90.0, 90.0], [5.0, 5.0]], cores=2.0, nodes=8.0)
    nodes = [node(name, allocatable={"cpu": "8"}) for name in ("a", "b")]
    simulation = Simulation(nodes, configuration, events, SimulationSettings(sample=STEP), list_standard_actors(used))
    simulation.run(2 * STEP)
    snapshot = simulation.world.snapshot
    assert snapshot.watermarks is not None
    assert snapshot.watermarks.source == "recording"
    assert sorted(snapshot.pod_count.tolist()) == [3, 3]
    assert abs(float(np.subtract(*used.used.values[1]))) < 2.0


def test_new_figures_wake_a_pod_that_was_rejected_for_the_old_ones() -> None:
    document = {
        **CONFIGURATION,
        "profiles": [{"plugins": {"multiPoint": {"enabled": [{"name": "VolcanoUsage"}]}}}],
    }
    configuration = load(document).configuration
    assert configuration is not None
    used = use([[90.0, 5.0]])
    running = pod("p", on="a", requests={"cpu": "1"})
    running["metadata"]["ownerReferences"] = [{"kind": "Deployment", "name": "x", "controller": True}]
    events = [PodArrives(STEP + 10.0, pod("late", requests={"cpu": "1"}))]
    simulation = Simulation(
        [node("a"), running], configuration, events, SimulationSettings(sample=STEP), list_standard_actors(used)
    )
    result = simulation.run(3 * STEP)
    assert [rejected.by for rejected in result.rejected] == [("VolcanoUsage",)]
    [bound] = result.bound
    # Without an event it would be tried again after five minutes only.
    assert 2 * STEP <= bound.time < 2 * STEP + 5.0


def test_measures_begin_when_they_are_told_to() -> None:
    used = use([[100.0] * 4])
    used.add_pod(member("p", "x"), 0.0)
    for place in range(5):
        used.measured(place * STEP)
    balance = measure_balance(used, 2 * STEP)
    assert (balance.skew, balance.deviation, balance.mean, balance.hottest) == (100.0, 50.0, 50.0, 100.0)
    assert (balance.high, balance.variation, balance.short) == (0.5, 1.0, 0.0)
    with pytest.raises(ValueError, match="nothing was measured after"):
        measure_balance(used, 4 * STEP)


@given(st.lists(st.lists(st.floats(0.0, 100.0), min_size=4, max_size=4), min_size=1, max_size=3), st.data())
def test_no_node_uses_more_than_it_has_and_nothing_is_lost(curves: list[list[float]], data: st.DataObject) -> None:
    used = use(curves)
    demand = np.zeros(4)
    for place in range(data.draw(st.integers(0, 8))):
        row, on = data.draw(st.integers(0, len(curves) - 1)), data.draw(st.sampled_from("ab"))
        start = data.draw(st.floats(0.0, STEP))
        used.add_pod(member(f"p{place}", "xyz"[row], on=on, cores=0.5), start)
        demand += np.array(curves[row]) / 25.0 * np.array([1.0 - start / STEP, 1.0, 1.0, 1.0])
    for place in range(5):
        marks = used.measured(place * STEP)
    assert (used.used.values <= 4.0 + 1e-9).all()
    assert used.used.values.sum(axis=1) + used.unserved == pytest.approx(demand)
    assert (marks.column("cpu", "1d") <= 100.0 + 1e-9).all()
    assert (compute_skews(used.compute_levels()) >= 0.0).all()
