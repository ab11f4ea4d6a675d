"""The cluster's PodGroups, and the pods that name them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.podgroup import POD_GROUP, PodGroup, is_readable_group


class PodGroups:
    """PodGroups by key (namespace/name), with all pods that name them, bound or not.

    Pods may name a group that is not known, or no longer.
    """

    def __init__(self) -> None:
        # Key -> group.
        self._groups: dict[str, PodGroup] = {}
        # Key of a group -> keys of pods.
        self._members: dict[str, set[str]] = {}
        # Counts changes of groups.
        self.version = 0

    def __bool__(self) -> bool:
        return bool(self._groups or self._members)

    def __iter__(self) -> Iterator[PodGroup]:
        return iter(self._groups.values())

    def copy(self) -> PodGroups:
        """Return an independent copy."""
        other = PodGroups()
        other._groups, other.version = dict(self._groups), self.version
        other._members = {group: set(keys) for group, keys in self._members.items()}
        return other

    def add_object(self, kind: str, raw: Json) -> None:
        """Add ``raw`` if it is a PodGroup; raise ObjectError for one that is not simulated."""
        if is_readable_group(kind, raw):
            self.put_group(PodGroup.from_json(raw))

    def remove_object(self, kind: str, raw: Json) -> None:
        """Remove ``raw`` if it is a PodGroup."""
        if kind == POD_GROUP and is_readable_group(kind, raw):
            self.remove_group(PodGroup.from_json(raw).key)

    def put_group(self, group: PodGroup) -> None:
        """Add the group, or replace the one with its key."""
        self._groups[group.key] = group
        self.version += 1

    def remove_group(self, key: str) -> PodGroup | None:
        self.version += 1
        return self._groups.pop(key, None)

    def get(self, key: str) -> PodGroup | None:
        return self._groups.get(key)

    def group_of(self, pod: Pod) -> PodGroup | None:
        """Return the group that ``pod`` names; ``None`` if it names none or an unknown one."""
        return self._groups.get(pod.scheduling_group) if pod.scheduling_group else None

    def add_member(self, pod: Pod) -> None:
        """Add ``pod``, bound or not, to the group that it names."""
        if pod.scheduling_group:
            self._members.setdefault(pod.scheduling_group, set()).add(pod.key)

    @contextmanager
    def with_members(self, pods: Iterable[Pod]) -> Iterator[None]:
        """Add ``pods`` to their groups within a context."""
        new = [pod for pod in pods if pod.key not in self._members.get(pod.scheduling_group, ())]
        for pod in new:
            self.add_member(pod)
        try:
            yield
        finally:
            for pod in new:
                self.remove_member(pod)

    def remove_member(self, pod: Pod) -> None:
        """Remove ``pod`` from the group that it names."""
        keys = self._members.get(pod.scheduling_group)
        if keys is not None:
            keys.discard(pod.key)
            if not keys:
                del self._members[pod.scheduling_group]

    @property
    def keys(self) -> list[str]:
        """The sorted keys of the known groups and of those that pods name."""
        return sorted({*self._groups, *self._members})

    def member_count(self, key: str) -> int:
        """Return the number of pods that name the group."""
        return len(self._members.get(key, ()))
