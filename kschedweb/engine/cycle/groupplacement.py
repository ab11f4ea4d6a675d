"""The result of one cycle of a group."""

from __future__ import annotations

from collections.abc import Sequence

from kschedweb.engine.cycle.placement import Placement
from kschedweb.engine.framework.groups import Assignment, Domain, DomainScore, GroupRoom
from kschedweb.engine.framework.status import SUCCESS, Status
from kschedweb.engine.objects.access import Json
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.podgroup import SCHEDULED, PodGroup
from kschedweb.engine.values import dataclass


@dataclass(frozen=True, slots=True)
class DomainTry:
    """What came of one domain: ``placements`` are those of the pods that were tried, in their order."""

    domain: Domain
    status: Status
    placements: tuple[Placement, ...] = ()

    def assigned(self, pods: Sequence[Pod]) -> list[Assignment]:
        """The first of ``pods`` with the nodes found for them."""
        tried = zip(pods, self.placements, strict=False)
        return [Assignment(pod, placement.node) for pod, placement in tried if placement.node]

    def to_dict(self) -> Json:
        return {
            "domain": self.domain.name,
            "nodes": len(self.domain.nodes),
            "status": self.status.to_dict(plugin=False),
            "pods": [placement.to_dict() for placement in self.placements],
        }


@dataclass(frozen=True, slots=True)
class GroupPlacement:
    """The result of one cycle of a group: ``placements`` has one of each pod, as its own condition tells it.

    ``searched`` is the status before room was looked for: the queue goes by that.
    ``tries`` are the domains in which the group was tried, ``scores`` what plugins gave to those where it found a
    place, if there were several; ``domain`` is the one that was taken. ``blocking`` is the first pod for which no node
    was found, "" for none. ``room`` is what became of the search for victims, where there was one, ``held`` what keeps
    the group out of the queue.
    """

    group: PodGroup
    status: Status
    placements: tuple[Placement, ...]
    searched: Status
    tries: tuple[DomainTry, ...] = ()
    scores: tuple[DomainScore, ...] = ()
    room: GroupRoom | None = None
    blocking: str = ""
    domain: str = ""
    held: Status = SUCCESS

    @classmethod
    def refused(cls, group: PodGroup, pods: Sequence[Pod], why: Status) -> GroupPlacement:
        """The result for a group that is not tried."""
        by = frozenset({why.plugin} if why.rejected else ())
        told = tuple(Placement(pod.key, message=why.message, rejected_by=by, nominated="") for pod in pods)
        return cls(group, why, told, why, held=why if why.rejected else SUCCESS)

    @property
    def placed(self) -> bool:
        return self.status.ok

    def before(self, pods: Sequence[Pod], key: str) -> list[Assignment]:
        """The first of ``pods`` with the nodes that they had when the pod ``key`` was tried, if it was."""
        first = next(iter(self.tries), None)
        tried = next((one for one in self.tries if one.domain.name == self.domain), first)
        ahead = next((place for place, pod in enumerate(pods) if pod.key == key), 0)
        return [] if tried is None else tried.assigned(pods[:ahead])

    @property
    def waits_for_room(self) -> bool:
        """Whether pods have to leave before the group fits."""
        return self.room is not None and self.room.status.ok

    @property
    def victims(self) -> tuple[str, ...]:
        return () if self.room is None else tuple(victim.key for victim in self.room.victims)

    @property
    def condition(self) -> Json:
        """The group's condition, but for one that was True once: that stays."""
        reason = "Scheduled" if self.placed else "Unschedulable" if self.status.rejected else "SchedulerError"
        return {
            "type": SCHEDULED,
            "status": str(self.placed),
            "reason": reason,
            "message": self.status.message,
        }

    def to_dict(self) -> Json:
        """The same as plain data, for explanations."""
        result: Json = {
            "group": self.group.key,
            "placed": self.placed,
            "held": self.held.message,
            "condition": self.condition,
            "domain": self.domain,
            "blocking": self.blocking,
            "pods": [_told(placement) for placement in self.placements],
            "domains": [one.to_dict() for one in self.tries],
            "scores": [{"domain": one.domain.name, "total": one.total, "scores": one.scores} for one in self.scores],
        }
        if self.room is not None:
            result["room"] = {
                "made": self.room.status.ok,
                "message": self.room.status.message,
                "victims": list(self.victims),
                "pdbViolations": self.room.violations,
            }
        return result


def _told(placement: Placement) -> Json:
    reason = "" if placement.node else "SchedulerError" if placement.error else "Unschedulable"
    return {
        "pod": placement.pod,
        "node": placement.node,
        "message": placement.message,
        "reason": reason,
        "plugins": sorted(placement.rejected_by),
        "nominated": placement.nominated,
    }
