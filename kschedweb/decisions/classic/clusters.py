"""The clusters of the examples: a sentence about each, and its objects, of which the last is the pod."""

from __future__ import annotations

import json
from typing import Any

from kschedweb.engine.objects.node import BETA_ZONE
from kschedweb.engine.releases.classic.catalogue import CINDER, NO_EXECUTE

Json = dict[str, Any]

HOST = "kubernetes.io/hostname"
TAINT = {"key": "dedicated", "value": "gpu"}
AVOID = "scheduler.alpha.kubernetes.io/preferAvoidPods"
IMAGE = "registry.example/web:1"
OWNER = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "7", "controller": True}
SIGNATURE = {"preferAvoidPods": [{"podSignature": {"podController": OWNER}}]}


def _node(name: str, *, labels: Json | None = None, allocatable: Json | None = None, **more: Any) -> Json:
    """A node of 4 CPU and 8 GiB; ``more``: conditions, taints, unschedulable, images, annotations."""
    metadata: Json = {"name": name, "labels": {HOST: name, **(labels or {})}}
    if "annotations" in more:
        metadata["annotations"] = more["annotations"]
    spec = {key: more[key] for key in ("taints", "unschedulable") if key in more}
    status: Json = {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10", **(allocatable or {})}}
    status |= {key: more[key] for key in ("conditions", "images") if key in more}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": spec, "status": status}


def _pod(name: str = "web", on: str = "", *, requests: Json | None = None, **more: Any) -> Json:
    """A pod; ``more``: labels, limits, ports, owner, and other fields of its spec."""
    resources = {key: value for key, value in (("requests", requests), ("limits", more.pop("limits", None))) if value}
    container: Json = {"name": "main", "image": IMAGE, "resources": resources}
    if "ports" in more:
        container["ports"] = more.pop("ports")
    metadata: Json = {"name": name, "namespace": "example", "labels": more.pop("labels", {})}
    if "owner" in more:
        metadata["ownerReferences"] = [more.pop("owner")]
    spec: Json = {"containers": [container], **({"nodeName": on} if on else {}), **more}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def _condition(kind: str, status: str = "True") -> list[Json]:
    return [{"type": kind, "status": status}]


def _pressure(kind: str) -> tuple[str, list[Json]]:
    pressed = _node("b", conditions=_condition(kind))
    return f"Node b reports {kind}; the pod asks for nothing.", [_node("a"), pressed, _pod()]


def _disks(field: str, key: str, resource: str, what: str) -> tuple[str, list[Json]]:
    """A cluster of two nodes with a limit of two volumes, which one of them has reached."""
    room = {resource: "2"}
    mounted = [{"name": one, field: {key: one}} for one in ("data-1", "data-2")]
    return (
        f"Both nodes say that they take 2 {what}; a pod on node b has 2, and the pod wants another one.",
        [
            _node("a", allocatable=room),
            _node("b", allocatable=room),
            _pod("db", "b", volumes=mounted),
            _pod(volumes=[{"name": "logs", field: {key: "logs"}}]),
        ],
    )


def _claim(name: str, volume: str = "", storage_class: str = "") -> Json:
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


def _volume(name: str, claim: str, labels: Json | None = None, **source: Any) -> Json:
    reference = {"kind": "PersistentVolumeClaim", "namespace": "example", "name": claim}
    spec = {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}, "claimRef": reference, **source}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name, "labels": labels or {}},
        "spec": spec,
        "status": {"phase": "Bound"},
    }


def _wants(claim: str) -> list[Json]:
    return [{"name": "data", "persistentVolumeClaim": {"claimName": claim}}]


def _term(label: str, key: str) -> Json:
    return {"labelSelector": {"matchLabels": {"app": label}}, "topologyKey": key}


def _csi() -> tuple[str, list[Json]]:
    resource, driver = "attachable-volumes-csi-disk.example", "disk.example"
    csi = [
        one
        for name in ("old", "new")
        for one in (_claim(name, name), _volume(name, name, csi={"driver": driver, "volumeHandle": name}))
    ]
    return (
        f"Both nodes say that they take 1 volume of the driver {driver}; a pod on node b has one.",
        [
            *csi,
            _node("a", allocatable={resource: "1"}),
            _node("b", allocatable={resource: "1"}),
            _pod("db", "b", volumes=_wants("old")),
            _pod(volumes=_wants("new")),
        ],
    )


def _service() -> Json:
    metadata = {"name": "web", "namespace": "example"}
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": {"selector": {"app": "web"}}}


def _fellows(*nodes: str) -> list[Json]:
    """Pods of the service ``web`` on ``nodes``, and the pending one."""
    placed = [_pod(f"web-{number}", on, labels={"app": "web"}) for number, on in enumerate(nodes)]
    return [_service(), *placed, _pod(labels={"app": "web"})]


