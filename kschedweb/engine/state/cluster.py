"""The cluster's other objects: namespaces, services, controllers, volumes, budgets, classes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable

from kschedweb.engine.objects.access import Json, ObjectError, mapping, text
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.workloads import check, selection
from kschedweb.engine.state.devices.claims import Devices
from kschedweb.engine.state.volumes.storage import Storage

BUDGET = "PodDisruptionBudget"


class ClusterObjects:
    """Raw objects by kind, namespace and name; "" is the namespace of what has none.

    ``version`` counts changes of what ``Snapshot.related`` may hold on to: storage and disruption budgets.
    """

    def __init__(self) -> None:
        self._kinds: dict[str, dict[tuple[str, str], Json]] = {}
        self._by_namespace: dict[tuple[str, str], dict[str, Json]] = {}
        self._selections: Counter[tuple[str, ...]] = Counter()
        self.storage = Storage()
        self.devices = Devices()
        self.version = 0

    def copy(self) -> ClusterObjects:
        """The same objects, but for claims and volumes, which can change without these changing."""
        other = object.__new__(ClusterObjects)
        other.__dict__.update(self.__dict__)
        other.storage = self.storage.copy()
        return other

    def add(self, raw: Json) -> Json | None:
        """Keep ``raw`` in place of the one of its name, which is returned.

        Raises ObjectError where it has no kind or name, or cannot be understood: then nothing has changed.
        """
        kind, namespace, name = identity(raw)
        check(kind, raw)
        changed = self.storage.add(kind, namespace, name, raw)
        self.devices.add(kind, raw)
        old = self.get(kind, namespace, name)
        self._kinds.setdefault(kind, {})[namespace, name] = raw
        self._by_namespace.setdefault((kind, namespace), {})[name] = raw
        self._note(kind, namespace, name, old, raw, storage=changed)
        return old

    def remove(self, kind: str, namespace: str, name: str) -> Json | None:
        """The object is gone; returns it as it last was, ``None`` where it was not known."""
        old = self._kinds.get(kind, {}).pop((namespace, name), None)
        if old is None:
            return None
        del self._by_namespace[kind, namespace][name]
        changed = self.storage.remove(kind, namespace, name)
        self.devices.remove(kind, namespace, name)
        self._note(kind, namespace, name, old, None, storage=changed)
        return old

    def _note(self, kind: str, namespace: str, name: str, old: Json | None, new: Json | None, *, storage: bool) -> None:
        self.version += storage or kind == BUDGET
        before, after = (None if raw is None else selection(kind, raw) for raw in (old, new))
        if before != after:
            self._selections[_selects(kind, namespace, name)] += 1

    def selections(self, pod: Pod) -> Hashable:
        """Equal while nothing changed that says which pods belong together for ``pod`` and those like it.

        That is the labels of namespaces, the services of its namespace, and its controller.
        """
        if not self._selections:
            return None
        _, kind, name = pod.controller or ("", "", "")
        known = self._selections
        services = known["Service", pod.namespace]
        return known["Namespace",], services, known[kind, pod.namespace, name]

    def get(self, kind: str, namespace: str, name: str) -> Json | None:
        return self._kinds.get(kind, {}).get((namespace, name))

    def all(self, kind: str) -> list[Json]:
        return list(self._kinds.get(kind, {}).values())

    def within(self, kind: str, namespace: str) -> list[Json]:
        """All of ``kind`` in ``namespace``."""
        return list(self._by_namespace.get((kind, namespace), {}).values())

    def namespace_labels(self, namespace: str) -> dict[str, str]:
        """The labels of ``namespace``; none where it is not known."""
        raw = self.get("Namespace", "", namespace)
        return raw.get("metadata", {}).get("labels") or {} if raw else {}

    @property
    def namespaces(self) -> dict[str, dict[str, str]]:
        return {name: self.namespace_labels(name) for _, name in self._kinds.get("Namespace", {})}


def identity(raw: Json) -> tuple[str, str, str]:
    """Kind, namespace and name of an object; raises ObjectError where it has no kind or name."""
    kind = text(raw, "kind")
    metadata = mapping(raw, "metadata")
    name = text(metadata, "name", "metadata.")
    if not kind or not name:
        raise ObjectError(f"{'kind' if not kind else 'metadata.name'}: is missing")
    return kind, text(metadata, "namespace", "metadata."), name


def _selects(kind: str, namespace: str, name: str) -> tuple[str, ...]:
    """Whom a change of the object concerns: everybody, pods of a namespace, or those of one controller."""
    if kind == "Namespace":
        return (kind,)
    return (kind, namespace) if kind == "Service" else (kind, namespace, name)
