"""Namespaces: the contents of a deleted one go first, then the namespace."""

from __future__ import annotations

from collections.abc import Iterable

from kschedweb.engine.sandbox.resources import NAMESPACE, POD, RESOURCES
from kschedweb.engine.sandbox.store import Key, StoreChange
from kschedweb.engine.sandbox.world.context import SandboxContext
from kschedweb.engine.sandbox.world.pods import is_deleting

# Pods last: their controllers would create others.
_CONTENT = sorted(
    (resource for resource in RESOURCES if resource.namespaced and not resource.store),
    key=lambda resource: resource is POD,
)


class NamespaceController:
    """Deletes the contents of a deleted namespace, and then the namespace itself."""

    def __init__(self, context: SandboxContext) -> None:
        self._context = context

    def affected_keys(self, change: StoreChange) -> Iterable[Key]:
        if change.resource is NAMESPACE:
            if change.new is None or is_deleting(change.new):
                yield change.key
        elif change.new is None and change.resource.namespaced:
            namespace = self._context.store.get(NAMESPACE, "", change.key[0])
            if namespace is None or is_deleting(namespace):
                yield "", change.key[0]

    def sync(self, key: Key) -> float | None:
        context, name = self._context, key[1]
        namespace = context.store.get(NAMESPACE, "", name)
        if namespace is not None and not is_deleting(namespace):
            return None
        has_content = False
        for resource in _CONTENT:
            for raw in list(context.store.all(resource, name)):
                context.delete_object(resource, raw)
                metadata = raw["metadata"]
                has_content = has_content or context.store.get(resource, name, metadata["name"]) is not None
        if namespace is not None and not has_content and context.store.get(NAMESPACE, "", name) is namespace:
            context.store.remove(NAMESPACE, namespace)
        return None
