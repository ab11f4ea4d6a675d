"""Namespaces: what is in one that is deleted goes first, then the namespace."""

from __future__ import annotations

from collections.abc import Iterable

from kschedweb.engine.sandbox.resources import NAMESPACE, POD, RESOURCES
from kschedweb.engine.sandbox.store import Change, Key
from kschedweb.engine.sandbox.world.context import Context
from kschedweb.engine.sandbox.world.pods import leaving

# Pods last: their controllers would make others.
_CONTENT = sorted((one for one in RESOURCES if one.namespaced and not one.store), key=lambda one: one is POD)


class Namespaces:
    def __init__(self, context: Context) -> None:
        self._context = context

    def heard(self, change: Change) -> Iterable[Key]:
        if change.resource is NAMESPACE:
            if change.new is None or leaving(change.new):
                yield change.key
        elif change.new is None and change.resource.namespaced:
            namespace = self._context.store.get(NAMESPACE, "", change.key[0])
            if namespace is None or leaving(namespace):
                yield "", change.key[0]

    def sync(self, key: Key) -> float | None:
        context, name = self._context, key[1]
        namespace = context.store.get(NAMESPACE, "", name)
        if namespace is not None and not leaving(namespace):
            return None
        left = False
        for resource in _CONTENT:
            for raw in list(context.store.all(resource, name)):
                context.delete(resource, raw)
                metadata = raw["metadata"]
                left = left or context.store.get(resource, name, metadata["name"]) is not None
        if namespace is not None and not left and context.store.get(NAMESPACE, "", name) is namespace:
            context.store.remove(NAMESPACE, namespace)
        return None
