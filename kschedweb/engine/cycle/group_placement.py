"""The result of a pod group's scheduling cycle."""

from __future__ import annotations

from collections.abc import Sequence

from kschedweb.engine.cycle.placement import Placement
from kschedweb.engine.framework.groups import Assignment, Domain, DomainScore, GroupRoom
from kschedweb.engine.framework.status import SUCCESS, Status
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.podgroup import SCHEDULED, PodGroup
from kschedweb.engine.values import dataclass


@dataclass(frozen=True, slots=True)
class DomainTry:
    """The result of one topology domain."""

    domain: Domain
    status: Status
    # Of the pods that were tried, in their order.
    placements: tuple[Placement, ...] = ()
    # A plugin proposed no domain, which the pods are told in its words.
    is_refused_outright: bool = False

    @property
    def has_assignments(self) -> bool:
        """True if a pod found a node."""
        return any(placement.node for placement in self.placements)

    def list_assignments(self, pods: Sequence[Pod]) -> list[Assignment]:
        """Return the first of ``pods`` with the nodes found for them."""
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
    """The result of a pod group's scheduling cycle."""

    group: PodGroup
    status: Status
    # One for every pod, as its own condition reports it.
    placements: tuple[Placement, ...]
    # The status before preemption, which decides how the group is queued.
    searched: Status
    # The domains that were tried.
    tries: tuple[DomainTry, ...] = ()
    # Of the domains that have a place for the group, if there are several.
    scores: tuple[DomainScore, ...] = ()
    # The result of preemption for the group; None if it was not tried.
    room: GroupRoom | None = None
    # The first pod without a node, "" for none.
    blocking: str = ""
    # The name of the chosen domain, "" for none.
    domain: str = ""
    # The pods cannot be a group at all.
    is_invalid: bool = False
    # Keeps the group out of the queue.
    pre_enqueue_status: Status = SUCCESS

    @classmethod
    def from_refusal(cls, group: PodGroup, pods: Sequence[Pod], why: Status) -> GroupPlacement:
        """Create the result of a group that is not tried."""
        by = frozenset({why.plugin} if why.is_rejected else ())
        placements = tuple(Placement(pod.key, message=why.message, rejected_by=by, nominated="") for pod in pods)
        return cls(group, why, placements, why, pre_enqueue_status=why if why.is_rejected else SUCCESS)

    @property
    def placed(self) -> bool:
        return self.status.ok

    def assignments_before(self, pods: Sequence[Pod], key: str) -> list[Assignment]:
        """Return the pods ahead of ``key``, with the nodes they had when that pod was tried."""
        first = next(iter(self.tries), None)
        chosen_try = next((domain_try for domain_try in self.tries if domain_try.domain.name == self.domain), first)
        ahead = next((place for place, pod in enumerate(pods) if pod.key == key), 0)
        return [] if chosen_try is None else chosen_try.list_assignments(pods[:ahead])

    @property
    def waits_for_room(self) -> bool:
        """True if pods have to leave before the group fits."""
        return self.room is not None and self.room.status.ok

    @property
    def cleared_nodes(self) -> frozenset[str]:
        """The nodes for which pods of lower priority lose their nomination."""
        return frozenset() if self.room is None else self.room.cleared_nodes

    @property
    def victims(self) -> tuple[str, ...]:
        return () if self.room is None else tuple(victim.key for victim in self.room.victims)

    @property
    def condition(self) -> Json:
        """The group's condition. It does not replace a condition that was True before."""
        reason = "Scheduled" if self.placed else "Unschedulable" if self.status.is_rejected else "SchedulerError"
        reason = "PodGroupError" if self.is_invalid else reason
        return {
            "type": SCHEDULED,
            "status": str(self.placed),
            "reason": reason,
            "message": self.status.message,
        }

    def to_dict(self) -> Json:
        """Return the result as plain data, for explanations."""
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
