"""The answer about a group as tables: its pods, the domains in which it was tried, its victims."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kschedweb.decisions.groups.words import short_pod_name

if TYPE_CHECKING:
    from kschedweb.decisions.groups.case import GroupCase
    from kschedweb.engine import Pod
    from kschedweb.engine.cycle.group_placement import DomainTry
    from kschedweb.engine.cycle.placement import Placement


@dataclass(frozen=True)
class MemberRow:
    """One pod of a group."""

    namespace: str
    name: str
    # "bound", "fits", "given up" (with the group), "waits", "refused" or "".
    state: str
    # The node that the state is about, "" for none.
    node: str = ""
    # kube-scheduler's words about the pod.
    message: str = ""
    gates: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True)
class DomainRow:
    """The try of a group in one domain."""

    name: str
    nodes: int
    # Pods that found a node there before the domain was left.
    placed: int
    # None if domains were not scored.
    score: int | None
    taken: bool
    fits: bool
    # The first pod without a node, "" for none.
    pod: str
    # About that pod, else about the group.
    message: str


def build_member_rows(case: GroupCase) -> list[MemberRow]:
    """Return all pods of the group: those on nodes, then the others in the order in which they are tried."""
    bound = [MemberRow(pod.namespace, pod.name, "bound", pod.node_name) for pod in case.group_status.bound]
    if case.placement is None:
        return bound + [MemberRow(pod.namespace, pod.name, "", gates=pod.gates) for pod in case.group_status.pending]
    placement_by_pod = (
        {placement.pod: placement for placement in case.first_try.placements} if case.first_try is not None else {}
    )
    return bound + [
        _build_member_row(pod, placement, placement_by_pod.get(pod.key))
        for pod, placement in zip(case.group_status.pending, case.placement.placements, strict=True)
    ]


def _build_member_row(pod: Pod, placement: Placement, tried_placement: Placement | None) -> MemberRow:
    message = placement.condition
    if placement.node:
        state, node = "fits", placement.node
    elif placement.nominated:
        state, node = "waits", placement.nominated
    elif tried_placement is not None and tried_placement.node:
        state, node = "given up", tried_placement.node
    else:
        state, node = "refused", ""
    return MemberRow(pod.namespace, pod.name, state, node, message, pod.gates)


def build_domain_rows(case: GroupCase) -> list[DomainRow]:
    """Return the domains in which the group was tried, in that order."""
    if case.placement is None:
        return []
    scores = {score.domain.name: score.total for score in case.placement.scores}
    return [
        _build_domain_row(case, domain_try, scores.get(domain_try.domain.name)) for domain_try in case.placement.tries
    ]


def _build_domain_row(case: GroupCase, domain_try: DomainTry, score: int | None) -> DomainRow:
    assert case.placement is not None
    blocking = next((placement for placement in domain_try.placements if not placement.node), None)
    return DomainRow(
        name=domain_try.domain.name,
        nodes=len(domain_try.domain.nodes),
        placed=sum(bool(placement.node) for placement in domain_try.placements),
        score=score,
        taken=case.placement.placed and domain_try.domain.name == case.placement.domain,
        fits=domain_try.status.ok,
        pod="" if blocking is None else short_pod_name(blocking.pod, case.group_status),
        message=domain_try.status.message if blocking is None else blocking.message,
    )
