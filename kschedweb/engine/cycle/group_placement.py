"""The result of one cycle of a group."""

from __future__ import annotations

from collections.abc import Sequence

from kschedweb.engine.cycle.placement import Placement
from kschedweb.engine.framework.groups import Assignment, Domain, DomainScore, GroupRoom
from kschedweb.engine.framework.status import SUCCESS, Status
from kschedweb.engine.objects.json_access import Json
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.podgroup import SCHEDULED, PodGroup
from kschedweb.engine.values import dataclass


@dataclass(frozen=True, slots=True)
class DomainTry:
    """What came of one domain: ``placements`` are those of the pods that were tried, in their order."""

    domain: Domain
    status: Status
    placements: tuple[Placement, ...] = ()

    def list_assignments(self, pods: Sequence[Pod]) -> list[Assignment]:
        """The first of ``pods`` with the nodes found for them."""
        tried_pods = zip(pods, self.placements, strict=False)
        return [Assignment(pod, placement.node) for pod, placement in tried_pods if placement.node]

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

    ``searched`` is the status before room was looked for: the queue goes by that. ``tries`` are the domains in which
    the group was tried, ``scores`` what plugins gave to those where it found a place, if there were several; ``domain``
    is the one that was taken. ``blocking`` is the first pod for which no node was found, "" for none. ``room`` is what
    became of the search for victims, where there was one, ``pre_enqueue_status`` what keeps the group out of the queue.
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
    pre_enqueue_status: Status = SUCCESS

    @classmethod
    def from_refusal(cls, group: PodGroup, pods: Sequence[Pod], why: Status) -> GroupPlacement:
        """The result for a group that is not tried."""
        by = frozenset({why.plugin} if why.is_rejected else ())
        placements = tuple(Placement(pod.key, message=why.message, rejected_by=by, nominated="") for pod in pods)
        return cls(group, why, placements, why, pre_enqueue_status=why if why.is_rejected else SUCCESS)

    @property
    def placed(self) -> bool:
        return self.status.ok

    def assignments_before(self, pods: Sequence[Pod], key: str) -> list[Assignment]:
        """The first of ``pods`` with the nodes that they had when the pod ``key`` was tried, if it was."""
        first = next(iter(self.tries), None)
        chosen_try = next((domain_try for domain_try in self.tries if domain_try.domain.name == self.domain), first)
        ahead = next((place for place, pod in enumerate(pods) if pod.key == key), 0)
        return [] if chosen_try is None else chosen_try.list_assignments(pods[:ahead])

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
        reason = "Scheduled" if self.placed else "Unschedulable" if self.status.is_rejected else "SchedulerError"
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
            "held": self.pre_enqueue_status.message,
            "condition": self.condition,
            "domain": self.domain,
            "blocking": self.blocking,
            "pods": [_placement_to_dict(placement) for placement in self.placements],
            "domains": [domain_try.to_dict() for domain_try in self.tries],
            "scores": [
                {"domain": score.domain.name, "total": score.total, "scores": score.scores} for score in self.scores
            ],
        }
        if self.room is not None:
            result["room"] = {
                "made": self.room.status.ok,
                "message": self.room.status.message,
                "victims": list(self.victims),
                "pdbViolations": self.room.violations,
            }
        return result


def _placement_to_dict(placement: Placement) -> Json:
    reason = "" if placement.node else "SchedulerError" if placement.is_error else "Unschedulable"
    return {
        "pod": placement.pod,
        "node": placement.node,
        "message": placement.message,
        "reason": reason,
        "plugins": sorted(placement.rejected_by),
        "nominated": placement.nominated,
    }
