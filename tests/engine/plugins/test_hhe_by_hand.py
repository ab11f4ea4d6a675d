"""HheWaterLevelBalance against the article's formulas written down node by node, on clusters of any shape."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from kschedweb.engine import Pod, Snapshot
from kschedweb.engine.plugins.hhewaterlevelbalance import TOLERANCE
from kschedweb.engine.scenario.scenario import Scenario
from tests.engine.builders import CONFIGURATION, node
from tests.support import tiers

NOW = 100_000
WINDOWS = ("15m", "1h", "1d")
WORKLOAD = {"kind": "StatefulSet", "name": "db", "controller": True}
percents = st.integers(0, 1000).map(lambda tenths: tenths / 10)
weights = st.integers(0, 5)


@st.composite
def clusters(draw: st.DrawFn) -> dict[str, Any]:
    """A scenario of one to five nodes, pods on them old and new, and one pod to place."""
    names = [f"n{number}" for number in range(draw(st.integers(1, 5)))]
    resources = draw(st.sampled_from([("cpu",), ("memory",), ("cpu", "memory")]))
    nodes = [node(name, allocatable={"cpu": str(draw(st.integers(4, 64))), "memory": "64Gi"}) for name in names]
    figures = {
        name: {
            "updated": NOW - draw(st.integers(0, 600)),
            **{
                resource: {window: draw(percents) for window in WINDOWS if draw(st.integers(0, 9))}
                for resource in resources
            },
        }
        for name in names
        if draw(st.integers(0, 9))
    }
    use = {"cpu": {window: draw(st.integers(0, 40)) / 10 for window in WINDOWS if draw(st.booleans())}}
    bound = [_pod(draw, f"old{number}", draw(st.sampled_from(names))) for number in range(draw(st.integers(0, 6)))]
    args: dict[str, Any] = {"clusterCpuMinNodeWeight": draw(st.integers(0, 10)) / 10}
    args["windowWeights"] = {"15m": draw(weights), "1h": draw(weights), "1d": 1}
    args["resourceWeights"] = {"cpu": 1 + draw(weights), "memory": 1 + draw(weights)}
    return {
        "objects": [*nodes, *bound],
        "pending": [_pod(draw, "new", "")],
        "watermarks": {"now": NOW, "nodes": figures, "workloads": {"default/StatefulSet/db": use}},
        "config": {**CONFIGURATION, "profiles": [_profile(args)]},
    }


def _profile(args: dict[str, Any]) -> dict[str, Any]:
    plugins = {"score": {"enabled": [{"name": "HheWaterLevelBalance"}], "disabled": [{"name": "*"}]}}
    return {"plugins": plugins, "pluginConfig": [{"name": "HheWaterLevelBalance", "args": args}]}


def _pod(draw: st.DrawFn, name: str, on: str) -> dict[str, Any]:
    limits = {"cpu": f"{draw(st.integers(0, 30)) * 100}m", "memory": f"{draw(st.integers(0, 4))}Gi"}
    minutes = draw(st.integers(0, 20))
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "default",
            "ownerReferences": [WORKLOAD] if draw(st.booleans()) else [],
        },
        "spec": {
            "containers": [{"name": "main", "image": "x", "resources": {"limits": limits, "requests": {"cpu": "0"}}}],
            **({"nodeName": on} if on else {}),
        },
        "status": {"startTime": f"1970-01-02T03:{46 - minutes:02}:40Z"} if on else {},
    }


def by_hand(scenario: dict[str, Any]) -> dict[str, Fraction]:
    """The score of each node, in fractions."""
    snapshot = Snapshot.from_objects(scenario["objects"])
    args = scenario["config"]["profiles"][0]["pluginConfig"][0]["args"]
    nodes = scenario["watermarks"]["nodes"]
    new = Pod.from_json(scenario["pending"][0])
    means: dict[str, list[tuple[int, Fraction]]] = {name: [] for name in snapshot.names}
    for resource, resource_weight in args["resourceWeights"].items():
        scores: dict[str, list[tuple[int, Fraction]]] = {name: [] for name in snapshot.names}
        for window, weight in args["windowWeights"].items():
            levels = {
                name: Fraction(figures[resource][window])
                + sum(
                    _share(snapshot, name, pod, scenario, resource, window) for pod in _newer(snapshot, name, figures)
                )
                for name, figures in nodes.items()
                if window in figures.get(resource, {})
            }
            if not weight or not levels:
                continue
            low = Fraction(args["clusterCpuMinNodeWeight"])
            cluster = (sum(levels.values(), Fraction(0)) / len(levels) + min(levels.values()) * low) / (1 + low)
            for name, level in levels.items():
                target = level + _share(snapshot, name, new, scenario, resource, window)
                scores[name].append((weight, _score(target, min(cluster, Fraction(100)))))
        for name, parts in scores.items():
            if parts:
                means[name].append((resource_weight, _mean(parts)))
    return {name: _mean(parts) if parts else Fraction(0) for name, parts in means.items()}


def _newer(snapshot: Snapshot, name: str, figures: dict[str, Any]) -> list[Pod]:
    pods = snapshot.pods.pods_on(snapshot.index[name])
    return [pod for pod in pods if pod.started >= figures["updated"] and NOW - pod.started <= 300]


def _share(snapshot: Snapshot, name: str, pod: Pod, scenario: dict[str, Any], resource: str, window: str) -> Fraction:
    use = scenario["watermarks"]["workloads"]["default/StatefulSet/db"] if pod.controller else {}
    amount = Fraction(pod.limits[resource])
    if window in use.get(resource, {}):
        amount = Fraction(use[resource][window]) * (1000 if resource == "cpu" else 1)
    allocatable = snapshot.resource_row(snapshot.allocatable, resource)[snapshot.index[name]]
    return 100 * amount / int(allocatable)


def _score(target: Fraction, cluster: Fraction) -> Fraction:
    # The score falls steeply above the level, so that both must see the same side of it.
    if target <= cluster + Fraction(TOLERANCE):
        return (100 - cluster) * target / cluster + cluster if cluster else Fraction(100)
    return cluster * (100 - target) / (100 - cluster) if target <= 100 else Fraction(0)


def _mean(parts: list[tuple[int, Fraction]]) -> Fraction:
    return sum((weight * score for weight, score in parts), Fraction(0)) / sum(weight for weight, _ in parts)


def on_the_level() -> dict[str, Any]:
    """A node whose level is the cluster's, but for the last digit of a float."""
    containers = [{"name": "main", "resources": {"limits": {"cpu": "0", "memory": "0"}}}]
    pod = {"metadata": {"name": "new", "namespace": "default"}, "spec": {"containers": containers}}
    args = {"clusterCpuMinNodeWeight": 0.0, "windowWeights": {"15m": 1}, "resourceWeights": {"cpu": 1}}
    levels = {"n0": 0.1, "n1": 0.3, "n2": 0.2}
    return {
        "objects": [node(name, allocatable={"cpu": "4", "memory": "64Gi"}) for name in levels],
        "pending": [{"apiVersion": "v1", "kind": "Pod", **pod}],
        "watermarks": {
            "now": NOW,
            "nodes": {name: {"updated": NOW, "cpu": {"15m": level}} for name, level in levels.items()},
            "workloads": {"default/StatefulSet/db": {}},
        },
        "config": {**CONFIGURATION, "profiles": [_profile(args)]},
    }


@settings(max_examples=tiers.count(120, 1000))
@example(on_the_level())
@given(clusters())
def test_the_plugin_computes_as_one_would_by_hand(scenario: dict[str, Any]) -> None:
    raw_scores = Scenario.from_text(json.dumps(scenario)).explain()["pods"][0]["scores"]["HheWaterLevelBalance"]["raw"]
    for name, expected in by_hand(scenario).items():
        # A float may fall on the other side of a half only where it is as good as on it.
        assert abs(raw_scores[name] - expected) <= Fraction(1, 2) + Fraction(1, 10**6), name
