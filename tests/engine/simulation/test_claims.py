"""Resource claims over time: devices are kept as long as a pod is left that uses them."""

from __future__ import annotations

from typing import Any

import pytest

from kschedweb.engine.releases import CURRENT, load
from kschedweb.engine.simulation import (
    NodeDrains,
    NodeJoins,
    PodArrives,
    PodChanges,
    Result,
    Simulation,
    SimulationEvent,
    SimulationSettings,
    StartState,
)
from tests.engine.builders import CONFIGURATION, node, pod
from tests.engine.storage import EBS, ZONE, claim, make_object, storage_class

ALLOCATED = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "ResourceClaim",
    "metadata": {"name": "c", "namespace": "default"},
    "spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu"}}]}},
    "status": {"allocation": {"devices": {"results": []}}},
}
CLASS = {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "gpu"}}


def arrives(time: float, name: str, duration: float) -> PodArrives:
    claims = [{"name": "d", "resourceClaimName": "c"}]
    return PodArrives(time, pod(name, resourceClaims=claims), duration=duration)


def simulate(*events: PodArrives | NodeJoins) -> Result:
    configuration = load(CONFIGURATION).configuration
    assert configuration is not None
    start = StartState.from_objects([node("a"), ALLOCATED, CLASS], CURRENT)
    first, second = (Simulation(start, configuration, list(events), SimulationSettings()).run(400.0) for _ in range(2))
    assert first == second
    return second


def test_a_claim_keeps_its_devices_while_pods_that_overlap_use_it() -> None:
    result = simulate(arrives(0.0, "p", 20.0), arrives(10.0, "q", 20.0), arrives(25.0, "r", 20.0))
    assert [bound.pod for bound in result.bound] == ["default/p", "default/q", "default/r"]


def test_devices_that_nobody_is_left_to_use_have_to_be_chosen_again() -> None:
    # The node that joins has the snapshot built anew: reservations outlive that.
    joins = NodeJoins(5.0, node("b"))
    result = simulate(arrives(0.0, "p", 20.0), joins, arrives(30.0, "q", 20.0))
    assert [bound.pod for bound in result.bound] == ["default/p"]
    assert [(waiting.pod, waiting.message) for waiting in result.pending] == [
        (
            "default/q",
            "0/2 nodes are available: 2 cannot allocate all claims. "
            "preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling.",
        )
    ]


def test_a_pod_that_cannot_be_judged_is_not_tried_all_the_time() -> None:
    result = simulate(arrives(0.0, "p", 20.0), arrives(30.0, "q", 20.0))
    assert [(refused.pod, refused.by) for refused in result.rejected] == [
        ("default/q", ("DynamicResources",)),
        ("default/q", ("DynamicResources",)),
    ]
    assert result.rejected[1].time - result.rejected[0].time > 300.0


# Claims that controllers make for pods.

VOLUMES_FULL = "3 node(s) exceed max volume count"


def ebs_node(name: str, zone: str) -> list[dict]:
    """A node in a zone that takes two EBS volumes."""
    keys = {"name": EBS, "nodeID": name, "topologyKeys": [ZONE], "allocatable": {"count": 2}}
    limits = make_object("CSINode", name, version="storage.k8s.io/v1", spec={"drivers": [keys]})
    return [node(name, labels={ZONE: zone}), limits]


def with_volume(name: str, **fields: Any) -> dict:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, "storageClassName": "gp3"}
    return pod(name, volumes=[{"name": "e", "ephemeral": {"volumeClaimTemplate": {"spec": spec}}}], **fields)


def with_device(name: str, **fields: Any) -> dict:
    return pod(name, resourceClaims=[{"name": "gpu", "resourceClaimTemplateName": "single"}], **fields)


def gpus(on: str, count: int) -> dict:
    pool = {"name": on, "generation": 1, "resourceSliceCount": 1}
    devices = [{"name": f"g{number}"} for number in range(count)]
    spec = {"driver": "drv.example", "nodeName": on, "pool": pool, "devices": devices}
    return make_object("ResourceSlice", f"{on}-gpus", version="resource.k8s.io/v1", spec=spec)


def run(objects: list[dict], *events: SimulationEvent, end: float = 400.0, **settings: Any) -> Result:
    configuration = load(CONFIGURATION).configuration
    assert configuration is not None
    start = StartState.from_objects(objects, CURRENT)
    first, second = (
        Simulation(start, configuration, events, SimulationSettings(**settings)).run(end) for _ in range(2)
    )
    assert first == second  # a run changes nothing that the next one sees
    return second


