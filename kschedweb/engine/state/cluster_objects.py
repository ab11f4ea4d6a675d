"""Objects of the cluster besides nodes and pods: namespaces, services, controllers, volumes, budgets, pod groups."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable

from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import ObjectError, get_mapping, get_string
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.selecting_objects import check_readable, selector_content
from kschedweb.engine.state.devices.claims import Devices
from kschedweb.engine.state.podgroups import PodGroups
from kschedweb.engine.state.volumes.storage import Storage

BUDGET = "PodDisruptionBudget"


class ClusterObjects:
    """Raw objects by kind, namespace and name; the namespace of cluster-wide objects is ""."""

    def __init__(self) -> None:
        self._kinds: dict[str, dict[tuple[str, str], Json]] = {}
        # (kind, namespace) -> name -> object, as services are looked up for every new pod.
        self._by_namespace: dict[tuple[str, str], dict[str, Json]] = {}
        # The number of changes by `_selection_key`.
        self._selections: Counter[tuple[str, ...]] = Counter()
        self.storage = Storage()
        self.devices = Devices()
        self.groups = PodGroups()
        # Counts changes of storage objects and disruption budgets, on which `Snapshot.cached_by_objects` depends.
        self.version = 0

    def copy(self) -> ClusterObjects:
        """Return a copy with its own claims, volumes and pod groups; all other objects are shared."""
        other = object.__new__(ClusterObjects)
        other.__dict__.update(self.__dict__)
        other.storage, other.devices = self.storage.copy(), self.devices.copy()
        other.groups = self.groups.copy()
        return other

    def add(self, raw: Json) -> Json | None:
        """Add ``raw``; return the object of the same kind and name that it replaces, or ``None``.

        Raise ObjectError if ``raw`` has no kind or name, or cannot be read; then nothing has changed.
        """
        kind, namespace, name = parse_identity(raw)
        check_readable(kind, raw)
        # The readers that may raise ObjectError come first, so that nothing has changed then.
        self.groups.add_object(kind, raw)
        changed = self.storage.add_object(kind, namespace, name, raw)
        self.devices.add_object(kind, raw)
        old = self.get(kind, namespace, name)
        self._kinds.setdefault(kind, {})[namespace, name] = raw
        self._by_namespace.setdefault((kind, namespace), {})[name] = raw
        self._record_change(kind, namespace, name, old, raw, storage=changed)
        return old

    def remove(self, kind: str, namespace: str, name: str) -> Json | None:
        """Remove an object and return it, or ``None`` if it is not known."""
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
        """Return a value that changes whenever the pods that belong together with ``pod`` may change.

        That depends on labels of namespaces, on services of the pod's namespace, and on its controller.
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
        """Return all objects of ``kind`` in ``namespace``."""
        return list(self._by_namespace.get((kind, namespace), {}).values())

    def namespace_labels(self, namespace: str) -> dict[str, str]:
        """Return the labels of ``namespace``; empty if it is not known."""
        raw = self.get("Namespace", "", namespace)
        return raw.get("metadata", {}).get("labels") or {} if raw else {}

    @property
    def namespaces(self) -> dict[str, dict[str, str]]:
        return {name: self.namespace_labels(name) for _, name in self._kinds.get("Namespace", {})}


def parse_identity(raw: Json) -> tuple[str, str, str]:
    """Return kind, namespace and name of an object; raise ObjectError if it has no kind or name."""
    kind = get_string(raw, "kind")
    metadata = get_mapping(raw, "metadata")
    name = get_string(metadata, "name", "metadata.")
    if not kind or not name:
        raise ObjectError(f"{'kind' if not kind else 'metadata.name'}: is missing")
    return kind, get_string(metadata, "namespace", "metadata."), name


def _selection_key(kind: str, namespace: str, name: str) -> tuple[str, ...]:
    """Return the key of the pods that an object selects: all, those of a namespace, or of one controller."""
    if kind == "Namespace":
        return (kind,)
    return (kind, namespace) if kind == "Service" else (kind, namespace, name)
