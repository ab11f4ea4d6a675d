"""The scheduling queue with groups of pods, each of which waits and is tried as one."""

from __future__ import annotations

from bisect import insort_right
from collections.abc import Iterable
from dataclasses import field

from kschedweb.engine.framework.events import (
    FORCE_ACTIVATE,
    Action,
    ObjectChange,
    group_event,
    pod_changes,
)
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.podgroup import COMPOSITE, POD_GROUP, PodGroup
from kschedweb.engine.queue.hints import Strategy
from kschedweb.engine.queue.queued_pods import NEVER, POD, Queued, QueuedPod
from kschedweb.engine.queue.scheduling_queue import FAILED, POD_ADD, POD_UPDATE, SchedulingQueue
from kschedweb.engine.values import dataclass

# key of the group -> key of the pod -> the pod in the queue
MembersByGroup = dict[str, dict[str, QueuedPod]]


@dataclass(slots=True, eq=False)
class QueuedGroup:
    """A group, or the root of a tree of groups, in the queue. Times are seconds.

    The group backs off by its own failures, not by those of its pods. It waits for no event, since no plugin rejects a
    group.
    """

    group: PodGroup
    # When the group came into the queue, or came back to it.
    queued: float
    # In the order in which they are tried.
    members: list[QueuedPod] = field(default_factory=list)
    attempts: int = 0
    # Rejected tries, since the group was placed last.
    unschedulable: int = 0
    # Tries that ended in an error, since the last that did not.
    errors: int = 0
    # The PreEnqueue plugin that keeps the group out, "" for none.
    gating: str = ""
    # True if it was tried again only because it had waited for long.
    flushed: bool = False
    flush_checked_at: float = NEVER
    # When its backoff ends, once worked out.
    expires: float | None = None

    @property
    def key(self) -> str:
        # It cannot be the key of a pod.
        return self.group.entity

    @property
    def kind(self) -> str:
        return self.group.kind.lower()

    @property
    def subject(self) -> PodGroup:
        return self.group

    @property
    def rejectors(self) -> frozenset[str]:
        return frozenset()

    @property
    def hint_scope(self) -> tuple[str, frozenset[str]]:
        return self.members[0].pod.scheduler_name, frozenset()

    @property
    def pods(self) -> list[Pod]:
        return [member.pod for member in self.members]

    def insert_member(self, member: QueuedPod) -> None:
        """Add a pod: higher priority first, then those that were tried more often, then those that wait longer."""
        insort_right(
            self.members,
            member,
            key=lambda queued_pod: (-queued_pod.pod.priority, -queued_pod.attempts, queued_pod.queued),
        )

    def withdraw_member(self, key: str) -> QueuedPod | None:
        """Take a pod out; returns ``None`` if it is not here."""
        for place, member in enumerate(self.members):
            if member.key == key:
                return self.members.pop(place)
        return None


