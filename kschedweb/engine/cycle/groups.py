"""The scheduling cycle of a group of pods: one pod after the other, and all of them or none.

The pods are put on the snapshot one by one, so that each sees those before it, and are taken back in the end: whoever
asked decides what becomes of the places found.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field, replace
from typing import Any, Protocol

from kschedweb.engine.cycle.binding import BindingCycle
from kschedweb.engine.cycle.groupplacement import DomainTry, GroupPlacement
from kschedweb.engine.cycle.placement import NO_NODES, Placement
from kschedweb.engine.cycle.request import SearchRequest
from kschedweb.engine.framework.diagnosis import Diagnosis
from kschedweb.engine.framework.groups import (
    UNPLACED,
    Assignment,
    Domain,
    DomainScore,
    GroupCycle,
    GroupRoom,
    Progress,
)
from kschedweb.engine.framework.handle import CycleHandle
from kschedweb.engine.framework.interface import Cycle
from kschedweb.engine.framework.preparation import FreeClaim
from kschedweb.engine.framework.runtime import Framework
from kschedweb.engine.framework.status import SUCCESS, Code, CycleError, Status, error, unschedulable
from kschedweb.engine.objects.access import mapping
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.podgroup import PodGroup
from kschedweb.engine.state.nominator import Nominator
from kschedweb.engine.state.snapshot import Snapshot
from kschedweb.engine.validation.golang import quote
from kschedweb.engine.values import dataclass


class Finding(Protocol):
    """A scheduler, as far as the cycle of a group needs it."""

    snapshot: Snapshot
    nominator: Nominator

    def framework(self, pod: Pod) -> Framework: ...

    def find(self, pod: Pod, request: SearchRequest) -> Placement: ...

    def over(self, snapshot: Snapshot) -> Any: ...

    def follow(self, other: Any) -> None: ...


@dataclass(slots=True)
class Attempted:
    """What a search over the domains came to."""

    final: DomainTry
    tries: list[DomainTry] = field(default_factory=list)
    scores: list[DomainScore] = field(default_factory=list)


@dataclass(slots=True)
class GroupSearch:
    """Looks for a place for ``group``, whose ``pods`` without a node are tried in that order.

    ``by_domains``: the group is tried in each domain that a plugin proposes, as TopologyAwareWorkloadScheduling does.
    """

    scheduler: Finding
    group: PodGroup
    pods: Sequence[Pod]
    request: SearchRequest
    by_domains: bool
    frees: dict[tuple[str, str], tuple[FreeClaim, ...]] = field(default_factory=dict)

    def place(self) -> GroupPlacement:
        """The places of all pods, which are not on the snapshot afterwards; or why there are none."""
        with self._bare():
            return self._place()

    def _place(self) -> GroupPlacement:
        if refusal := self._refusal():
            return GroupPlacement.refused(self.group, self.pods, error(refusal))
        self.scheduler.snapshot.resource_claims.sharing = frozenset(pod.uid for pod in self.pods)
        done = self._search()
        status, room = done.final.status, None
        if status.code is Code.UNSCHEDULABLE and self.request.post_filter:
            prepared, frees = self._prepared(done), dict(self.frees)
            cycle = GroupCycle(self.scheduler.snapshot, self.group, self.pods, prepared, frees)
            room = self._framework.pod_group_post_filter(cycle, self)
            if not self.request.elsewhere:
                self._free(room)
            if room.status.code is Code.ERROR:
                status = room.status
            else:
                status = replace(status, reasons=(*status.reasons, room.status.message))
        return GroupPlacement(
            self.group,
            status,
            tuple(self._said(done.final, status, room)),
            done.final.status,
            tuple(done.tries),
            tuple(done.scores),
            room,
            next((one.pod for one in done.final.placements if not one.node), ""),
            done.final.domain.name if done.final.status.ok else "",
        )

    @contextmanager
    def _bare(self) -> Iterator[None]:
        """A context in which nominated pods of the group ask for nothing of their nodes.

        Of a nominated pod that is being tried kube-scheduler's queue knows no more than its name.
        """
        nominated = [pod for pod in self.pods if self.scheduler.nominator.node(pod.key)]
        for pod in nominated:
            self.scheduler.nominator.replace(_bare(pod))
        try:
            yield
        finally:
            for pod in nominated:
                self.scheduler.nominator.replace(pod)

    @property
    def _framework(self) -> Framework:
        return self.scheduler.framework(self.pods[0])

    def _refusal(self) -> str:
        """Why these pods cannot be a group; "" where they can."""
        first = self.pods[0]
        for pod in [*self.pods, *self.scheduler.snapshot.members(self.group.key)]:
            if pod.scheduler_name != first.scheduler_name:
                names = f"{quote(pod.scheduler_name)} and {quote(first.scheduler_name)}"
                return f"all pods in a single pod group should have the same .spec.schedulerName set, got: {names}"
            if pod.priority != self.group.priority:
                return (
                    "all pods in a single pod group should have the same priority as the pod group's priority, "
                    f"got {pod.priority} and {self.group.priority}"
                )
            if _policy(pod) != _policy(first):
                both = f"{_policy(pod)} and {_policy(first)}"
                return f"all pods in a single pod group should have the same preemption policy, got {both}"
        try:
            self.scheduler.framework(first)
        except CycleError as problem:
            return str(problem)
        return ""

    def _prepared(self, done: Attempted) -> frozenset[str]:
        """The plugins whose PreFilter was asked: all, once a pod came to its filters; else those up to the refusal."""
        names = [plugin.name for plugin in self._framework.points.pre_filter]
        asked: set[str] = set()
        for placement in (one for tried in (done.final, *done.tries) for one in tried.placements):
            if not placement.outright and placement.message != NO_NODES:
                return frozenset(names)
            refused = [names.index(name) for name in placement.rejected_by if name in names]
            asked.update(names[: max(refused) + 1] if refused else ())
        return frozenset(asked)

    # The domains, and the pods in each.

    def _search(self) -> Attempted:
        """Try the group, and leave the snapshot as it was."""
        done = self._search_domains() if self.by_domains else self._search_anywhere()
        if done.final.status.ok and not any(one.node for one in done.final.placements):
            done.final = replace(done.final, status=unschedulable(UNPLACED))
        return done

    def _search_anywhere(self) -> Attempted:
        tried = self._try(Domain.whole(self.scheduler.snapshot))
        return Attempted(tried, [tried])

    def _search_domains(self) -> Attempted:
        cycle = GroupCycle(self.scheduler.snapshot, self.group, self.pods)
        whole = Domain.whole(cycle.snapshot)
        domains, status = self._framework.generate_placements(cycle, whole)
        if not status.ok:
            return Attempted(DomainTry(whole, status))
        done = Attempted(DomainTry(whole, SUCCESS))
        for domain in domains:
            tried = self._try(domain)
            done.tries.append(tried)
            if tried.status.code is Code.ERROR:
                done.final = tried
                return done
        placed = [one for one in done.tries if one.status.ok]
        if not placed:
            first = done.tries[0]
            said = f"0/{len(domains)} placements are available, first placement status: {_as_error(first.status)}"
            done.final = replace(first, status=unschedulable(UNPLACED, said))
        else:
            try:
                done.final = self._best(cycle, placed, done)
            except CycleError as problem:
                done.final = DomainTry(whole, error(str(problem)))
        return done

    def _best(self, cycle: GroupCycle, placed: list[DomainTry], done: Attempted) -> DomainTry:
        """The domain with the highest score; of equal ones the first, where none is drawn."""
        if len(placed) == 1:
            return placed[0]
        assigned = [(one.domain, one.assigned(self.pods)) for one in placed]
        done.scores = self._framework.score_placements(cycle, assigned)
        highest = max(score.total for score in done.scores)
        best = [one for one, score in zip(placed, done.scores, strict=True) if score.total == highest]
        return best[self.request.draw(len(best)) if self.request.draw is not None else 0]

    def _try(self, where: Domain) -> DomainTry:
        """Try the pods one after the other in a domain, and take them back."""
        snapshot, framework = self.scheduler.snapshot, self._framework
        cycle = GroupCycle(snapshot, self.group, self.pods)
        within = None if len(where.nodes) == len(snapshot) else where.nodes
        told = self._note if self.request.post_filter else None
        request = replace(self.request, post_filter=False, preempt=False, within=within, told=told)
        placements: list[Placement] = []
        progress = Progress(len(cycle.scheduled), len(self.pods))
        status = framework.placement_feasible(cycle, progress)
        if status.code is Code.UNSCHEDULABLE:
            return DomainTry(where, unschedulable(UNPLACED, *status.reasons))
        assumed: list[BindingCycle] = []
        try:
            for pod in () if status.code is Code.ERROR else self.pods:
                watch = self.request.watch.another()
                found = self.scheduler.find(pod, replace(request, watch=watch))
                placement = replace(self._assume(found, pod, assumed), watch=watch)
                placements.append(placement)
                if placement.error and placement.message != NO_NODES:
                    status = error(f"failed to schedule other pod from a pod group: {placement.message}")
                    break
                progress = Progress(progress.scheduled + bool(placement.node), progress.remaining - 1)
                status = framework.placement_feasible(cycle, progress)
                if status.code in (Code.ERROR, Code.UNSCHEDULABLE):
                    break
        finally:
            self._take_back(assumed)
        if status.code is Code.WAIT:
            status = unschedulable(UNPLACED, *status.reasons)
        return DomainTry(where, status, tuple(placements))

    def _free(self, room: GroupRoom) -> None:
        for claims in room.frees.values():
            for one in claims:
                self.scheduler.snapshot.resource_claims.free(one.namespace, one.claim, made=one.made)

    def _note(self, cycle: Cycle, diagnosis: Diagnosis) -> None:
        for plugin in self._framework.points.freeing:
            self.frees[plugin.name, cycle.pod.key] = plugin.frees_for(cycle, diagnosis)

    def _assume(self, found: Placement, pod: Pod, assumed: list[BindingCycle]) -> Placement:
        """Put the pod on the node found, so that the next ones see it there."""
        if not found.node:
            return found
        binding = BindingCycle(self._framework, Cycle(self.scheduler.snapshot, pod), found.node)
        self.scheduler.nominator.remove(pod.key)
        refusal = binding.restore()
        if refusal is None:
            assumed.append(binding)
            return found
        self._nominate_again(pod)
        return refusal.placement(pod.key)

    def _take_back(self, assumed: list[BindingCycle]) -> None:
        for binding in reversed(assumed):
            binding.undo()
            self._nominate_again(binding.cycle.pod)

    def _nominate_again(self, pod: Pod) -> None:
        if pod.nominated_node:
            self.scheduler.nominator.add(_bare(pod), pod.nominated_node)

    # What each pod is told.

    def _said(self, final: DomainTry, status: Status, room: GroupRoom | None) -> list[Placement]:
        """The placements of all pods, those among them that were not tried."""
        tried = [*final.placements, *[None] * (len(self.pods) - len(final.placements))]
        said = [self._one(pod, one, final.status, status, room) for pod, one in zip(self.pods, tried, strict=True)]
        if room is None:
            return said
        return [replace(one, frees=room.frees.get(one.pod, ())) for one in said]

    @staticmethod
    def _one(pod: Pod, tried: Placement | None, before: Status, status: Status, room: GroupRoom | None) -> Placement:
        nominated = room.nominated.get(pod.key) if room is not None and room.status.ok else None
        if status.code is Code.ERROR:
            own = tried is not None and tried.error and tried.message != NO_NODES
            return Placement(pod.key, message=tried.message if tried and own else status.message, nominated="")
        if tried is None:
            return Placement(pod.key, message=before.message, with_group=True, nominated=nominated)
        if not tried.node:
            return tried if nominated is None else replace(tried, nominated=nominated)
        if status.ok:
            return tried
        if room is not None and room.status.ok:
            return Placement(pod.key, message=status.message, with_group=True, nominated=nominated)
        return Placement(pod.key, message=f"{UNPLACED}, {status.message}", with_group=True, nominated="")

    # What plugins that look for room may ask.

    def find_on(self, snapshot: Snapshot) -> tuple[Status, list[Assignment]]:
        """Where the pods would go on ``snapshot``, which is left as it was."""
        there = self.scheduler.over(snapshot)
        done = replace(self, scheduler=there)._search()
        self.scheduler.follow(there)
        return done.final.status, done.final.assigned(self.pods)

    def assigned(self, snapshot: Snapshot, assignments: Sequence[Assignment]) -> StandingPods:
        """The pods that were assigned on ``snapshot``, in that order."""
        return StandingPods(self._framework, self.scheduler.nominator, snapshot, assignments)


class StandingPods:
    """Pods on the nodes found for them: the cycle of each has been told of those before it, and is told of others.

    If no filter looks beyond a node, only what happens on their own nodes matters.
    """

    def __init__(
        self, framework: Framework, nominator: Nominator, snapshot: Snapshot, assignments: Sequence[Assignment]
    ) -> None:
        self._framework, self._snapshot = framework, snapshot
        self._standing: list[tuple[BindingCycle, CycleHandle, int]] = []
        for pod, node in assignments:
            binding = BindingCycle(framework, Cycle(snapshot, pod), node)
            outcome = framework.pre_filter(binding.cycle)
            handle = CycleHandle(framework, outcome.skipped, nominator)
            self._standing.append((binding, handle, snapshot.index[node]))
            binding.restore()
        self._undo(binding for binding, _, _ in reversed(self._standing))
        self._local = all(handle.looks_at_nodes_alone(binding.cycle.pod) for binding, handle, _ in self._standing)

    def moved(self, pod: Pod, node: int, *, add: bool) -> None:
        for binding, handle, its in self._standing:
            if its == node or not self._local:
                handle.move_pod(binding.cycle, pod, node, add=add)

    def fit(self, nodes: Collection[int]) -> bool:
        stood: list[BindingCycle] = []
        try:
            for binding, handle, node in self._standing:
                if self._local and node not in nodes:
                    continue
                if not handle.fits(binding.cycle, node).ok:
                    return False
                binding.restore()
                stood.append(binding)
        finally:
            self._undo(reversed(stood))
        return True

    @staticmethod
    def _undo(stood: Iterable[BindingCycle]) -> None:
        for binding in stood:
            binding.undo()


def _bare(pod: Pod) -> Pod:
    names = {"namespace": pod.namespace, "name": pod.name, "uid": pod.uid}
    return Pod.read({"metadata": names, "spec": {"schedulerName": pod.scheduler_name}})


def _policy(pod: Pod) -> str:
    return mapping(pod.raw, "spec").get("preemptionPolicy") or "PreemptLowerPriority"


def _as_error(status: Status) -> str:
    """The status as Go's AsError words it: the error that it wraps alone, where it does."""
    return UNPLACED if UNPLACED in status.reasons[:1] else status.message
