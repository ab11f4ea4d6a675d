"""The objects of a sandbox with their resource versions, and the log of their changes, as etcd keeps them.

Objects are never changed in place: a write brings a new one. Every write has a resource version of its own.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator

from kschedweb.engine.json_types import Json
from kschedweb.engine.sandbox.resources import BY_PLACE, Resource
from kschedweb.engine.sandbox.status_errors import expired
from kschedweb.engine.values import dataclass

ADDED, MODIFIED, DELETED = "ADDED", "MODIFIED", "DELETED"
# Number of changes that are kept, from which watches go on.
LOG_SIZE = 4096
# (namespace or "", name)
Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class StoreChange:
    """A write."""

    version: int
    resource: Resource
    # ``None`` for a new object.
    old: Json | None
    # ``None`` for a deleted object.
    new: Json | None
    # The object with the change's resource version: the new one, or the last state of a deleted one.
    last: Json

    @property
    def key(self) -> Key:
        return get_object_key(self.last)


Listener = Callable[[StoreChange], None]


class Store:
    """The objects. ``version`` is the resource version of the last write; listeners hear of changes in their order."""

    def __init__(self, version: int = 0) -> None:
        self.version = self._oldest = version
        self._objects: dict[str, dict[Key, Json]] = {resource.key: {} for resource in BY_PLACE.values()}
        self._log: deque[StoreChange] = deque(maxlen=LOG_SIZE)
        self._listeners: list[Listener] = []

    def add_listener(self, listener: Listener) -> Callable[[], None]:
        """Call ``listener`` with every change from now on; returns what ends that."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def load_objects(self, objects: Iterable[tuple[Resource, Json]]) -> None:
        """Take in stored objects with the versions that they have; listeners do not hear of them."""
        for resource, raw in objects:
            self._objects[resource.key][get_object_key(raw)] = raw

    def get(self, resource: Resource, namespace: str, name: str) -> Json | None:
        return self._objects[resource.key].get((namespace, name))

    def all(self, resource: Resource, namespace: str = "") -> Iterator[Json]:
        """Yield the objects of ``resource``, in one namespace if it is named, by namespace and name."""
        objects = self._objects[resource.key]
        for key in sorted(objects):
            if not namespace or key[0] == namespace:
                yield objects[key]

    def count_objects(self, resource: Resource) -> int:
        return len(self._objects[resource.key])

    def put(self, resource: Resource, raw: Json) -> Json:
        """Write ``raw``, whether it exists or not; returns it with its resource version."""
        objects, key = self._objects[resource.key], get_object_key(raw)
        old, new = objects.get(key), self._with_new_version(raw)
        objects[key] = new
        self._notify(StoreChange(self.version, resource, old, new, new))
        return new

    def remove(self, resource: Resource, raw: Json) -> Json:
        """Delete the object; returns its last state with the resource version of the deletion."""
        old = self._objects[resource.key].pop(get_object_key(raw))
        last = self._with_new_version(raw)
        self._notify(StoreChange(self.version, resource, old, None, last))
        return last

    def undo_changes(self, changes: Iterable[StoreChange]) -> None:
        """Take back ``changes``, the last first. Listeners hear of that as of other changes."""
        for change in reversed(list(changes)):
            if change.old is not None:
                self.put(change.resource, change.old)
            elif change.new is not None:
                self.remove(change.resource, change.new)

    def changes_since(self, version: int, resource: Resource) -> list[StoreChange]:
        """Return the changes after ``version``. Raises ApiRefusal if the log does not reach back so far."""
        if version < self._oldest:
            raise expired(version, self._oldest + 1)
        return [change for change in self._log if change.version > version and change.resource.key == resource.key]

    def _with_new_version(self, raw: Json) -> Json:
        self.version += 1
        return {**raw, "metadata": {**raw["metadata"], "resourceVersion": str(self.version)}}

    def _notify(self, change: StoreChange) -> None:
        if len(self._log) == LOG_SIZE:
            self._oldest = self._log[0].version
        self._log.append(change)
        for listener in list(self._listeners):
            listener(change)


def get_object_key(raw: Json) -> Key:
    metadata = raw["metadata"]
    return metadata.get("namespace") or "", metadata["name"]
