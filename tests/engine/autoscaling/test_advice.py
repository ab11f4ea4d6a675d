"""Advice from Karpenter for a cluster that was read without NodeClaims."""

from __future__ import annotations

from typing import Any

import pytest

from kschedweb.engine.autoscaling.advice import ProvisioningRequest, advise_on_cluster
from kschedweb.engine.autoscaling.document import KIND, VERSION, KarpenterError, read_document
from kschedweb.engine.autoscaling.node_adopter import NodeAdopter
from kschedweb.engine.json_types import Json

NOW = 1_000_000.0


def pool(name: str = "default", **spec: Any) -> Json:
    return {"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": name}, "spec": spec}


def karpenter(*pools: Json, **more: Any) -> Any:
    return read_document({"apiVersion": VERSION, "kind": KIND, "nodePools": list(pools) or [pool()], **more})


def node(name: str, cpu: str = "4", memory: str = "16Gi", **labels: str) -> Json:
    has = {"cpu": cpu, "memory": memory, "pods": "110"}
    return {
        "kind": "Node",
        "metadata": {"name": name, "labels": {"topology.kubernetes.io/zone": "here-1", **labels}},
        "status": {"capacity": has, "allocatable": has, "conditions": [{"type": "Ready", "status": "True"}]},
    }


def pod(name: str, cpu: str, on: str = "", started: str = "1970-01-01T00:00:00Z") -> Json:
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "w", "controller": True}
    spec: Json = {"containers": [{"name": "main", "resources": {"requests": {"cpu": cpu}}}]}
    status: Json = {"phase": "Running", "startTime": started} if on else {}
    return {
        "kind": "Pod",
        "metadata": {"name": name, "ownerReferences": [owner]},
        "spec": spec | ({"nodeName": on} if on else {}),
        "status": status,
    }


def verdicts(advice: Json) -> dict[str, str]:
    return {node_advice["node"]: node_advice["verdict"] for node_advice in advice["nodes"]}


def test_nodes_without_a_nodepool_stay_unless_they_count_as_of_one() -> None:
    cluster = [node("a"), node("b"), pod("web-1", "1", "a")]
    advice = advise_on_cluster(ProvisioningRequest(karpenter(), cluster, NOW))
    assert verdicts(advice) == {"a": "stays", "b": "stays"}
    assert advice["before"] == {"nodes": 2, "price": 0, "unpriced": 2}
    advice = advise_on_cluster(ProvisioningRequest(karpenter(), cluster, NOW, "default"))
    assert (verdicts(advice)["b"], advice["command"]["candidates"]) == ("goes", ["b"])
    assert (advice["before"]["price"], advice["after"]["price"]) == pytest.approx((0.4, 0.2))
    assert "2 × general-4" in advice["notes"][0]


def test_a_new_node_is_the_cheapest_offer_that_holds_the_pods() -> None:
    advice = advise_on_cluster(ProvisioningRequest(karpenter(), [node("a", cpu="1"), pod("big", "3")], NOW))
    [new] = advice["newNodes"]
    prices = [offer["price"] for offer in new["offers"]]
    assert (new["pods"], prices) == (["default/big"], sorted(prices))
    assert new["offers"][0] == {
        "instanceType": "compute-4", "zone": "here-1", "capacityType": "spot", "price": 0.064
    }  # fmt: skip
    assert advice["after"]["nodes"] == 2


def test_consolidate_after_counts_from_the_last_pod_that_came() -> None:
    cluster = [node("a"), node("b"), pod("old", "1", "a"), pod("new", "1", "b", "1970-01-12T13:46:00Z")]
    policies = karpenter(pool(disruption={"consolidateAfter": "1h", "budgets": [{"nodes": "100%"}]}))
    advice = advise_on_cluster(ProvisioningRequest(policies, cluster, NOW, "default"))
    waits = next(node_advice for node_advice in advice["nodes"] if node_advice["node"] == "b")
    assert (waits["verdict"], waits["why"]) == ("stays", "The NodeClaim does not have the condition Consolidatable")
    assert verdicts(advice)["a"] == "goes"


def test_objects_that_cannot_be_read_are_left_out_with_a_note() -> None:
    bad = {"kind": "Pod", "metadata": {"name": "odd"}, "spec": {"tolerations": "none"}}
    advice = advise_on_cluster(ProvisioningRequest(karpenter(), [node("a"), bad], NOW))
    assert "Pod odd is left out" in advice["notes"][0]


def test_a_node_of_a_nodepool_that_is_not_told_stays() -> None:
    labels = {"karpenter.sh/nodepool": "gone", "karpenter.sh/registered": "true", "karpenter.sh/initialized": "true"}
    advice = advise_on_cluster(ProvisioningRequest(karpenter(), [node("a", **labels)], NOW))
    assert advice["nodes"][0]["why"] == "NodePool not found (NodePool=gone)"


def test_a_node_counts_as_the_smallest_type_that_holds_it() -> None:
    adopting = NodeAdopter(karpenter(), NOW, "default")
    list(adopting.adopt_objects([node("a", "2", "3Gi"), node("b", "3", "20Gi"), node("c", "64", "1Gi")]))
    assert adopting.assumed_types == {"a": "compute-2", "b": "memory-4"}


def test_every_problem_of_a_document_has_its_place() -> None:
    bad = {"apiVersion": VERSION, "kind": KIND, "nodePools": [pool(weight=0), {}], "instanceTypes": "all"}
    with pytest.raises(KarpenterError) as raised:
        read_document(bad)
    paths = [problem.path for problem in raised.value.problems]
    assert paths == ["nodePools[0].spec.weight", "nodePools[1].apiVersion", "instanceTypes"]
