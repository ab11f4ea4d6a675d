"""cluster-autoscaler asked about a cluster that stands still: with why, and as its simulation does."""

from __future__ import annotations

from typing import Any

import pytest

from kschedweb.engine.json_types import Json
from kschedweb.engine.simulation.autoscaling import advice
from kschedweb.engine.simulation.autoscaling.context import LAUNCHED, REMOVED
from kschedweb.engine.studies.actors.autoscaler.keys import CLUSTER_AUTOSCALER
from kschedweb.engine.studies.document.document import read_scenario
from kschedweb.engine.studies.play.run import run_scenario
from kschedweb.engine.studies.prepare.prepared import prepare_scenario
from tests.engine.simulation.autoscaling.test_cluster_autoscaler import group
from tests.engine.simulation.autoscaling.test_karpenter import CONFIGURATION, budget

OWNED = [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "web", "controller": True}]


def node(name: str, cpu: str = "4", **labels: str) -> Json:
    has = {"cpu": cpu, "memory": "64Gi", "pods": "110"}
    ready = [{"type": "Ready", "status": "True"}]
    metadata = {"name": name, "labels": {"kubernetes.io/hostname": name, **labels}}
    return {"kind": "Node", "metadata": metadata, "status": {"allocatable": has, "capacity": has, "conditions": ready}}


def pod(name: str, cpu: str, on: str = "", *, owned: bool = True, **more: Any) -> Json:
    metadata = {"name": name, "namespace": "default", "labels": {"app": "web"}, "ownerReferences": OWNED * owned}
    spec = {"containers": [{"name": "main", "resources": {"requests": {"cpu": cpu}}}], **more}
    phase = "Running" if on else "Pending"
    return {
        "kind": "Pod",
        "metadata": metadata,
        "spec": spec | ({"nodeName": on} if on else {}),
        "status": {"phase": phase},
    }


def advise_on(objects: list[Json], groups: list[Json], **more: Any) -> Json:
    problems: list[Any] = []
    options = CLUSTER_AUTOSCALER.read({"nodeGroups": groups, **more}, "", problems)
    assert not problems
    assert CONFIGURATION is not None
    return advice.advise_scaling(options, CONFIGURATION.release.build_snapshot(objects), CONFIGURATION)


def list_actions(objects: list[Json], groups: list[Json], **more: Any) -> list[tuple[str, str]]:
    """List the actions, as (action, node), of an hour's simulation that begins with the same objects."""
    document = {
        "name": "the same",
        "objects": objects,
        "autoscaler": {"clusterAutoscaler": {"nodeGroups": groups, **more}},
        "run": {"until": "1h", "place": "pending"},
    }
    assert CONFIGURATION is not None
    outcome = run_scenario(prepare_scenario(read_scenario(document), [], {}, seed=1, now=0.0), CONFIGURATION)
    return [(action, name) for _, action, name, _ in outcome.autoscaler_actions]


GROUPS = [
    group("small", "2", price=2.0, priority=1),
    group("middle", "4", 1, price=3.0, priority=9),
    group("large", "8", price=1.0),
]


@pytest.mark.parametrize("expander", ["least-waste", "price", "priority"])
def test_the_page_and_the_simulation_bring_the_same_nodes(expander: str) -> None:
    objects = [node("full", "100m"), *(pod(f"web-{number}", "1900m") for number in range(5))]
    looks = advise_on(objects, GROUPS, expander=expander)["looks"]
    launched = [
        name.rpartition("-")[0]
        for action, name in list_actions(objects, GROUPS, expander=expander)
        if action == LAUNCHED
    ]
    assert launched == [look["group"] for look in looks for _ in range(look["count"])]
    assert looks[0]["candidates"][0]["group"] == looks[0]["group"]
    if expander == "priority":
        assert [look["group"] for look in looks] == ["middle", "small"]
        assert looks[1]["others"] == [{"group": "middle", "why": "It has its most nodes, 1."}]


