"""The scheduling cycle: from a pod and a snapshot to a node, or to the reasons why there is none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kschedweb.engine.columns import Ints
from kschedweb.engine.config import Configuration
from kschedweb.engine.framework.explanation import EXCLUDED, FEASIBLE, Explanation, FilterColumn
from kschedweb.engine.framework.interface import Cycle
from kschedweb.engine.framework.runtime import Factory, Framework, PreFilterOutcome
from kschedweb.engine.framework.status import Code, CycleError, Status, fit_error, unresolvable, unschedulable
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.plugins import registry as in_tree
from kschedweb.engine.plugins.defaultpreemption import DefaultPreemption
from kschedweb.engine.preemption import Preemption, preempt
from kschedweb.engine.snapshot import Snapshot

NO_NODES = "no nodes available to schedule pods"
MIN_FEASIBLE, MIN_PERCENTAGE = 100, 5


@dataclass(frozen=True, slots=True)
class Placement:
    """What one scheduling cycle came to; ``node`` is "" where the pod does not fit, ``message`` then says why."""

    pod: str
    node: str = ""
    evaluated: int = 0
    feasible: int = 0
    message: str = ""
    victims: tuple[str, ...] = ()  # the pods evicted to make room

    def to_dict(self) -> dict[str, Any]:
        result: dict[str, Any] = {"pod": self.pod}
        if self.node:
            result["node"] = self.node
        result.update(evaluated=self.evaluated, feasible=self.feasible)
        if self.message:
            result["message"] = self.message
        if self.victims:
            result["victims"] = list(self.victims)
        return result


class Scheduler:
    """kube-scheduler over a snapshot. ``explain`` changes nothing; ``schedule`` and ``bind`` change the snapshot."""

    def __init__(
        self, snapshot: Snapshot, configuration: Configuration, registry: Mapping[str, Factory] | None = None
    ) -> None:
        self.snapshot = snapshot
        self.configuration = configuration
        self._frameworks = {
            profile.scheduler_name: Framework(profile, registry or in_tree()) for profile in configuration.profiles
        }
        self._start = 0  # where the search for feasible nodes begins; shared by all profiles

    def framework(self, pod: Pod) -> Framework:
        """The framework that schedules ``pod``; raises CycleError where no profile has its scheduler name."""
        try:
            return self._frameworks[pod.scheduler_name]
        except KeyError:
            raise CycleError(f'profile not found for scheduler name "{pod.scheduler_name}"') from None

    def explain(self, pod: Pod, *, preemption: bool = False, thorough: bool = True) -> Explanation:
        """Every filter's verdict and every score on every node; a bound pod is explained as if it were not bound.

        ``preemption`` asks also which pods would have to go where the pod fits nowhere: on every node where evictions
        could help if ``thorough``, else only until there are as many candidates as kube-scheduler looks for.
        Raises CycleError where the cycle itself fails, as kube-scheduler's would.
        """
        framework, snapshot = self.framework(pod), self.snapshot
        if pod.key in snapshot.pods.slots:
            snapshot, pod = snapshot.without(pod.key)
        explanation = Explanation(pod.key, pod.scheduler_name, snapshot.names, pre_enqueue=framework.pre_enqueue(pod))
        if not len(snapshot):
            explanation.message = NO_NODES
            return explanation
        cycle = Cycle(snapshot, pod)
        outcome = framework.pre_filter(cycle)
        self._explain_filters(explanation, framework, cycle, outcome)
        if explanation.feasible.size:
            self._explain_scores(explanation, framework, cycle)
        else:
            explanation.message = _message(snapshot, outcome, explanation.filters, explanation.rejected_by)
            if preemption:
                explanation.preemption = self._preempt(framework, cycle, outcome, explanation, thorough)
        return explanation

    @staticmethod
    def _preempt(
        framework: Framework, cycle: Cycle, outcome: PreFilterOutcome, explanation: Explanation, thorough: bool
    ) -> Preemption | None:
        """What DefaultPreemption would do, looking from the first node on."""
        plugin = next((one for one in framework.plugins("postFilter") if one.name == DefaultPreemption.name), None)
        nominated = cycle.snapshot.index.get(cycle.pod.nominated_node)
        verdict = explanation.verdict_at(nominated) if nominated is not None else None
        hopeless = verdict is not None and verdict.code is Code.UNRESOLVABLE
        if plugin is None or plugin.refusal(cycle, hopeless):
            return None
        verdicts = (explanation.verdict_at(node) for node in range(len(cycle.snapshot)))
        nodes = [node for node, status in enumerate(verdicts) if status and status.code is Code.UNSCHEDULABLE]
        if not nodes:
            return None
        wanted = len(nodes) if thorough else plugin.wanted(len(nodes))
        return preempt(framework, cycle, outcome.skipped, nodes, wanted)

    def _explain_filters(
        self, explanation: Explanation, framework: Framework, cycle: Cycle, outcome: PreFilterOutcome
    ) -> None:
        size = len(cycle.snapshot)
        if not outcome.status.ok:
            explanation.pre_filter = outcome.status
            explanation.rejected_by = np.full(size, EXCLUDED, dtype=np.int32)
            return
        explanation.filters = framework.filter(cycle, outcome.skipped)
        explanation.rejected_by = _first_rejection(explanation.filters, size)
        if outcome.nodes is not None:
            explanation.pre_filter_nodes = sorted(outcome.nodes)
            explanation.rejected_by[~_named(cycle.snapshot, outcome.nodes)] = EXCLUDED
        explanation.feasible = np.flatnonzero(explanation.rejected_by == FEASIBLE)

    def _explain_scores(self, explanation: Explanation, framework: Framework, cycle: Cycle) -> None:
        rows = explanation.feasible
        skipped = framework.pre_score(cycle, rows)
        explanation.scores = framework.score(cycle, rows, skipped)
        explanation.skipped = sorted(skipped & set(framework.weights))
        explanation.total = sum((column.weighted for column in explanation.scores), np.zeros(len(rows), dtype=np.int64))
        explanation.best = rows[explanation.total == explanation.total.max()].tolist()
        explanation.chosen = explanation.best[0]

    def bind(self, pod: Pod, node: str) -> None:
        """Put ``pod`` on ``node`` in the snapshot."""
        self.snapshot.add_pod(pod.on(node), self.snapshot.index[node])

    def schedule(self, pods: Iterable[Pod], *, preempt: bool = False) -> list[Placement]:
        """Place pods one after the other, each seeing those before it, as kube-scheduler does with parallelism 1."""
        return [self.schedule_one(pod, preempt=preempt) for pod in pods]

    def schedule_one(self, pod: Pod, *, preempt: bool = False) -> Placement:
        """Run the whole cycle for ``pod`` and put it on the node found.

        With ``preempt`` a pod that fits nowhere has others evicted, at once, and is tried again.
        """
        try:
            placement = self._place(pod)
            if preempt and not placement.node and len(self.snapshot):
                placement = self._place_by_force(pod, placement)
        except CycleError as error:
            return Placement(pod.key, message=str(error))
        return self._settle(pod, placement) if placement.node else placement

    def _settle(self, pod: Pod, placement: Placement) -> Placement:
        """Assume the pod on its node, then reserve, permit and bind; whoever refuses takes it off again."""
        framework, node = self.framework(pod), placement.node
        cycle = Cycle(self.snapshot, pod)
        self.bind(pod, node)
        try:
            refused = framework.reserve(cycle, node)
            if refused.ok:
                refused = self._permit(framework, cycle, node)
            if refused.ok:
                framework.bind(cycle, node)
                return placement
            message = fit_error(1, ((reason, 1) for reason in refused.reasons))
        except CycleError as error:
            message = str(error)
        framework.unreserve(cycle, node)
        self.snapshot.remove_pod(pod.key)
        return Placement(pod.key, message=message)

    @staticmethod
    def _permit(framework: Framework, cycle: Cycle, node: str) -> Status:
        status, waits = framework.permit(cycle, node)
        if not waits:
            return status
        # Nobody is here to allow it: the plugin whose time is up first rejects the pod.
        plugin, seconds = min(waits.items(), key=lambda item: item[1])
        return unschedulable(f"rejected due to timeout after waiting {duration(seconds)} at plugin {plugin}")

    def _place_by_force(self, pod: Pod, failed: Placement) -> Placement:
        room = self.explain(pod, preemption=True, thorough=False).preemption
        if room is None:
            return failed
        for victim in room.chosen.victims:
            self.snapshot.remove_pod(victim.key)
        placed = self._place(pod)
        victims = tuple(victim.key for victim in room.chosen.victims)
        return replace(placed, victims=victims) if placed.node else failed

    def _place(self, pod: Pod) -> Placement:
        framework, snapshot = self.framework(pod), self.snapshot
        size = len(snapshot)
        if not size:
            return Placement(pod.key, message=NO_NODES)
        cycle = Cycle(snapshot, pod)
        outcome = framework.pre_filter(cycle)
        if not outcome.status.ok:
            return Placement(pod.key, message=_message(snapshot, outcome, [], np.zeros(size, dtype=np.int32)))
        filters = framework.filter(cycle, outcome.skipped)
        rejected_by = _first_rejection(filters, size)
        candidates = np.arange(size)
        if outcome.nodes is not None:
            named = _named(snapshot, outcome.nodes)
            rejected_by[~named] = EXCLUDED
            candidates = np.flatnonzero(named)
        nominated = snapshot.index.get(pod.nominated_node, -1)
        if nominated >= 0 and rejected_by[nominated] == FEASIBLE:
            return Placement(pod.key, snapshot.names[nominated], 1, 1)
        errors = _errors(filters, rejected_by)
        feasible, failed, failing = self._search(framework, candidates, rejected_by, errors)
        if nominated >= 0 and rejected_by[nominated] >= 0 and nominated not in errors:
            failed = np.union1d(failed, [nominated])
        evaluated = len(feasible) + len(failed)
        self._start = (self._start + evaluated) % size
        if failing is not None:
            raise CycleError(errors[failing])
        if not feasible.size:
            return Placement(pod.key, message=_message(snapshot, outcome, filters, rejected_by))
        chosen = self._choose(framework, cycle, feasible)
        return Placement(pod.key, snapshot.names[chosen], evaluated, len(feasible))

    def _search(
        self,
        framework: Framework,
        candidates: NDArray[np.intp],
        rejected_by: NDArray[np.int32],
        errors: Mapping[int, str],
    ) -> tuple[NDArray[np.intp], NDArray[np.intp], int | None]:
        """(feasible, failed) nodes in the order visited, and the node where a filter failed.

        The search ends at such a node, and at one feasible node more than wanted.
        """
        wanted = self._wanted(framework, len(candidates))
        visited = np.roll(candidates, -(self._start % len(candidates))) if len(candidates) else candidates
        found = np.flatnonzero(rejected_by[visited] == FEASIBLE)
        if len(found) > wanted:
            visited = visited[: found[wanted]]
        failing = None
        if errors and (ends := np.flatnonzero(np.isin(visited, list(errors)))).size:
            failing = int(visited[ends[0]])
            visited = visited[: ends[0]]
        passes = rejected_by[visited] == FEASIBLE
        return visited[passes], visited[~passes], failing

    def _wanted(self, framework: Framework, nodes: int) -> int:
        """How many feasible nodes are enough (specification 1.5)."""
        if not framework.plugins("score"):
            return 1
        if nodes < MIN_FEASIBLE:
            return nodes
        percentage = framework.profile.percentage_of_nodes_to_score
        if percentage is None:
            percentage = self.configuration.percentage_of_nodes_to_score
        if percentage == 0:
            percentage = max(MIN_PERCENTAGE, 50 - nodes // 125)
        return max(MIN_FEASIBLE, nodes * percentage // 100)

    @staticmethod
    def _choose(framework: Framework, cycle: Cycle, feasible: NDArray[np.intp]) -> int:
        if len(feasible) == 1:
            return int(feasible[0])
        skipped = framework.pre_score(cycle, feasible)
        total: Ints = np.zeros(len(feasible), dtype=np.int64)
        for column in framework.score(cycle, feasible, skipped):
            total += column.weighted
        return int(feasible[_heap_root(total)])


def _named(snapshot: Snapshot, names: frozenset[str]) -> NDArray[np.bool_]:
    mask = np.zeros(len(snapshot), dtype=np.bool_)
    mask[[snapshot.index[name] for name in names if name in snapshot.index]] = True
    return mask


def _first_rejection(filters: list[FilterColumn], size: int) -> NDArray[np.int32]:
    """Index of the first filter that rejects each node, -1 where none does."""
    first = np.full(size, FEASIBLE, dtype=np.int32)
    for position in reversed(range(len(filters))):
        if not filters[position].skipped:
            first[filters[position].codes != 0] = position
    return first


def _message(
    snapshot: Snapshot, outcome: PreFilterOutcome, filters: list[FilterColumn], rejected_by: NDArray[np.int32]
) -> str:
    """FitError's text, or that of the error that ended PreFilter."""
    if outcome.status.code is Code.ERROR:
        return outcome.status.message
    if not outcome.status.ok:
        return fit_error(len(snapshot), (), outcome.status.message)
    histogram: Counter[str] = Counter()
    for position, column in enumerate(filters):
        counts = np.bincount(column.codes[rejected_by == position], minlength=len(column.verdicts))
        for status, count in zip(column.verdicts, counts.tolist(), strict=True):
            for reason in status.decisive.reasons:
                histogram[reason] += count
    excluded = int(np.count_nonzero(rejected_by == EXCLUDED))
    if excluded:
        for reason in _absent(outcome.narrowed_by).reasons:
            histogram[reason] += excluded
    return fit_error(len(snapshot), histogram.items())


