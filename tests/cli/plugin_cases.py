"""The published cases of the krew plugins why-pending and can-schedule, rebuilt as objects, with what those answer."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from kschedweb.engine.json_types import Json
from tests.engine.builders import node, pod

CONTROL_PLANE = "node-role.kubernetes.io/control-plane"
TAINTED = [{"key": CONTROL_PLANE, "effect": "NoSchedule"}]
GPU, ZONE, HOST = "nvidia.com/gpu", "topology.kubernetes.io/zone", "kubernetes.io/hostname"
WEB = {"app": "web"}


@dataclass(frozen=True)
class Case:
    """A question about the pod ``demo``, or about ``manifest``, and the plugin's answer in our words."""

    title: str
    theirs: str
    objects: list[Json]
    manifest: list[Json] = field(default_factory=list)


def demo(cpu: str = "100m", memory: str = "64Mi", **fields: Any) -> Json:
    extended = fields.pop("extended", {})
    return pod("demo", requests={"cpu": cpu, "memory": memory, **extended}, **fields)


def busy(name: str, cpu: str, memory: str = "1Gi") -> list[Json]:
    """A node of 4 CPU of which ``cpu`` are requested."""
    return [node(name), pod(f"busy-{name}", on=name, requests={"cpu": cpu, "memory": memory})]


def zone(name: str, **fields: Any) -> Json:
    return node(f"n-{name}", labels={ZONE: name}, **fields)


def web(on: str) -> Json:
    return pod(f"web-{on}", on=on, labels=WEB)


def selector(labels: dict[str, str]) -> Json:
    return {"labelSelector": {"matchLabels": labels}}


SPREAD = [{"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule", **selector(WEB)}]


def required(kind: str, labels: dict[str, str]) -> Json:
    term = {"topologyKey": HOST, **selector(labels)}
    return {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


CLAIMING: dict[str, Any] = {"resourceClaims": [{"name": "gpu", "resourceClaimName": "claim-1"}]}
DEVICES = "resource.k8s.io/v1"


def claim(namespace: str = "default") -> Json:
    request = {
        "name": "gpu",
        "exactly": {"deviceClassName": "gpu.example.com", "allocationMode": "ExactCount", "count": 1},
    }
    return {
        "apiVersion": DEVICES,
        "kind": "ResourceClaim",
        "metadata": {"name": "claim-1", "namespace": namespace, "uid": "claim-1"},
        "spec": {"devices": {"requests": [request]}},
    }


DEVICE_CLASS: Json = {
    "apiVersion": DEVICES, "kind": "DeviceClass", "metadata": {"name": "gpu.example.com"},
    "spec": {"selectors": [{"cel": {"expression": 'device.driver == "gpu.example.com"'}}]},
}  # fmt: skip
SLICE: Json = {
    "apiVersion": DEVICES,
    "kind": "ResourceSlice",
    "metadata": {"name": "slice"},
    "spec": {
        "driver": "gpu.example.com",
        "nodeName": "n1",
        "pool": {"name": "n1", "generation": 1, "resourceSliceCount": 1},
        "devices": [{"name": "d0"}],
    },
}

WHY_PENDING = [
    Case(
        "Room for it in total, but on no single node",
        "fragmentation",
        [demo("2", "256Mi"), *busy("n1", "3"), *busy("n2", "3"), *busy("n3", "3")],
    ),
    Case("Larger than any node", "larger than any node", [demo("8", "256Mi"), node("n1"), node("n2")]),
    Case(
        "No room, not even in total",
        "too little free",
        [demo("3", "256Mi"), *busy("n1", "3500m"), *busy("n2", "3500m")],
    ),
    Case("One node, with the control plane's taint", "the taint", [demo(), node("cp", taints=TAINTED)]),
    Case(
        "The same, tolerated",
        "no taint",
        [
            demo(tolerations=[{"key": CONTROL_PLANE, "operator": "Exists", "effect": "NoSchedule"}]),
            node("cp", taints=TAINTED),
        ],
    ),
    Case(
        "Workers that are full beside a control plane with a taint",
        "fragmentation; 1 of 4 nodes has a taint",
        [demo("2", "512Mi"), node("cp", taints=TAINTED), *busy("n1", "3"), *busy("n2", "3"), *busy("n3", "3")],
    ),
    Case("A node selector that no node has", "the node selector", [demo(nodeSelector={"disktype": "ssd"}), node("n1")]),
    Case(
        "A claim that is not bound",
        "the claim",
        [
            demo(volumes=[{"name": "data", "persistentVolumeClaim": {"claimName": "data-demo-0"}}]),
            node("n1"),
            {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "metadata": {"name": "data-demo-0", "namespace": "default"},
                "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
            },
        ],
    ),
    Case("Nothing in its way", "should fit; look at events", [demo(), node("n1")]),
    Case("A GPU that no node offers", "no node offers it", [demo(extended={GPU: "1"}), node("n1")]),
    Case(
        "GPUs that are all in use",
        "too few are free",
        [
            demo(extended={GPU: "1"}),
            *(node(name, allocatable={GPU: "2"}) for name in ("g1", "g2")),
            *(pod(f"busy-{name}", on=name, requests={GPU: "2"}) for name in ("g1", "g2")),
        ],
    ),
    Case(
        "A GPU that is free",
        "nothing",
        [demo(extended={GPU: "1"}), node("g1", allocatable={GPU: "4"}), pod("busy", on="g1", requests={GPU: "1"})],
    ),
    Case(
        "Spread over zones, and the empty zone is cordoned",
        "the spread constraint",
        [
            demo(labels=WEB, topologySpreadConstraints=SPREAD),
            zone("a"),
            zone("b"),
            zone("c", unschedulable=True),
            web("n-a"),
            web("n-b"),
        ],
    ),
    Case(
        "Spread over zones, with an empty one",
        "nothing",
        [demo(labels=WEB, topologySpreadConstraints=SPREAD), zone("a"), zone("b"), web("n-a")],
    ),
    Case(
        "One of a kind on each host, and no host is left",
        "the anti-affinity",
        [demo(labels=WEB, affinity=required("podAntiAffinity", WEB)), node("n1"), node("n2"), web("n1"), web("n2")],
    ),
    Case(
        "Beside a pod that does not exist",
        "the affinity",
        [demo(labels=WEB, affinity=required("podAffinity", {"app": "cache"})), node("n1")],
    ),
    Case("A claim of a device that does not exist", "the claim is not found", [demo(**CLAIMING), node("n1")]),
    Case(
        "The claim of another namespace",
        "the claim is not found",
        [demo(**CLAIMING), node("n1"), claim("other"), DEVICE_CLASS],
    ),
    Case("A device class that does not exist", "the class is not found", [demo(**CLAIMING), node("n1"), claim()]),
    Case(
        "A device class whose devices nobody offers",
        "no driver offers devices",
        [demo(**CLAIMING), node("n1"), claim(), DEVICE_CLASS],
    ),
    Case(
        "A claim that is not allocated, with a device that is free",
        "blocked: the claim is not allocated",
        [demo(**CLAIMING), node("n1"), claim(), DEVICE_CLASS, SLICE],
    ),
]


def workload(kind: str, name: str, replicas: int, requests: Json, **spec: Any) -> Json:
    template = {
        "metadata": {"labels": {"app": name}},
        "spec": {"containers": [{"name": "main", "resources": {"requests": requests}}]},
    }
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": template, **spec},
    }