def test_the_page_and_the_simulation_let_the_same_nodes_go() -> None:
    objects = [
        *(node(f"plain-{number}", of="plain") for number in range(4)),
        node("other"),
        pod("web-0", "3", "plain-0"),
        pod("web-1", "500m", "plain-1"),
        pod("bare", "100m", "plain-2", owned=False),
    ]
    groups = [group("plain", labels={"of": "plain"})]
    nodes = {node_advice["node"]: node_advice for node_advice in advise_on(objects, groups)["nodes"]}
    assert {name: node_advice["verdict"] for name, node_advice in nodes.items()} == {
        "plain-0": advice.STAYS,
        "plain-1": advice.COULD_GO,
        "plain-2": advice.STAYS,
        "plain-3": advice.GOES,
        "other": advice.STAYS,
    }
    assert nodes["plain-0"]["used"]["cpu"] == [3000, 4000]
    assert nodes["plain-0"]["utilisation"] == 0.75
    assert nodes["plain-1"]["moves"].keys() == {"default/web-1"}
    assert nodes["plain-2"]["why"] == "Pod default/bare has no controller."
    removed = [name for action, name in list_actions(objects, groups) if action == REMOVED]
    assert removed[0] == "plain-3"
    assert set(removed) <= {"plain-1", "plain-3"}


@pytest.mark.parametrize(
    ("objects", "more", "why"),
    [
        ([budget("web", 0)], {}, "lets no pod go"),
        ([], {"min": 1}, "least number of nodes, 1"),
        ([node("other", "100m")], {}, "no place on another node"),
    ],
)
def test_a_node_that_stays_says_why(objects: list[Json], more: Json, why: str) -> None:
    cluster = [node("plain-0", of="plain"), pod("web-0", "500m", "plain-0"), *objects]
    (node_advice, *_) = advise_on(cluster, [group("plain", labels={"of": "plain"}, **more)])["nodes"]
    assert node_advice["verdict"] == advice.STAYS
    assert why in node_advice["why"]


@pytest.mark.parametrize(("skew", "verdict"), [(1, advice.STAYS), (2, advice.COULD_GO)])
def test_a_node_counts_for_the_spread_of_its_pods_until_it_is_gone(skew: int, verdict: str) -> None:
    spread = {
        "maxSkew": skew,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}},
    }
    pods = [pod(f"web-{number}", "500m", f"plain-{number}", topologySpreadConstraints=[spread]) for number in range(2)]
    nodes = [node(f"plain-{number}", of="plain") for number in range(2)]
    node_advices = advise_on([*nodes, *pods], [group("plain", labels={"of": "plain"})])["nodes"]
    assert [node_advice["verdict"] for node_advice in node_advices][1] == verdict


def test_each_node_is_looked_at_as_if_no_other_had_been() -> None:
    nodes = [node(f"plain-{number}", "1", of="plain") for number in range(3)]
    pods = [pod(f"web-{number}", "400m", f"plain-{number}") for number in range(3)]
    (_, *node_advices) = advise_on([*nodes, *pods], [group("plain", labels={"of": "plain"})])["nodes"]
    assert [set(node_advice["moves"]) for node_advice in node_advices] == [{"default/web-1"}, {"default/web-2"}]
    assert all(
        target != node_advice["node"] for node_advice in node_advices for target in node_advice["moves"].values()
    )


def test_pods_that_no_group_helps_say_why_of_each() -> None:
    answer = advise_on([node("full", "100m"), pod("huge", "9")], [group("small", "2"), group("none", "16", 0)])
    why = {"small": "Insufficient cpu", "none": "It has its most nodes, 0."}
    assert (answer["looks"], answer["helpless"]) == ([], [{"pod": "default/huge", "why": why}])


def test_groups_to_begin_with_are_by_instance_type_and_zone() -> None:
    kind, zone = "node.kubernetes.io/instance-type", "topology.kubernetes.io/zone"
    nodes = [node(f"n{number}", **{kind: "m.large", zone: "a", "own": str(number)}) for number in range(2)] + [
        node("bare")
    ]
    assert CONFIGURATION is not None
    (node_group,) = advice.derive_node_groups(CONFIGURATION.release.build_snapshot(nodes).nodes)
    assert (node_group["name"], node_group["max"], node_group["labels"]) == (
        "m-large-a",
        4,
        {kind: "m.large", zone: "a"},
    )
    assert advise_on(nodes, [node_group])["nodes"][0]["group"] == "m-large-a"
