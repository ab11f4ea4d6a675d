"""Pods of a group that share a claim: they share its devices before these are written into it."""

from __future__ import annotations

from kschedweb.engine import Pod, Scheduler
from tests.engine.builders import node
from tests.engine.gangs import find_group_placement, group, list_nodes, member, scheduler

CLASS = {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "gpu"}, "spec": {}}
USES = [{"name": "gpu", "resourceClaimName": "shared"}]


def devices(node_name: str, count: int) -> dict:
    """As many devices on a node."""
    pool = {"name": node_name, "generation": 1, "resourceSliceCount": 1}
    listed = [{"name": f"d{number}"} for number in range(count)]
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": f"slice-{node_name}"},
        "spec": {"driver": "d.example.com", "nodeName": node_name, "pool": pool, "devices": listed},
    }


def claim() -> dict:
    exactly = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "shared", "namespace": "default", "uid": "uid-shared"},
        "spec": {"devices": {"requests": [{"name": "r", "exactly": exactly}]}},
    }


def make_scheduler(at_least: int = 2) -> Scheduler:
    objects = [node("a"), node("b"), CLASS, devices("b", 1), claim(), group("gang", at_least)]
    return scheduler(*objects)


def users(count: int) -> list[dict]:
    return [member(f"gang-{number}", resourceClaims=USES) for number in range(count)]


def test_pods_of_a_group_share_devices_that_were_chosen_for_one_of_them() -> None:
    over = make_scheduler()
    assert list_nodes(find_group_placement(over, users(3))) == ["b", "b", "b"]
    assert over.snapshot.resource_claims.in_flight("default", "shared") is None, "the search gave them back"


def test_devices_are_given_back_by_the_last_pod_and_written_by_the_first() -> None:
    over = make_scheduler()
    pods = [Pod.from_json(raw) for raw in users(2)]
    gang = over.snapshot.objects.groups.get("default/gang")
    assert gang is not None
    over.find_group(gang, pods)
    claims = over.snapshot.resource_claims
    first, second = (over.create_binding(pod, "b") for pod in pods)
    assert (first.reserve_and_permit(), second.reserve_and_permit()) == (None, None)
    chosen = claims.in_flight("default", "shared")
    assert chosen is not None
    assert chosen.uids == (pods[0].uid, pods[1].uid)
    first.give_up("no")
    assert claims.in_flight("default", "shared") is not None, "the second pod wants them still"
    for plugin in list(second.waits):
        second.allow(plugin)
    assert second.run_binding() is None
    shared_claim = claims.get("default", "shared")
    assert shared_claim is not None
    assert shared_claim.allocation is not None
    assert shared_claim.reserved_for == (pods[1].uid,)
    assert claims.in_flight("default", "shared") is None


def test_what_another_try_has_in_flight_is_not_shared() -> None:
    over = make_scheduler(1)
    gang = over.snapshot.objects.groups.get("default/gang")
    assert gang is not None
    early, late = (Pod.from_json(raw) for raw in users(2))
    over.find_group(gang, [early])
    assert over.create_binding(early, "b").reserve_and_permit() is None
    placement = over.find_group(gang, [late])
    assert "resource claim default/shared is in the process of being allocated" in placement.placements[0].message
