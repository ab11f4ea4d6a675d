"""Small clusters for questions about capacity."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kschedweb.engine import Snapshot
from kschedweb.engine.config import Configuration, default_document
from kschedweb.engine.json_types import Json
from kschedweb.engine.releases import load

ZONE, HOSTNAME = "topology.kubernetes.io/zone", "kubernetes.io/hostname"


def configuration() -> Configuration:
    loaded = load(default_document()).configuration
    assert loaded is not None
    return loaded


def node(name: str, zone: str = "", *, cpu: str = "4", memory: str = "16Gi", pods: str = "110", **spec: Any) -> Json:
    labels = {HOSTNAME: name, **({ZONE: zone} if zone else {})}
    allocatable = {"cpu": cpu, "memory": memory, "pods": pods}
    metadata = {"name": name, "labels": labels}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": metadata,
        "spec": spec,
        "status": {"allocatable": allocatable},
    }


def pod(
    name: str,
    on: str = "",
    *,
    cpu: str = "1",
    owner: str = "ReplicaSet/web-5d",
    labels: Json | None = None,
    spec: Json | None = None,
    ready: bool | None = True,
) -> Json:
    container = {"name": "main", "image": "main", "resources": {"requests": {"cpu": cpu}}}
    metadata: Json = {"name": name, "namespace": "default", "labels": labels or {"app": "web"}}
    if owner:
        kind, _, owned_by = owner.partition("/")
        metadata["ownerReferences"] = [{"apiVersion": "apps/v1", "kind": kind, "name": owned_by, "controller": True}]
    raw: Json = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata}
    raw["spec"] = {"containers": [container], **({"nodeName": on} if on else {}), **(spec or {})}
    if on and ready is not None:
        conditions = [{"type": "Ready", "status": "True" if ready else "False"}]
        raw["status"] = {"phase": "Running", "conditions": conditions}
    return raw


def budget(
    allowed: int, *, name: str = "web", healthy: int = 3, desired: int = 2, selector: Any = None, **spec: Any
) -> Json:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": "web"}} if selector is None else selector, **spec},
        "status": {"disruptionsAllowed": allowed, "currentHealthy": healthy, "desiredHealthy": desired},
    }


def snapshot(*objects: Json | Sequence[Json]) -> Snapshot:
    flat = [raw for some in objects for raw in ([some] if isinstance(some, dict) else some)]
    cluster = Snapshot.from_objects(flat)
    assert not cluster.problems
    return cluster
