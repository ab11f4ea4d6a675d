"""What belongs to what in the store: pods by node and namespace, objects by the owners that they name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kschedweb.engine.objects.access import Json
from kschedweb.engine.sandbox.resources import EVENT, POD, RESOURCES, Resource
from kschedweb.engine.sandbox.store import Change, Key, Store, key_of

Held = dict[str, dict[tuple[str, Key], tuple[Resource, Json]]]


class Index:
    """Hears of every change of ``store``."""

    def __init__(self, store: Store) -> None:
        self._owned: Held = {}  # uid of the owner
        self._on: dict[str, dict[Key, Json]] = {}
        self._within: dict[str, dict[Key, Json]] = {}
        self._uids: set[str] = set()
        for resource, raw in everything(store):
            self._add(resource, raw)

    def hear(self, change: Change) -> None:
        if change.resource.key == EVENT.key:
            return
        if change.old is not None:
            self._drop(change.resource, change.old)
        if change.new is not None:
            self._add(change.resource, change.new)

    def pods_on(self, node: str) -> list[Json]:
        return list(self._on.get(node, {}).values())

    def pods_within(self, namespace: str) -> list[Json]:
        return list(self._within.get(namespace, {}).values())

    def count(self) -> int:
        """How many pods there are."""
        return sum(map(len, self._within.values()))

    def owned(self, uid: str, resource: Resource) -> list[Json]:
        """The objects of ``resource`` whose controller is the object with ``uid``, the oldest first."""
        found = [raw for one, raw in self._owned.get(uid, {}).values() if one is resource]
        mine = [raw for raw in found if (owner := controller_of(raw)) is not None and owner["uid"] == uid]
        return sorted(mine, key=lambda raw: (raw["metadata"]["creationTimestamp"], raw["metadata"]["name"]))

    def dependents(self, uid: str) -> list[tuple[Resource, Json]]:
        """All objects that name the one with ``uid`` as an owner."""
        return list(self._owned.get(uid, {}).values())

    def exists(self, uid: str) -> bool:
        return uid in self._uids

    def _add(self, resource: Resource, raw: Json) -> None:
        key = key_of(raw)
        self._uids.add(raw["metadata"]["uid"])
        for owner in raw["metadata"].get("ownerReferences") or ():
            self._owned.setdefault(owner["uid"], {})[resource.key, key] = resource, raw
        if resource is POD:
            self._within.setdefault(key[0], {})[key] = raw
            if node := raw["spec"].get("nodeName"):
                self._on.setdefault(node, {})[key] = raw

    def _drop(self, resource: Resource, raw: Json) -> None:
        key = key_of(raw)
        self._uids.discard(raw["metadata"]["uid"])
        for owner in raw["metadata"].get("ownerReferences") or ():
            _without(self._owned, owner["uid"], (resource.key, key))
        if resource is POD:
            _without(self._within, key[0], key)
            if node := raw["spec"].get("nodeName"):
                _without(self._on, node, key)


def everything(store: Store) -> Iterator[tuple[Resource, Json]]:
    """All objects but events."""
    for resource in RESOURCES:
        if resource.key != EVENT.key:
            for raw in list(store.all(resource)):
                yield resource, raw


def controller_of(raw: Json) -> Json | None:
    """The owner reference of the object's controller."""
    owners = raw["metadata"].get("ownerReferences") or ()
    return next((owner for owner in owners if owner.get("controller")), None)


def _without(held: dict[str, dict[Any, Any]], outer: str, inner: object) -> None:
    found = held.get(outer)
    if found is not None:
        found.pop(inner, None)
        if not found:
            del held[outer]
