"""HheWaterLevelBalance as the article describes it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kschedweb.engine import Pod, Scheduler, Snapshot
from kschedweb.engine.framework.scoring import round_half_away
from kschedweb.engine.plugins.hhewaterlevelbalance import cluster_levels, level_scores
from kschedweb.engine.releases import load
from kschedweb.engine.state.watermarks.table import Watermarks
from tests.engine.builders import CONFIGURATION, node, pod

NOW = 10_000.0
ROOMY = {"cpu": "100", "memory": "100Gi"}


def cluster(levels: dict[str, Any], *objects: dict, updated: float = NOW - 60, **more: Any) -> Snapshot:
    """Nodes of 100 CPU; ``levels`` are percent of CPU in every window, or figures by window."""
    snapshot = Snapshot.from_objects([*(node(name, allocatable=ROOMY) for name in levels), *objects])
    windows = ("15m", "1h", "1d")
    figures = {
        name: {
            "updated": updated,
            "cpu": level if isinstance(level, dict) else {} if level is None else dict.fromkeys(windows, level),
        }
        for name, level in levels.items()
    }
    snapshot.watermarks = Watermarks.from_json({"nodes": figures, **more}, snapshot.names)
    snapshot.now = NOW
    return snapshot


def scheduler(snapshot: Snapshot, **args: Any) -> Scheduler:
    plugins = {"score": {"enabled": [{"name": "HheWaterLevelBalance"}], "disabled": [{"name": "*"}]}}
    config = [{"name": "HheWaterLevelBalance", "args": args}]
    profile = {"schedulerName": "default-scheduler", "plugins": plugins, "pluginConfig": config}
    loaded = load({**CONFIGURATION, "profiles": [profile]})
    assert loaded.configuration is not None, loaded.errors
    return Scheduler(snapshot, loaded.configuration)


def limited(name: str, cpu: str = "1", **fields: Any) -> dict:
    return pod(name, container={"resources": {"limits": {"cpu": cpu}, "requests": {"cpu": "0"}}}, **fields)


def scores(snapshot: Snapshot, raw: dict | None = None, **args: Any) -> dict[str, int]:
    answer = scheduler(snapshot, **args).explain(Pod.from_json(raw or limited("new"))).to_dict()
    return answer["scores"]["HheWaterLevelBalance"]["raw"]


ARTICLE = {"a": 0, "b": 4, "c": 24, "d": 49, "e": 98}


def test_the_example_of_the_article() -> None:
    assert scores(cluster(ARTICLE), clusterCpu=20) == {"a": 24, "b": 40, "c": 19, "d": 13, "e": 0}
    exact = level_scores(np.array([1.0, 5.0, 25.0, 50.0, 99.0]), 20.0)
    assert exact.tolist() == [24.0, 40.0, 18.75, 12.5, 0.25]


def test_the_level_is_the_mean_drawn_towards_the_lowest_node() -> None:
    levels = np.array([[10.0, 20.0, 60.0, math.nan]])
    assert cluster_levels(levels, 0.0) == [30.0]
    assert cluster_levels(levels, 0.2) == [pytest.approx((30 + 10 * 0.2) / 1.2)]
    # 20 % of the mean 30 and of the lowest 10 each: half way between them.
    assert scores(cluster({"a": 10, "b": 20, "c": 60}), clusterCpuMinNodeWeight=1)["b"] == round(20 * 79 / 80)


def test_halves_are_rounded_away_from_zero() -> None:
    assert scores(cluster({"a": 49, "b": 0}), clusterCpu=20)["a"] == 13


def test_windows_count_in_proportion_to_their_weights() -> None:
    levels = {"a": {"15m": 0, "1h": 4, "1d": 24}}
    assert scores(cluster(levels), clusterCpu=20, windowWeights={"15m": 1}) == {"a": 24}
    assert scores(cluster(levels), clusterCpu=20, windowWeights={"15m": 2, "1h": 2}) == {"a": 32}
    assert scores(cluster(levels), clusterCpu=20) == {"a": round(0.5 * 24 + 0.3 * 40 + 0.2 * 18.75)}


def test_memory_counts_where_it_is_measured() -> None:
    snapshot = cluster({"a": 4})
    figures = {"nodes": {"a": {"updated": NOW, "cpu": {"1h": 4}, "memory": {"1h": 0}}}}
    snapshot.watermarks = Watermarks.from_json(figures, snapshot.names)
    raw = pod("new", container={"resources": {"limits": {"cpu": "1", "memory": "1Gi"}}})
    fixed = {"clusterCpu": 20, "clusterMemory": 20}
    assert scores(snapshot, raw, **fixed) == {"a": 32}
    assert scores(snapshot, raw, resourceWeights={"cpu": 3, "memory": 1}, **fixed) == {"a": 36}
    assert scores(snapshot, raw, resourceWeights={"memory": 1}, **fixed) == {"a": 24}


def test_a_workload_s_own_use_stands_in_for_the_limit() -> None:
    replica_set = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": "web-abc",
            "namespace": "default",
            "ownerReferences": [{"kind": "Deployment", "name": "web", "controller": True}],
        },
    }
    workloads = {"default/Deployment/web": {"cpu": dict.fromkeys(("15m", "1h", "1d"), 5.0)}}
    raw = limited("web-abc-1")
    raw["metadata"]["ownerReferences"] = [{"kind": "ReplicaSet", "name": "web-abc", "controller": True}]
    snapshot = cluster({"a": 0}, replica_set, workloads=workloads)
    assert scores(snapshot, raw, clusterCpu=20) == {"a": 40}
    assert scores(snapshot, limited("other"), clusterCpu=20) == {"a": 24}
    raw["metadata"]["ownerReferences"][0]["kind"] = "Job"
    assert scores(snapshot, raw, clusterCpu=20) == {"a": 24}


def bound(name: str, scheduled: float) -> dict:
    raw = limited(name, "4", on="a")
    raw["status"] = {"startTime": f"1970-01-01T{int(scheduled) // 3600:02}:{int(scheduled) // 60 % 60:02}:00Z"}
    return raw


def test_pods_newer_than_the_figures_are_added_until_they_are_cleaned_up() -> None:
    old, new = bound("old", 9_000), bound("recent", 9_960)
    assert scores(cluster({"a": 0}, old, updated=9_900), clusterCpu=20) == {"a": 24}
    assert scores(cluster({"a": 0}, new, updated=9_900), clusterCpu=20) == {"a": 40}
    assert scores(cluster({"a": 0}, old, updated=8_000), clusterCpu=20) == {"a": 24}
    assert scores(cluster({"a": 0}, old, updated=8_000), clusterCpu=20, scheduledPodsCleanUp="1h") == {"a": 40}
    assert scores(cluster({"a": 0}, bound("same", 9_960), updated=9_960), clusterCpu=20) == {"a": 40}


def test_pods_placed_one_after_the_other_see_those_before_them() -> None:
    snapshot = cluster({"a": 0, "b": 5})
    engine = scheduler(snapshot, clusterCpu=10)
    nodes = [engine.schedule_one(Pod.from_json(limited(f"p{number}", "4"))).node for number in range(3)]
    assert nodes == ["b", "a", "a"]
    chosen_nodes = [engine.explain(Pod.from_json(limited("next", "4"))).to_dict()["chosen"]]
    snapshot.remove_pod("default/p0")
    chosen_nodes.append(engine.explain(Pod.from_json(limited("next", "4"))).to_dict()["chosen"])
    assert chosen_nodes == ["a", "b"]


def test_missing_and_expired_figures() -> None:
    levels_by_node = {"a": 4, "b": None}
    assert scores(cluster(levels_by_node), clusterCpu=20) == {"a": 40, "b": 0}
    assert scores(cluster(levels_by_node), clusterCpu=20, missingMetrics="Idle") == {"a": 40, "b": 24}
    assert scores(cluster(levels_by_node), clusterCpu=20, metricsExpiration="59s") == {"a": 0, "b": 0}
    assert scores(cluster(levels_by_node), clusterCpu=20, metricsExpiration="60s") == {"a": 40, "b": 0}
    snapshot = cluster(levels_by_node)
    snapshot.watermarks = None
    assert scores(snapshot) == {"a": 0, "b": 0}


def test_nodes_that_use_more_than_is_allocatable_do_not_break_the_scale() -> None:
    node_scores = scores(cluster({"a": 120, "b": 140, "c": 0}), clusterCpuMinNodeWeight=0)
    assert all(0 <= score <= 100 for score in node_scores.values())
    assert scores(cluster({"a": 120, "b": 140}), clusterCpuMinNodeWeight=0) == {"a": 0, "b": 0}


def test_the_article_s_configuration_runs() -> None:
    points = {
        "preFilter": {"enabled": [{"name": "HheWaterLevelBalance"}]},
        "filter": {"enabled": [{"name": "HheWaterLevelBalance"}, {"name": "HkePodTopologySpread"}]},
        "preScore": {"enabled": [{"name": "HkePodTopologySpread"}, {"name": "HheWaterLevelBalance"}]},
        "score": {
            "enabled": [{"name": "HkePodTopologySpread"}, {"name": "HheWaterLevelBalance"}],
            "disabled": [{"name": "ImageLocality"}, {"name": "InterPodAffinity"}],
        },
        "postBind": {"enabled": [{"name": "HheWaterLevelBalance"}]},
    }
    config = [
        {"name": "HheWaterLevelBalance", "args": {"clusterCpuMinNodeWeight": 0.2}},
        {
            "name": "HkePodTopologySpread",
            "args": {
                "defaultingType": "List",
                "defaultConstraints": [
                    {"maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "DoNotSchedule"}
                ],
            },
        },
    ]
    document = {**CONFIGURATION, "profiles": [{"plugins": points, "pluginConfig": config}]}
    loaded = load(document)
    assert loaded.configuration is not None, loaded.errors
    assert any("HheWaterLevelBalance" in warning for warning in loaded.warnings)
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"selector": {"app": "web"}},
    }
    snapshot = cluster({"a": 10, "b": 10}, service)
    engine = Scheduler(snapshot, loaded.configuration)
    pods = [Pod.from_json(limited(f"p{number}", labels={"app": "web"})) for number in range(4)]
    assert sorted(engine.schedule_one(new_pod).node for new_pod in pods) == ["a", "a", "b", "b"]
    snapshot.remove_pod(next(key for key in snapshot.pods.slots))
    full = next(name for name in snapshot.names if len(snapshot.pods.pods_on(snapshot.index[name])) == 2)
    verdict = engine.explain(Pod.from_json(limited("last", labels={"app": "web"}))).verdict(full)
    assert verdict is not None
    assert "topology spread" in verdict.message


@pytest.mark.parametrize(
    ("args", "path"),
    [
        ({"clusterCpuMinNodeWeight": -1}, "clusterCpuMinNodeWeight"),
        ({"windowWeights": {"15m": -1}}, "windowWeights.15m"),
        ({"windowWeights": {"15m": 0}}, "windowWeights"),
        ({"resourceWeights": {"gpu": 1}}, "resourceWeights.gpu"),
        ({"clusterCpu": 101}, "clusterCpu"),
        ({"missingMetrics": "Guess"}, "missingMetrics"),
        ({"metricsExpiration": "-1s"}, "metricsExpiration"),
    ],
)
def test_wrong_arguments_are_named(args: dict, path: str) -> None:
    config = [{"name": "HheWaterLevelBalance", "args": args}]
    loaded = load({**CONFIGURATION, "profiles": [{"pluginConfig": config}]})
    assert not loaded.valid
    assert path in loaded.errors[0]


percents = st.floats(0, 100)


# The formula's own rounding leaves 99.99999999999999 at such a level. No clamp is needed: a score is cut at 100, and
# what the plugin answers is rounded to a whole number.
@example(1.5e-302, [0.0])
@given(percents, st.lists(percents, min_size=1, max_size=20))
def test_scores_stay_between_0_and_100_and_the_best_is_at_the_level(level: float, targets: list[float]) -> None:
    node_scores = level_scores(np.array([*targets, level]), level)
    assert ((node_scores >= 0) & (node_scores <= 100)).all()
    assert node_scores[-1] == pytest.approx(100)
    assert round_half_away(node_scores)[-1] == round_half_away(node_scores).max() == 100


@given(st.floats(1, 99), percents, percents)
def test_scores_rise_to_the_level_and_fall_above_it(level: float, first_use: float, other: float) -> None:
    low, high = sorted((first_use, other))
    first, second = level_scores(np.array([low, high]), level).tolist()
    if high <= level:
        assert first <= second + 1e-9
    elif low > level:
        assert first >= second - 1e-9
