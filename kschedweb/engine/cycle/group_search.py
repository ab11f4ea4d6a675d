"""The scheduling cycle of a pod group: one pod after the other, all of them or none.

Pods are assumed on the snapshot one by one, so that each sees those before it, and are removed at the end: the caller
decides what to do with the result.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field, replace
from functools import partial
from typing import Any, Protocol

from kschedweb.engine.cycle.binding import BindingCycle
from kschedweb.engine.cycle.group_placement import DomainTry, GroupPlacement
from kschedweb.engine.cycle.group_validation import find_group_refusal, find_hierarchy_refusal
from kschedweb.engine.cycle.placement import NO_NODES, Placement
from kschedweb.engine.cycle.search_request import SearchRequest
from kschedweb.engine.framework.diagnosis import Diagnosis
from kschedweb.engine.framework.groups import (
    UNPLACED,
    Assignment,
    Domain,
    DomainScore,
    GroupCycle,
    GroupRoom,
    NodeRanking,
    Progress,
)
from kschedweb.engine.framework.handle import CycleHandle
from kschedweb.engine.framework.interface import Cycle
from kschedweb.engine.framework.preparation import FreeClaim
from kschedweb.engine.framework.runtime import Framework
from kschedweb.engine.framework.status import SUCCESS, Code, CycleError, Status, error, unschedulable
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.podgroup import PodGroup
from kschedweb.engine.preemption.victim_ranking import RANKING
from kschedweb.engine.state.nominator import Nominator
from kschedweb.engine.state.snapshot import Snapshot
from kschedweb.engine.validation.golang import quote
from kschedweb.engine.values import dataclass

MIN_PERCENTAGE = 5


class GroupScheduler(Protocol):
    """The part of a scheduler that a pod group's cycle needs."""

    snapshot: Snapshot
    nominator: Nominator

    def framework(self, pod: Pod) -> Framework: ...

    def find(self, pod: Pod, request: SearchRequest) -> Placement: ...

    def with_snapshot(self, snapshot: Snapshot) -> Any: ...

    def follow(self, other: Any) -> None: ...


