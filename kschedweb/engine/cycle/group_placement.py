"""The result of a pod group's scheduling cycle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kschedweb.engine.cycle.placement import Placement
from kschedweb.engine.framework.groups import Assignment, Domain, DomainScore, GroupRoom
from kschedweb.engine.framework.status import SUCCESS, Status, error
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.podgroup import CONDITIONS, PodGroup
from kschedweb.engine.state.group_tree import GroupTree
from kschedweb.engine.values import dataclass


@dataclass(frozen=True, slots=True)
class DomainTry:
    """The result of one topology domain, for a group or a tree of groups."""

    domain: Domain
    status: Status
    # Of the pods that were tried, in their order; of a composite group those of its placed groups.
    placements: tuple[Placement, ...] = ()
    # A plugin proposed no domain, which the pods are told in its words.
    is_refused_outright: bool = False
    # The results of the groups of a composite group that were tried, in their order: each in its own domain.
    children: tuple[tuple[PodGroup, DomainTry], ...] = ()
    # Of a group below another: the results of all domains that it was tried in there, of which this one counts.
    tries: tuple[DomainTry, ...] = ()

    @property
    def has_assignments(self) -> bool:
        """True if a pod found a node."""
        return any(placement.node for placement in self.placements)

    def list_assignments(self, pods: Sequence[Pod]) -> list[Assignment]:
        """Return those of ``pods`` that found a node, in the order in which they were tried."""
        pod_by_key = {pod.key: pod for pod in pods}
        return [
            Assignment(pod_by_key[placement.pod], placement.node) for placement in self.placements if placement.node
        ]

    def list_placements_before(self, key: str) -> list[Placement]:
        """Return the results that stood when the pod ``key`` was tried; all if it was not."""
        listed: list[Placement] = []
        for _, child in self.children:
            if child.has_tried(key):
                return [*listed, *child.list_placements_before(key)]
            listed += child.placements if child.status.ok else ()
        if self.children:
            return listed
        number = next((place for place, placement in enumerate(self.placements) if placement.pod == key), None)
        return list(self.placements[:number])

    def has_tried(self, key: str) -> bool:
        """Return whether the pod ``key`` was tried in this domain."""
        is_placed = any(placement.pod == key for placement in self.placements)
        return is_placed or any(child.has_tried(key) for _, child in self.children)

    def list_groups(self) -> dict[str, DomainTry]:
        """Return the results of all groups below, by their keys as entities."""
        listed: dict[str, DomainTry] = {}
        for group, child in self.children:
            listed |= {group.entity: child, **child.list_groups()}
        return listed

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
    # The results of all groups below a composite one, parents first; ``placements`` has those of all their pods.
    parts: tuple[GroupPlacement, ...] = ()

    @classmethod
    def from_refusal(cls, group: PodGroup, pods: Sequence[Pod], why: Status) -> GroupPlacement:
        """Create the result of a group that is not tried."""
        by = frozenset({why.plugin} if why.is_rejected else ())
        placements = tuple(Placement(pod.key, message=why.message, rejected_by=by, nominated="") for pod in pods)
        return cls(group, why, placements, why, pre_enqueue_status=why if why.is_rejected else SUCCESS)

    @classmethod
    def from_invalid(cls, tree: GroupTree, pods: Sequence[Pod], why: str) -> GroupPlacement:
        """Create the result of a tree whose groups or pods do not fit together: each of its groups tells so."""
        refused = (
            replace(cls.from_refusal(part.group, part.pods, error(why)), is_invalid=True) for part in tree.walk()
        )
        root, *parts = refused
        return replace(root, placements=cls.from_refusal(tree.group, pods, error(why)).placements, parts=tuple(parts))

    @property
    def by_group(self) -> tuple[GroupPlacement, ...]:
        """The results of the group itself and of all below it."""
        return (self, *self.parts)

    @property
    def placed(self) -> bool:
        return self.status.ok

    def assignments_before(self, pods: Sequence[Pod], key: str) -> list[Assignment]:
        """Return the pods ahead of ``key``, with the nodes they had when that pod was tried."""
        first = next(iter(self.tries), None)
        chosen_try = next((domain_try for domain_try in self.tries if domain_try.domain.name == self.domain), first)
        if chosen_try is None or all(pod.key != key for pod in pods):
            return []
        return replace(chosen_try, placements=tuple(chosen_try.list_placements_before(key))).list_assignments(pods)

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
        reason = f"{self.group.kind}Error" if self.is_invalid else reason
        return {
            "type": CONDITIONS[self.group.kind],
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
