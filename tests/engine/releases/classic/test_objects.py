"""Pods, nodes and volumes as they were read then."""

from __future__ import annotations

from kschedweb.engine import Pod
from kschedweb.engine.releases.classic import in_zones_of_then
from kschedweb.engine.releases.classic.objects import as_of_then, get_requests
from tests.engine.builders import node, pod
from tests.engine.releases.classic.support import REGION, ZONE, explain_pod, place

TODAY, REGION_TODAY = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"


def test_each_container_is_rounded_up_before_they_are_summed() -> None:
    containers = [{"name": name, "resources": {"requests": {"memory": "100m", "cpu": "100u"}}} for name in "ab"]
    rounded = get_requests(as_of_then(Pod.from_json(pod("p") | {"spec": {"containers": containers}})))
    assert rounded.requests == {"memory": 2, "cpu": 2}


def test_pods_of_one_template_share_what_was_read() -> None:
    first, second = (as_of_then(Pod.from_json(pod(name, requests={"cpu": "1"}))) for name in "pq")
    assert get_requests(first) is get_requests(second)
    assert as_of_then(first) is first
    assert first.signature == second.signature


def test_controllers_of_one_name_are_told_apart_by_their_uid() -> None:
    raws = [pod(name) for name in "pq"]
    for raw, uid in zip(raws, ("1", "2"), strict=True):
        owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": uid, "controller": True}
        raw["metadata"]["ownerReferences"] = [owner]
    first, second = (as_of_then(Pod.from_json(raw)) for raw in raws)
    assert first.signature != second.signature


def test_a_cluster_of_today_can_be_seen_as_one_of_then() -> None:
    nodes = [node(f"{zone}{number}", labels={TODAY: zone}) for zone in "xy" for number in range(2)]
    policy: dict = {"predicates": [], "priorities": []}
    assert place([pod(f"p{number}") for number in range(4)], *map(in_zones_of_then, nodes), policy=policy) == [
        *("x0", "y0", "x1", "y1")
    ]
    both = in_zones_of_then(node("a", labels={TODAY: "now", REGION_TODAY: "r", ZONE: "then"}))
    assert both["metadata"]["labels"].items() >= {ZONE: "then", REGION: "r"}.items()
    assert in_zones_of_then({"kind": "Node", "metadata": {"name": "a"}}) == {"kind": "Node", "metadata": {"name": "a"}}


def test_fields_that_nobody_reads_today_may_hold_anything() -> None:
    volumes = [
        {"name": "a", "azureDisk": {"diskName": 5, "diskURI": "u"}},
        {"name": "b", "gcePersistentDisk": {"pdName": "x"}, "cinder": "no object"},
    ]
    odd = pod("b", on="a", volumes=volumes[:1])
    odd["metadata"]["ownerReferences"] = [{"kind": "ReplicaSet", "name": "r", "uid": 5, "controller": True}]
    source = {"awsElasticBlockStore": {"volumeID": "v"}, "cinder": "no object"}
    volume = {"kind": "PersistentVolume", "metadata": {"name": "v"}, "spec": source}
    claim = {
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "c", "namespace": "default"},
        "spec": {"volumeName": "v"},
    }
    claiming = pod("c", on="a", volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}])
    assert explain_pod(pod("p", volumes=volumes), node("a"), odd, volume, claim, claiming)["feasible"] == ["a"]


def test_what_cannot_be_read_is_left_as_it_is() -> None:
    for odd in ({"metadata": {"labels": "many"}}, {"metadata": 3}):
        assert in_zones_of_then(odd) == odd
