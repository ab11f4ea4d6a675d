"""Preemption of 1.13: every node is tried where evictions could help; budgets and priorities decide between them."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from kschedweb.engine.extenders.extender import ExtenderError
from kschedweb.engine.framework.diagnosis import Diagnosis
from kschedweb.engine.framework.explanation import FEASIBLE
from kschedweb.engine.framework.handle import BESIDE_NOMINATED
from kschedweb.engine.framework.interface import Cycle, Handle, PostFilterResult
from kschedweb.engine.framework.status import SUCCESS, CycleError, error, unschedulable
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.workloads import Budget
from kschedweb.engine.preemption.disruption import budgets
from kschedweb.engine.preemption.search import NO_VICTIMS, Candidate, Preemption, Search
from kschedweb.engine.preemption.trials import TrialResult
from kschedweb.engine.releases.classic import words
from kschedweb.engine.state.columns import Mask
from kschedweb.engine.validation.gosort import sort_slice

UNRESOLVABLE = frozenset(
    {
        *(words.SELECTOR, words.AFFINITY_RULES, words.HOST_NAME, words.TAINTS, words.LABEL_PRESENCE),
        *(words.NOT_READY, words.NO_NETWORK, words.DISK_PRESSURE, words.PID_PRESSURE, words.MEMORY_PRESSURE),
        *(words.OUT_OF_DISK, words.UNSCHEDULABLE, words.ZONE_CONFLICT, words.VOLUME_AFFINITY, words.NO_VOLUMES),
    }
)
"""The reasons that no eviction changes."""
NOTHING_FOUND = PostFilterResult(unschedulable())  # an earlier nomination stays
Rows = NDArray[np.intp]


class ClassicPreemption:
    """Nominates a node for a pod that fits nowhere; the message of the pod says nothing of it."""

    name = "Preemption"

    def __init__(self, *, every: bool) -> None:
        """``every``: all predicates are asked about a node, and not only up to the first that rejects it."""
        self._every = every

    def post_filter(self, cycle: Cycle, diagnosis: Diagnosis, handle: Handle) -> PostFilterResult:
        if _makes_room_already(cycle):
            return NOTHING_FOUND
        nodes = self.potential(diagnosis)
        if not nodes.size:
            return PostFilterResult(unschedulable(), nominated="")
        search = ClassicSearch(handle, cycle, diagnosis)
        found = search.candidates(nodes, len(nodes))
        if found.size and not (search.free or handle.explains or search.extenders()):
            best = search.best(found)
            return PostFilterResult(SUCCESS, best.node, best.victims)
        return _taken(search, [*search.without_victims(), *search.listed(found)])

    def potential(self, diagnosis: Diagnosis) -> Rows:
        """The nodes that evictions could make fit; extenders may always change their mind."""
        hopeless: Mask = np.zeros(len(diagnosis.names), dtype=np.bool_)
        first, beside = diagnosis.rejected_by, -1
        for position, column in enumerate(diagnosis.filters):
            beside = position if column.plugin == BESIDE_NOMINATED else beside
            wrong = np.array([not UNRESOLVABLE.isdisjoint(status.reasons) for status in column.verdicts])
            if wrong.any():
                asked = (first != beside) if self._every and position != beside else first == position
                hopeless |= wrong[column.codes] & asked
        return np.flatnonzero(~hopeless)


def _taken(search: ClassicSearch, candidates: list[Candidate]) -> PostFilterResult:
    """The best of the candidates that extenders leave; where one of them fails, nothing comes of it."""
    try:
        left = search.ask_extenders(candidates)
    except ExtenderError:
        return NOTHING_FOUND
    except CycleError as problem:
        return PostFilterResult(error(str(problem)))
    if not left:
        return NOTHING_FOUND
    chosen = min(left, key=disturbance)
    return PostFilterResult(SUCCESS, chosen.node, chosen.victims, Preemption(tuple(left), chosen))


class ClassicSearch(Search):
    """Of victims those that a budget would keep are let back in first; it counts no eviction against the next.

    A node that only an extender rejected may be ``free``: the pod fits there, and nobody has to go.
    """

    def __init__(self, handle: Handle, cycle: Cycle, diagnosis: Diagnosis) -> None:
        super().__init__(handle, cycle, diagnosis, by_clock=False)
        self._open = frozenset(np.flatnonzero(diagnosis.rejected_by == FEASIBLE).tolist())
        self.free: list[int] = []

    def without_victims(self) -> list[Candidate]:
        """The nodes where nobody has to go."""
        return [Candidate(self._cycle.snapshot.names[node], (), 0) for node in sorted(self.free)]

    def best(self, nodes: Rows) -> Candidate:
        return self._candidate(self._trials.best(nodes, by_start=False))

    def ask_extenders(self, candidates: list[Candidate]) -> list[Candidate]:
        """The candidates that extenders leave, with the victims that they name; violations are counted no more."""
        left, index = candidates, self._cycle.snapshot.index
        for extender in self.extenders():
            if not left:
                break
            victims = {one.node: (one.victims, one.violations) for one in left}
            try:
                named = extender.preempt(self._cycle, victims)
            except ExtenderError:
                if extender.ignorable:
                    continue
                raise
            left = [Candidate(node, named[node][0], 0) for node in sorted(named, key=index.__getitem__)]
        return left

    def _try(self, nodes: Rows) -> None:
        freed = [node for node in nodes.tolist() if node in self._open]
        for node in freed:
            self._barred[node] = False
            self._trials.put(node, self._dry_run(node), fleeting=True)
        if len(freed) < len(nodes):
            super()._try(np.setdiff1d(nodes, freed))

    def _dry_run(self, node: int) -> TrialResult:
        found = super()._dry_run(node)
        if node in self._open and found.refusal is NO_VICTIMS and self._handle.fits(self._cycle, node).ok:
            self.free.append(node)
        return found

    def _split(self, victims: list[Pod]) -> tuple[list[Pod], list[Pod]]:
        ordered = list(victims)
        sort_slice(ordered, lambda one, other: one.priority > other.priority)
        known = budgets(self._cycle.snapshot)
        kept = [pod for pod in ordered if _violates(pod, known)]
        return kept, [pod for pod in ordered if pod not in kept] if kept else ordered

    def _outcome(
        self, node: int, listed: list[Pod], violating: list[Pod], others: list[Pod], gone: list[Pod]
    ) -> TrialResult:
        if gone:
            return TrialResult(tuple(gone), sum(pod in violating for pod in gone))
        if node in self._open:
            self.free.append(node)
        return super()._outcome(node, listed, violating, others, gone)


def disturbance(candidate: Candidate) -> tuple[int, ...]:
    """How much the evictions disturb: a node where nobody has to go is taken at once, then the rules in their order."""
    victims = candidate.victims
    if not victims:
        return (-1,)
    priorities = sum(victim.priority + 2**31 for victim in victims)
    return candidate.violations, victims[0].priority, priorities, len(victims)


def _violates(pod: Pod, known: Iterable[Budget]) -> bool:
    """Whether a budget that means the pod allows no eviction now, however many there will be."""
    return bool(pod.labels) and any(
        budget.allowed <= 0
        and budget.namespace == pod.namespace
        and not budget.selector.empty
        and budget.selector.matches(pod.labels)
        for budget in known
    )


def _makes_room_already(cycle: Cycle) -> bool:
    """Whether a pod of lower priority is leaving the node that the pod is nominated to."""
    pod, snapshot = cycle.pod, cycle.snapshot
    node = snapshot.index.get(pod.nominated_node)
    there = () if node is None else snapshot.pods.on(node)
    return any(other.terminating and other.priority < pod.priority for other in there)
