"""Preemption of 1.13: every node where evictions could help is tried, and budgets and priorities choose between
them.
"""

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
from kschedweb.engine.objects.selecting_objects import PodDisruptionBudget
from kschedweb.engine.preemption.disruption_budgets import list_budgets
from kschedweb.engine.preemption.evaluator import NO_VICTIMS, Preemption, PreemptionCandidate, PreemptionEvaluator
from kschedweb.engine.preemption.rules import PreemptionRules
from kschedweb.engine.preemption.trials import TrialResult
from kschedweb.engine.releases.classic import reasons
from kschedweb.engine.state.columns import Mask
from kschedweb.engine.validation.gosort import sort_slice

# The reasons that no eviction changes, as in `nodesWherePreemptionMightHelp`.
UNRESOLVABLE = frozenset(
    {
        *(reasons.SELECTOR, reasons.AFFINITY_RULES, reasons.HOST_NAME, reasons.TAINTS, reasons.LABEL_PRESENCE),
        *(reasons.NOT_READY, reasons.NO_NETWORK, reasons.DISK_PRESSURE, reasons.PID_PRESSURE, reasons.MEMORY_PRESSURE),
        *(
            reasons.OUT_OF_DISK,
            reasons.UNSCHEDULABLE,
            reasons.ZONE_CONFLICT,
            reasons.VOLUME_AFFINITY,
            reasons.NO_VOLUMES,
        ),
    }
)
# Without a nominated node, so that an earlier nomination stays.
NOTHING_FOUND = PostFilterResult(unschedulable())
Rows = NDArray[np.intp]


class ClassicPreemption:
    """A plugin that nominates a node for a pod that fits nowhere. The pod's message does not mention it."""

    name = "Preemption"

    def __init__(self, *, always_check_all: bool) -> None:
        """Take the policy's switch.

        ``always_check_all``: all predicates run on a node, and not only up to the first that rejects it.
        """
        self._always_check_all = always_check_all

    def post_filter(self, cycle: Cycle, diagnosis: Diagnosis, handle: Handle) -> PostFilterResult:
        if _makes_room_already(cycle):
            return NOTHING_FOUND
        nodes = self.nodes_preemption_might_help(diagnosis)
        if not nodes.size:
            return PostFilterResult(unschedulable(), nominated="")
        search = ClassicSearch(handle, cycle, diagnosis)
        candidates = search.find_candidates(nodes, len(nodes))
        if candidates.size and not (search.free or handle.explains or search.preempting_extenders()):
            best = search.select_candidate(candidates)
            return PostFilterResult(SUCCESS, best.node, best.victims)
        return _select_candidate(search, [*search.without_victims(), *search.list_candidates(candidates)])

    def nodes_preemption_might_help(self, diagnosis: Diagnosis) -> Rows:
        """Return the nodes that evictions could make fit. Rejections by extenders never count as final."""
        hopeless: Mask = np.zeros(len(diagnosis.names), dtype=np.bool_)
        first, nominated_position = diagnosis.rejected_by, -1
        for position, column in enumerate(diagnosis.filters):
            nominated_position = position if column.plugin == BESIDE_NOMINATED else nominated_position
            wrong = np.array([not UNRESOLVABLE.isdisjoint(status.reasons) for status in column.verdicts])
            if wrong.any():
                consulted = (
                    (first != nominated_position)
                    if self._always_check_all and position != nominated_position
                    else first == position
                )
                hopeless |= wrong[column.codes] & consulted
        return np.flatnonzero(~hopeless)


def _select_candidate(search: ClassicSearch, candidates: list[PreemptionCandidate]) -> PostFilterResult:
    """Return the best of the candidates that extenders leave. If an extender fails, no node is nominated."""
    try:
        remaining = search.ask_extenders(candidates)
    except ExtenderError:
        return NOTHING_FOUND
    except CycleError as problem:
        return PostFilterResult(error(str(problem)))
    if not remaining:
        return NOTHING_FOUND
    chosen = min(remaining, key=disruption_key)
    return PostFilterResult(SUCCESS, chosen.node, chosen.victims, Preemption(tuple(remaining), chosen))