def volume_template(storage_class: str = "") -> list[Json]:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    return [
        {
            "metadata": {"name": "data"},
            "spec": {**spec, **({"storageClassName": storage_class} if storage_class else {})},
        }
    ]


def storage_class(name: str, *, default: bool = False) -> Json:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {
            "name": name,
            "annotations": {"storageclass.kubernetes.io/is-default-class": "true"} if default else {},
        },
        "provisioner": f"example.com/{name}",
        "volumeBindingMode": "WaitForFirstConsumer",
    }


def named(name: str, requests: Json, **spec: Any) -> Json:
    return pod(name, requests=requests, **spec)


EIGHT = {"cpu": "8", "memory": "16Gi"}
THREE = [*(node(f"node-{name}", allocatable=EIGHT) for name in "abc"), storage_class("standard", default=True)]
FULL = [
    node("node-a"),
    pod("low", on="node-a", requests={"cpu": "4", "memory": "1Gi"}),
    {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 1000},
]
SMALL = {"cpu": "1", "memory": "256Mi"}

CAN_SCHEDULE = [
    Case(
        "8 pods of 2 CPU on 3 nodes of 4", "6 fit",
        [node("node-a"), node("node-b"), node("node-c")], [workload("Deployment", "probe", 8, {"cpu": "2"})],
    ),
    Case("2 CPU where 1 is free", "0 fit", busy("node-a", "3"), [workload("Deployment", "probe", 1, {"cpu": "2"})]),
    Case("A Deployment of 3", "3 fit", [node("node-a", allocatable=EIGHT)], [workload("Deployment", "web", 3, SMALL)]),
    Case(
        "A StatefulSet of 2, with volumes that are made on demand", "2 fit",
        [node("node-a", allocatable=EIGHT), storage_class("fast")],
        [workload("StatefulSet", "db", 2, SMALL, serviceName="db", volumeClaimTemplates=volume_template("fast"))],
    ),
    Case(
        "The same, of the default storage class", "2 fit",
        THREE, [workload("StatefulSet", "db", 2, SMALL, serviceName="db", volumeClaimTemplates=volume_template())],
    ),
    Case(
        "Two workloads that compete for 4 CPU", "2 and 0 fit",
        [node("node-a")], [workload("Deployment", "a", 2, {"cpu": "2"}), workload("Deployment", "b", 1, {"cpu": "1"})],
    ),
    Case(
        "A node full of pods of lower priority", "0 fit; 1 with preemption",
        FULL, [named("high", {"cpu": "4"}, priorityClassName="high")],
    ),
    Case("The same, without priority", "0 fit", FULL, [named("plain", {"cpu": "4"})]),
    Case(
        "A node selector that one node has", "1 fits, on node-a",
        [node("node-a", labels={"disktype": "ssd"}), node("node-b")],
        [named("needs-ssd", {"cpu": "1"}, nodeSelector={"disktype": "ssd"})],
    ),
    Case("10 pods of 16 CPU, and nodes of 8", "0 fit", THREE, [workload("Deployment", "hungry", 10, {"cpu": "16"})]),
    Case("A GPU that no node offers", "0 fit: not present", THREE, [named("gpu-pod", {"cpu": "2", GPU: "1"})]),
    Case(
        "A node selector that no node has", "0 fit: NodeAffinity",
        THREE, [named("needs-special-node", {"cpu": "1"}, nodeSelector={"hardware": "quantum"})],
    ),
    Case(
        "A Deployment, a StatefulSet, and a pod with GPUs", "2, 2 and 0 fit",
        THREE,
        [
            workload("Deployment", "frontend", 2, SMALL),
            workload("StatefulSet", "cache", 2, SMALL, serviceName="cache"),
            named("trainer", {"cpu": "2", GPU: "2"}),
        ],
    ),
]  # fmt: skip
