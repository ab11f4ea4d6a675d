"""VolcanoUsage as Volcano's usage plugin works; Volcano's own answers are in tests/conformance."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kschedweb.engine import Pod, Snapshot
from kschedweb.engine.framework.interface import Cycle
from kschedweb.engine.plugins.volcanousage import Shadow, VolcanoUsage
from kschedweb.engine.releases import load
from kschedweb.engine.state.columns import ALL
from kschedweb.engine.state.watermarks.table import Watermarks
from tests.engine.builders import CONFIGURATION, node, pod

NOW = 1795240800.0


def cluster(levels: dict[str, Any], *objects: dict, age: float = 10.0, key: str = "10m") -> Snapshot:
    """Nodes of 4 CPU and 8 GiB that use ``levels`` percent of CPU and no memory."""
    snapshot = Snapshot.from_objects([*(node(name) for name in levels), *objects])
    figures = {name: {"updated": NOW - age, "cpu": {key: level}} for name, level in levels.items() if level is not None}
    snapshot.watermarks = Watermarks.from_json({"nodes": figures}, snapshot.names)
    snapshot.now = NOW
    return snapshot


def asking(name: str, cpu: str = "1", **fields: Any) -> dict:
    return pod(name, requests={"cpu": cpu}, **fields)


def running(name: str, age: float, on: str = "a", phase: str = "Running") -> dict:
    raw = asking(name, on=on)
    raw["status"] = {"phase": phase, "startTime": datetime.fromtimestamp(NOW - age, UTC).isoformat()}
    return raw


def refused(snapshot: Snapshot, **args: Any) -> list[str]:
    verdicts = VolcanoUsage(args).filter(Cycle(snapshot, Pod.from_json(asking("new"))), ALL)
    return [verdicts.statuses[code].message for code in verdicts.codes]


def scores(snapshot: Snapshot, **args: Any) -> list[int]:
    score_list: list[int] = VolcanoUsage(args).score(Cycle(snapshot, Pod.from_json(asking("new"))), ALL).tolist()
    return score_list


def test_a_threshold_is_exceeded_only_by_more() -> None:
    refusals = refused(cluster({"at": 80, "above": 80.001}))
    assert refusals == ["", "the CPU load of the node exceeds the upper limit."]


def test_figures_count_until_they_are_older_than_five_minutes() -> None:
    assert refused(cluster({"a": 90}, age=300)) != [""]
    assert scores(cluster({"a": 90}, age=300)) == [55]
    assert refused(cluster({"a": 90}, age=300.001)) == [""]
    assert scores(cluster({"a": 90}, age=300.001)) == [0]


def test_a_node_without_figures_passes_and_scores_nothing() -> None:
    snapshot = cluster({"measured": 10, "unknown": None})
    assert refused(snapshot) == ["", ""]
    assert scores(snapshot) == [95, 0]
    snapshot.watermarks = None
    assert scores(snapshot) == [0, 0]


def test_the_score_goes_to_100_and_usage_weight_is_volcano_s_own() -> None:
    snapshot = cluster({"a": 30})
    assert scores(snapshot) == scores(snapshot, **{"usage.weight": 1}) == [85]
    model = VolcanoUsage({}).model
    assert model.score(np.array([0.3]), np.array([0.0]), 5).tolist() == [425.0]


def test_fifteen_minutes_stand_in_for_ten() -> None:
    assert scores(cluster({"a": 30}, key="15m")) == [85]
    assert scores(cluster({"a": 30}, key="1h")) == [100]  # known, but not what is asked: nothing is in use


def test_a_pod_is_in_the_shadow_until_the_figures_can_show_it() -> None:
    snapshot = cluster({"a": 0, "b": 0}, running("new", 29.9), running("old", 30, on="b"))
    assert VolcanoUsage({}).shadow(snapshot).tolist() == [[700.0, 0.0], [0.0, 0.0]]
    assert scores(snapshot) == [91, 100]
    snapshot.now = NOW + 0.1
    assert scores(snapshot) == [100, 100]


@pytest.mark.parametrize(("phase", "milli"), [("Pending", 700.0), ("Running", 0.0), ("Unknown", 0.0)])
def test_a_bound_pod_that_has_not_started_stays_in_the_shadow(phase: str, milli: float) -> None:
    assert VolcanoUsage({}).shadow(cluster({"a": 0}, running("p", 1000, phase=phase)))[0].tolist() == [milli]


def test_a_pod_that_is_placed_here_is_in_the_shadow_at_once() -> None:
    plugin, snapshot = VolcanoUsage({"metricsInterval": "1m0s"}), cluster({"a": 0})
    snapshot.place_pod(Pod.from_json(asking("p")), "a")
    assert plugin.shadow(snapshot)[0].tolist() == [700.0]
    snapshot.now = NOW + 60
    assert plugin.shadow(snapshot)[0].tolist() == [0.0]


def test_on_a_busy_node_pods_are_expected_to_use_more_from_the_pod_on_that_makes_it_busy() -> None:
    plugin, snapshot = VolcanoUsage({"memory.weight": 0}), cluster({"idle": 0, "between": 50, "busy": 60})
    for name in ("idle", "between", "busy"):
        for position in range(2):
            snapshot.place_pod(Pod.from_json(asking(f"{name}-{position}")), name)
    assert plugin.shadow(snapshot)[0].tolist() == pytest.approx([1400.0, 1540.0, 1680.0])


def test_a_pod_that_requests_nothing_is_expected_to_use_the_fixed_amounts() -> None:
    plugin, snapshot = VolcanoUsage({"estimator": {"be_cpu": 100, "be_mem": "1Gi"}}), cluster({"a": 0})
    snapshot.place_pod(Pod.from_json(pod("p")), "a")
    assert plugin.shadow(snapshot)[:, 0].tolist() == [100.0, 2.0**30]


def test_an_estimate_is_never_above_the_limit() -> None:
    plugin, snapshot = VolcanoUsage({"estimator": {"request_ratio": 1.0}}), cluster({"a": 90})
    limited = pod("p", container={"resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "1"}}})
    snapshot.place_pod(Pod.from_json(limited), "a")
    assert plugin.shadow(snapshot)[0].tolist() == [1000.0]


def loaded(**args: Any) -> Any:
    plugins = {"filter": {"enabled": [{"name": "VolcanoUsage"}]}, "score": {"enabled": [{"name": "VolcanoUsage"}]}}
    profile = {"plugins": plugins, "pluginConfig": [{"name": "VolcanoUsage", "args": args}]}
    return load({**CONFIGURATION, "profiles": [{"schedulerName": "default-scheduler", **profile}]})


def test_arguments_out_of_range_take_their_defaults_and_that_is_said() -> None:
    wrong: dict[str, Any] = {"thresholds": {"cpu": 101}, "estimator": {"risk_factor": 0.5, "be_mem": "lots"}}
    result = loaded(**wrong, **{"usage.weight": -1})
    args = result.configuration.profiles[0].args["VolcanoUsage"]
    assert args["thresholds"] == {"cpu": 80, "mem": 80}
    assert args["estimator"]["risk_factor"] == 1.2
    assert args["estimator"]["be_mem"] == "200Mi"
    assert args["usage.weight"] == 5
    warnings = "\n".join(result.warnings)
    assert "args.thresholds.cpu: 101 is out of range, so 80 is used, as Volcano does" in warnings
    assert "args.estimator.be_mem: lots is out of range" in warnings
    assert "args.usage.weight: counts in Volcano only" in warnings


def test_an_interval_of_nothing_is_refused() -> None:
    assert any("args.metricsInterval" in error for error in loaded(metricsInterval="0s").errors)


@given(
    st.lists(st.tuples(st.integers(0, 100), st.lists(st.integers(0, 2000), max_size=6)), min_size=1, max_size=4),
    st.floats(0, 1),
    st.floats(1, 3),
)
def test_the_shadow_of_all_nodes_at_once_is_that_of_adding_pods_one_by_one(
    nodes: list[tuple[int, list[int]]], threshold: float, factor: float
) -> None:
    plugin = VolcanoUsage({"estimator": {"risk_threshold": threshold, "risk_factor": factor}})
    snapshot = cluster({f"n{place}": level for place, (level, _) in enumerate(nodes)})
    expected = []
    for place, (level, requests) in enumerate(nodes):
        shadow = Shadow(plugin.model, (float(level), 0.0), (4000.0, float(8 << 30)))
        for turn, milli in enumerate(requests):
            new = Pod.from_json(asking(f"p{place}-{turn}", f"{milli}m"))
            shadow.add_pod(new)
            snapshot.place_pod(new, f"n{place}")
        expected.append([shadow.cpu, shadow.memory])
    assert plugin.shadow(snapshot).T.tolist() == expected
