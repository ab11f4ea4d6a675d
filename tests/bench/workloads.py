"""The clusters of the speed table: 5,000 alike nodes, 1,000 bound pods, 500 pending ones."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from kschedweb.engine.json_types import Json

ZONE, HOSTNAME = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
CONFIG = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "parallelism": 1,
    "percentageOfNodesToScore": 100,
}
SAMPLING = {**CONFIG, "percentageOfNodesToScore": 0}  # adaptive: a tenth of 5,000 nodes


def node(number: int, zones: int = 3) -> Json:
    name = f"node-{number:06}"
    labels = {HOSTNAME: name, ZONE: f"zone-{number % zones}", "disk": ("ssd", "hdd")[number % 2]}
    room = {"cpu": "4", "memory": "32Gi", "pods": "110"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": {},
        "status": {"capacity": room, "allocatable": room},
    }


def pod(name: str, spec: Json | None = None, labels: Json | None = None, node_number: int | None = None) -> Json:
    requests = {"cpu": "100m", "memory": "500Mi"}
    whole = {"containers": [{"name": "main", "image": "pause", "resources": {"requests": requests}}], **(spec or {})}
    if node_number is not None:
        whole["nodeName"] = f"node-{node_number:06}"
    metadata = {"name": name, "namespace": "bench", "uid": name, "labels": labels or {"app": "web"}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": whole, "status": {}}


def term(key: str) -> Json:
    return {"topologyKey": key, "labelSelector": {"matchLabels": {"app": "web"}}}


def spread(when: str) -> Json:
    return {"topologySpreadConstraints": [{"maxSkew": 5, "whenUnsatisfiable": when, **term(ZONE)}]}


def preferred(key: str) -> list[Json]:
    return [{"weight": 1, "podAffinityTerm": term(key)}]


def on_ssd(number: int) -> Json:
    return {"matchExpressions": [{"key": "disk", "operator": "In", "values": [("ssd", "hdd")[number % 2]]}]}


AFFINITY: dict[str, Json] = {
    "hostname anti-affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term(HOSTNAME)]}},
    "zone affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term(ZONE)]}},
    "preferred hostname affinity": {
        "podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred(HOSTNAME)}
    },
    "node affinity": {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [on_ssd(0)]},
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {
                    "weight": 10,
                    "preference": {"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["zone-1"]}]},
                }
            ],
        }
    },
}


def mixed(number: int) -> tuple[Json, Json]:
    """(spec, labels) of pod ``number``; no two are alike."""
    labels = {"app": f"app-{number % 50}", "instance": str(number), "tier": ("front", "back", "data")[number % 3]}
    anti = {
        "weight": 1 + number % 100,
        "podAffinityTerm": {
            "topologyKey": (HOSTNAME, ZONE)[number % 2],
            "labelSelector": {"matchLabels": {"app": labels["app"], "tier": labels["tier"]}},
        },
    }
    requests = {"cpu": f"{50 + number}m", "memory": f"{100 + 3 * number}Mi"}
    spec: Json = {
        "containers": [{"name": "main", "image": "pause", "resources": {"requests": requests}}],
        "tolerations": [{"key": f"team-{number}", "operator": "Exists", "effect": "NoSchedule"}],
        "affinity": {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [anti]}},
    }
    if number % 2:
        spec["nodeSelector"] = {"disk": ("ssd", "hdd")[number // 2 % 2]}
    else:
        spec["affinity"]["nodeAffinity"] = {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [on_ssd(number // 2)]}
        }
    return spec, labels


def affine(affinity: Json, number: int) -> tuple[Json, None]:
    return {"affinity": affinity}, None


Kind = Callable[[int], tuple[Json, Json | None]]
KINDS: dict[str, Kind] = {
    "basic": lambda number: ({}, None),
    "zone spread": lambda number: (spread("DoNotSchedule"), None),
    "preferred spread": lambda number: (spread("ScheduleAnyway"), None),
    **{name: partial(affine, affinity) for name, affinity in AFFINITY.items()},
    "mixed": mixed,
}


def scenario(kind: str, config: Json = CONFIG, *, nodes: int = 5000, bound: int = 1000, pending: int = 500) -> Json:
    """A scenario of one of ``KINDS``; bound and pending pods are of the same kind."""
    make = KINDS[kind]
    objects = [node(number) for number in range(nodes)]
    for number in range(bound):
        spec, labels = make(number)
        objects.append(pod(f"bound-{number}", spec, labels, number * 7 % nodes))
    waiting = [pod(f"pending-{number}", *make(bound + number)) for number in range(pending)]
    return {"name": kind, "config": config, "objects": objects, "pending": waiting}


def preemption(config: Json = CONFIG, *, nodes: int = 5000, pending: int = 500) -> Json:
    """Each node is full with four pods of low priority; a pending pod needs three of them gone."""

    def sized(cpu: str, priority: int) -> Json:
        container = {"name": "main", "image": "pause", "resources": {"requests": {"cpu": cpu, "memory": "500Mi"}}}
        return {"containers": [container], "priority": priority}

    objects = [node(number) for number in range(nodes)]
    objects += [
        pod(f"low-{number}-{turn}", sized("900m", 1), node_number=number)
        for number in range(nodes)
        for turn in range(4)
    ]
    waiting = [pod(f"high-{number}", sized("3", 100)) for number in range(pending)]
    return {"name": "preemption", "config": config, "objects": objects, "pending": waiting, "preempt": True}