class GroupQueue(SchedulingQueue):
    """Keeps the pods of a group in one ``QueuedGroup``, as soon as the group is known.

    With ``composites`` those of all groups of a tree are in one, as soon as all groups up to its root are known.

    A pod that comes (back) while its group is tried waits for ``conclude_group``. The groups are those of the cluster's
    objects: who changes them there calls ``follow_group``.
    """

    def __init__(self, *args: object, composites: bool = False, **options: object) -> None:
        super().__init__(*args, **options)  # type: ignore[arg-type]
        self._composites = composites
        # Pods whose groups are not known.
        self._incomplete: MembersByGroup = {}
        # Pods whose groups are being tried.
        self._pending: MembersByGroup = {}
        # The key, as an entity, of the group that is being tried, "" for none.
        self._popped = ""

    def count_pods(self) -> tuple[int, int, int, int]:
        active, backing_off, unschedulable, gated = (0, 0, 0, 0)
        for queued in self.active:
            active += len(queued.members)
        for queued in self.backoff:
            backing_off += len(queued.members)
        for queued in self.unschedulable:
            if queued.gating:
                gated += len(queued.members)
            else:
                unschedulable += len(queued.members)
        active += len(self.in_flight) + sum(map(len, self._pending.values()))
        return active, backing_off, unschedulable, gated + sum(map(len, self._incomplete.values()))

    def count_entities(self) -> dict[tuple[str, str], int]:
        parts: dict[str, Iterable[Queued]] = {"active": self.active, "backoff": self.backoff}
        listed = [(name, queued) for name, part in parts.items() for queued in part]
        listed += [("gated" if queued.gating else "unschedulable", queued) for queued in self.unschedulable]
        counts = {(name, kind): 0 for name in (*parts, "unschedulable", "gated") for kind in self._entity_kinds}
        for name, queued in listed:
            counts[name, queued.kind] += 1
        return counts

    @property
    def _entity_kinds(self) -> list[str]:
        groups = (POD_GROUP, COMPOSITE) if self._composites else (POD_GROUP,)
        return [POD, *(kind.lower() for kind in groups)]

    # Pods come, change and go.

    def add(self, pod: Pod, now: float) -> None:
        if not pod.scheduling_group:
            super().add(pod, now)
            return
        self._cause = POD_ADD
        self.nominator.add_nominated_pod(pod, pod.nominated_node)
        self._join_group(QueuedPod(pod, now), now)

    def _find_root(self, key: str) -> PodGroup | None:
        """Return the group with which the pods of the PodGroup ``key`` are tried; ``None`` if it is not known."""
        groups = self.cluster.groups
        return groups.find_root(key) if self._composites else groups.get(key)

    def _find_root_above(self, group: PodGroup) -> PodGroup | None:
        return self.cluster.groups.find_root_above(group) if self._composites else group

    def _list_leaves(self, group: PodGroup) -> list[str]:
        """Return the keys of the PodGroups whose pods are tried with ``group``."""
        return [leaf.key for leaf in self.cluster.groups.list_leaves(group)] if self._composites else [group.key]

    def _join_group(self, member: QueuedPod, now: float) -> None:
        """Put a pod to the others of its group, wherever they are."""
        key = member.pod.scheduling_group
        group = self._find_root(key)
        if group is None:
            self._incomplete.setdefault(key, {})[member.key] = member
            return
        entity, strategy = self._take_entity(group)
        if entity is not None:
            entity.insert_member(member)
            self._requeue_with_strategy(entity, strategy, now)
        elif self._popped == group.entity:
            self._pending.setdefault(key, {})[member.key] = member
        else:
            self._to_active(QueuedGroup(group, member.queued, [member]), now)

    def _take_entity(self, group: PodGroup | None) -> tuple[QueuedGroup | None, Strategy]:
        """Take a group out, with the strategy that puts it back where it was."""
        removed: Queued | None
        for part, strategy in (
            (self.active, Strategy.IMMEDIATELY),
            (self.backoff, Strategy.AFTER_BACKOFF),
            (self.unschedulable, Strategy.SKIP),
        ):
            if group is not None and isinstance(removed := part.remove(group.entity), QueuedGroup):
                return removed, strategy
        return None, Strategy.SKIP

    def _find_entity(self, group: PodGroup | None) -> QueuedGroup | None:
        for part in (self.active, self.backoff, self.unschedulable):
            if group is not None and isinstance(entity := part.get(group.entity), QueuedGroup):
                return entity
        return None

    def update(self, old: Pod, new: Pod, now: float) -> None:
        if not old.scheduling_group or old.uid in self.in_flight:
            super().update(old, new, now)
            return
        self._cause = POD_UPDATE
        key, entity = old.scheduling_group, self._find_entity(self._find_root(old.scheduling_group))
        listed = [] if entity is None else entity.members
        waiting_members = [
            parts[key][old.key] for parts in (self._incomplete, self._pending) if old.key in parts.get(key, ())
        ]
        member = next(
            (queued_member for queued_member in [*listed, *waiting_members] if queued_member.key == old.key), None
        )
        if member is None:
            self._join_group(QueuedPod(new, now), now)
            return
        member.pod = new
        self.nominator.update_nominated_pod(old, new)
        # Only a group that waits for an event can be helped by the change of one of its pods.
        if entity is not None and entity.key in self.unschedulable:
            for event in pod_changes(old, new):
                strategy = self._entity_strategy(entity, event, ObjectChange(old, new, self.cluster))
                if self._requeue_with_strategy(entity, strategy, now):
                    break

    def delete(self, pod: Pod) -> None:
        if pod.scheduling_group:
            self.take_pod(pod)
        else:
            super().delete(pod)

    def take_pod(self, pod: Pod) -> QueuedPod | None:
        if not pod.scheduling_group:
            return super().take_pod(pod)
        self.nominator.delete_nominated_pod(pod.key)
        key = pod.scheduling_group
        members = [parts.get(key, {}).pop(pod.key, None) for parts in (self._incomplete, self._pending)]
        entity, strategy = self._take_entity(self._find_root(key))
        if entity is not None:
            members.append(entity.withdraw_member(pod.key))
            if entity.members:
                self._requeue_with_strategy(entity, strategy, entity.queued)
        return next((member for member in members if member is not None), None)

    def put_back(
        self,
        queued: QueuedPod,
        now: float,
        rejected_by: Iterable[str] = (),
        pending: Iterable[str] = (),
        *,
        watched: bool = True,
    ) -> None:
        if not queued.pod.scheduling_group:
            self._popped = ""
            super().put_back(queued, now, rejected_by, pending, watched=watched)
            return
        self._count_failure(queued, now, rejected_by, pending)
        self.mark_done(queued.pod.uid)
        self._join_group(queued, now)

    def put_aside(self, queued: QueuedPod, now: float, rejected_by: Iterable[str]) -> None:
        """Put a pod back that got a node without the rest of its group, to wait for an event.

        It is tried sooner if others of its group are in the queue. kube-scheduler would try it at once.
        """
        self._count_failure(queued, now, rejected_by, ())
        self.mark_done(queued.pod.uid)
        group = self._find_root(queued.pod.scheduling_group)
        if group is None or self._find_entity(group) is not None or self._popped == group.entity:
            self._join_group(queued, now)
        else:
            self._requeue_with_strategy(QueuedGroup(group, now, [queued]), Strategy.SKIP, now)

    def retry_now(self, queued: QueuedPod, now: float) -> None:
        if not queued.pod.scheduling_group:
            super().retry_now(queued, now)
            return
        self._cause = FAILED
        self.mark_done(queued.pod.uid)
        self.nominator.add_nominated_pod(queued.pod, queued.pod.nominated_node)
        self._join_group(queued, now)

    def activate(self, pods: Iterable[Pod], now: float) -> None:
        single = []
        for pod in pods:
            if not pod.scheduling_group:
                single.append(pod)
                continue
            self._cause = FORCE_ACTIVATE.name
            entity, strategy = self._take_entity(self._find_root(pod.scheduling_group))
            if entity is not None:
                self._to_active(entity, now, checked=strategy is not Strategy.SKIP)
            elif pod.uid in self.in_flight:
                self._remember_event(FORCE_ACTIVATE, None, pod)
        super().activate(single, now)

    # Groups are tried, come, change and go.

    def pop_entity(self) -> Queued | None:
        entity = super().pop_entity()
        if entity is not None:
            self._popped = entity.key
        return entity

    def _mark_in_flight(self, queued: Queued) -> bool:
        if not isinstance(queued, QueuedGroup):
            return super()._mark_in_flight(queued)
        # A pod may still be in flight from the group's earlier try: it waits at Permit.
        queued.members = [member for member in queued.members if member.pod.uid not in self.in_flight]
        for member in queued.members:
            member.attempts += 1
        return super()._mark_in_flight(queued)

    def conclude_group(self, concluded: QueuedGroup, now: float, *, placed: bool, rejected: bool) -> None:
        """End a try of the group after each pod was handled: the pods without a node wait as a group again.

        ``placed``: the group has what it needs, and the remaining pods are tried again at once. Otherwise the group was
        ``rejected``, or there was an error.
        """
        self._popped, self._cause = "", FAILED
        waiting: dict[str, QueuedPod] = {}
        for leaf in self._list_leaves(concluded.group):
            waiting |= self._pending.pop(leaf, {})
        group = self.cluster.groups.refresh(concluded.group)
        if not waiting:
            return
        if group is None:
            self._put_incomplete(waiting.values())
            return
        member_uids = {member.pod.uid for member in concluded.members}
        entity = QueuedGroup(
            group,
            concluded.queued,
            attempts=concluded.attempts,
            unschedulable=concluded.unschedulable,
            errors=concluded.errors,
        )
        for member in waiting.values():
            entity.insert_member(member)
        if placed:
            entity.errors = entity.unschedulable = 0
            entity.expires = concluded.expires
        elif rejected:
            entity.unschedulable, entity.errors = entity.unschedulable + 1, 0
        else:
            entity.errors += 1
        # The remaining pods of a placed group keep its place in the order of the queue.
        if not placed or member_uids.isdisjoint(member.pod.uid for member in waiting.values()):
            entity.queued = now
        if not placed and self.backoff.is_backing_off(entity, now):
            self._to_backoff(entity)
        else:
            self._to_active(entity, now)

    def follow_group(self, old: PodGroup | None, new: PodGroup | None, now: float) -> None:
        """Take in that a group was created (``old`` is ``None``), changed, or deleted (``new`` is ``None``).

        The cluster's objects must show that already.
        """
        if new is None:
            if old is not None:
                self.delete_group(old)
            action = Action.DELETE
        elif old is None:
            self.add_group(new, now)
            action = Action.ADD
        else:
            self.update_group(new)
            action = Action.UPDATE
        composite = any(group is not None and group.is_composite for group in (old, new))
        self.move_all_to_active_or_backoff(group_event(action, composite=composite), old, new, now)

    def add_group(self, group: PodGroup, now: float) -> None:
        """Let the pods be tried that waited for their group, or for one above it."""
        root = self._find_root_above(group)
        if root is None:
            return
        self.update_group(group)
        for leaf in self._list_leaves(root):
            for member in self._incomplete.pop(leaf, {}).values():
                self._join_group(member, now)

    def update_group(self, group: PodGroup) -> None:
        """Replace the object of the group."""
        if (entity := self._find_entity(group)) is not None:
            entity.group = group

    def delete_group(self, group: PodGroup) -> None:
        """Let the pods of a deleted group, and of those below it, wait until there is one again."""
        leaves = self._list_leaves(group)
        entity, strategy = self._take_entity(self._find_root_above(group))
        waiting_members = [member for leaf in leaves for member in self._pending.pop(leaf, {}).values()]
        if entity is not None:
            waiting_members += [member for member in entity.members if member.pod.scheduling_group in leaves]
            entity.members = [member for member in entity.members if member.pod.scheduling_group not in leaves]
            if entity.members:
                self._requeue_with_strategy(entity, strategy, entity.queued)
        self._put_incomplete(waiting_members)

    def _put_incomplete(self, members: Iterable[QueuedPod]) -> None:
        for member in members:
            self._incomplete.setdefault(member.pod.scheduling_group, {})[member.key] = member
