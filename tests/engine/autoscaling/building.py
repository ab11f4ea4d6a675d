"""Scenarios for Karpenter, in the form of the command line."""

from __future__ import annotations

from typing import Any

from kschedweb.engine.json_types import Json

NOW = "2026-01-15T12:00:00Z"
ZONE, CAPACITY_TYPE = "topology.kubernetes.io/zone", "karpenter.sh/capacity-type"


def sold(
    name: str, cpu: int, price: float, *, zones: tuple[str, ...] = ("a", "b"), spot: float = 0.0, **more: Any
) -> Json:
    """An instance type with a memory of 4Gi a CPU; ``spot`` is its spot price, 0 for none."""
    kinds = {"on-demand": price} | ({"spot": spot} if spot else {})
    return {
        "name": name,
        "capacity": {"cpu": str(cpu), "memory": f"{cpu * 4}Gi", "pods": "20"},
        "offerings": [
            {"zone": zone, "capacityType": kind, "price": price} for zone in zones for kind, price in kinds.items()
        ],
        **more,
    }


def pool(name: str = "pool", *requirements: Json, disruption: Json | None = None, **spec: Any) -> Json:
    inner = {"requirements": list(requirements), "expireAfter": "Never", **spec.pop("inner", {})}
    labels = {"metadata": {"labels": spec.pop("labels", {})}}
    budgets = {"budgets": [{"nodes": "100%"}], **(disruption or {})}
    spec = {"template": {**labels, "spec": inner}, "disruption": budgets, **spec}
    return {"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": name}, "spec": spec}


def pod(name: str, on: str = "", cpu: str = "500m", labels: Json | None = None, **spec: Any) -> Json:
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "web", "controller": True}
    container = {"name": "c", "image": "web:1", "resources": {"requests": {"cpu": cpu, "memory": "64Mi"}}}
    metadata: Json = {"name": name, "namespace": "default", "uid": name, "labels": labels or {"app": "web"}}
    metadata |= {"ownerReferences": [owner], "creationTimestamp": "2026-01-15T11:00:00Z"}
    raw: Json = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [container], **spec}}
    if on:
        raw["spec"]["nodeName"] = on
        raw["status"] = {"phase": "Running", "startTime": "2026-01-15T11:00:00Z"}
    return raw


def machine(
    name: str, instance_type: Json, zone: str = "a", kind: str = "on-demand", pool: str = "pool", **labels: str
) -> list[Json]:
    """A node of an instance type with its NodeClaim."""
    labels_of_node = {
        "kubernetes.io/hostname": name,
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/os": "linux",
        "node.kubernetes.io/instance-type": instance_type["name"],
        ZONE: zone,
        CAPACITY_TYPE: kind,
        "karpenter.sh/nodepool": pool,
        "karpenter.sh/registered": "true",
        "karpenter.sh/initialized": "true",
        **labels,
    }
    amounts = {"capacity": instance_type["capacity"], "allocatable": instance_type["capacity"]}
    since = {"reason": "r", "message": "", "lastTransitionTime": "2026-01-15T10:00:00Z"}
    conditions = [
        {"type": condition, "status": "True", **since} for condition in ("Registered", "Initialized", "Consolidatable")
    ]
    return [
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "labels": labels_of_node},
            "spec": {"providerID": f"kwok://{name}"},
            "status": {**amounts, "conditions": [{"type": "Ready", "status": "True"}]},
        },
        {
            "apiVersion": "karpenter.sh/v1",
            "kind": "NodeClaim",
            "metadata": {
                "name": f"claim-{name}",
                "labels": labels_of_node,
                "creationTimestamp": "2026-01-15T10:00:00Z",
            },
            "spec": {"requirements": []},
            "status": {"providerID": f"kwok://{name}", "nodeName": name, **amounts, "conditions": conditions},
        },
    ]


def scenario(types: list[Json], pools: list[Json], *objects: Json, **more: Any) -> Json:
    return {"name": "s", "now": NOW, "instanceTypes": types, "nodePools": pools, "objects": list(objects), **more}


def needs(key: str, operator: str, *values: str, **more: Any) -> Json:
    return {"key": key, "operator": operator, **({"values": list(values)} if values else {}), **more}


def wanting(*terms: Json, preferred: bool = False) -> Json:
    """Node affinity to one of some requirements, or a preference of each, the first the heaviest."""
    if preferred:
        listed = [
            {"weight": 90 - place, "preference": {"matchExpressions": [requirement]}}
            for place, requirement in enumerate(terms)
        ]
        return {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": listed}}
    required = {"nodeSelectorTerms": [{"matchExpressions": [requirement]} for requirement in terms]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
