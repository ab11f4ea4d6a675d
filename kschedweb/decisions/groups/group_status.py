"""The state of a group of pods in a snapshot, before anything is scheduled."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from django.utils.translation import gettext, ngettext

from kschedweb.engine.objects.podgroup import POD_GROUP
from kschedweb.web.counting import format_count

if TYPE_CHECKING:
    from kschedweb.engine import Pod
    from kschedweb.engine import Snapshot as EngineSnapshot
    from kschedweb.engine.objects.podgroup import PodGroup


class GroupState(StrEnum):
    """The state of a group of pods."""

    # Pods name a PodGroup that the snapshot does not have.
    MISSING = "missing"
    # The PodGroup has a form that is not read.
    UNREAD = "unread"
    # No pod names it.
    EMPTY = "empty"
    # Too few pods name it.
    INCOMPLETE = "incomplete"
    # Some of its pods have no node.
    PENDING = "pending"
    # All of its pods have nodes.
    BOUND = "bound"


@dataclass(frozen=True)
class GroupStatus:
    """A group with the pods that name it, without those that are being deleted before they got a node."""

    key: str
    # None if it is not known.
    group: PodGroup | None
    bound: tuple[Pod, ...]
    # In the order in which they are tried.
    pending: tuple[Pod, ...]
    # Why the PodGroup cannot be read, "" if it can or does not exist.
    unread: str = ""

    @property
    def namespace(self) -> str:
        return self.key.partition("/")[0]

    @property
    def name(self) -> str:
        return self.key.partition("/")[2]

    @property
    def size(self) -> int:
        return len(self.bound) + len(self.pending)

    @property
    def gated(self) -> int:
        """Return how many of its pods have scheduling gates."""
        return sum(bool(pod.gates) for pod in self.pending)

    @property
    def missing(self) -> int:
        """Return how many more pods must exist before the group is tried."""
        min_count = self.group.min_count if self.group is not None else None
        return max((min_count or 0) - self.size, 0)

    @property
    def state(self) -> GroupState:
        if self.group is None:
            return GroupState.UNREAD if self.unread else GroupState.MISSING
        if not self.size:
            return GroupState.EMPTY
        if self.missing:
            return GroupState.INCOMPLETE
        return GroupState.PENDING if self.pending else GroupState.BOUND

    @property
    def sentence(self) -> str:
        """Return the state in a few words."""
        parameters = {"pods": format_count(self.size, "pods"), "all": format_count(self.size + self.missing, "pods")}
        parameters |= {"more": format_count(self.missing, "more pods"), "why": self.unread}
        parameters |= {"bound": f"{len(self.bound):,}", "left": f"{len(self.pending):,}", "gated": f"{self.gated:,}"}
        return self._sentence_template() % parameters

    def _sentence_template(self) -> str:
        if self.state is GroupState.UNREAD:
            template = gettext("cannot be read: %(why)s")
        elif self.state is GroupState.MISSING:
            template = ngettext(
                "no such PodGroup exists; %(pods)s names it", "no such PodGroup exists; %(pods)s name it", self.size
            )
        elif self.state is GroupState.EMPTY:
            template = gettext("no pod names it")
        elif self.state is GroupState.INCOMPLETE:
            template = gettext("%(bound)s of %(all)s bound, waits for %(more)s")
        elif self.state is GroupState.BOUND:
            template = ngettext("its pod is bound", "all %(bound)s pods are bound", self.size)
        elif self.gated:
            template = gettext("%(bound)s of %(all)s bound, %(left)s without a node, %(gated)s of them gated")
        else:
            template = gettext("%(bound)s of %(all)s bound, %(left)s without a node")
        return template


def list_group_statuses(engine: EngineSnapshot) -> list[GroupStatus]:
    """Return all groups that exist in a snapshot or that its pods name, by key."""
    pending, unread = _pending_by_group(engine), _unreadable_groups(engine)
    keys = sorted({*engine.objects.groups.keys, *unread})
    return [_build_status(engine, key, pending.get(key, []), unread.get(key, "")) for key in keys]


def find_group_status(engine: EngineSnapshot, key: str) -> GroupStatus | None:
    """Return the group of that key, None if it does not exist and no pod names it."""
    group_status = _build_status(
        engine, key, _pending_by_group(engine).get(key, []), _unreadable_groups(engine).get(key, "")
    )
    return group_status if group_status.group is not None or group_status.unread or group_status.size else None


def _build_status(engine: EngineSnapshot, key: str, pending: list[Pod], unread: str) -> GroupStatus:
    group = engine.objects.groups.get(key)
    bound = sorted(engine.group_members(key), key=lambda pod: pod.key)
    return GroupStatus(
        key, group, tuple(bound), tuple(sorted(pending, key=_queue_order)), unread if group is None else ""
    )


def _queue_order(pod: Pod) -> tuple[int, float]:
    """Return the sort key of kube-scheduler's queue for pods of a group that were not tried yet."""
    return -pod.priority, math.inf if math.isnan(pod.scheduled) else pod.scheduled


def _pending_by_group(engine: EngineSnapshot) -> dict[str, list[Pod]]:
    pods_by_group = defaultdict(list)
    for pod in engine.pending:
        if pod.scheduling_group and not pod.terminating:
            pods_by_group[pod.scheduling_group].append(pod)
    return pods_by_group


def _unreadable_groups(engine: EngineSnapshot) -> dict[str, str]:
    """Return why PodGroups of other forms cannot be read, by key."""
    parsed = ((subject.partition(" "), reason) for subject, reason in engine.problems)
    return {key if "/" in key else f"default/{key}": reason for (kind, _, key), reason in parsed if kind == POD_GROUP}