def _errors(filters: list[FilterColumn], rejected_by: NDArray[np.int32]) -> dict[int, str]:
    """The nodes where a filter fails, rather than rejecting them, and why: to visit one ends the cycle."""
    errors = {}
    for position, column in enumerate(filters):
        if any(status.code is Code.ERROR for status in column.verdicts):
            for node in np.flatnonzero(rejected_by == position).tolist():
                status = column.verdicts[int(column.codes[node])]
                if status.code is Code.ERROR:
                    errors[node] = status.decisive.message
    return errors


def _absent(plugins: list[str]) -> Status:
    return unresolvable(f"node(s) didn't satisfy plugin(s) [{' '.join(plugins)}]")


def _heap_root(totals: Ints) -> int:
    """The position kube-scheduler's heap brings to the root: it decides which of several best nodes is taken.

    Building a max-heap is a tournament up a binary tree: a parent gives way only to a strictly better child, and the
    left child to a strictly better right one. So the winner is the first best node on a walk that goes from the root
    down, left before right.
    """
    leads_to_best = np.zeros(len(totals), dtype=np.bool_)
    level = np.flatnonzero(totals == totals.max())
    best = set(level.tolist())
    while level.size:
        leads_to_best[level] = True
        level = np.unique((level[level > 0] - 1) // 2)
    node = 0
    while node not in best:
        left = 2 * node + 1
        node = left if leads_to_best[left] else left + 1
    return node


def duration(seconds: float) -> str:
    """Seconds as Go writes a duration: 500ms, 10s, 1m30s, 15m0s, 1h0m0s."""
    if 0 < seconds < 1:
        return f"{seconds * 1000:g}ms"
    whole = int(seconds)
    hours, minutes = whole // 3600, whole // 60 % 60
    text = f"{seconds - whole // 60 * 60:g}s"
    if hours:
        return f"{hours}h{minutes}m{text}"
    return f"{minutes}m{text}" if minutes else text
