"""The clusters of the examples: a sentence about each, and its objects, of which the last is the pod."""

from __future__ import annotations

import json
from typing import Any

from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.node import BETA_ZONE
from kschedweb.engine.releases.classic.catalogue import CINDER, NO_EXECUTE

HOST = "kubernetes.io/hostname"
TAINT = {"key": "dedicated", "value": "gpu"}
AVOID = "scheduler.alpha.kubernetes.io/preferAvoidPods"
IMAGE = "registry.example/web:1"
OWNER = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "7", "controller": True}
SIGNATURE = {"preferAvoidPods": [{"podSignature": {"podController": OWNER}}]}


def _make_node(name: str, *, labels: Json | None = None, allocatable: Json | None = None, **more: Any) -> Json:
    """Return a node of 4 CPU and 8 GiB; ``more``: conditions, taints, unschedulable, images, annotations."""
    metadata: Json = {"name": name, "labels": {HOST: name, **(labels or {})}}
    if "annotations" in more:
        metadata["annotations"] = more["annotations"]
    spec = {key: more[key] for key in ("taints", "unschedulable") if key in more}
    status: Json = {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10", **(allocatable or {})}}
    status |= {key: more[key] for key in ("conditions", "images") if key in more}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": spec, "status": status}


def _make_pod(name: str = "web", on: str = "", *, requests: Json | None = None, **more: Any) -> Json:
    """Return a pod; ``more``: labels, limits, ports, owner, and other fields of its spec."""
    resources = {key: value for key, value in (("requests", requests), ("limits", more.pop("limits", None))) if value}
    container: Json = {"name": "main", "image": IMAGE, "resources": resources}
    if "ports" in more:
        container["ports"] = more.pop("ports")
    metadata: Json = {"name": name, "namespace": "example", "labels": more.pop("labels", {})}
    if "owner" in more:
        metadata["ownerReferences"] = [more.pop("owner")]
    spec: Json = {"containers": [container], **({"nodeName": on} if on else {}), **more}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def _make_conditions(kind: str, status: str = "True") -> list[Json]:
    return [{"type": kind, "status": status}]


def _pressure_example(kind: str) -> tuple[str, list[Json]]:
    pressed = _make_node("b", conditions=_make_conditions(kind))
    return f"Node b reports {kind}; the pod asks for nothing.", [_make_node("a"), pressed, _make_pod()]


def _volume_limit_example(field: str, key: str, resource: str, volumes: str) -> tuple[str, list[Json]]:
    """Return a cluster of two nodes with a limit of two volumes, which one of them has reached."""
    room = {resource: "2"}
    mounted = [{"name": name, field: {key: name}} for name in ("data-1", "data-2")]
    return (
        f"Both nodes say that they take 2 {volumes}; a pod on node b has 2, and the pod wants another one.",
        [
            _make_node("a", allocatable=room),
            _make_node("b", allocatable=room),
            _make_pod("db", "b", volumes=mounted),
            _make_pod(volumes=[{"name": "logs", field: {key: "logs"}}]),
        ],
    )


def _make_claim(name: str, volume: str = "", storage_class: str = "") -> Json:
    spec: Json = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    spec |= {"volumeName": volume} if volume else {}
    spec |= {"storageClassName": storage_class} if storage_class else {}
    metadata: Json = {"name": name, "namespace": "example"}
    if volume:
        metadata["annotations"] = {"pv.kubernetes.io/bind-completed": "yes"}
    phase = "Bound" if volume else "Pending"
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": metadata,
        "spec": spec,
        "status": {"phase": phase},
    }


def _make_volume(name: str, claim: str, labels: Json | None = None, **source: Any) -> Json:
    reference = {"kind": "PersistentVolumeClaim", "namespace": "example", "name": claim}
    spec = {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}, "claimRef": reference, **source}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name, "labels": labels or {}},
        "spec": spec,
        "status": {"phase": "Bound"},
    }


def _claim_volumes(claim: str) -> list[Json]:
    return [{"name": "data", "persistentVolumeClaim": {"claimName": claim}}]


def _affinity_term(label: str, key: str) -> Json:
    return {"labelSelector": {"matchLabels": {"app": label}}, "topologyKey": key}


