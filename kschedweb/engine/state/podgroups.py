"""The cluster's PodGroups and CompositePodGroups, and the pods that name them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.podgroup import COMPOSITE, POD_GROUP, PodGroup, is_readable_group
from kschedweb.engine.state.group_tree import GroupTree


class PodGroups:
    """PodGroups by key (namespace/name), with all pods that name them, bound or not, and the trees that they form.

    Pods may name a group that is not known, or no longer; so may groups name a composite one.
    """

    def __init__(self) -> None:
        # Key -> group.
        self._groups: dict[str, PodGroup] = {}
        # Key -> composite group.
        self._composites: dict[str, PodGroup] = {}
        # Key of a composite group -> the groups that name it, by kind and key.
        self._children: defaultdict[str, dict[str, PodGroup]] = defaultdict(dict)
        # Key of a group -> keys of pods.
        self._members: dict[str, set[str]] = {}
        # Counts changes of groups.
        self.version = 0

    def __bool__(self) -> bool:
        return bool(self._groups or self._members)

    def __iter__(self) -> Iterator[PodGroup]:
        """Yield all groups, composite ones last."""
        yield from self._groups.values()
        yield from self._composites.values()

    def copy(self) -> PodGroups:
        """Return an independent copy."""
        other = PodGroups()
        other._groups, other._composites, other.version = dict(self._groups), dict(self._composites), self.version
        other._children.update({parent: dict(children) for parent, children in self._children.items()})
        other._members = {group: set(keys) for group, keys in self._members.items()}
        return other

    def add_object(self, kind: str, raw: Json) -> None:
        """Add ``raw`` if it is a group; raise ObjectError for one that is not simulated."""
        if is_readable_group(kind, raw):
            self.put_group(PodGroup.from_json(raw))

    def remove_object(self, kind: str, raw: Json) -> None:
        """Remove ``raw`` if it is a group."""
        if kind in (POD_GROUP, COMPOSITE) and is_readable_group(kind, raw):
            self.remove_group(PodGroup.from_json(raw).key, kind)

    def put_group(self, group: PodGroup) -> None:
        """Add the group, or replace the one with its kind and key."""
        self._unlink(self.get(group.key, group.kind))
        self._of_kind(group.kind)[group.key] = group
        if group.parent:
            self._children[group.parent][group.entity] = group
        self.version += 1

    def remove_group(self, key: str, kind: str = POD_GROUP) -> PodGroup | None:
        self.version += 1
        group = self._of_kind(kind).pop(key, None)
        self._unlink(group)
        return group

    def _unlink(self, group: PodGroup | None) -> None:
        if group is not None and group.parent:
            self._children[group.parent].pop(group.entity, None)

    def _of_kind(self, kind: str) -> dict[str, PodGroup]:
        return self._composites if kind == COMPOSITE else self._groups

    def get(self, key: str, kind: str = POD_GROUP) -> PodGroup | None:
        return self._of_kind(kind).get(key)

    def refresh(self, group: PodGroup) -> PodGroup | None:
        """Return the group as it is now, ``None`` if it is gone."""
        return self.get(group.key, group.kind)

    def group_of(self, pod: Pod) -> PodGroup | None:
        """Return the group that ``pod`` names; ``None`` if it names none or an unknown one."""
        return self._groups.get(pod.scheduling_group) if pod.scheduling_group else None

    # The trees that groups form.

    def find_root(self, key: str) -> PodGroup | None:
        """Return the root of the tree of a PodGroup; ``None`` if one of the groups up to it is missing."""
        group = self.get(key)
        return None if group is None else self.find_root_above(group)

    def find_root_above(self, group: PodGroup) -> PodGroup | None:
        """Return the root of the tree of a group, known or not; ``None`` if one above it is missing."""
        seen_entities: set[str] = set()
        above: PodGroup | None = group
        while above is not None and above.parent:
            if above.entity in seen_entities:
                return None
            seen_entities.add(above.entity)
            above = self.get(above.parent, COMPOSITE)
        return above

    def list_children(self, group: PodGroup) -> list[PodGroup]:
        """Return the groups of a composite group, known or not, in the order in which they are tried."""
        children = self._children.get(group.key, {}) if group.is_composite else {}
        return sorted(children.values(), key=lambda child: (child.created, child.name, child.kind))

    def list_leaves(self, group: PodGroup) -> list[PodGroup]:
        """Return the groups of pods below a group; the group itself if it is one."""
        if not group.is_composite:
            return [group]
        return [leaf for child in self.list_children(group) for leaf in self.list_leaves(child)]

    def build_tree(self, group: PodGroup, pods: Iterable[Pod]) -> GroupTree:
        """Return the group with those below it, and ``pods``, in their order, with the groups that they name."""
        listed = tuple(pods)
        if group.is_composite:
            return GroupTree(group, tuple(self.build_tree(child, listed) for child in self.list_children(group)))
        return GroupTree(group, pods=tuple(pod for pod in listed if pod.scheduling_group == group.key))

    def is_ready(self, group: PodGroup) -> bool:
        """Return whether as many pods exist, or as many of its groups are ready, as have to be placed together."""
        if group.is_composite:
            count = sum(self.is_ready(child) for child in self.list_children(group))
        else:
            count = self.member_count(group.key)
        return count >= group.min_placed

    # The pods of groups.

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
