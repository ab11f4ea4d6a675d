"""The classic scheduling cycle: predicates on nodes, priorities on those that pass, round robin among the best."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kschedweb.engine.config.specs import PluginFactory
from kschedweb.engine.cycle.explanations import ask_post_filter
from kschedweb.engine.cycle.node_search import MIN_FEASIBLE
from kschedweb.engine.cycle.node_walk import NOWHERE, Filtered
from kschedweb.engine.cycle.placement import NO_NODES, FitFailure, Placement
from kschedweb.engine.cycle.ranking import UNRANKED, NodeRanking, rank_nodes
from kschedweb.engine.cycle.scheduler import Scheduler
from kschedweb.engine.cycle.search_request import NODE_ONLY, SearchRequest
from kschedweb.engine.cycle.signature_plans import AdHocPlan, SignaturePlan
from kschedweb.engine.extenders.extender import Extenders, FilteredNodes
from kschedweb.engine.framework.diagnosis import EXTENDER, NO_REASON
from kschedweb.engine.framework.explanation import FEASIBLE, UNSCORED, ScoreColumn
from kschedweb.engine.framework.handle import BESIDE_NOMINATED, CycleHandle
from kschedweb.engine.framework.interface import Cycle
from kschedweb.engine.framework.runtime import Framework
from kschedweb.engine.framework.status import Code, CycleError, Status
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.releases.classic.algorithm import Algorithm
from kschedweb.engine.releases.classic.catalogue import ALL_NODES
from kschedweb.engine.releases.classic.explanation import ClassicExplanation
from kschedweb.engine.releases.classic.extenders import ClassicExtenders
from kschedweb.engine.releases.classic.framework import ClassicFramework
from kschedweb.engine.releases.classic.objects import as_of_then, list_sources
from kschedweb.engine.releases.classic.predicates.affinity import MatchInterPodAffinity
from kschedweb.engine.releases.classic.snapshot import ClassicSnapshot
from kschedweb.engine.state.columns import Ints
from kschedweb.engine.state.nominator import Nominator
from kschedweb.engine.values import dataclass


class Walk(NamedTuple):
    """The visited nodes in order, and those of them that pass."""

    visited: NDArray[np.intp]
    feasible: NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class ClassicUnplaced(FitFailure):
    """A cycle that found no node; ``result`` has the message in the words of then."""

    result: Placement = field(default_factory=lambda: Placement(""))

    def placement(self) -> Placement:
        return self.result


class ClassicScheduler(Scheduler):
    """kube-scheduler 1.13 (or 1.9) over a snapshot. ``explain`` changes nothing; ``schedule`` and ``bind`` do.

    Nodes are visited one by one, alternating between zones; several best nodes are taken in turn. The original checks
    16 nodes in parallel. So if it does not visit all nodes, or several are equal, its order is random.
    """

    extenders_class = ClassicExtenders
    takes_turns = True
    snapshot: ClassicSnapshot

    def __init__(
        self,
        snapshot: ClassicSnapshot,
        algorithm: Algorithm,
        registry: Mapping[str, PluginFactory] | None = None,
        *,
        nominator: Nominator | None = None,
        extenders: Extenders | None = None,
    ) -> None:
        self.algorithm = algorithm
        super().__init__(snapshot, algorithm, registry, nominator=nominator, extenders=extenders)
        self.turn = 0  # number of choices among several nodes so far

    def _build_frameworks(self, registry: Mapping[str, PluginFactory]) -> dict[str, Framework]:
        self._framework = ClassicFramework(self.algorithm)
        return {self.algorithm.profiles[0].scheduler_name: self._framework}

    def framework(self, pod: Pod) -> Framework:
        """Return the only framework: a Policy does not say for which pods it is."""
        return self._framework

    def follow(self, other: Scheduler) -> None:
        super().follow(other)
        if isinstance(other, ClassicScheduler):
            self.turn = other.turn

    def explain(
        self, pod: Pod, *, preemption: bool = False, thorough: bool = True, as_scheduled: bool = True
    ) -> ClassicExplanation:
        """Explain every predicate's verdict and every score on every node. A bound pod is explained as if it were
        pending.

        A predicate fails only if the cycle reaches it, and message and choice are those of the cycle. Without
        ``as_scheduled`` each predicate runs on all nodes, as in the recorded answers. Raises CycleError if a priority
        fails; with ``as_scheduled`` also for other failures of the cycle.
        """
        snapshot = self.snapshot
        if pod.key in snapshot.pods.slots:
            snapshot, pod = snapshot.without_pod(pod.key)
        pod = as_of_then(pod)
        if as_scheduled:
            self._check_pod(pod)
        explanation = ClassicExplanation(pod.key, "", snapshot.names, listed=snapshot.listed)
        cycle, plan = Cycle(snapshot, pod), AdHocPlan(self.framework(pod), snapshot)
        handle, filtered = self._filter_nodes(plan, cycle, explains=True)
        explanation.filters = filtered.columns
        explanation.rejected_by = np.where(filtered.first == NOWHERE, np.int32(FEASIBLE), filtered.first)
        all_asked = self.algorithm.always_check_all
        errors = _count_errors(filtered, snapshot.listed, check_all=all_asked or not as_scheduled)
        if errors and as_scheduled:
            raise CycleError(_aggregate_errors(errors))
        explanation.error = list(errors)[-1] if errors else ""
        explanation.unasked = self.extenders.unasked_urls(pod, "filter", "prioritize") if filtered.feasible.size else []
        explanation.feasible = filtered.feasible
        if not explanation.error:
            refusals = {} if explanation.unasked else self._explain_extenders(explanation, cycle)
            if explanation.feasible.size:
                self._explain_scores(explanation, cycle, as_scheduled=as_scheduled)
            else:
                explanation.message = self._fit_error(
                    filtered, snapshot.listed, refusals, check_all=all_asked and as_scheduled
                )
                if preemption:
                    failed = self._make_unplaced(cycle, handle, filtered, refusals, explanation.message, 0)
                    ask_post_filter(explanation, failed, self.extenders)
        return explanation

    def _explain_extenders(self, explanation: ClassicExplanation, cycle: Cycle) -> dict[str, Status]:
        """Call the extenders' filters, reject nodes accordingly, and return the extenders' statuses by node."""
        feasible = explanation.feasible
        passed = self.extenders.filter(cycle, feasible)
        if len(passed.rows) < len(feasible):
            explanation.filters = [*explanation.filters, passed.to_filter_column(explanation.nodes, feasible)]
            explanation.rejected_by[np.setdiff1d(feasible, passed.rows)] = len(explanation.filters) - 1
            explanation.feasible = np.unique(passed.rows)
        return passed.statuses

    def _explain_scores(self, explanation: ClassicExplanation, cycle: Cycle, *, as_scheduled: bool) -> None:
        try:
            explanation.scores = self._prioritize_nodes(cycle, explanation.feasible)
        except CycleError:
            if not as_scheduled or len(explanation.feasible) > 1:
                raise
            # kube-scheduler takes a single node without scoring it, so this failure does not occur there.
            explanation.scores = []
        explanation.total = sum(
            (column.weighted for column in explanation.scores), np.zeros(len(explanation.feasible), dtype=np.int64)
        )
        if not explanation.scores and not self.extenders:
            explanation.total = explanation.total + UNSCORED
        if self.extenders and not explanation.unasked:
            explanation.total = (
                explanation.total + self.extenders.prioritize(cycle, FilteredNodes(explanation.feasible))[0]
            )
        best = explanation.feasible[explanation.total == explanation.total.max()]
        explanation.best = best.tolist()
        if as_scheduled:
            walked = best[np.argsort((best - self.start) % len(explanation.nodes))]
            explanation.chosen = self._take_turn(walked) if len(explanation.feasible) > 1 else explanation.best[0]
        else:
            explanation.chosen = next(node for node in explanation.listed.tolist() if node in explanation.best)

    def _prioritize_nodes(self, cycle: Cycle, rows: NDArray[np.intp]) -> list[ScoreColumn]:
        """Return the mapped and reduced scores of the priorities by name. A skipped priority gives 0."""
        framework = self.framework(cycle.pod)
        skipped = framework.pre_score(cycle, rows)
        zeros: Ints = np.zeros(len(rows), dtype=np.int64)
        return [
            ScoreColumn(plugin.name, self.algorithm.weights[plugin.name], zeros, zeros)
            if plugin.name in skipped
            else framework.ask_score(plugin, cycle, rows)
            for plugin in framework.points.score
        ]

    def schedule_one(self, pod: Pod, request: SearchRequest = NODE_ONLY) -> Placement:
        return super().schedule_one(as_of_then(pod), request)

    def find(self, pod: Pod, request: SearchRequest = NODE_ONLY) -> Placement:
        return super().find(as_of_then(pod), request)

    def verdict(self, pod: Pod, node: str) -> Status:
        return super().verdict(as_of_then(pod), node)

    def _check_pod(self, pod: Pod) -> None:
        """Check the pod.

        Raises CycleError without nodes, or if a claim is missing or terminating; 1.9 did not check claims.
        """
        for kind, name in () if self.algorithm.edition.old else list_sources(pod):
            claim = self.snapshot.objects.storage.claims.get((pod.namespace, name)) if kind == "claim" else None
            if kind == "claim" and (claim is None or claim.terminating):
                raise CycleError(
                    f'persistentvolumeclaim "{name}" {"not found" if claim is None else "is being deleted"}'
                )
        if not len(self.snapshot):
            raise CycleError(NO_NODES)

    def _schedule_pod(self, pod: Pod, request: SearchRequest) -> Placement | FitFailure:
        self._check_pod(pod)
        plan = self._plans.get(self.framework(pod), pod)
        cycle = plan.create_cycle(pod)
        handle, filtered = self._filter_nodes(plan, cycle, elsewhere=request.elsewhere)
        if request.allowed_nodes is not None:
            filtered = filtered.restrict_to(request.allowed_nodes)
        walk = self._walk_nodes(filtered, request.start)
        if errors := _count_errors(filtered, walk.visited, check_all=self.algorithm.always_check_all):
            raise CycleError(_aggregate_errors(errors))
        refusals: dict[str, Status] = {}
        rows, evaluated = walk.feasible, len(walk.visited)
        if self.extenders and rows.size:
            passed = self.extenders.filter(cycle, rows)
            rows, refusals = passed.rows, passed.statuses
        if not rows.size:
            message = self._fit_error(filtered, walk.visited, refusals, check_all=self.algorithm.always_check_all)
            return self._make_unplaced(cycle, handle, filtered, refusals, message, evaluated)
        best, ranking = (int(rows[0]), UNRANKED) if len(rows) == 1 else self._pick_best(plan, cycle, rows, request)
        return ranking.to_placement(pod.key, self.snapshot.names[best], evaluated, len(rows))

    def _filter_nodes(self, plan: SignaturePlan | AdHocPlan, cycle: Cycle, **how: bool) -> tuple[CycleHandle, Filtered]:
        """Return the handle for preemption, and the predicates' verdicts with and without pods nominated to the
        nodes.
        """
        outcome = plan.pre_filter(cycle)
        handle = self._create_handle(self.framework(cycle.pod), outcome, **how)
        filtered = plan.run_filter_plugins(cycle, outcome)
        if self.algorithm.edition.old:  # priorities were off by default, and with them nominations
            handle.nominator = Nominator()
        elif len(self.nominator):
            # Nominated pods may change the counts of affinity, even if no pod on a node has any, so it must not be
            # skipped.
            affinity = {
                plugin.name for plugin in self.algorithm.predicates if isinstance(plugin, MatchInterPodAffinity)
            }
            handle.skipped = handle.skipped - affinity
            filtered = filtered.with_nominated_column(handle.beside_nominated(cycle))
        return handle, filtered

    def _make_unplaced(
        self,
        cycle: Cycle,
        handle: CycleHandle,
        filtered: Filtered,
        refusals: Mapping[str, Status],
        message: str,
        evaluated: int,
    ) -> ClassicUnplaced:
        diagnosis = filtered.to_diagnosis(cycle.snapshot, NO_REASON, extra=refusals)
        # An extender need not say why it leaves a node out.
        by_extender = {EXTENDER} if np.any(filtered.first == NOWHERE) else set()
        rejected_by = diagnosis.unschedulable_plugins | by_extender
        placement = Placement(cycle.pod.key, evaluated=evaluated, message=message, rejected_by=rejected_by)
        return ClassicUnplaced(cycle, diagnosis, handle, result=placement)

    def _walk_nodes(self, filtered: Filtered, start: int | None) -> Walk:
        """Visit nodes from ``start`` (or where the last walk ended) until one more than the wanted number passes."""
        size = len(self.snapshot)
        begin = self.start if start is None else start
        num_to_find, order = self._num_feasible_to_find(size), np.arange(size, dtype=np.intp)
        feasible = filtered.feasible
        # A fast path: a full walk from the first node needs no rotation.
        if num_to_find >= size and not begin:
            return Walk(order, feasible)
        order = np.roll(order, -begin)
        in_order = order[np.isin(order, feasible)]
        if len(in_order) <= num_to_find:
            return Walk(order, in_order)
        visited = int((in_order[num_to_find] - begin) % size) + 1
        self._start = (begin + visited) % size
        return Walk(order[:visited], in_order[:num_to_find])

    def _num_feasible_to_find(self, size: int) -> int:
        share = self.algorithm.edition.share
        return size if size < MIN_FEASIBLE or share == ALL_NODES else max(MIN_FEASIBLE, size * share // ALL_NODES)

    def _pick_best(
        self, plan: SignaturePlan | AdHocPlan, cycle: Cycle, rows: NDArray[np.intp], request: SearchRequest
    ) -> tuple[int, NodeRanking]:
        """Return the node that is taken among several, and the ranking of these nodes."""
        ascending, places = rows, None
        if self.extenders or self._num_feasible_to_find(len(self.snapshot)) < len(self.snapshot) or self.start:
            ascending, places = np.unique(rows, return_inverse=True)
        scored = plan.compute_totals(cycle, ascending)
        totals = scored.totals if places is None else scored.totals[places]
        added: Ints | None = None
        if self.extenders:
            added = self.extenders.prioritize(cycle, FilteredNodes(rows))[0]
            totals = totals + added
        best = self._take_turn(rows[totals == totals.max()])
        self.turn += 1
        if not request.ranks:
            return best, UNRANKED
        if added is not None:
            by_row = np.zeros(len(ascending), dtype=np.int64)
            by_row[places] = added
            added = by_row
        at, also = int(np.searchsorted(ascending, best)), self.snapshot.index.get(request.also_ranked, -1)
        return best, rank_nodes(plan, scored, ascending, self.snapshot.names, at, request.ranks, added, also)

    def _take_turn(self, best: NDArray[np.intp]) -> int:
        """Return the best node whose turn it is, in the order of the walk; 1.9 sorted them by name in reverse."""
        place = self.turn % len(best)
        if not self.algorithm.edition.old:
            return int(best[place])
        by_name: list[int] = sorted(best.tolist(), key=lambda row: self.snapshot.names[row], reverse=True)
        return by_name[place]

    def _fit_error(
        self, filtered: Filtered, visited: NDArray[np.intp], refusals: Mapping[str, Status], *, check_all: bool
    ) -> str:
        """Return the FitError message: the reasons of the first predicate that rejects each node, or with
        ``check_all`` of all.
        """
        counts = Counter(status.message for status in refusals.values())
        crowded = bool(filtered.columns) and filtered.columns[0].plugin == BESIDE_NOMINATED
        consulted = visited[filtered.first[visited] != 0] if crowded else visited  # once, if not beside nominated pods
        for position, column in enumerate(filtered.columns):
            if len(column.verdicts) == 1:
                continue
            first = visited[filtered.first[visited] == position]
            meant = consulted if check_all and not (crowded and position == 0) else first
            numbers = np.bincount(column.codes[meant], minlength=len(column.verdicts))
            for status, number in zip(column.verdicts, numbers.tolist(), strict=True):
                for reason in status.reasons if status.code is not Code.ERROR else ():
                    counts[reason] += number
        reasons = sorted(f"{number} {reason}" for reason, number in counts.items() if number)
        return f"0/{len(self.snapshot)} nodes are available: {', '.join(reasons)}."


def _count_errors(filtered: Filtered, visited: NDArray[np.intp], *, check_all: bool) -> Counter[str]:
    """Count how often predicates fail on the nodes ``visited``, by message; with ``check_all`` also after a
    rejection.
    """
    counts: Counter[str] = Counter()
    failing: dict[int, str] = {}
    for position, column in enumerate(filtered.columns):
        for code, status in enumerate(column.verdicts):
            if status.code is Code.ERROR:
                nodes = visited[column.codes[visited] == code]
                for node in nodes.tolist():
                    if check_all or filtered.first[node] == position:
                        failing.setdefault(node, status.message)
    for node in visited.tolist() if failing else ():
        if node in failing:
            message = failing[node]
            number = counts.pop(message, 0)
            counts[message] = number + 1  # the latest message comes last
    return counts


def _aggregate_errors(errors: Counter[str]) -> str:
    parts = [message if number == 1 else f"{message} (repeated {number} times)" for message, number in errors.items()]
    return parts[0] if len(parts) == 1 else f"[{', '.join(parts)}]"