class ClassicSearch(PreemptionEvaluator):
    """A search that puts back first the victims that a budget would keep. An eviction does not count against the next.

    A node that only an extender rejected may be ``free``: the pod fits there without evictions.
    """

    def __init__(self, handle: Handle, cycle: Cycle, diagnosis: Diagnosis) -> None:
        super().__init__(handle, cycle, diagnosis, PreemptionRules())
        self._open = frozenset(np.flatnonzero(diagnosis.rejected_by == FEASIBLE).tolist())
        # Positions of nodes where no pod has to be evicted.
        self.free: list[int] = []

    def without_victims(self) -> list[PreemptionCandidate]:
        """Return the candidates without victims."""
        return [PreemptionCandidate(self._cycle.snapshot.names[node], (), 0) for node in sorted(self.free)]

    def select_candidate(self, nodes: Rows) -> PreemptionCandidate:
        return self._build_candidate(self._trials.select_best_node(nodes, by_start=False))

    def ask_extenders(self, candidates: list[PreemptionCandidate]) -> list[PreemptionCandidate]:
        """Return the candidates that extenders leave, with the victims that they name. Violations no longer count."""
        remaining, index = candidates, self._cycle.snapshot.index
        for extender in self.preempting_extenders():
            if not remaining:
                break
            victims = {candidate.node: (candidate.victims, candidate.violations) for candidate in remaining}
            try:
                victims_by_node = extender.preempt(self._cycle, victims)
            except ExtenderError:
                if extender.ignorable:
                    continue
                raise
            remaining = [
                PreemptionCandidate(node, victims_by_node[node][0], 0)
                for node in sorted(victims_by_node, key=index.__getitem__)
            ]
        return remaining

    def _dry_run_nodes(self, nodes: Rows) -> None:
        freed = [node for node in nodes.tolist() if node in self._open]
        for node in freed:
            self._barred[node] = False
            self._trials.store_result(node, self._dry_run(node), for_this_cycle=True)
        if len(freed) < len(nodes):
            super()._dry_run_nodes(np.setdiff1d(nodes, freed))

    def _dry_run(self, node: int) -> TrialResult:
        result = super()._dry_run(node)
        if node in self._open and result.refusal is NO_VICTIMS and self._handle.fits(self._cycle, node).ok:
            self.free.append(node)
        return result

    def _split(self, victims: list[Pod]) -> tuple[list[Pod], list[Pod]]:
        ordered = list(victims)
        sort_slice(ordered, lambda pod, other: pod.priority > other.priority)
        active_budgets = list_budgets(self._cycle.snapshot)
        violating = [pod for pod in ordered if _violates_budget(pod, active_budgets)]
        return violating, [pod for pod in ordered if pod not in violating] if violating else ordered

    def _build_trial_result(
        self, node: int, listed: list[Pod], violating: list[Pod], non_violating: list[Pod], evicted: list[Pod]
    ) -> TrialResult:
        if evicted:
            return TrialResult(tuple(evicted), sum(pod in violating for pod in evicted))
        if node in self._open:
            self.free.append(node)
        return super()._build_trial_result(node, listed, violating, non_violating, evicted)


def disruption_key(candidate: PreemptionCandidate) -> tuple[int, ...]:
    """Return how much the evictions disturb: a node without victims is taken at once, then the rules apply in order."""
    victims = candidate.victims
    if not victims:
        return (-1,)
    # Shifted by 2^31 as in `pickOneNodeForPreemption`, so that many negative priorities do not beat few.
    priorities = sum(victim.priority + 2**31 for victim in victims)
    return candidate.violations, victims[0].priority, priorities, len(victims)


def _violates_budget(pod: Pod, pdbs: Iterable[PodDisruptionBudget]) -> bool:
    """Return whether a matching budget allows no eviction now, however many evictions there will be."""
    return bool(pod.labels) and any(
        budget.allowed <= 0
        and budget.namespace == pod.namespace
        and not budget.selector.is_empty
        and budget.selector.matches(pod.labels)
        for budget in pdbs
    )


def _makes_room_already(cycle: Cycle) -> bool:
    """Return whether a pod of lower priority is leaving the node that the pod is nominated to."""
    pod, snapshot = cycle.pod, cycle.snapshot
    node = snapshot.index.get(pod.nominated_node)
    node_pods = () if node is None else snapshot.pods.pods_on(node)
    return any(other.terminating and other.priority < pod.priority for other in node_pods)
