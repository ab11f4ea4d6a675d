"""An index of the store: pods by node and namespace, objects by the owners that they name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kschedweb.engine.json_types import Json
from kschedweb.engine.sandbox.resources import EVENT, POD, RESOURCES, Resource
from kschedweb.engine.sandbox.store import Key, Store, StoreChange, get_object_key

# uid of the owner -> (key of the resource, key of the object) -> (resource, object)
DependentsByUid = dict[str, dict[tuple[str, Key], tuple[Resource, Json]]]


class ObjectIndex:
    """Indexes the objects of ``store``; it must hear of every change."""

    def __init__(self, store: Store) -> None:
        # By the uid of the owner.
        self._owned: DependentsByUid = {}
        # Node -> its pods, and namespace -> its pods.
        self._on: dict[str, dict[Key, Json]] = {}
        self._within: dict[str, dict[Key, Json]] = {}
        self._uids: set[str] = set()
        for resource, raw in all_objects(store):
            self._add_object(resource, raw)

    def on_change(self, change: StoreChange) -> None:
        if change.resource.key == EVENT.key:
            return
        if change.old is not None:
            self._remove_object(change.resource, change.old)
        if change.new is not None:
            self._add_object(change.resource, change.new)

    def pods_on_node(self, node: str) -> list[Json]:
        return list(self._on.get(node, {}).values())

    def pods_in_namespace(self, namespace: str) -> list[Json]:
        return list(self._within.get(namespace, {}).values())

    def count_pods(self) -> int:
        """Return the number of pods."""
        return sum(map(len, self._within.values()))

    def list_owned(self, uid: str, resource: Resource) -> list[Json]:
        """Return the objects of ``resource`` whose controller is the object with ``uid``, the oldest first."""
        candidates = [raw for owned_resource, raw in self._owned.get(uid, {}).values() if owned_resource is resource]
        mine = [raw for raw in candidates if (owner := get_controller_of(raw)) is not None and owner["uid"] == uid]
        return sorted(mine, key=lambda raw: (raw["metadata"]["creationTimestamp"], raw["metadata"]["name"]))

    def list_dependents(self, uid: str) -> list[tuple[Resource, Json]]:
        """Return all objects that name the one with ``uid`` as an owner."""
        return list(self._owned.get(uid, {}).values())

    def exists(self, uid: str) -> bool:
        return uid in self._uids

    def _add_object(self, resource: Resource, raw: Json) -> None:
        key = get_object_key(raw)
        self._uids.add(raw["metadata"]["uid"])
        for owner in raw["metadata"].get("ownerReferences") or ():
            self._owned.setdefault(owner["uid"], {})[resource.key, key] = resource, raw
        if resource is POD:
            self._within.setdefault(key[0], {})[key] = raw
            if node := raw["spec"].get("nodeName"):
                self._on.setdefault(node, {})[key] = raw

    def _remove_object(self, resource: Resource, raw: Json) -> None:
        key = get_object_key(raw)
        self._uids.discard(raw["metadata"]["uid"])
        for owner in raw["metadata"].get("ownerReferences") or ():
            _discard_nested(self._owned, owner["uid"], (resource.key, key))
        if resource is POD:
            _discard_nested(self._within, key[0], key)
            if node := raw["spec"].get("nodeName"):
                _discard_nested(self._on, node, key)


def all_objects(store: Store) -> Iterator[tuple[Resource, Json]]:
    """Yield all objects but events."""
    for resource in RESOURCES:
        if resource.key != EVENT.key:
            for raw in list(store.all(resource)):
                yield resource, raw


def get_controller_of(raw: Json) -> Json | None:
    """Return the owner reference of the object's controller."""
    owners = raw["metadata"].get("ownerReferences") or ()
    return next((owner for owner in owners if owner.get("controller")), None)


def _discard_nested(nested: dict[str, dict[Any, Any]], outer: str, inner: object) -> None:
    entries = nested.get(outer)
    if entries is not None:
        entries.pop(inner, None)
        if not entries:
            del nested[outer]
