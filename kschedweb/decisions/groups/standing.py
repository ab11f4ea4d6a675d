"""How a group of pods stands in a snapshot, before anything is scheduled."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from django.utils.translation import gettext, ngettext

from kschedweb.engine.objects.podgroup import POD_GROUP
from kschedweb.web.counting import counted

if TYPE_CHECKING:
    from kschedweb.engine import Pod
    from kschedweb.engine import Snapshot as EngineSnapshot
    from kschedweb.engine.objects.podgroup import PodGroup


class State(StrEnum):
    """``MISSING``: pods name a PodGroup that the snapshot does not have; ``UNREAD``: it is of a form that is not read.

    ``EMPTY``: no pod names it; ``INCOMPLETE``: too few do; ``PENDING``: some of its pods have no node, ``BOUND``: none.
    """

    MISSING = "missing"
    UNREAD = "unread"
    EMPTY = "empty"
    INCOMPLETE = "incomplete"
    PENDING = "pending"
    BOUND = "bound"


@dataclass(frozen=True)
class Standing:
    """A group with the pods that name it: those on nodes, and the others in the order in which they are tried.

    Pods that are being deleted before they got a node are left out.

    ``group`` is ``None`` where it is not known; ``unread`` then says why it cannot be read, "" where there is none.
    """

    key: str
    group: PodGroup | None
    bound: tuple[Pod, ...]
    pending: tuple[Pod, ...]
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
        """How many of its pods have scheduling gates."""
        return sum(bool(pod.gates) for pod in self.pending)

    @property
    def missing(self) -> int:
        """How many more pods have to come before the group is tried."""
        least = self.group.min_count if self.group is not None else None
        return max((least or 0) - self.size, 0)

    @property
    def state(self) -> State:
        if self.group is None:
            return State.UNREAD if self.unread else State.MISSING
        if not self.size:
            return State.EMPTY
        if self.missing:
            return State.INCOMPLETE
        return State.PENDING if self.pending else State.BOUND

    @property
    def sentence(self) -> str:
        """The state in a few words."""
        told = {"pods": counted(self.size, "pods"), "all": counted(self.size + self.missing, "pods")}
        told |= {"more": counted(self.missing, "more pods"), "why": self.unread}
        told |= {"bound": f"{len(self.bound):,}", "left": f"{len(self.pending):,}", "gated": f"{self.gated:,}"}
        return self._said() % told

    def _said(self) -> str:
        if self.state is State.UNREAD:
            said = gettext("cannot be read: %(why)s")
        elif self.state is State.MISSING:
            said = ngettext(
                "no such PodGroup exists; %(pods)s names it", "no such PodGroup exists; %(pods)s name it", self.size
            )
        elif self.state is State.EMPTY:
            said = gettext("no pod names it")
        elif self.state is State.INCOMPLETE:
            said = gettext("%(bound)s of %(all)s bound, waits for %(more)s")
        elif self.state is State.BOUND:
            said = ngettext("its pod is bound", "all %(bound)s pods are bound", self.size)
        elif self.gated:
            said = gettext("%(bound)s of %(all)s bound, %(left)s without a node, %(gated)s of them gated")
        else:
            said = gettext("%(bound)s of %(all)s bound, %(left)s without a node")
        return said


def standings(engine: EngineSnapshot) -> list[Standing]:
    """All groups of a snapshot that there are or that pods name, by key."""
    pending, unread = _pending(engine), _unread(engine)
    keys = sorted({*engine.objects.groups.keys, *unread})
    return [_standing(engine, key, pending.get(key, []), unread.get(key, "")) for key in keys]


def standing(engine: EngineSnapshot, key: str) -> Standing | None:
    """The group of that key; ``None`` where there is none and no pod names it."""
    found = _standing(engine, key, _pending(engine).get(key, []), _unread(engine).get(key, ""))
    return found if found.group is not None or found.unread or found.size else None


def _standing(engine: EngineSnapshot, key: str, pending: list[Pod], unread: str) -> Standing:
    group = engine.objects.groups.get(key)
    bound = sorted(engine.members(key), key=lambda pod: pod.key)
    return Standing(key, group, tuple(bound), tuple(sorted(pending, key=_turn)), unread if group is None else "")


def _turn(pod: Pod) -> tuple[int, float]:
    """As kube-scheduler's queue orders the pods of a group that were not tried yet."""
    return -pod.priority, math.inf if math.isnan(pod.scheduled) else pod.scheduled


def _pending(engine: EngineSnapshot) -> dict[str, list[Pod]]:
    found = defaultdict(list)
    for pod in engine.pending:
        if pod.scheduling_group and not pod.terminating:
            found[pod.scheduling_group].append(pod)
    return found


def _unread(engine: EngineSnapshot) -> dict[str, str]:
    """Why PodGroups of other forms cannot be read, by key."""
    named = ((subject.partition(" "), reason) for subject, reason in engine.problems)
    return {key if "/" in key else f"default/{key}": reason for (kind, _, key), reason in named if kind == POD_GROUP}