def _csi_example() -> tuple[str, list[Json]]:
    resource, driver = "attachable-volumes-csi-disk.example", "disk.example"
    csi = [
        raw
        for name in ("old", "new")
        for raw in (_make_claim(name, name), _make_volume(name, name, csi={"driver": driver, "volumeHandle": name}))
    ]
    return (
        f"Both nodes say that they take 1 volume of the driver {driver}; a pod on node b has one.",
        [
            *csi,
            _make_node("a", allocatable={resource: "1"}),
            _make_node("b", allocatable={resource: "1"}),
            _make_pod("db", "b", volumes=_claim_volumes("old")),
            _make_pod(volumes=_claim_volumes("new")),
        ],
    )


def _make_service() -> Json:
    metadata = {"name": "web", "namespace": "example"}
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": {"selector": {"app": "web"}}}


def _service_pods(*nodes: str) -> list[Json]:
    """Return pods of the service ``web`` on ``nodes``, and the pending one."""
    placed = [_make_pod(f"web-{number}", on, labels={"app": "web"}) for number, on in enumerate(nodes)]
    return [_make_service(), *placed, _make_pod(labels={"app": "web"})]


def _make_zoned_node(name: str, zone: str) -> Json:
    return _make_node(name, labels={BETA_ZONE: zone})


