"""The answer about a group as tables: its pods, the domains in which it was tried, the pods that would be evicted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kschedweb.decisions.groups.words import short

if TYPE_CHECKING:
    from kschedweb.decisions.groups.case import GroupCase
    from kschedweb.engine import Pod
    from kschedweb.engine.cycle.groupplacement import DomainTry
    from kschedweb.engine.cycle.placement import Placement


@dataclass(frozen=True)
class MemberRow:
    """One pod of a group. ``state`` is "bound", "fits", "given up" (with the group), "waits", "refused" or "".

    ``node`` is the node that the state is about, "" for none; ``message`` what kube-scheduler says of the pod.
    """

    namespace: str
    name: str
    state: str
    node: str = ""
    message: str = ""
    gates: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True)
class DomainRow:
    """What came of one domain: ``placed`` of the pods found a node there before it was left.

    ``score`` is ``None`` where domains were not scored. ``pod`` is the first without a node, "" for none; ``message``
    is about it, or else about the group.
    """

    name: str
    nodes: int
    placed: int
    score: int | None
    taken: bool
    fits: bool
    pod: str
    message: str


def members(case: GroupCase) -> list[MemberRow]:
    """All pods of the group: those on nodes, then the others in the order in which they are tried."""
    bound = [MemberRow(pod.namespace, pod.name, "bound", pod.node_name) for pod in case.standing.bound]
    if case.found is None:
        return bound + [MemberRow(pod.namespace, pod.name, "", gates=pod.gates) for pod in case.standing.pending]
    tried = {one.pod: one for one in case.first_try.placements} if case.first_try is not None else {}
    return bound + [
        _member(pod, placement, tried.get(pod.key))
        for pod, placement in zip(case.standing.pending, case.found.placements, strict=True)
    ]


def _member(pod: Pod, placement: Placement, tried: Placement | None) -> MemberRow:
    said = placement.condition
    if placement.node:
        state, node = "fits", placement.node
    elif placement.nominated:
        state, node = "waits", placement.nominated
    elif tried is not None and tried.node:
        state, node = "given up", tried.node
    else:
        state, node = "refused", ""
    return MemberRow(pod.namespace, pod.name, state, node, said, pod.gates)


def domains(case: GroupCase) -> list[DomainRow]:
    """The domains in which the group was tried, in that order."""
    if case.found is None:
        return []
    scores = {score.domain.name: score.total for score in case.found.scores}
    return [_domain(case, tried, scores.get(tried.domain.name)) for tried in case.found.tries]


def _domain(case: GroupCase, tried: DomainTry, score: int | None) -> DomainRow:
    assert case.found is not None
    blocking = next((one for one in tried.placements if not one.node), None)
    return DomainRow(
        name=tried.domain.name,
        nodes=len(tried.domain.nodes),
        placed=sum(bool(one.node) for one in tried.placements),
        score=score,
        taken=case.found.placed and tried.domain.name == case.found.domain,
        fits=tried.status.ok,
        pod="" if blocking is None else short(blocking.pod, case.standing),
        message=tried.status.message if blocking is None else blocking.message,
    )
