"""The garbage collector: objects go with the last of their owners."""

from __future__ import annotations

from collections.abc import Iterable

from kschedweb.engine.sandbox.resources import EVENT, NAMESPACE, RESOURCES
from kschedweb.engine.sandbox.store import Key, StoreChange
from kschedweb.engine.sandbox.world.context import SandboxContext

_BY_KEY = {resource.key: resource for resource in RESOURCES}
# No name of a resource or namespace contains it.
SEPARATOR = "\x00"


class GarbageCollector:
    """Deletes objects without owners.

    A key names the resource as well: (``deployments.apps``, ``SEPARATOR``, namespace; name).
    """

    def __init__(self, context: SandboxContext) -> None:
        self._context = context

    def affected_keys(self, change: StoreChange) -> Iterable[Key]:
        if change.resource.key == EVENT.key or change.resource is NAMESPACE:
            return
        if change.new is None:
            for resource, raw in self._context.index.list_dependents(change.last["metadata"]["uid"]):
                metadata = raw["metadata"]
                yield f"{resource.key}{SEPARATOR}{metadata.get('namespace') or ''}", metadata["name"]
        elif change.old is None and change.new["metadata"].get("ownerReferences"):
            namespace, name = change.key
            yield f"{change.resource.key}{SEPARATOR}{namespace}", name

    def sync(self, key: Key) -> float | None:
        place, _, namespace = key[0].partition(SEPARATOR)
        raw = self._context.store.get(_BY_KEY[place], namespace, key[1])
        owners = None if raw is None else raw["metadata"].get("ownerReferences")
        if raw is not None and owners and not any(self._context.index.exists(owner["uid"]) for owner in owners):
            self._context.delete_object(_BY_KEY[place], raw)
        return None