STORAGE = [*ebs_node("a", "1"), *ebs_node("b", "2"), *ebs_node("c", "3"), storage_class("gp3", EBS)]
TEMPLATE_SPEC = {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu"}}]}}
TEMPLATE = make_object(
    "ResourceClaimTemplate",
    "single",
    version="resource.k8s.io/v1",
    metadata={"namespace": "default"},
    spec={"spec": TEMPLATE_SPEC},
)
DEVICES = [node("a"), node("b"), gpus("a", 1), gpus("b", 1), CLASS, TEMPLATE]


def test_ephemeral_volumes_get_claims_which_count_and_go_with_their_pods() -> None:
    arrivals = [
        PodArrives(float(number), with_volume(f"p{number}"), 60.0 if not number else None) for number in range(7)
    ]
    result = run(STORAGE, *arrivals)
    assert sorted(bound.node for bound in result.bound[:6]) == ["a", "a", "b", "b", "c", "c"]
    (rejected,) = result.rejected
    assert (rejected.pod, rejected.by) == ("default/p6", ("NodeVolumeLimits",))
    assert VOLUMES_FULL in rejected.message
    # The first pod ends after 60 s, and its claim with it.
    assert (result.bound[6].pod, result.bound[6].node) == ("default/p6", result.bound[0].node)
    assert result.bound[6].time == pytest.approx(60.0, abs=1.0)


def test_volumes_of_pods_that_were_on_their_nodes_before_count_although_no_claim_was_recorded() -> None:
    earlier_pods = [with_volume(f"old{number}", on="a") for number in range(2)]
    result = run([*STORAGE, *earlier_pods], *(PodArrives(1.0, with_volume(f"p{number}")) for number in range(5)))
    assert sorted(bound.node for bound in result.bound) == ["b", "b", "c", "c"]


def test_a_volume_of_a_class_that_does_not_wait_is_there_at_once_where_the_class_allows_it() -> None:
    topology = {"matchLabelExpressions": [{"key": ZONE, "values": ["2"]}]}
    fast = storage_class("gp3", EBS, volumeBindingMode="Immediate", allowedTopologies=[topology])
    arrivals = [
        PodArrives(float(number), with_volume(f"p{number}"), 60.0 if not number else None) for number in range(3)
    ]
    result = run([*STORAGE, fast], *arrivals)
    assert [bound.node for bound in result.bound] == ["b", "b", "b"]  # the third once the first has ended
    assert result.bound[2].time == pytest.approx(60.0, abs=1.0)


def test_resource_claims_are_made_from_templates_and_go_with_their_pods() -> None:
    arrivals = [
        PodArrives(float(number), with_device(f"p{number}"), 60.0 if not number else None) for number in range(3)
    ]
    result = run(DEVICES, *arrivals)
    assert sorted(bound.node for bound in result.bound[:2]) == ["a", "b"]
    (rejected,) = result.rejected
    assert (rejected.pod, rejected.by) == ("default/p2", ("DynamicResources",))
    assert (result.bound[2].pod, result.bound[2].node) == ("default/p2", result.bound[0].node)
    assert result.bound[2].time == pytest.approx(60.0, abs=1.0)


def test_a_pod_in_the_place_of_an_evicted_one_gets_claims_of_its_own() -> None:
    owner = [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "r", "controller": True}]
    raw = with_volume("p")
    raw["metadata"] |= {"ownerReferences": owner, "uid": "uid-p"}
    raw["spec"]["resourceClaims"] = with_device("p")["spec"]["resourceClaims"]
    objects = [*STORAGE, gpus("a", 1), gpus("b", 1), CLASS, TEMPLATE]
    arrives = PodArrives(0.0, raw, replaced=True)
    (alone,) = run(objects, arrives).bound
    first, second = run(objects, arrives, NodeDrains(100.0, alone.node)).bound
    assert [first.pod, second.pod] == ["default/p", "default/p-again1"]
    assert first.node != second.node  # although the first's volume is in its zone, and its device on its node


def test_a_claim_that_cannot_be_made_is_told_with_the_reason() -> None:
    result = run([*STORAGE, claim("p-e"), CLASS], PodArrives(0.0, with_volume("p")), PodArrives(0.0, with_device("q")))
    assert [text for _, text in result.refused] == [
        "Pod default/p: ephemeral volume e: PVC default/p-e was not created for pod default/p (pod is not owner)",
        'Pod default/q: PodResourceClaim gpu: resource claim template "single": '
        'resourceclaimtemplate.resource.k8s.io "single" not found',
    ]
    messages = {waiting.pod: waiting.message for waiting in result.pending}
    assert "not owner" in messages["default/p"]
    assert messages["default/q"].startswith('PodResourceClaim gpu: resource claim template "single":')


def test_a_pod_that_changes_keeps_its_claims() -> None:
    labelled = with_device("p", labels={"a": "b"}, schedulingGates=[])
    gated = with_device("p", schedulingGates=[{"name": "wait"}])
    result = run(DEVICES, PodArrives(0.0, gated), PodChanges(10.0, labelled), PodArrives(20.0, with_device("q")))
    assert [bound.pod for bound in result.bound] == ["default/p", "default/q"]
