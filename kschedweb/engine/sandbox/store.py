"""The objects of a sandbox with their resource versions, and the log of what changed, as etcd keeps them.

Objects are never changed in place: whoever writes gives a new one. Every write has a resource version of its own.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator

from kschedweb.engine.objects.json_access import Json
from kschedweb.engine.sandbox.resources import BY_PLACE, Resource
from kschedweb.engine.sandbox.status_errors import expired
from kschedweb.engine.values import dataclass

ADDED, MODIFIED, DELETED = "ADDED", "MODIFIED", "DELETED"
LOG_SIZE = 4096  # changes, from which watches go on
Key = tuple[str, str]  # namespace ("" for none), name


@dataclass(frozen=True, slots=True)
class StoreChange:
    """``new`` is ``None`` where the object is gone, ``old`` where it is a new one.

    ``last`` is the object with the change's resource version: the new one, or the last state of a deleted one.
    """

    version: int
    resource: Resource
    old: Json | None
    new: Json | None
    last: Json

    @property
    def key(self) -> Key:
        return get_object_key(self.last)


Listener = Callable[[StoreChange], None]


class Store:
    """``version`` is the resource version of the last write. Listeners hear of each change in its order."""

    def __init__(self, version: int = 0) -> None:
        self.version = self._oldest = version
        self._objects: dict[str, dict[Key, Json]] = {resource.key: {} for resource in BY_PLACE.values()}
        self._log: deque[StoreChange] = deque(maxlen=LOG_SIZE)
        self._listeners: list[Listener] = []

    def add_listener(self, listener: Listener) -> Callable[[], None]:
        """Have ``listener`` told of every change from now on; returns what ends that."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def load_objects(self, objects: Iterable[tuple[Resource, Json]]) -> None:
        """Take in objects of before, with the versions that they have; nobody is told."""
        for resource, raw in objects:
            self._objects[resource.key][get_object_key(raw)] = raw

    def get(self, resource: Resource, namespace: str, name: str) -> Json | None:
        return self._objects[resource.key].get((namespace, name))

    def all(self, resource: Resource, namespace: str = "") -> Iterator[Json]:
        """The objects of ``resource`` (of one namespace, where it is named) by namespace and name."""
        objects = self._objects[resource.key]
        for key in sorted(objects):
            if not namespace or key[0] == namespace:
                yield objects[key]

    def count_objects(self, resource: Resource) -> int:
        return len(self._objects[resource.key])

    def put(self, resource: Resource, raw: Json) -> Json:
        """Write ``raw``, whether it is there or not; returns it with its resource version."""
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
        """What changed after ``version``. Raises Refusal where that is not known any more."""
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
