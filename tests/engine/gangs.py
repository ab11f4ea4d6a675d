"""Short ways to groups of pods."""

from __future__ import annotations

from typing import Any

from kschedweb.engine import Pod, Scheduler, Snapshot
from kschedweb.engine.config import Configuration
from kschedweb.engine.cycle.group_placement import GroupPlacement
from kschedweb.engine.objects.podgroup import COMPOSITE, PodGroup
from kschedweb.engine.releases import get_release, load
from tests.engine.builders import CONFIGURATION, pod

ON = {"GenericWorkload": True}
BY_TOPOLOGY = {**ON, "TopologyAwareWorkloadScheduling": True}
IN_TREES = {**BY_TOPOLOGY, "CompositePodGroup": True}
ONE_CPU, THREE_CPUS = {"cpu": "1"}, {"cpu": "3"}  # a quarter of a node, and three


def group(name: str, at_least: int | None = 2, *, topology: str = "", whole: bool = False, **spec: Any) -> dict:
    """A PodGroup: a gang of ``at_least``, or none (``None``); ``whole``: disrupted as one."""
    policy = {"basic": {}} if at_least is None else {"gang": {"minCount": at_least}}
    return {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "schedulingPolicy": policy,
            "disruptionMode": {"all": {}} if whole else {"single": {}},
            **({"schedulingConstraints": {"topology": [{"key": topology}]}} if topology else {}),
            **spec,
        },
    }


def composite(name: str, at_least: int | None = 2, *, parent: str = "", whole: bool = False, **fields: Any) -> dict:
    """A CompositePodGroup: a gang of ``at_least`` groups, or none (``None``); part of ``parent``, if that is named."""
    raw = group(name, at_least, whole=whole, **fields)
    spec = raw["spec"] | ({"parentCompositePodGroupName": parent} if parent else {})
    if at_least is not None:
        spec["schedulingPolicy"] = {"gang": {"minGroupCount": at_least}}
    return raw | {"kind": "CompositePodGroup", "spec": spec}


def part(name: str, parent: str = "root", at_least: int | None = 2, **fields: Any) -> dict:
    """A PodGroup that is part of the composite group ``parent``."""
    return group(name, at_least, parentCompositePodGroupName=parent, **fields)


def member(name: str, group_name: str = "gang", **fields: Any) -> dict:
    return pod(name, schedulingGroup={"podGroupName": group_name}, **{"requests": ONE_CPU, **fields})


def members(count: int, group_name: str = "gang", **fields: Any) -> list[dict]:
    return [member(f"{group_name}-{number}", group_name, **fields) for number in range(count)]


def read_group(*args: Any, **fields: Any) -> PodGroup:
    return PodGroup.from_json(group(*args, **fields))


def configured(gates: dict[str, bool] | None = None, **profile: Any) -> Configuration:
    """A configuration of 1.37 with groups; of 1.38 if ``gates`` are those of groups of groups."""
    document = {**CONFIGURATION, "profiles": [{"schedulerName": "default-scheduler", **profile}]}
    release = "1.38" if gates is IN_TREES else "1.37"
    loaded = load(document, get_release(release, ON if gates is None else gates))
    assert loaded.configuration is not None, loaded.errors
    return loaded.configuration


def scheduler(*objects: dict, gates: dict[str, bool] | None = None, **profile: Any) -> Scheduler:
    return Scheduler(Snapshot.from_objects(objects), configured(gates, **profile))


def find_tree_placement(over: Scheduler, pods: list[dict], name: str = "root") -> GroupPlacement:
    """Run a cycle of the composite group and return its placement; the snapshot must be as before."""
    root = over.snapshot.objects.groups.get(f"default/{name}", COMPOSITE)
    assert root is not None
    before = dict(over.snapshot.pods.slots)
    placement = over.find_group(root, [Pod.from_json(raw) for raw in pods])
    assert over.snapshot.pods.slots == before
    return placement


def find_group_placement(over: Scheduler, pods: list[dict], name: str = "gang") -> GroupPlacement:
    """Run a cycle of the group and return its placement; the snapshot must be as before."""
    pod_group = over.snapshot.objects.groups.get(f"default/{name}")
    assert pod_group is not None
    before = dict(over.snapshot.pods.slots)
    placement = over.find_group(pod_group, [Pod.from_json(raw) for raw in pods])
    assert over.snapshot.pods.slots.keys() == before.keys()
    return placement


def list_nodes(placement: GroupPlacement) -> list[str]:
    return [placement.node for placement in placement.placements]


# Devices: two on each node, and claims that have one of them already.


def gpus(*names: str) -> list[dict]:
    """A DeviceClass, and on each node two devices of it."""
    objects: list[dict] = [
        {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "gpu"}, "spec": {}}
    ]
    for name in names:
        pool = {"name": name, "generation": 1, "resourceSliceCount": 1}
        devices = [{"name": f"gpu-{number}"} for number in range(2)]
        spec = {"driver": "gpu.example.com", "nodeName": name, "pool": pool, "devices": devices}
        objects.append({"kind": "ResourceSlice", "metadata": {"name": name}, "spec": spec})
    return objects


def gpu_claim(name: str, on: str, number: int, *, user: str = "") -> dict:
    """A claim that has a device of the node ``on``, reserved for the pod ``user``, if it is for anyone."""
    fields = [{"key": "metadata.name", "operator": "In", "values": [on]}]
    result = {"request": "gpu", "driver": "gpu.example.com", "pool": on, "device": f"gpu-{number}"}
    allocation = {"devices": {"results": [result]}, "nodeSelector": {"nodeSelectorTerms": [{"matchFields": fields}]}}
    reserved = [{"resource": "pods", "name": user, "uid": f"uid of {user}"}] if user else []
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu"}}]}},
        "status": {"allocation": allocation, "reservedFor": reserved},
    }


def with_gpu(name: str, claim: str, **fields: Any) -> dict:
    """A member that uses the claim."""
    return member(name, resourceClaims=[{"name": "gpu", "resourceClaimName": claim}], **fields)