@dataclass(frozen=True, slots=True)
class GroupRules:
    """The rules of a release for groups."""

    # Try the group in every domain that a plugin proposes, as TopologyAwareWorkloadScheduling does.
    by_domains: bool
    # See ``Behaviour.pod_group_hierarchies``.
    hierarchies: bool = False
    # Per cent of the domains that have to have a place before the search ends; 0 adapts to their nodes, None is all.
    percentage: int | None = None

    def num_domains_to_find(self, domains: Sequence[Domain]) -> int:
        """Return the number of domains with a place after which the search ends (`numFeasiblePlacementsToFind`)."""
        if self.percentage is None:
            return len(domains)
        percentage = self.percentage or max(
            MIN_PERCENTAGE, 100 - sum(len(domain.nodes) for domain in domains) * 9 // 500
        )
        return max(1, len(domains) * percentage // 100)


@dataclass(slots=True)
class DomainSearchResult:
    """The result of a search over the domains."""

    # The chosen domain, or the failure that is reported.
    final: DomainTry
    tries: list[DomainTry] = field(default_factory=list)
    scores: list[DomainScore] = field(default_factory=list)


@dataclass(slots=True)
class GroupSearch:
    """The search for a place for ``group``."""

    scheduler: GroupScheduler
    group: PodGroup
    # The pods without a node, in the order they are tried.
    pods: Sequence[Pod]
    request: SearchRequest
    rules: GroupRules
    # The order in which nodes are tried while room is looked for.
    ranking: NodeRanking | None = None
    # Claims whose devices could be freed, by plugin and pod.
    frees: dict[tuple[str, str], tuple[FreeClaim, ...]] = field(default_factory=dict)
    # A pod of the tree that the group is part of, whose profile counts; None if it is the root.
    lead: Pod | None = None

    def find_placement(self) -> GroupPlacement:
        """Return the places of all pods, or why there are none; the snapshot is left as it was."""
        with self._without_nominations():
            return self._find_placement()

    def _find_placement(self) -> GroupPlacement:
        if (refused := self.refuse_invalid()) is not None:
            return refused
        try:
            self.scheduler.framework(self.pods[0])
        except CycleError as problem:
            return GroupPlacement.from_refusal(self.group, self.pods, error(str(problem)))
        self.scheduler.snapshot.resource_claims.sharing = frozenset(pod.uid for pod in self.pods)
        result = self._search_group()
        status, room = result.final.status, None
        if status.code is Code.UNSCHEDULABLE and self.request.post_filter:
            prepared, frees = self._list_prefiltered_plugins(result), dict(self.frees)
            cycle = GroupCycle(self.scheduler.snapshot, self.group, self.pods, prepared, frees)
            room = self._framework.pod_group_post_filter(cycle, self)
            if not self.request.elsewhere:
                self._free_claims(room)
            # Without a plugin that looks for room there is nothing to say of it, which 1.37 says all the same.
            if room.status.code is Code.ERROR:
                status = room.status
            elif room.status.message or not self.rules.hierarchies:
                status = replace(status, reasons=(*status.reasons, room.status.message))
        return self._conclude(result, status, room)

    def refuse_invalid(self) -> GroupPlacement | None:
        """Return the result of pods that cannot be a group; ``None`` if they can."""
        snapshot = self.scheduler.snapshot
        if not self.rules.hierarchies:
            refusal = find_group_refusal(self.group, self.pods, snapshot)
            return GroupPlacement.from_refusal(self.group, self.pods, error(refusal)) if refusal else None
        tree = snapshot.objects.groups.build_tree(self.group, self.pods)
        refusal = find_hierarchy_refusal(tree, snapshot)
        return GroupPlacement.from_invalid(tree, self.pods, refusal) if refusal else None

    def _conclude(self, result: DomainSearchResult, status: Status, room: GroupRoom | None) -> GroupPlacement:
        """Return the result of the cycle, after room was looked for where that was to be done."""
        return GroupPlacement(
            self.group,
            status,
            tuple(self._report_placements(result.final, status, room)),
            result.final.status,
            tuple(result.tries),
            tuple(result.scores),
            room,
            next((placement.pod for placement in result.final.placements if not placement.node), ""),
            result.final.domain.name if result.final.status.ok else "",
        )

    @contextmanager
    def _without_nominations(self) -> Iterator[None]:
        """Hide what the group's nominated pods request, as long as the context lasts.

        While kube-scheduler tries a nominated pod, its queue knows only the pod's name.
        """
        nominated = [pod for pod in self.pods if self.scheduler.nominator.nominated_node(pod.key)]
        for pod in nominated:
            self.scheduler.nominator.replace_pod(_strip_pod(pod))
        try:
            yield
        finally:
            for pod in nominated:
                self.scheduler.nominator.replace_pod(pod)

    @property
    def _framework(self) -> Framework:
        return self.scheduler.framework(self.pods[0] if self.lead is None else self.lead)

    def _list_prefiltered_plugins(self, result: DomainSearchResult) -> frozenset[str]:
        """Return the plugins whose PreFilter ran: all if a pod reached the filters, otherwise up to the one that
        refused."""
        names = [plugin.name for plugin in self._framework.points.pre_filter]
        asked_names: set[str] = set()
        for placement in (
            placement for domain_try in (result.final, *result.tries) for placement in domain_try.placements
        ):
            if not placement.rejected_by_prefilter and placement.message != NO_NODES:
                return frozenset(names)
            refused = [names.index(name) for name in placement.rejected_by if name in names]
            asked_names.update(names[: max(refused) + 1] if refused else ())
        return frozenset(asked_names)

    # The domains, and the pods in each.

    def _search_group(self) -> DomainSearchResult:
        """Try the group, and leave the snapshot as it was."""
        whole = Domain.all_nodes(self.scheduler.snapshot)
        result = self.search_domains(whole) if self.rules.by_domains else self._search_anywhere(whole)
        if result.final.status.ok and not result.final.has_assignments:
            reason = "no pods were schedulable" if self.rules.hierarchies else UNPLACED
            result.final = replace(result.final, status=unschedulable(reason))
        return result

    def _search_anywhere(self, whole: Domain) -> DomainSearchResult:
        domain_try = self._try_domain(whole)
        return DomainSearchResult(domain_try, [domain_try])

    def search_domains(self, whole: Domain) -> DomainSearchResult:
        """Try the group in the domains within ``whole``, and leave the snapshot as it was."""
        cycle = GroupCycle(self.scheduler.snapshot, self.group, self.pods)
        domains, status = self._framework.generate_placements(cycle, whole)
        if not status.ok:
            return DomainSearchResult(DomainTry(whole, status, is_refused_outright=True))
        result = DomainSearchResult(DomainTry(whole, SUCCESS))
        placed: list[DomainTry] = []
        for domain, is_nominated in self._order_domains(domains):
            domain_try = self._try_domain(domain)
            result.tries.append(domain_try)
            if domain_try.status.code is Code.ERROR:
                result.final = domain_try
                return result
            if domain_try.status.ok and (domain_try.has_assignments or not is_nominated):
                placed.append(domain_try)
            if placed and (is_nominated or len(placed) >= self._num_domains_to_find(domains)):
                break
        if not placed:
            result.final = self._report_no_domain(result.tries[0], len(domains))
        else:
            try:
                result.final = self._select_domain(cycle, placed, result)
            except CycleError as problem:
                result.final = DomainTry(whole, error(str(problem)))
        return result

    def _report_no_domain(self, first: DomainTry, domains: int) -> DomainTry:
        """Return the first domain that was tried with the status of the group."""
        status = first.status
        if status.ok:
            status = unschedulable("nominated placement is feasible but no pending pod was scheduled")
        message = status.message if self.rules.hierarchies else _as_error(status)
        reason = f"0/{domains} placements are available, first placement status: {message}"
        return replace(first, status=self._refuse(reason).with_plugin(status.plugin))

    def _order_domains(self, domains: Sequence[Domain]) -> list[tuple[Domain, bool]]:
        """Return the domains in the order in which they are tried, and of each if it is the nominated one.

        That is the only one with nodes that pods of the group wait for; it comes first, and is enough. In a tree of
        groups nominations do not count.
        """
        alone = self.lead is None and not self.group.is_composite
        nominated = self._find_nominated_domain(domains) if self.rules.hierarchies and alone else None
        other_domains = [domain for domain in domains if domain is not nominated]
        if self.request.draw is not None and self._num_domains_to_find(domains) < len(domains):
            # As `rand.Shuffle`: each place gets one of those that are left.
            for place in range(len(other_domains) - 1, 0, -1):
                drawn = self.request.draw(place + 1)
                other_domains[place], other_domains[drawn] = other_domains[drawn], other_domains[place]
        first = [] if nominated is None else [(nominated, True)]
        return [*first, *((domain, False) for domain in other_domains)]

    def _find_nominated_domain(self, domains: Sequence[Domain]) -> Domain | None:
        index = self.scheduler.snapshot.index
        nodes = {index[pod.nominated_node] for pod in self.pods if pod.nominated_node in index}
        matching = [domain for domain in domains if not nodes.isdisjoint(domain.nodes.tolist())] if nodes else []
        return matching[0] if len(matching) == 1 else None

    def _num_domains_to_find(self, domains: Sequence[Domain]) -> int:
        if self.rules.percentage is not None and not self._framework.points.placement_score:
            return 1
        return self.rules.num_domains_to_find(domains)

    def _refuse(self, *reasons: str) -> Status:
        """Return the status of a group that finds no place: up to 1.37 it says that first."""
        return unschedulable(*reasons) if self.rules.hierarchies else unschedulable(UNPLACED, *reasons)

    def _select_domain(self, cycle: GroupCycle, placed: list[DomainTry], result: DomainSearchResult) -> DomainTry:
        """Return the domain with the highest score; of equal ones the first, unless one is drawn."""
        if len(placed) == 1:
            return placed[0]
        assigned = [(domain_try.domain, domain_try.list_assignments(self.pods)) for domain_try in placed]
        result.scores = self._framework.score_placements(cycle, assigned)
        highest = max(score.total for score in result.scores)
        best = [domain_try for domain_try, score in zip(placed, result.scores, strict=True) if score.total == highest]
        return best[self.request.draw(len(best)) if self.request.draw is not None else 0]

    def _try_domain(self, domain: Domain) -> DomainTry:
        """Try the pods one after the other in a domain, then take them back."""
        snapshot, framework = self.scheduler.snapshot, self._framework
        cycle = GroupCycle(snapshot, self.group, self.pods)
        # None spares the search from restricting every mask to a domain that has all nodes.
        allowed_nodes = None if len(domain.nodes) == len(snapshot) else domain.nodes
        on_diagnosis = self._note_freeable_claims if self.request.post_filter else None
        request = replace(
            self.request,
            post_filter=False,
            preempt=False,
            allowed_nodes=allowed_nodes,
            on_diagnosis=on_diagnosis,
            ranking=self.ranking,
        )
        placements: list[Placement] = []
        progress = Progress(len(cycle.scheduled_pods), len(self.pods))
        status = framework.placement_feasible(cycle, progress)
        if status.code is Code.UNSCHEDULABLE:
            return DomainTry(domain, self._refuse(*status.reasons).with_plugin(status.plugin))
        assumed: list[BindingCycle] = []
        try:
            for pod in () if status.code is Code.ERROR else self.pods:
                watch = self.request.watch.with_same_clock()
                found_placement = self.scheduler.find(pod, replace(request, watch=watch))
                placement = replace(self._assume_pod(found_placement, pod, assumed), watch=watch)
                placements.append(placement)
                if placement.is_error and placement.message != NO_NODES:
                    status = error(f"failed to schedule other pod from a pod group: {placement.message}")
                    break
                progress = progress.advance(scheduled=bool(placement.node))
                status = framework.placement_feasible(cycle, progress)
                if status.code in (Code.ERROR, Code.UNSCHEDULABLE):
                    break
        finally:
            self._take_back(assumed)
        if status.code is Code.WAIT:
            status = self._refuse(*status.reasons).with_plugin(status.plugin)
        return DomainTry(domain, status, tuple(placements))

    def _free_claims(self, room: GroupRoom) -> None:
        for claims in room.frees.values():
            for free_claim in claims:
                self.scheduler.snapshot.resource_claims.free_devices(
                    free_claim.namespace, free_claim.claim, generated=free_claim.is_generated
                )

    def _note_freeable_claims(self, cycle: Cycle, diagnosis: Diagnosis) -> None:
        for plugin in self._framework.points.freeing:
            self.frees[plugin.name, cycle.pod.key] = plugin.frees_for(cycle, diagnosis)

    def _assume_pod(self, placement: Placement, pod: Pod, assumed: list[BindingCycle]) -> Placement:
        """Assume the pod on the node found, so that the next pods see it there."""
        if not placement.node:
            return placement
        cycle = Cycle(self.scheduler.snapshot, pod)
        if self.ranking is not None:
            cycle.state[RANKING] = self.ranking
        binding = BindingCycle(self._framework, cycle, placement.node)
        self.scheduler.nominator.delete_nominated_pod(pod.key)
        refusal = binding.assume_and_reserve()
        if refusal is None:
            assumed.append(binding)
            return placement
        self._nominate_again(pod)
        return refusal.to_placement(pod.key)

    def _take_back(self, assumed: list[BindingCycle]) -> None:
        for binding in reversed(assumed):
            binding.unreserve_and_forget()
            self._nominate_again(binding.cycle.pod)

    def _nominate_again(self, pod: Pod) -> None:
        if pod.nominated_node:
            self.scheduler.nominator.add_nominated_pod(_strip_pod(pod), pod.nominated_node)

    # The results that the pods report.

    def _report_placements(self, final: DomainTry, status: Status, room: GroupRoom | None) -> list[Placement]:
        """Return the placements of all pods, also of those that were not tried."""
        tried_placements = [*final.placements, *[None] * (len(self.pods) - len(final.placements))]
        report = partial(report_placement, self.group) if self.rules.hierarchies else self._report_placement
        placements = [
            report(pod, placement, final, status, room)
            for pod, placement in zip(self.pods, tried_placements, strict=True)
        ]
        if room is None:
            return placements
        return [replace(placement, frees=room.frees.get(placement.pod, ())) for placement in placements]

    @staticmethod
    def _report_placement(
        pod: Pod, placement: Placement | None, final: DomainTry, status: Status, room: GroupRoom | None
    ) -> Placement:
        nominated = room.nominated.get(pod.key) if room is not None and room.status.ok else None
        if status.code is Code.ERROR:
            is_own_error = placement is not None and placement.is_error and placement.message != NO_NODES
            return Placement(
                pod.key, message=placement.message if placement and is_own_error else status.message, nominated=""
            )
        if placement is None:
            return Placement(pod.key, message=final.status.message, with_group=True, nominated=nominated)
        if not placement.node:
            return placement if nominated is None else replace(placement, nominated=nominated)
        if status.ok:
            return placement
        if room is not None and room.status.ok:
            return Placement(pod.key, message=status.message, with_group=True, nominated=nominated)
        return Placement(pod.key, message=f"{UNPLACED}, {status.message}", with_group=True, nominated="")

    # The interface of plugins that look for victims.

    def find_on(self, snapshot: Snapshot, ranking: NodeRanking | None = None) -> tuple[Status, list[Assignment]]:
        """Return where the pods would go on ``snapshot``, which is left as it was."""
        trial_scheduler = self.scheduler.with_snapshot(snapshot)
        result = replace(self, scheduler=trial_scheduler, ranking=ranking)._search_group()
        self.scheduler.follow(trial_scheduler)
        return result.final.status, result.final.list_assignments(self.pods)

    def assigned(self, snapshot: Snapshot, assignments: Sequence[Assignment]) -> AssumedGroupPods:
        """Return the pods as assigned on ``snapshot``, in that order."""
        return AssumedGroupPods(self._framework, self.scheduler.nominator, snapshot, assignments)


class AssumedGroupPods:
    """Pods on the nodes found for them; the cycle of each follows the pods that move.

    If no filter looks beyond a node, only changes on the pods' own nodes matter.
    """

    def __init__(
        self, framework: Framework, nominator: Nominator, snapshot: Snapshot, assignments: Sequence[Assignment]
    ) -> None:
        self._framework, self._snapshot = framework, snapshot
        self._assumed: list[tuple[BindingCycle, CycleHandle, int]] = []
        for pod, node in assignments:
            binding = BindingCycle(framework, Cycle(snapshot, pod), node)
            outcome = framework.pre_filter(binding.cycle)
            handle = CycleHandle(framework, outcome.skipped, nominator)
            self._assumed.append((binding, handle, snapshot.index[node]))
            # The next pods must see this one, as they did when the nodes were found.
            binding.assume_and_reserve()
        self._undo_bindings(binding for binding, _, _ in reversed(self._assumed))
        self._local = all(handle.looks_at_nodes_alone(binding.cycle.pod) for binding, handle, _ in self._assumed)

    def notify_move(self, pod: Pod, node: int, *, add: bool) -> None:
        for binding, handle, pod_node in self._assumed:
            if pod_node == node or not self._local:
                handle.move_pod(binding.cycle, pod, node, add=add)

    def fit(self, nodes: Collection[int]) -> bool:
        stood: list[BindingCycle] = []
        try:
            for binding, handle, node in self._assumed:
                if self._local and node not in nodes:
                    continue
                if not handle.fits(binding.cycle, node).ok:
                    return False
                binding.assume_and_reserve()
                stood.append(binding)
        finally:
            self._undo_bindings(reversed(stood))
        return True

    @staticmethod
    def _undo_bindings(stood: Iterable[BindingCycle]) -> None:
        for binding in stood:
            binding.unreserve_and_forget()


def _strip_pod(pod: Pod) -> Pod:
    names = {"namespace": pod.namespace, "name": pod.name, "uid": pod.uid}
    return Pod.from_json({"metadata": names, "spec": {"schedulerName": pod.scheduler_name}})


def _as_error(status: Status) -> str:
    """Return the status as Go's AsError words it: only the wrapped error, if it wraps one."""
    return UNPLACED if UNPLACED in status.reasons[:1] else status.message


def report_placement(
    group: PodGroup, pod: Pod, placement: Placement | None, final: DomainTry, status: Status, room: GroupRoom | None
) -> Placement:
    """Return what a pod of ``group`` is told since 1.38: of its group only that it failed, which the group tells about.

    ``placement`` is its result, ``None`` if it was not tried; ``final`` that of the group, whose status became
    ``status`` after room was looked for.
    """
    waits = room is not None and room.status.ok
    nominated = room.nominated.get(pod.key) if room is not None and waits else None
    parent = f"parent pod group {quote(group.name)}"
    if status.code is Code.ERROR:
        is_own_error = placement is not None and placement.is_error and placement.message != NO_NODES
        own_message = placement.message if placement is not None and is_own_error else ""
        return Placement(pod.key, message=own_message or f"{parent} encountered an error", nominated="")
    if placement is not None and not placement.node:
        return placement if nominated is None else replace(placement, nominated=nominated)
    if placement is not None and status.ok:
        return placement
    given_up = "" if placement is not None and not waits else None
    return Placement(
        pod.key,
        message=final.status.message if final.is_refused_outright else f"{parent} is unschedulable",
        with_group=True,
        rejected_by=frozenset(filter(None, [final.status.plugin])),
        nominated=given_up if nominated is None else nominated,
    )
