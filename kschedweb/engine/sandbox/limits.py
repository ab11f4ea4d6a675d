"""Limits of a sandbox: it lives in the process of a site, where one object must not take the room of all others."""

from __future__ import annotations

from collections.abc import Iterator

from kschedweb.engine.json_types import Json
from kschedweb.engine.sandbox.resources import EVENT, NODE, POD, Resource
from kschedweb.engine.sandbox.status_errors import forbidden
from kschedweb.engine.sandbox.store import Store
from kschedweb.engine.validation.fields import Problem, invalid

# Numbers of objects; the last one holds for each other kind.
MOST_PODS, MOST_NODES, MOST_EVENTS, MOST_OTHERS = 2000, 500, 4000, 2000
# Pods that a controller creates or deletes for one object before others have their turn.
BURST = 50
# Fields that say how many pods a controller creates.
SIZES = {
    "Deployment": "replicas",
    "ReplicaSet": "replicas",
    "ReplicationController": "replicas",
    "StatefulSet": "replicas",
    "Job": "parallelism",
}


def check_room(store: Store, resource: Resource, name: str) -> None:
    """Raise ApiRefusal if the sandbox has as many objects of ``resource`` as it holds."""
    maximum = _max_objects(resource)
    if store.count_objects(resource) >= maximum:
        why = f"the sandbox holds at most {maximum:,} {resource.plural}; delete some of them first"
        raise forbidden(resource, name, why)


def _max_objects(resource: Resource) -> int:
    return {POD.key: MOST_PODS, NODE.key: MOST_NODES, EVENT.key: MOST_EVENTS}.get(resource.key, MOST_OTHERS)


def find_size_problems(resource: Resource, raw: Json) -> Iterator[Problem]:
    """Yield a problem if the object asks for more pods than the sandbox holds."""
    field = SIZES.get(resource.kind)
    size = raw["spec"].get(field) if field else None
    if size is not None and size > MOST_PODS:
        yield invalid(f"spec.{field}", size, f"the sandbox holds at most {MOST_PODS:,} pods")