def _zoned(name: str, zone: str) -> Json:
    return _node(name, labels={BETA_ZONE: zone})


HALF = [_node("a"), _node("b"), _node("c"), _pod("busy", "b", requests={"cpu": "2", "memory": "2Gi"})]
FULLER = [*HALF, _pod("busier", "c", requests={"cpu": "2500m", "memory": "7Gi"})]
ASKING = _pod(requests={"cpu": "1", "memory": "1Gi"})
GPU = [_node("a"), _node("b", taints=[{**TAINT, "effect": "NoSchedule"}])]
SPREAD = [_zoned("a", "east"), _zoned("b", "east"), _zoned("c", "west")]
FULL = "Node b has 2 CPU and 2 GiB given away, node c 2.5 CPU and 7 GiB; the pod asks for 1 CPU and 1 GiB."
SERVICE = "Nodes a and b are in zone east, node c in west; two pods of the service run on a, one on c."
PORT = [{"containerPort": 80, "hostPort": 80}]
PORTS = "A pod on node b has host port 80, which the pod wants."
CLUSTERS: dict[str, tuple[str, list[Json]]] = {
    "CheckNodeCondition": (
        "Node b is not ready, node c is cordoned.",
        [
            _node("a", conditions=_condition("Ready")),
            _node("b", conditions=_condition("Ready", "False")),
            _node("c", conditions=_condition("Ready"), unschedulable=True),
            _pod(),
        ],
    ),
    "CheckNodeUnschedulable": ("Node b is cordoned.", [_node("a"), _node("b", unschedulable=True), _pod()]),
    "GeneralPredicates": (
        "Node b has 2 CPU given away, and a label that is not asked for; the pod asks for 3 CPU and disk=ssd.",
        [
            _node("a", labels={"disk": "ssd"}),
            _node("b", labels={"disk": "hdd"}),
            _pod("busy", "b", requests={"cpu": "2"}),
            _pod(requests={"cpu": "3"}, nodeSelector={"disk": "ssd"}),
        ],
    ),
    "HostName": ("The pod names node a.", [_node("a"), _node("b"), _pod(on="a")]),
    "PodFitsHostPorts": (PORTS, [_node("a"), _node("b"), _pod("proxy", "b", ports=PORT), _pod(ports=PORT)]),
    "PodFitsPorts": (PORTS, [_node("a"), _node("b"), _pod("proxy", "b", ports=PORT), _pod(ports=PORT)]),
    "MatchNodeSelector": (
        "The pod asks for disk=ssd; node b has disk=hdd.",
        [_node("a", labels={"disk": "ssd"}), _node("b", labels={"disk": "hdd"}), _pod(nodeSelector={"disk": "ssd"})],
    ),
    "PodFitsResources": (
        "Node b has 2 CPU given away, node c more memory than it has; the pod asks for 3 CPU and no memory.",
        [
            _node("a"),
            _node("b"),
            _node("c"),
            _pod("busy", "b", requests={"cpu": "2"}),
            _pod("huge", "c", requests={"memory": "9Gi"}),
            _pod(requests={"cpu": "3"}),
        ],
    ),
    "NoDiskConflict": (
        "A pod on node b mounts the disk that the pod mounts, too.",
        [
            _node("a"),
            _node("b"),
            _pod("db", "b", volumes=[{"name": "data", "gcePersistentDisk": {"pdName": "disk-1"}}]),
            _pod(volumes=[{"name": "data", "gcePersistentDisk": {"pdName": "disk-1"}}]),
        ],
    ),
    "PodToleratesNodeTaints": ("Node b is tainted; the pod tolerates nothing.", [*GPU, _pod()]),
    NO_EXECUTE: (
        "Node b has a NoSchedule taint, node c a NoExecute one; the pod tolerates nothing.",
        [*GPU, _node("c", taints=[{**TAINT, "effect": "NoExecute"}]), _pod()],
    ),
    "CheckNodeLabelPresence": (
        "The policy asks for the label ssd; node a has it.",
        [_node("a", labels={"ssd": "true"}), _node("b"), _pod()],
    ),
    "CheckServiceAffinity": (
        "A pod of the service runs on node a, in rack 1.",
        [*(_node(name, labels={"rack": rack}) for name, rack in ("a1", "b1", "c2")), *_fellows("a")],
    ),
    "MaxEBSVolumeCount": _disks("awsElasticBlockStore", "volumeID", "attachable-volumes-aws-ebs", "EBS volumes"),
    "MaxGCEPDVolumeCount": _disks("gcePersistentDisk", "pdName", "attachable-volumes-gce-pd", "GCE disks"),
    "MaxCSIVolumeCountPred": _csi(),
    "MaxAzureDiskVolumeCount": _disks("azureDisk", "diskName", "attachable-volumes-azure-disk", "Azure disks"),
    CINDER: _disks("cinder", "volumeID", "attachable-volumes-cinder", "Cinder volumes"),
    "CheckVolumeBinding": (
        "The pod's volume is a disk of node a.",
        [
            _node("a"),
            _node("b"),
            _claim("data", "disk"),
            _volume(
                "disk",
                "data",
                local={"path": "/disk"},
                nodeAffinity={
                    "required": {
                        "nodeSelectorTerms": [{"matchExpressions": [{"key": HOST, "operator": "In", "values": ["a"]}]}]
                    }
                },
            ),
            _pod(volumes=_wants("data")),
        ],
    ),
    "NoVolumeZoneConflict": (
        "The pod's volume is in zone east.",
        [
            _zoned("a", "east"),
            _zoned("b", "west"),
            _claim("data", "disk"),
            _volume("disk", "data", {BETA_ZONE: "east"}, gcePersistentDisk={"pdName": "disk"}),
            _pod(volumes=_wants("data")),
        ],
    ),
    "CheckNodeMemoryPressure": _pressure("MemoryPressure"),
    "CheckNodePIDPressure": _pressure("PIDPressure"),
    "CheckNodeDiskPressure": _pressure("DiskPressure"),
    "MatchInterPodAffinity": (
        "The pod must run in the zone of app=db, and not beside app=batch; db runs on a, batch on b.",
        [
            *SPREAD[:2],
            _zoned("c", "west"),
            _pod("db", "a", labels={"app": "db"}),
            _pod("batch", "b", labels={"app": "batch"}),
            _pod(
                affinity={
                    "podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [_term("db", BETA_ZONE)]},
                    "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [_term("batch", HOST)]},
                }
            ),
        ],
    ),
    "SelectorSpreadPriority": (SERVICE, [*SPREAD, *_fellows("a", "a", "c")]),
    "ServiceSpreadingPriority": (SERVICE, [*SPREAD, *_fellows("a", "a", "c")]),
    "InterPodAffinityPriority": (
        "The pod prefers the zone of app=db with weight 50, and not to be beside app=batch with 20.",
        [
            *SPREAD,
            _pod("db", "a", labels={"app": "db"}),
            _pod("batch", "b", labels={"app": "batch"}),
            _pod(
                affinity={
                    "podAffinity": {
                        "preferredDuringSchedulingIgnoredDuringExecution": [
                            {"weight": 50, "podAffinityTerm": _term("db", BETA_ZONE)}
                        ]
                    },
                    "podAntiAffinity": {
                        "preferredDuringSchedulingIgnoredDuringExecution": [
                            {"weight": 20, "podAffinityTerm": _term("batch", HOST)}
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
        [_node("a"), _node("b", annotations={AVOID: json.dumps(SIGNATURE)}), _pod(owner=OWNER)],
    ),
    "NodeAffinityPriority": (
        "The pod prefers disk=ssd with weight 30 and rack=1 with 20.",
        [
            _node("a", labels={"disk": "ssd", "rack": "1"}),
            _node("b", labels={"disk": "ssd"}),
            _node("c", labels={"rack": "1"}),
            _pod(
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
            _node("a"),
            _node("b", taints=[{**TAINT, "effect": "PreferNoSchedule"}]),
            _node("c", taints=[{**TAINT, "key": key, "effect": "PreferNoSchedule"} for key in ("slow", "old")]),
            _pod(),
        ],
    ),
    "ImageLocalityPriority": (
        "Nodes a and b have the pod's image of 800 MiB.",
        [*(_node(name, images=[{"names": [IMAGE], "sizeBytes": 800 << 20}]) for name in "ab"), _node("c"), _pod()],
    ),
    "EqualPriority": ("Two nodes that differ in nothing.", [_node("a"), _node("b"), _pod()]),
    "ResourceLimitsPriority": (
        "The pod is limited to 6 CPU and 12 GiB; node b has 8 CPU.",
        [_node("a"), _node("b", allocatable={"cpu": "8"}), _pod(limits={"cpu": "6", "memory": "12Gi"})],
    ),
    "serviceAntiAffinity": (
        "Nodes a and b are in rack 1, node c is in rack 2; two pods of the service run on a, one on c.",
        [
            *(_node(name, labels={"rack": rack}) for name, rack in zip("abc", "112", strict=True)),
            *_fellows("a", "a", "c"),
        ],
    ),
    "labelPreference": ("Node a has the label ssd.", [_node("a", labels={"ssd": "true"}), _node("b"), _pod()]),
}
