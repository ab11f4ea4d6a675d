"""The answer about a group as tables: its pods, the domains in which it was tried, its victims."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kschedweb.decisions.groups.words import short_pod_name

if TYPE_CHECKING:
    from kschedweb.decisions.groups.case import GroupCase
    from kschedweb.decisions.groups.group_status import GroupStatus
    from kschedweb.engine import Pod
    from kschedweb.engine.cycle.group_placement import DomainTry, GroupPlacement
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


@dataclass(frozen=True)
class TreeRow:
    """A group of the tree that the group is part of."""

    # 0 for the root.
    depth: int
    kind: str
    namespace: str
    name: str
    # True for the group that was asked about.
    is_asked: bool
    # The groups or pods that must be placed together; None if it is no gang.
    min_count: int | None
    topology_key: str
    # Pods without a node, of all groups below it.
    pending: int
    placed: bool
    # Of the condition that kube-scheduler would write.
    reason: str
    message: str
    domain: str
    domains: list[DomainRow]


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
    return _build_domain_rows(case.placement, case.group_status)


def _build_domain_rows(placement: GroupPlacement, group_status: GroupStatus) -> list[DomainRow]:
    scores = {score.domain.name: score.total for score in placement.scores}
    return [
        _build_domain_row(placement, domain_try, scores.get(domain_try.domain.name), group_status)
        for domain_try in placement.tries
    ]


def _build_domain_row(
    group_placement: GroupPlacement, domain_try: DomainTry, score: int | None, group_status: GroupStatus
) -> DomainRow:
    blocking = next((placement for placement in domain_try.placements if not placement.node), None)
    return DomainRow(
        name=domain_try.domain.name,
        nodes=len(domain_try.domain.nodes),
        placed=sum(bool(placement.node) for placement in domain_try.placements),
        score=score,
        taken=group_placement.placed and domain_try.domain.name == group_placement.domain,
        fits=domain_try.status.ok,
        pod="" if blocking is None else short_pod_name(blocking.pod, group_status),
        message=domain_try.status.message if blocking is None else blocking.message,
    )


def build_tree_rows(case: GroupCase) -> list[TreeRow]:
    """Return the groups of the tree that the group is part of, parents first; none if it is alone."""
    depths: dict[str, int] = {}
    rows: list[TreeRow] = []
    for placement in case.tree:
        group, condition = placement.group, placement.condition
        depth = depths.get(group.parent, -1) + 1
        if group.is_composite:
            depths[group.key] = depth
        rows.append(
            TreeRow(
                depth=depth,
                kind=group.kind,
                namespace=group.namespace,
                name=group.name,
                is_asked=not group.is_composite and group.key == case.group_status.key,
                min_count=group.min_count,
                topology_key=group.topology_key,
                pending=len(placement.placements),
                placed=placement.placed,
                reason=condition["reason"],
                message=condition["message"],
                domain=placement.domain,
                domains=_build_domain_rows(placement, case.group_status),
            )
        )
    return rows
