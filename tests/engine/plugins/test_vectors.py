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


@pytest.mark.parametrize(
    ("selector", "fits"),
    [
        ({"matchExpressions": [{"key": "team", "operator": "DoesNotExist"}]}, False),
        ({"matchExpressions": [{"key": "team", "operator": "NotIn", "values": ["x"]}]}, False),
        ({"matchLabels": {"team": "y"}}, True),
        ({"matchLabels": {"team": "x"}}, False),
        ({}, False),
    ],
)
def test_a_namespace_selector_is_also_asked_about_no_labels(selector: dict, fits: bool) -> None:
    """kube-scheduler keeps the selector when it lists the namespaces, so one that matches no labels matches all."""
    namespaces = [
        {"kind": "Namespace", "metadata": {"name": "a", "labels": {"team": "x"}}},
        {"kind": "Namespace", "metadata": {"name": "b"}},
    ]
    placed = pod("w", on="n", labels={"app": "w"})
    placed["metadata"]["namespace"] = "a"
    anti = {**term(HOST, {"matchLabels": {"app": "w"}}), "namespaceSelector": selector}
    raw = pod("p", affinity={"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [anti]}})
    raw["metadata"]["namespace"] = "b"
    assert ("chosen" in explain(raw, node("n"), placed, *namespaces)) is fits


def test_too_few_domains_count_as_an_empty_one() -> None:
    constraint = {
        "maxSkew": 1,
        "minDomains": 3,
        "topologyKey": ZONE,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": APP_X,
    }
    answer = explain(
        pod("p", labels={"app": "x"}, topologySpreadConstraints=[constraint]),
        node("a", labels={ZONE: "1"}),
        node("b", labels={ZONE: "2"}),
        node("c"),
        pod("x1", on="a", labels={"app": "x"}),
        pod("x2", on="b", labels={"app": "x"}),
    )
    assert answer["message"] == (
        "0/3 nodes are available: 1 node(s) didn't match pod topology spread constraints (missing required label), "
        "2 node(s) didn't match pod topology spread constraints."
    )


def test_the_first_pod_that_wants_to_be_near_itself_goes_anywhere() -> None:
    near = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term(HOST, APP_X)]}}
    first = pod("p", labels={"app": "x"}, affinity=near)
    assert explain(first, node("a"), node("b"))["feasible"] == ["a", "b"]
    answer = explain(first, node("a"), node("b"), pod("x", on="b", labels={"app": "x"}))
    assert answer["feasible"] == ["b"]
    assert answer["rejected"]["a"]["reasons"] == ["node(s) didn't match pod affinity rules"]


@pytest.mark.parametrize(
    ("used", "wanted", "free"),
    [
        ({}, {}, False),
        ({"hostIP": "10.0.0.1"}, {}, False),
        ({"hostIP": "10.0.0.1"}, {"hostIP": "10.0.0.2"}, True),
        ({"protocol": "UDP"}, {}, True),
        ({"hostPort": 81}, {}, True),
    ],
)
def test_host_ports_collide_on_the_same_address_or_any(used: dict, wanted: dict, free: bool) -> None:
    def ports(change: dict) -> dict:
        return {"ports": [{"containerPort": 1, "hostPort": 80, **change}]}

    taken = pod("q", on="n", container=ports(used))
    assert ("chosen" in explain(pod("p", container=ports(wanted)), node("n"), taken)) is free


@pytest.mark.parametrize(("mebibytes", "score"), [(23, 0), (300, 28), (1000, 100), (5000, 100)])
def test_image_locality_scores_between_its_bounds(mebibytes: int, score: int) -> None:
    image = {"names": ["registry.example/app:v1"], "sizeBytes": mebibytes * 2**20}
    answer = explain(pod("p"), node("n", images=[image]))
    assert normalized_scores(answer, "ImageLocality") == [score]


def test_gates_keep_a_pod_out_of_the_queue() -> None:
    from kschedweb.engine import Pod
    from tests.engine.builders import scheduler

    gated = Pod.read(pod("p", schedulingGates=[{"name": "a"}, {"name": "b"}]))
    status = scheduler(node("n")).explain(gated).pre_enqueue
    assert (status.plugin, status.message) == ("SchedulingGates", "waiting for scheduling gates: [a b]")
