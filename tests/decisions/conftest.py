"""A demo cluster, stored once a module, and policies that score in other ways."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from functools import lru_cache
from typing import Any

import pytest
from django.utils import timezone

from kschedweb.clusters import demo as generator
from kschedweb.clusters.models import Cluster, ClusterSource, Snapshot
from kschedweb.clusters.selectors import PodRef, pod_refs, pod_rows
from kschedweb.clusters.services import snapshot_store
from kschedweb.decisions import services
from kschedweb.engine.json_types import Json
from kschedweb.policies.dialect import PolicyKind
from kschedweb.policies.models import Policy, Revision
from kschedweb.policies.selectors import policy_get, revision_get

HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
FIT = """profiles:
- schedulerName: default-scheduler
  pluginConfig:
  - name: NodeResourcesFit
    args:
      scoringStrategy:
"""
MOST_ALLOCATED = f"{HEAD}{FIT}        type: MostAllocated\n"
RATIO = f"""{HEAD}{FIT}        type: RequestedToCapacityRatio
        resources: [{{name: cpu, weight: 3}}, {{name: memory, weight: 1}}, {{name: nvidia.com/gpu, weight: 5}}]
        requestedToCapacityRatio:
          shape: [{{utilization: 0, score: 0}}, {{utilization: 40, score: 10}}, {{utilization: 100, score: 3}}]
  - name: NodeResourcesBalancedAllocation
    args:
      resources: [{{name: cpu, weight: 1}}, {{name: memory, weight: 1}}, {{name: nvidia.com/gpu, weight: 1}}]
"""


@lru_cache(maxsize=1)
def _objects() -> tuple[Json, ...]:
    return tuple(generator.generate_cluster())


@pytest.fixture
def demo_objects() -> list[Json]:
    return list(_objects())


@pytest.fixture
def store_snapshot(db: None) -> Callable[..., Snapshot]:
    """``store_snapshot(objects, name="demo")``: a new cluster of that name with one snapshot of them."""

    return _store


def _store(objects: list[Json], name: str = "demo") -> Snapshot:
    Cluster.objects.filter(name=name).delete()
    cluster = Cluster.objects.create(name=name, source=ClusterSource.DEMO, refreshed_at=timezone.now())
    return snapshot_store(cluster=cluster, objects=objects, problems=[])


def refs(snapshot: Snapshot, keys: Iterable[str]) -> list[PodRef]:
    """The pods with these keys, as ``services.outcomes`` takes them."""
    refs_by_key = {pod.key: pod for pod in pod_refs(pod_rows(snapshot))}
    return [refs_by_key[key] for key in keys]


@pytest.fixture(scope="module")
def stored_demo(rows_of_module: Callable[[], AbstractContextManager[None]]) -> Snapshot:
    with rows_of_module():
        return _store(list(_objects()), "demo")


@pytest.fixture
def demo(stored_demo: Snapshot, db: None) -> Snapshot:
    services.clear_answers()  # each test's policies have the primary keys of the test before
    return Snapshot.objects.get(pk=stored_demo.pk)


@pytest.fixture
def no_cluster(db: None) -> None:
    """Nothing of what is stored for the module."""
    Cluster.objects.all().delete()


@pytest.fixture
def revision(db: None) -> Revision:
    """The newest revision of the policy ``default``."""
    return revision_get(policy_get("default"), None)


@pytest.fixture
def policy(db: None) -> Callable[..., Revision]:
    """``policy(name, document, process={})``: revision 1 of a new policy."""

    def make(name: str, document: str, process: Json | None = None) -> Revision:
        policy = Policy.objects.create(name=name)
        return Revision.objects.create(policy=policy, number=1, document=document, process=process or {})

    return make


@pytest.fixture
def classic(db: None) -> Callable[..., Revision]:
    """``classic(name="old", process={}, **fields)``: revision 1 of a new classic policy with these fields."""

    def make(name: str = "old", process: Json | None = None, **fields: Any) -> Revision:
        document = json.dumps({"kind": "Policy", "apiVersion": "v1", **fields})
        policy = Policy.objects.create(name=name, kind=PolicyKind.CLASSIC)
        return Revision.objects.create(policy=policy, number=1, document=document, process=process or {})

    return make
