"""The cluster's other objects: namespaces, services, controllers, volumes, budgets, classes, groups of pods."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable

from kschedweb.engine.objects.json_access import Json, ObjectError, get_mapping, get_string
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.selecting_objects import check_readable, selector_content
from kschedweb.engine.state.devices.claims import Devices
from kschedweb.engine.state.podgroups import PodGroups
from kschedweb.engine.state.volumes.storage import Storage

BUDGET = "PodDisruptionBudget"


class ClusterObjects:
    """Raw objects by kind, namespace and name; the namespace of cluster-wide objects is "".

    ``version`` counts changes of what ``Snapshot.related`` may depend on: storage and disruption budgets.
    """

    def __init__(self) -> None:
        self._kinds: dict[str, dict[tuple[str, str], Json]] = {}
        self._by_namespace: dict[tuple[str, str], dict[str, Json]] = {}
        self._selections: Counter[tuple[str, ...]] = Counter()
        self.storage = Storage()
        self.devices = Devices()
        self.groups = PodGroups()
        self.version = 0

    def copy(self) -> ClusterObjects:
        """A copy that shares all objects but claims, volumes and groups of pods, which are copied."""
        other = object.__new__(ClusterObjects)
        other.__dict__.update(self.__dict__)
        other.storage, other.devices = self.storage.copy(), self.devices.copy()
        other.groups = self.groups.copy()
        return other

    def add(self, raw: Json) -> Json | None:
        """Add ``raw``; returns the object of the same kind and name that it replaces, or ``None``.

        Raises ObjectError if ``raw`` has no kind or name, or cannot be read; then nothing has changed.
        """
        kind, namespace, name = parse_identity(raw)
        check_readable(kind, raw)
        self.groups.add_object(kind, raw)
        changed = self.storage.add_object(kind, namespace, name, raw)
        self.devices.add_object(kind, raw)
        old = self.get(kind, namespace, name)
        self._kinds.setdefault(kind, {})[namespace, name] = raw
        self._by_namespace.setdefault((kind, namespace), {})[name] = raw
        self._record_change(kind, namespace, name, old, raw, storage=changed)
        return old

    def remove(self, kind: str, namespace: str, name: str) -> Json | None:
        """Remove an object and return it; ``None`` if it was not known."""
        old = self._kinds.get(kind, {}).pop((namespace, name), None)
        if old is None:
            return None
        del self._by_namespace[kind, namespace][name]
        changed = self.storage.remove_object(kind, namespace, name)
        self.devices.remove_object(kind, namespace, name)
        self.groups.remove_object(kind, old)
        self._record_change(kind, namespace, name, old, None, storage=changed)
        return old

    def _record_change(
        self, kind: str, namespace: str, name: str, old: Json | None, new: Json | None, *, storage: bool
    ) -> None:
        self.version += storage or kind == BUDGET
        before, after = (None if raw is None else selector_content(kind, raw) for raw in (old, new))
        if before != after:
            self._selections[_selection_key(kind, namespace, name)] += 1

    def selection_version(self, pod: Pod) -> Hashable:
        """A value that changes when something changes that decides which pods belong together with ``pod``.

        These are labels of namespaces, services of the pod's namespace, and its controller.
        """
        if not self._selections:
            return None
        _, kind, name = pod.controller or ("", "", "")
        versions = self._selections
        services = versions["Service", pod.namespace]
        return versions["Namespace",], services, versions[kind, pod.namespace, name]

    def get(self, kind: str, namespace: str, name: str) -> Json | None:
        return self._kinds.get(kind, {}).get((namespace, name))

    def all(self, kind: str) -> list[Json]:
        return list(self._kinds.get(kind, {}).values())

    def list_in_namespace(self, kind: str, namespace: str) -> list[Json]:
        """All of ``kind`` in ``namespace``."""
        return list(self._by_namespace.get((kind, namespace), {}).values())

    def namespace_labels(self, namespace: str) -> dict[str, str]:
        """The labels of ``namespace``; none if it is not known."""
        raw = self.get("Namespace", "", namespace)
        return raw.get("metadata", {}).get("labels") or {} if raw else {}

    @property
    def namespaces(self) -> dict[str, dict[str, str]]:
        return {name: self.namespace_labels(name) for _, name in self._kinds.get("Namespace", {})}


def parse_identity(raw: Json) -> tuple[str, str, str]:
    """Kind, namespace and name of an object; raises ObjectError if it has no kind or name."""
    kind = get_string(raw, "kind")
    metadata = get_mapping(raw, "metadata")
    name = get_string(metadata, "name", "metadata.")
    if not kind or not name:
        raise ObjectError(f"{'kind' if not kind else 'metadata.name'}: is missing")
    return kind, get_string(metadata, "namespace", "metadata."), name


def _selection_key(kind: str, namespace: str, name: str) -> tuple[str, ...]:
    """The pods that a change of the object concerns: all, those of a namespace, or those of one controller."""
    if kind == "Namespace":
        return (kind,)
    return (kind, namespace) if kind == "Service" else (kind, namespace, name)
