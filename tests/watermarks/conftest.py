"""Fixtures of the watermark tests: a cluster with nodes of known size and pods of known owners."""

from __future__ import annotations

import json
from urllib.parse import parse_qs, urlsplit

import pytest
from pytest_django import Settings as DjangoSettings

from kschedweb.clusters import services as clusters
from kschedweb.clusters.models import Cluster, ClusterSource
from kschedweb.engine.json_types import Json
from tests.clusters.conftest import OddServer, Request, odd_server

__all__ = ["odd_server"]
KEY = "a-key-for-tests-of-at-least-32-characters"


def node(name: str, *, allocatable: str = "4", capacity: str = "4", ip: str = "") -> Json:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name},
        "status": {
            "capacity": {"cpu": capacity, "memory": "16Gi", "pods": "110"},
            "allocatable": {"cpu": allocatable, "memory": "8Gi", "pods": "110"},
            "addresses": [{"type": "InternalIP", "address": ip}] if ip else [],
        },
    }


def owner_references(kind: str, name: str) -> list[Json]:
    return [{"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": f"{kind}-{name}", "controller": True}]


def pod(name: str, owner: tuple[str, str] | None = None, namespace: str = "shop") -> Json:
    metadata: Json = {"name": name, "namespace": namespace, "uid": f"uid-{name}"}
    if owner:
        metadata["ownerReferences"] = owner_references(*owner)
    spec = {"containers": [{"name": "main", "image": "web:1"}], "nodeName": "node-a"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": {"phase": "Running"}}


def replica_set(name: str, deployment: str, namespace: str = "shop") -> Json:
    metadata = {"name": name, "namespace": namespace, "ownerReferences": owner_references("Deployment", deployment)}
    selector = {"matchLabels": {"app": deployment}}
    template = {"metadata": {"labels": {"app": deployment}}, "spec": {"containers": []}}
    spec = {"replicas": 2, "selector": selector, "template": template}
    return {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": metadata, "spec": spec}


OBJECTS: list[Json] = [
    node("node-a", allocatable="2", ip="10.0.0.1"),
    node("node-b", ip="10.0.0.2"),
    node("node-c", ip="10.0.0.3"),
    replica_set("web-7f", "web"),
    pod("web-7f-1", ("ReplicaSet", "web-7f")),
    pod("web-7f-2", ("ReplicaSet", "web-7f")),
    pod("db-0", ("StatefulSet", "db")),
    pod("agent-x", ("DaemonSet", "agent")),
    pod("clone-1", ("CloneSet", "clones")),
    pod("import-1", ("Job", "import")),
    pod("alone"),
]


def store_cluster(name: str = "metered", objects: list[Json] | None = None) -> Cluster:
    """A cluster with one snapshot of ``objects``."""
    cluster = Cluster.objects.create(name=name, source=ClusterSource.IMPORT)
    clusters.snapshot_store(cluster=cluster, objects=OBJECTS if objects is None else objects, problems=[])
    return cluster


@pytest.fixture
def cluster(db: None) -> Cluster:
    """Three nodes (``node-a`` has 2 of its 4 cores allocatable) and the pods of five owners."""
    return store_cluster()


def vector(*series: tuple[dict[str, str], float | str], warnings: list[str] | None = None) -> Json:
    """An answer as Prometheus writes it."""
    result = [{"metric": labels, "value": [1_700_000_000.0, str(value)]} for labels, value in series]
    answer: Json = {"status": "success", "data": {"resultType": "vector", "result": result}}
    return answer | ({"warnings": warnings} if warnings else {})


def by_instance(**values: float | str) -> Json:
    """One series a node: ``by_instance(node_a=40)``, with the port that exporters have."""
    return vector(*(({"instance": f"{name.replace('_', '-')}:9100"}, value) for name, value in values.items()))


def query_of(request: Request) -> str:
    return parse_qs(urlsplit(request.path).query)["query"][0]


def answer_queries(server: OddServer, answers: dict[str, Json]) -> None:
    """Let ``server`` answer each query as told, others with no series."""

    def answer(request: Request) -> tuple[int, dict[str, str], bytes]:
        response = answers.get(query_of(request), vector())
        status = 400 if response["status"] == "error" else 200
        return status, {"Content-Type": "application/json"}, json.dumps(response).encode()

    server.answer = answer


@pytest.fixture
def encryption_key(settings: DjangoSettings) -> None:
    """The operator has set a key, so that credentials can be kept."""
    settings.ENCRYPTION_KEYS = [KEY]
