"""The groups of pods that there are, and the pods that name them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from kschedweb.engine.objects.json_access import Json
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.podgroup import POD_GROUP, PodGroup, is_readable_group


class PodGroups:
    """PodGroups by key (namespace/name), with all pods that name them, on a node or not.

    Pods may name a group that is not known, or not any more. ``version`` counts changes of groups.
    """

    def __init__(self) -> None:
        self._groups: dict[str, PodGroup] = {}
        self._members: dict[str, set[str]] = {}  # group -> keys of pods
        self.version = 0

    def __bool__(self) -> bool:
        return bool(self._groups or self._members)

    def __iter__(self) -> Iterator[PodGroup]:
        return iter(self._groups.values())

    def copy(self) -> PodGroups:
        """An independent copy."""
        other = PodGroups()
        other._groups, other.version = dict(self._groups), self.version
        other._members = {group: set(keys) for group, keys in self._members.items()}
        return other

    def add_object(self, kind: str, raw: Json) -> None:
        """Take in ``raw`` if it is a group; raises ObjectError where it is one that is not simulated."""
        if is_readable_group(kind, raw):
            self.put_group(PodGroup.from_json(raw))

    def remove_object(self, kind: str, raw: Json) -> None:
        """Forget ``raw`` if it is a group."""
        if kind == POD_GROUP and is_readable_group(kind, raw):
            self.remove_group(PodGroup.from_json(raw).key)

    def put_group(self, group: PodGroup) -> None:
        """Add the group, or replace the one of its key."""
        self._groups[group.key] = group
        self.version += 1

    def remove_group(self, key: str) -> PodGroup | None:
        self.version += 1
        return self._groups.pop(key, None)

    def get(self, key: str) -> PodGroup | None:
        return self._groups.get(key)

    def group_of(self, pod: Pod) -> PodGroup | None:
        """The group that ``pod`` names; ``None`` where it names none, or one that is not known."""
        return self._groups.get(pod.scheduling_group) if pod.scheduling_group else None

    def add_member(self, pod: Pod) -> None:
        """``pod`` is there, on a node or not."""
        if pod.scheduling_group:
            self._members.setdefault(pod.scheduling_group, set()).add(pod.key)

    @contextmanager
    def with_members(self, pods: Iterable[Pod]) -> Iterator[None]:
        """A context in which ``pods`` are there, too."""
        new = [pod for pod in pods if pod.key not in self._members.get(pod.scheduling_group, ())]
        for pod in new:
            self.add_member(pod)
        try:
            yield
        finally:
            for pod in new:
                self.remove_member(pod)

    def remove_member(self, pod: Pod) -> None:
        """``pod`` is gone."""
        keys = self._members.get(pod.scheduling_group)
        if keys is not None:
            keys.discard(pod.key)
            if not keys:
                del self._members[pod.scheduling_group]

    @property
    def keys(self) -> list[str]:
        """The keys of the groups that there are, and of those that pods name, in their order."""
        return sorted({*self._groups, *self._members})

    def member_count(self, key: str) -> int:
        """How many pods name the group."""
        return len(self._members.get(key, ()))
