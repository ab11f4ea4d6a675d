"""Vectors given by kube-scheduler 1.36.3 itself: four nodes, all feasible, weights 1."""

from __future__ import annotations

import pytest

from tests.engine.builders import explain, node, normalized_scores, pod

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
APP_X = {"matchLabels": {"app": "x"}}


def soft(*keys: str) -> list[dict]:
    return [{"key": key, "effect": "PreferNoSchedule"} for key in keys]


def term(key: str, selector: dict) -> dict:
    return {"topologyKey": key, "labelSelector": selector}


Y = pod(
    "y",
    on="c",
    labels={"app": "y"},
    affinity={
        "podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term(HOST, APP_X)]},
        "podAntiAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 7, "podAffinityTerm": term(ZONE, APP_X)}]
        },
    },
)
CLUSTER = [
    node("a", labels={ZONE: "z1", "disk": "ssd"}),
    node("b", labels={ZONE: "z1"}, taints=soft("k", "m", "q")),
    node("c", labels={ZONE: "z2", "disk": "ssd", "n": "7"}, taints=soft("k")),
    node("d"),
    *(pod(f"x{i}", on=on, labels={"app": "x"}) for i, on in enumerate("aaabccd")),
    Y,
    {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "x", "namespace": "default"},
        "spec": {"selector": {"app": "x"}},
    },
]


def scores(raw: dict, plugin: str) -> list[int] | None:
    """Normalised scores of a, b, c, d; ``None`` where the plugin is skipped."""
    answer = explain(raw, *CLUSTER)
    if plugin in answer["skippedScorePlugins"]:
        return None
    by_node = dict(zip(answer["scores"][plugin]["normalized"], normalized_scores(answer, plugin), strict=True))
    return [by_node[name] for name in "abcd"]


PLAIN_X, PLAIN_Z = pod("p", labels={"app": "x"}), pod("p", labels={"app": "z"})
SPREAD_X = pod(
    "p",
    labels={"app": "x"},
    topologySpreadConstraints=[
        {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": APP_X},
        {"maxSkew": 2, "topologyKey": HOST, "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": APP_X},
    ],
)
WISHES_Z = pod(
    "p",
    labels={"app": "z"},
    tolerations=[{"key": "k", "operator": "Exists"}],
    affinity={
        "nodeAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {
                    "weight": 2,
                    "preference": {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]},
                },
                {"weight": 5, "preference": {"matchExpressions": [{"key": "n", "operator": "Gt", "values": ["5"]}]}},
                {"weight": 50, "preference": {}},
            ]
        },
        "podAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 10, "podAffinityTerm": term(ZONE, APP_X)}]
        },
        "podAntiAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 3, "podAffinityTerm": term(HOST, APP_X)}]
        },
    },
)


@pytest.mark.parametrize(
    ("raw", "plugin", "expected"),
    [
        (PLAIN_X, "TaintToleration", [100, 0, 67, 100]),
        (PLAIN_X, "PodTopologySpread", [22, 44, 50, 100]),
        (PLAIN_X, "InterPodAffinity", [100, 100, 0, 100]),
        (PLAIN_Z, "PodTopologySpread", None),
        (PLAIN_Z, "InterPodAffinity", None),
        (PLAIN_Z, "NodeAffinity", None),
        (SPREAD_X, "PodTopologySpread", [63, 90, 100, 0]),
        (WISHES_Z, "TaintToleration", [100, 0, 100, 100]),
        (WISHES_Z, "NodeAffinity", [28, 0, 100, 0]),
        (WISHES_Z, "InterPodAffinity", [85, 100, 42, 0]),
    ],
)
def test_normalised_scores(raw: dict, plugin: str, expected: list[int] | None) -> None:
    assert scores(raw, plugin) == expected