HALF = [
    _make_node("a"),
    _make_node("b"),
    _make_node("c"),
    _make_pod("busy", "b", requests={"cpu": "2", "memory": "2Gi"}),
]
FULLER = [*HALF, _make_pod("busier", "c", requests={"cpu": "2500m", "memory": "7Gi"})]
ASKING = _make_pod(requests={"cpu": "1", "memory": "1Gi"})
GPU = [_make_node("a"), _make_node("b", taints=[{**TAINT, "effect": "NoSchedule"}])]
SPREAD = [_make_zoned_node("a", "east"), _make_zoned_node("b", "east"), _make_zoned_node("c", "west")]
FULL = "Node b has 2 CPU and 2 GiB given away, node c 2.5 CPU and 7 GiB; the pod asks for 1 CPU and 1 GiB."
SERVICE = "Nodes a and b are in zone east, node c in west; two pods of the service run on a, one on c."
PORT = [{"containerPort": 80, "hostPort": 80}]
PORTS = "A pod on node b has host port 80, which the pod wants."
# By predicate or priority: a sentence about the cluster, and its objects, the pod last.
CLUSTERS: dict[str, tuple[str, list[Json]]] = {
    "CheckNodeCondition": (
        "Node b is not ready, node c is cordoned.",
        [
            _make_node("a", conditions=_make_conditions("Ready")),
            _make_node("b", conditions=_make_conditions("Ready", "False")),
            _make_node("c", conditions=_make_conditions("Ready"), unschedulable=True),
            _make_pod(),
        ],
    ),
    "CheckNodeUnschedulable": (
        "Node b is cordoned.",
        [_make_node("a"), _make_node("b", unschedulable=True), _make_pod()],
    ),
    "GeneralPredicates": (
        "Node b has 2 CPU given away, and a label that is not asked for; the pod asks for 3 CPU and disk=ssd.",
        [
            _make_node("a", labels={"disk": "ssd"}),
            _make_node("b", labels={"disk": "hdd"}),
            _make_pod("busy", "b", requests={"cpu": "2"}),
            _make_pod(requests={"cpu": "3"}, nodeSelector={"disk": "ssd"}),
        ],
    ),
    "HostName": ("The pod names node a.", [_make_node("a"), _make_node("b"), _make_pod(on="a")]),
    "PodFitsHostPorts": (
        PORTS,
        [_make_node("a"), _make_node("b"), _make_pod("proxy", "b", ports=PORT), _make_pod(ports=PORT)],
    ),
    "PodFitsPorts": (
        PORTS,
        [_make_node("a"), _make_node("b"), _make_pod("proxy", "b", ports=PORT), _make_pod(ports=PORT)],
    ),
    "MatchNodeSelector": (
        "The pod asks for disk=ssd; node b has disk=hdd.",
        [
            _make_node("a", labels={"disk": "ssd"}),
            _make_node("b", labels={"disk": "hdd"}),
            _make_pod(nodeSelector={"disk": "ssd"}),
        ],
    ),
    "PodFitsResources": (
        "Node b has 2 CPU given away, node c more memory than it has; the pod asks for 3 CPU and no memory.",
        [
            _make_node("a"),
            _make_node("b"),
            _make_node("c"),
            _make_pod("busy", "b", requests={"cpu": "2"}),
            _make_pod("huge", "c", requests={"memory": "9Gi"}),
            _make_pod(requests={"cpu": "3"}),
        ],
    ),
    "NoDiskConflict": (
        "A pod on node b mounts the disk that the pod mounts, too.",
        [
            _make_node("a"),
            _make_node("b"),
            _make_pod("db", "b", volumes=[{"name": "data", "gcePersistentDisk": {"pdName": "disk-1"}}]),
            _make_pod(volumes=[{"name": "data", "gcePersistentDisk": {"pdName": "disk-1"}}]),
        ],
    ),
    "PodToleratesNodeTaints": ("Node b is tainted; the pod tolerates nothing.", [*GPU, _make_pod()]),
    NO_EXECUTE: (
        "Node b has a NoSchedule taint, node c a NoExecute one; the pod tolerates nothing.",
        [*GPU, _make_node("c", taints=[{**TAINT, "effect": "NoExecute"}]), _make_pod()],
    ),
    "CheckNodeLabelPresence": (
        "The policy asks for the label ssd; node a has it.",
        [_make_node("a", labels={"ssd": "true"}), _make_node("b"), _make_pod()],
    ),
    "CheckServiceAffinity": (
        "A pod of the service runs on node a, in rack 1.",
        [*(_make_node(name, labels={"rack": rack}) for name, rack in ("a1", "b1", "c2")), *_service_pods("a")],
    ),
    "MaxEBSVolumeCount": _volume_limit_example(
        "awsElasticBlockStore", "volumeID", "attachable-volumes-aws-ebs", "EBS volumes"
    ),
    "MaxGCEPDVolumeCount": _volume_limit_example(
        "gcePersistentDisk", "pdName", "attachable-volumes-gce-pd", "GCE disks"
    ),
    "MaxCSIVolumeCountPred": _csi_example(),
    "MaxAzureDiskVolumeCount": _volume_limit_example(
        "azureDisk", "diskName", "attachable-volumes-azure-disk", "Azure disks"
    ),
    CINDER: _volume_limit_example("cinder", "volumeID", "attachable-volumes-cinder", "Cinder volumes"),
    "CheckVolumeBinding": (
        "The pod's volume is a disk of node a.",
        [
            _make_node("a"),
            _make_node("b"),
            _make_claim("data", "disk"),
            _make_volume(
                "disk",
                "data",
                local={"path": "/disk"},
                nodeAffinity={
                    "required": {
                        "nodeSelectorTerms": [{"matchExpressions": [{"key": HOST, "operator": "In", "values": ["a"]}]}]
                    }
                },
            ),
            _make_pod(volumes=_claim_volumes("data")),
        ],
    ),
    "NoVolumeZoneConflict": (
        "The pod's volume is in zone east.",
        [
            _make_zoned_node("a", "east"),
            _make_zoned_node("b", "west"),
            _make_claim("data", "disk"),
            _make_volume("disk", "data", {BETA_ZONE: "east"}, gcePersistentDisk={"pdName": "disk"}),
            _make_pod(volumes=_claim_volumes("data")),
        ],
    ),
    "CheckNodeMemoryPressure": _pressure_example("MemoryPressure"),
    "CheckNodePIDPressure": _pressure_example("PIDPressure"),
    "CheckNodeDiskPressure": _pressure_example("DiskPressure"),
    "MatchInterPodAffinity": (
        "The pod must run in the zone of app=db, and not beside app=batch; db runs on a, batch on b.",
        [
            *SPREAD[:2],
            _make_zoned_node("c", "west"),
            _make_pod("db", "a", labels={"app": "db"}),
            _make_pod("batch", "b", labels={"app": "batch"}),
            _make_pod(
                affinity={
                    "podAffinity": {
                        "requiredDuringSchedulingIgnoredDuringExecution": [_affinity_term("db", BETA_ZONE)]
                    },
                    "podAntiAffinity": {
                        "requiredDuringSchedulingIgnoredDuringExecution": [_affinity_term("batch", HOST)]
                    },
                }
            ),
        ],
    ),
    "SelectorSpreadPriority": (SERVICE, [*SPREAD, *_service_pods("a", "a", "c")]),
    "ServiceSpreadingPriority": (SERVICE, [*SPREAD, *_service_pods("a", "a", "c")]),
    "InterPodAffinityPriority": (
        "The pod prefers the zone of app=db with weight 50, and not to be beside app=batch with 20.",
        [
            *SPREAD,
            _make_pod("db", "a", labels={"app": "db"}),
            _make_pod("batch", "b", labels={"app": "batch"}),
            _make_pod(
                affinity={
                    "podAffinity": {
                        "preferredDuringSchedulingIgnoredDuringExecution": [
                            {"weight": 50, "podAffinityTerm": _affinity_term("db", BETA_ZONE)}
                        ]
                    },
                    "podAntiAffinity": {
                        "preferredDuringSchedulingIgnoredDuringExecution": [
                            {"weight": 20, "podAffinityTerm": _affinity_term("batch", HOST)}
                        ]
                    },
                }
            ),
        ],
    ),
    "LeastRequestedPriority": (FULL, [*FULLER, ASKING]),
    "MostRequestedPriority": (FULL, [*FULLER, ASKING]),
    "BalancedResourceAllocation": (FULL, [*FULLER, ASKING]),
    "RequestedToCapacityRatioPriority": (FULL, [*FULLER, ASKING]),
    "NodePreferAvoidPodsPriority": (
        "Node b asks to keep the pods of the ReplicaSet away.",
        [_make_node("a"), _make_node("b", annotations={AVOID: json.dumps(SIGNATURE)}), _make_pod(owner=OWNER)],
    ),
    "NodeAffinityPriority": (
        "The pod prefers disk=ssd with weight 30 and rack=1 with 20.",
        [
            _make_node("a", labels={"disk": "ssd", "rack": "1"}),
            _make_node("b", labels={"disk": "ssd"}),
            _make_node("c", labels={"rack": "1"}),
            _make_pod(
                affinity={
                    "nodeAffinity": {
                        "preferredDuringSchedulingIgnoredDuringExecution": [
                            {
                                "weight": weight,
                                "preference": {"matchExpressions": [{"key": key, "operator": "In", "values": [value]}]},
                            }
                            for weight, key, value in ((30, "disk", "ssd"), (20, "rack", "1"))
                        ]
                    }
                }
            ),
        ],
    ),
    "TaintTolerationPriority": (
        "Node b has one PreferNoSchedule taint, node c has two.",
        [
            _make_node("a"),
            _make_node("b", taints=[{**TAINT, "effect": "PreferNoSchedule"}]),
            _make_node("c", taints=[{**TAINT, "key": key, "effect": "PreferNoSchedule"} for key in ("slow", "old")]),
            _make_pod(),
        ],
    ),
    "ImageLocalityPriority": (
        "Nodes a and b have the pod's image of 800 MiB.",
        [
            *(_make_node(name, images=[{"names": [IMAGE], "sizeBytes": 800 << 20}]) for name in "ab"),
            _make_node("c"),
            _make_pod(),
        ],
    ),
    "EqualPriority": ("Two nodes that differ in nothing.", [_make_node("a"), _make_node("b"), _make_pod()]),
    "ResourceLimitsPriority": (
        "The pod is limited to 6 CPU and 12 GiB; node b has 8 CPU.",
        [_make_node("a"), _make_node("b", allocatable={"cpu": "8"}), _make_pod(limits={"cpu": "6", "memory": "12Gi"})],
    ),
    "serviceAntiAffinity": (
        "Nodes a and b are in rack 1, node c is in rack 2; two pods of the service run on a, one on c.",
        [
            *(_make_node(name, labels={"rack": rack}) for name, rack in zip("abc", "112", strict=True)),
            *_service_pods("a", "a", "c"),
        ],
    ),
    "labelPreference": (
        "Node a has the label ssd.",
        [_make_node("a", labels={"ssd": "true"}), _make_node("b"), _make_pod()],
    ),
}
