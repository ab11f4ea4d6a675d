"""The cluster's other objects: namespaces, services, controllers, volumes, budgets, classes."""

from __future__ import annotations

from kschedweb.engine.devices.claims import Devices
from kschedweb.engine.objects.access import Json, ObjectError, mapping, text
from kschedweb.engine.objects.workloads import check
from kschedweb.engine.volumes.storage import Storage


class ClusterObjects:
    """Raw objects by kind, namespace and name; "" is the namespace of what has none."""

    def __init__(self) -> None:
        self._kinds: dict[str, dict[tuple[str, str], Json]] = {}
        self._by_namespace: dict[tuple[str, str], list[Json]] = {}
        self.storage = Storage()
        self.devices = Devices()

    def copy(self) -> ClusterObjects:
        """The same objects, but for claims and volumes, which can change without these changing."""
        other = object.__new__(ClusterObjects)
        other.__dict__.update(self.__dict__)
        other.storage = self.storage.copy()
        return other

    def add(self, raw: Json) -> None:
        """Keep ``raw``; raises ObjectError where it has no kind or name, or cannot be understood."""
        kind = text(raw, "kind")
        metadata = mapping(raw, "metadata")
        name = text(metadata, "name", "metadata.")
        if not kind or not name:
            raise ObjectError(f"{'kind' if not kind else 'metadata.name'}: is missing")
        check(kind, raw)
        namespace = text(metadata, "namespace", "metadata.")
        self.storage.add(kind, raw)
        self.devices.add(kind, raw)
        self._kinds.setdefault(kind, {})[namespace, name] = raw
        self._by_namespace.setdefault((kind, namespace), []).append(raw)

    def get(self, kind: str, namespace: str, name: str) -> Json | None:
        return self._kinds.get(kind, {}).get((namespace, name))

    def all(self, kind: str) -> list[Json]:
        return list(self._kinds.get(kind, {}).values())

    def within(self, kind: str, namespace: str) -> list[Json]:
        """All of ``kind`` in ``namespace``."""
        return self._by_namespace.get((kind, namespace), [])

    def namespace_labels(self, namespace: str) -> dict[str, str]:
        """The labels of ``namespace``; none where it is not known."""
        raw = self.get("Namespace", "", namespace)
        return raw.get("metadata", {}).get("labels") or {} if raw else {}

    @property
    def namespaces(self) -> dict[str, dict[str, str]]:
        return {name: self.namespace_labels(name) for _, name in self._kinds.get("Namespace", {})}
