"""Objects of every kind with every field that is read, and ways to bend them."""

from __future__ import annotations

import copy
from functools import cache
from typing import Any

from hypothesis import strategies as st

from kschedweb.engine.json_types import Json

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
SELECTOR = {"matchLabels": {"app": "web"}, "matchExpressions": [{"key": "tier", "operator": "In", "values": ["a"]}]}
NODE_TERM = {
    "matchExpressions": [{"key": "size", "operator": "Gt", "values": ["3"]}],
    "matchFields": [{"key": "metadata.name", "operator": "In", "values": ["node-1"]}],
}
OWNER = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "u", "controller": True}


def thing(version: str, kind: str, name: str, namespace: str = "", **fields: Any) -> Json:
    metadata: Json = {"name": name, "uid": f"uid-{name}", "creationTimestamp": "2026-01-01T00:00:00Z"}
    metadata |= {
        "labels": {"app": "web"},
        "annotations": {"note": "x"},
        **({"namespace": namespace} if namespace else {}),
    }
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **fields}


def node(name: str, zone: str) -> Json:
    amounts = {"cpu": "4", "memory": "8Gi", "pods": "110", "ephemeral-storage": "10Gi", "example.com/gpu": "2"}
    document = thing("v1", "Node", name)
    document["metadata"]["labels"] = {HOST: name, ZONE: zone, "topology.kubernetes.io/region": "r", "size": "5"}
    taints = [{"key": "spot", "value": "yes", "effect": "PreferNoSchedule", "timeAdded": "2026-01-01T00:00:00Z"}]
    images = [{"names": ["registry.example/web:v1"], "sizeBytes": 100_000_000}]
    conditions = [{"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "ready"}]
    status = {"capacity": dict(amounts), "allocatable": amounts, "images": images, "conditions": conditions}
    status["declaredFeatures"] = ["GuaranteedQoSPodCPUResize"]
    return document | {"spec": {"taints": taints, "unschedulable": False, "podCIDR": "10.0.0.0/24"}, "status": status}


def pod(name: str, on: str = "") -> Json:
    """A pod that uses everything, bound to the node ``on``."""
    term = {"labelSelector": SELECTOR, "topologyKey": ZONE, "namespaces": ["default"], "namespaceSelector": SELECTOR}
    term |= {"matchLabelKeys": ["app"]}
    alone = {"matchLabels": {"app": "alone"}}
    weighted = [{"weight": 10, "podAffinityTerm": copy.deepcopy(term)}]
    node_affinity = {
        REQUIRED: {"nodeSelectorTerms": [NODE_TERM]},
        PREFERRED: [{"weight": 5, "preference": {"matchExpressions": NODE_TERM["matchExpressions"]}}],
    }
    resources = {"requests": {"cpu": "100m", "memory": "1Gi"}, "limits": {"cpu": "1", "example.com/gpu": "1"}}
    # No two pods stand in each other's way, so that every plugin is asked about every pod.
    port = {"containerPort": 80, "hostPort": 8000 + len(name), "hostIP": "10.0.0.1", "protocol": "TCP"}
    container = {"name": "main", "image": "registry.example/web:v1", "resources": resources, "ports": [port]}
    init = {"name": "init", "image": "i", "resources": {"requests": {"cpu": "50m"}}, "restartPolicy": "Always"}
    spread: Json = {"maxSkew": 1, "minDomains": 2, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule"}
    spread |= {"labelSelector": SELECTOR, "matchLabelKeys": ["app"], "nodeAffinityPolicy": "Honor"}
    spread |= {"nodeTaintsPolicy": "Ignore"}
    soft = {key: value for key, value in spread.items() if key != "minDomains"}
    spec = {
        "containers": [container],
        "initContainers": [init],
        "volumes": [
            {"name": "data", "persistentVolumeClaim": {"claimName": "data", "readOnly": False}},
            {"name": "made", "ephemeral": {"volumeClaimTemplate": {"spec": {"accessModes": ["ReadWriteOnce"]}}}},
            {"name": "disk", "gcePersistentDisk": {"pdName": "disk", "readOnly": True}},
            {"name": "rbd", "rbd": {"monitors": ["a"], "image": "i", "pool": "p", "readOnly": True}},
            {"name": "aws", "awsElasticBlockStore": {"volumeID": f"aws://a/vol-{name}"}},
        ],
        "affinity": {
            "nodeAffinity": node_affinity,
            "podAffinity": {REQUIRED: [copy.deepcopy(term)], PREFERRED: copy.deepcopy(weighted)},
            "podAntiAffinity": {REQUIRED: [term | {"labelSelector": alone}], PREFERRED: weighted},
        },
        "nodeSelector": {"size": "5"},
        "tolerations": [{"key": "spot", "operator": "Equal", "value": "yes", "effect": "NoExecute"}],
        "topologySpreadConstraints": [spread, soft | {"topologyKey": HOST, "whenUnsatisfiable": "ScheduleAnyway"}],
        "priority": 10,
        "priorityClassName": "high",
        "preemptionPolicy": "PreemptLowerPriority",
        "overhead": {"cpu": "10m"},
        "resources": {"requests": {"cpu": "200m"}, "limits": {"memory": "2Gi"}},
        "schedulingGates": [],
        "schedulerName": "default-scheduler",
        "hostNetwork": False,
        "runtimeClassName": "small",
        "terminationGracePeriodSeconds": 30,
        "resourceClaims": [{"name": "device", "resourceClaimName": "device"}],
        **({"nodeName": on} if on else {}),
    }
    condition = {"type": "PodScheduled", "status": "True", "reason": "", "message": ""}
    running: Json = {"name": "main", "resources": {"requests": {"cpu": "1"}}, "allocatedResources": {"cpu": "1"}}
    status: Json = {
        "phase": "Running" if on else "Pending",
        "startTime": "2026-01-01T00:00:00Z",
        "conditions": [condition],
    }
    status |= {"containerStatuses": [running], "nominatedNodeName": "", "resourceClaimStatuses": []}
    document = thing("v1", "Pod", name, "default", spec=spec, status=status)
    document["metadata"]["ownerReferences"] = [OWNER]
    return document


def plain_pod(name: str, on: str = "") -> Json:
    """A pod that can be placed: what it says decides, so a bent one is not rejected before it is looked at."""
    document = pod(name, on)
    keep = ("containers", "tolerations", "priority", "topologySpreadConstraints", "schedulerName", "nodeName")
    document["spec"] = {key: value for key, value in document["spec"].items() if key in keep}
    return document


def bare_pod(name: str, **spec: Any) -> Json:
    """A pod that only asks for room, and is spread as the scheduler spreads those of one service."""
    document = plain_pod(name)
    old_spec = {key: value for key, value in document["spec"].items() if key != "topologySpreadConstraints"}
    return document | {"spec": old_spec | spec}


def cluster() -> list[Json]:
    """Two nodes, two bound pods, and one object of each other kind."""
    return [
        node("node-1", "a"),
        node("node-2", "b"),
        pod("bound", "node-1"),
        plain_pod("other", "node-2"),
        *workloads(),
        *storage(),
        *devices(),
    ]


def workloads() -> list[Json]:
    template = {"metadata": {"labels": {"app": "web", "tier": "a"}}, "spec": plain_pod("x")["spec"]}
    controller = {"replicas": 2, "selector": SELECTOR, "template": template}
    budget = {"disruptionsAllowed": 1, "disruptedPods": {"gone": "2026-01-01T00:00:00Z"}}
    return [
        thing("v1", "Namespace", "default"),
        thing("v1", "Service", "web", "default", spec={"selector": {"app": "web"}}),
        thing("apps/v1", "ReplicaSet", "web", "default", spec=controller),
        thing("apps/v1", "StatefulSet", "web", "default", spec=controller),
        thing("apps/v1", "Deployment", "web", "default", spec=controller),
        thing("apps/v1", "DaemonSet", "web", "default", spec=controller),
        thing("v1", "ReplicationController", "web", "default", spec=controller | {"selector": {"app": "web"}}),
        thing("policy/v1", "PodDisruptionBudget", "web", "default", spec={"selector": SELECTOR}, status=budget),
        thing("scheduling.k8s.io/v1", "PriorityClass", "high", value=10, globalDefault=True, preemptionPolicy="Never"),
        thing("node.k8s.io/v1", "RuntimeClass", "small", handler="x", **runtime()),
    ]


def runtime() -> Json:
    scheduling = {"nodeSelector": {"size": "5"}, "tolerations": [{"key": "k", "operator": "Exists"}]}
    return {"overhead": {"podFixed": {"cpu": "10m"}}, "scheduling": scheduling}


def storage() -> list[Json]:
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, "selector": SELECTOR}
    claim |= {"storageClassName": "fast", "volumeMode": "Filesystem"}
    volume = {"capacity": {"storage": "2Gi"}, "accessModes": ["ReadWriteOnce"], "storageClassName": "fast"}
    volume |= {"csi": {"driver": "disk.example.com", "volumeHandle": "h"}, "volumeMode": "Filesystem"}
    volume |= {"claimRef": {"namespace": "default", "name": "data", "uid": ""}}
    volume |= {"nodeAffinity": {"required": {"nodeSelectorTerms": [NODE_TERM]}}}
    bound = thing("v1", "PersistentVolumeClaim", "data", "default", spec=claim | {"volumeName": "volume"})
    bound["metadata"]["annotations"] = {"pv.kubernetes.io/bind-completed": "yes"}
    pending_claim = thing("v1", "PersistentVolumeClaim", "pending-made", "default", spec=claim)
    pending_claim["metadata"]["ownerReferences"] = [OWNER | {"kind": "Pod", "name": "pending", "uid": "uid-pending"}]
    in_tree = {key: volume[key] for key in ("capacity", "accessModes")} | {"gcePersistentDisk": {"pdName": "old"}}
    topology: list[Json] = [{"matchLabelExpressions": [{"key": ZONE, "values": ["a"]}]}]
    driver = {"name": "disk.example.com", "nodeID": "1", "allocatable": {"count": 3}, "topologyKeys": [ZONE]}
    attachment = {"attacher": "disk.example.com", "nodeName": "node-1", "source": {"persistentVolumeName": "volume"}}
    group = "storage.k8s.io/v1"
    wait: Json = {"volumeBindingMode": "WaitForFirstConsumer", "allowedTopologies": topology}
    capacity: Json = {
        "storageClassName": "fast",
        "maximumVolumeSize": "1Gi",
        "capacity": "5Gi",
        "nodeTopology": SELECTOR,
    }
    return [
        bound | {"status": {"phase": "Bound"}},
        pending_claim,
        thing("v1", "PersistentVolume", "volume", spec=volume, status={"phase": "Bound"}),
        thing("v1", "PersistentVolume", "old", spec=in_tree, status={"phase": "Available"}),
        thing(group, "StorageClass", "fast", provisioner="disk.example.com", **wait),
        thing(group, "CSINode", "node-1", spec={"drivers": [driver]}),
        thing(group, "CSIDriver", "disk.example.com", spec={"storageCapacity": True}),
        thing(group, "CSIStorageCapacity", "some", "default", **capacity),
        thing(group, "VolumeAttachment", "one", spec=attachment, status={"attached": True}),
    ]


def devices() -> list[Json]:
    exactly = {"name": "gpu", "exactly": {"deviceClassName": "gpu", "count": 1, "allocationMode": "ExactCount"}}
    either = {"name": "any", "firstAvailable": [{"name": "small", "deviceClassName": "gpu"}]}
    result = {"request": "gpu", "driver": "gpu.example.com", "pool": "node-1", "device": "gpu-0"}
    allocation = {
        "devices": {"results": [result]},
        "nodeSelector": {"nodeSelectorTerms": [NODE_TERM]},
        "allocationTimestamp": "2026-01-01T00:00:00Z",
    }
    reserved = [{"resource": "pods", "name": "bound", "uid": "uid-bound"}]
    claim = {"devices": {"requests": [exactly, either]}}
    status = {"allocation": allocation, "reservedFor": reserved, "devices": [result | {"conditions": []}]}
    pool = {"name": "node-1", "generation": 1, "resourceSliceCount": 1}
    device = {"name": "gpu-0", "attributes": {"model": {"string": "x"}}, "capacity": {"memory": {"value": "1Gi"}}}
    group = "resource.k8s.io/v1"
    piece = {"driver": "gpu.example.com", "pool": pool, "nodeName": "node-1", "devices": [device]}
    chosen = {"selectors": [{"cel": {"expression": "true"}}], "extendedResourceName": "example.com/gpu"}
    taint = {"key": "worn", "value": "yes", "effect": "NoSchedule"}
    worn = {"deviceSelector": {"driver": "gpu.example.com", "pool": "node-1", "device": "gpu-0"}, "taint": taint}
    return [
        thing(group, "ResourceClaim", "device", "default", spec=claim, status=status),
        thing(group, "DeviceClass", "gpu", spec=chosen),
        thing(group, "ResourceSlice", "slice", spec=piece),
        thing(group, "DeviceTaintRule", "rule", spec=worn),
    ]


@cache
def originals() -> tuple[Json, ...]:
    """One of each, and the pods that are to be placed."""
    hungry = {"name": "main", "image": "i", "resources": {"requests": {"cpu": "3900m"}}}
    strong = bare_pod("strong", priority=1000, containers=[hungry])
    return (*cluster(), pod("pending"), plain_pod("plain"), bare_pod("bare"), strong)


EXTREMES: list[Any] = [
    None, True, False, 0, -1, 7, 2**31, 2**63 - 1, 2**63, -(2**63), 10**400, 1.5, -0.0, 1e308, float("nan"),
    float("inf"), "", " ", "x" * 5000, "🙂", "\u2028", "\ud800", "\x00", "0", "-1", "-100m", "1e99", "1e9999999",
    "9999999999999999", "99999999999999999999Ei", "1e-9", "-5Gi", "NaN", "½", "٣", "2026-13-45T99:99:99Z", "In",
    "Exists", "Sometimes", "node-1", "default/bound", [], [[]], [None], [3], ["x"], ["x"] * 1000, {}, {"": ""},
    {"a": None}, {"key": "a", "operator": "Gt", "values": ["x"]}, {"a": {"a": {}}},
    {f"label-{n}": "x" for n in range(10_000)},
]  # fmt: skip


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The path of everything inside ``value``."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    paths = [path] if path else []
    for key, inner in inside:
        paths += places(inner, (*path, key))
    return paths


@st.composite
def bent(draw: st.DrawFn) -> Json:
    """An original with up to three of its fields replaced, left out, renamed or doubled."""
    item = copy.deepcopy(draw(st.sampled_from(originals())))
    for _ in range(draw(st.integers(1, 3))):
        path = draw(st.sampled_from(places(item) or [("metadata",)]))
        parent: Any = item
        for key in path[:-1]:
            parent = parent[key]
        bend(draw, parent, path[-1])
    return item


def bend(draw: st.DrawFn, parent: Any, key: Any) -> None:
    match draw(st.sampled_from(["replace", "replace", "replace", "remove", "rename", "double", "wrap", "swap"])):
        case "remove":
            del parent[key]
        case "rename" if isinstance(parent, dict):
            parent[draw(st.sampled_from(["", "x", "name", "requests", "\ud800"]))] = parent.pop(key)
        case "double" if isinstance(parent, list):
            parent.append(copy.deepcopy(parent[key]))
        case "wrap":
            parent[key] = [parent[key]] if draw(st.booleans()) else {"x": parent[key]}
        case "swap":
            other = draw(st.sampled_from(originals()))
            parent[key] = copy.deepcopy(draw(st.sampled_from(list(other.values()))))
        case _:
            parent[key] = copy.deepcopy(draw(st.sampled_from(EXTREMES)))
