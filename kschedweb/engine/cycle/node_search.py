"""One pod's search for a node after PreFilter: the walk over the nodes, the extenders, and the choice of the best."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from kschedweb.engine.cycle.node_walk import (
    NONE,
    Filtered,
    FoundNodes,
    compute_lead,
    find_highest,
    find_nodes_that_pass_filters,
    find_positions,
    find_ranked_nodes,
)
from kschedweb.engine.cycle.placement import FitFailure, Placement
from kschedweb.engine.cycle.ranking import UNRANKED, NodeRanking, rank_nodes
from kschedweb.engine.cycle.search_request import SearchRequest
from kschedweb.engine.cycle.signature_plans import AdHocPlan, Scored, SignaturePlan
from kschedweb.engine.extenders.extender import ExtenderError, Extenders, FilteredNodes
from kschedweb.engine.framework.diagnosis import EXTENDER, Diagnosis
from kschedweb.engine.framework.handle import CycleHandle
from kschedweb.engine.framework.interface import Cycle
from kschedweb.engine.framework.runtime import PreFilterOutcome
from kschedweb.engine.framework.status import Code
from kschedweb.engine.state.columns import Ints
from kschedweb.engine.values import dataclass

# `minFeasibleNodesToFind` and `minFeasibleNodesPercentageToFind` of kube-scheduler's schedule_one.go.
MIN_FEASIBLE, MIN_PERCENTAGE = 100, 5


@dataclass(slots=True)
class NodeSearch:
    """The search for the best node that passes filters and extenders; the nominated node is tried first."""

    plan: SignaturePlan | AdHocPlan
    cycle: Cycle
    # The result of PreFilter.
    outcome: PreFilterOutcome
    handle: CycleHandle
    extenders: Extenders
    request: SearchRequest
    # The position of the node at which the search begins; after it, the position at which the next one begins.
    start: int
    # Per cent of the nodes to score, used if the profile does not set its own; 0 adapts it to the number of nodes.
    percentage: int

    def schedule_pod(self) -> Placement | FitFailure:
        """Return the placement of the pod, or why it fits no node.

        Raises CycleError if a filter, a score or an extender fails.
        """
        cycle, outcome, snapshot = self.cycle, self.outcome, self.cycle.snapshot
        narrowed_by, allowed_nodes = tuple(outcome.narrowed_by), self.request.allowed_nodes
        filtered = self.plan.run_filter_plugins(cycle, outcome).with_nominated_column(
            self.handle.beside_nominated(cycle)
        )
        # The nominated node is looked at even if PreFilter leaves it out.
        nominated = snapshot.index.get(cycle.pod.nominated_node, -1)
        if allowed_nodes is not None:
            filtered, nominated = filtered.restrict_to(allowed_nodes), nominated if nominated in allowed_nodes else -1
        nominated_result = self._try_nominated(filtered, nominated)
        if nominated_result.rows.size:
            return Placement(
                cycle.pod.key, snapshot.names[int(nominated_result.rows[0])], 1 + len(nominated_result.statuses), 1
            )
        if outcome.nodes is not None:
            prefilter_nodes = find_positions(snapshot, outcome.nodes)
            filtered = filtered.restrict_to(
                prefilter_nodes if allowed_nodes is None else prefilter_nodes[np.isin(prefilter_nodes, allowed_nodes)]
            )
        start = self.start
        walk_result = self._walk(filtered, start, nominated if nominated_result.statuses else -1)
        self.request.watch.lap("Filter", Code.SUCCESS if walk_result.error is None else Code.ERROR)
        num_all_nodes = len(snapshot) if allowed_nodes is None else len(allowed_nodes)
        # kube-scheduler's nextStartNodeIndex: the next search begins behind the nodes that this one looked at.
        self.start = (start + walk_result.evaluated) % num_all_nodes
        if walk_result.error is not None:
            raise walk_result.error.cycle_error
        if self.request.on_diagnosis is not None:
            self.request.on_diagnosis(
                cycle, self._build_diagnosis(filtered, nominated_result, start, walk_result.visited)
            )
        if self.extenders:
            walk_diagnosis = self._build_diagnosis(filtered, nominated_result, start, walk_result.visited)
            walk_diagnosis.number = None if allowed_nodes is None else num_all_nodes
            self.start = (start + len(walk_result.feasible) + walk_diagnosis.explicit_count) % num_all_nodes
            return self._apply_extenders(
                walk_result.feasible, FitFailure(cycle, walk_diagnosis, self.handle, narrowed_by)
            )
        if not walk_result.feasible.size:
            diagnosis = self._build_diagnosis(filtered, nominated_result)
            diagnosis.number = None if allowed_nodes is None else num_all_nodes
            return FitFailure(cycle, diagnosis, self.handle, narrowed_by)
        candidates = self._list_lowest_ranked(walk_result.feasible)
        best, ranking = self._prioritize_nodes(candidates, is_single=len(walk_result.feasible) == 1)
        chosen = snapshot.names[int(candidates[best])]
        return ranking.to_placement(cycle.pod.key, chosen, walk_result.evaluated, len(walk_result.feasible))

    def _walk(self, filtered: Filtered, start: int, nominated: int) -> FoundNodes:
        number, ranking = self._num_feasible_nodes_to_find(filtered.considered_count), self.request.ranking
        if ranking is None or filtered.considered_count < 2:
            return find_nodes_that_pass_filters(filtered, start, number, nominated)
        return find_ranked_nodes(filtered, start, number, ranking.ranks)

    def _list_lowest_ranked(self, feasible: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return the feasible nodes of the lowest rank: only these are scored."""
        if self.request.ranking is None or len(feasible) < 2:
            return feasible
        ranks = self.request.ranking.ranks[feasible]
        lowest: NDArray[np.intp] = feasible[ranks == ranks.min()]
        return lowest

    def _build_diagnosis(
        self, filtered: Filtered, nominated_result: FilteredNodes, start: int = 0, visited: int | None = None
    ) -> Diagnosis:
        """Return what a walk from ``start`` learned about the nodes it ``visited`` and about the nominated node."""
        absent = self.outcome.absent_status(*(status.plugin for status in nominated_result.statuses.values()))
        return filtered.to_diagnosis(self.cycle.snapshot, absent, start, visited, nominated_result.statuses)

    def _num_feasible_nodes_to_find(self, nodes: int) -> int:
        """Return the number of feasible nodes after which the search ends (specification 1.5)."""
        framework = self.handle.framework
        if not (
            framework.points.score or self.extenders.has_any_verb("prioritize") or self.extenders.has_any_verb("filter")
        ):
            # Without scores and extenders the first feasible node is as good as any.
            return 1
        if nodes < MIN_FEASIBLE:
            return nodes
        percentage = framework.profile.percentage_of_nodes_to_score
        if percentage is None:
            percentage = self.percentage
        if percentage == 0:
            # The adaptive percentage: 50, less one for every 125 nodes.
            percentage = max(MIN_PERCENTAGE, 50 - nodes // 125)
        return max(MIN_FEASIBLE, nodes * percentage // 100)

    def _try_nominated(self, filtered: Filtered, nominated: int) -> FilteredNodes:
        """Try the node ``nominated`` (-1: none) before all others.

        Return it if it passes. An extender that fails here is ignored: the search goes on over all nodes.
        """
        if nominated < 0:
            return FilteredNodes(NONE)
        name = self.cycle.snapshot.names[nominated]
        if not filtered.is_feasible(nominated):
            statuses = {name: filtered.status(nominated).decisive} if filtered.is_rejected(nominated) else {}
            return FilteredNodes(NONE, statuses=statuses)
        try:
            return self.extenders.filter(self.cycle, np.array([nominated], dtype=np.intp))
        except ExtenderError:
            return FilteredNodes(NONE)

    def _prioritize_nodes(self, feasible: NDArray[np.intp], *, is_single: bool) -> tuple[int, NodeRanking]:
        """Score the nodes; return the place of the best one within ``feasible``, and its ranking.

        A node that is the only feasible one is not scored. One that is left of several is, which may fail, as in
        `prioritizeNodes`.
        """
        if is_single:
            return 0, UNRANKED
        watch = self.request.watch
        with watch.failing("Score"):
            scored = self.plan.compute_totals(self.cycle, feasible)
        if len(feasible) == 1:
            watch.lap("Score")
            return 0, UNRANKED
        best, drawn = self._select_host(scored)
        watch.lap("Score")
        ranking = self._rank_nodes(self.plan, scored, feasible, best)
        return best, ranking._replace(drawn=drawn) if drawn else ranking

    def _select_host(self, scored: Scored) -> tuple[int, int]:
        """Return the position of the chosen node, and the number of equal nodes it was drawn from (0: not drawn)."""
        draw = self.request.draw
        if draw is None or len(best := find_highest(scored.totals)) == 1:
            return scored.select_root(), 0
        return int(best[draw(len(best))]), len(best)

    def _rank_nodes(
        self,
        plan: SignaturePlan | AdHocPlan,
        scored: Scored,
        rows: NDArray[np.intp],
        best: int,
        added: Ints | None = None,
    ) -> NodeRanking:
        """Return what the placement reports about the choice of the node at place ``best`` of ``rows``."""
        snapshot, ranks = self.cycle.snapshot, self.request.ranks
        if ranks:
            also = snapshot.index.get(self.request.also_ranked, -1)
            return rank_nodes(plan, scored, rows, snapshot.names, best, ranks, added, also)
        if not plan.framework.weighs_margin:
            return UNRANKED
        return NodeRanking(margin=compute_lead(scored.totals if added is None else scored.totals + added))

    def _apply_extenders(self, feasible: NDArray[np.intp], fit_failure: FitFailure) -> Placement | FitFailure:
        """Return the best node that the extenders let pass.

        If there is none, return ``fit_failure`` with the extenders' statuses.
        """
        cycle, watch = self.cycle, self.request.watch
        passed = self.extenders.filter(cycle, feasible)
        is_single = len(passed.rows) == 1
        if passed.bare is None:
            passed = replace(passed, rows=self._list_lowest_ranked(passed.rows))
        fit_failure.diagnosis.extra.update(passed.statuses)
        if not passed.rows.size:
            blamed_plugins = (EXTENDER,) if feasible.size else ()
            return replace(fit_failure, narrowed_by=fit_failure.narrowed_by + blamed_plugins)
        evaluated = len(passed.rows) + fit_failure.diagnosis.explicit_count
        watch.lap(EXTENDER)
        with watch.failing("Score"):
            best, ranking = self._prioritize_passed_nodes(passed, is_single=is_single)
        watch.lap("Score")
        name = cycle.snapshot.names[best]
        return ranking.to_placement(cycle.pod.key, name, evaluated, len(passed.rows))

    def _prioritize_passed_nodes(self, passed: FilteredNodes, *, is_single: bool) -> tuple[int, NodeRanking]:
        """Score the nodes that the extenders let pass; return the row of the best one, and its ranking."""
        if is_single:
            return int(passed.rows[0]), UNRANKED
        # An extender may name a node more than once; each node is scored once.
        rows, places = np.unique(passed.rows, return_inverse=True)
        scored, plan = passed.scored_on(self.cycle), self.plan
        if scored is not self.cycle:
            plan = AdHocPlan(self.handle.framework, scored.snapshot)
        node_totals = plan.compute_totals(scored, rows)
        added, scored_by_extender = self.extenders.prioritize(self.cycle, passed)
        if len(rows) == 1:
            return int(passed.rows[0]), UNRANKED
        ranks = np.unique(node_totals.totals[places] + added, return_inverse=True)[1]
        # Of equal nodes, those that an extender scored come first; kube-scheduler takes any of these.
        best, drawn = self._select_host(Scored(2 * ranks.astype(np.int64) + scored_by_extender, []))
        by_row = np.zeros(len(rows), dtype=np.int64)
        by_row[places] = added
        ranking = self._rank_nodes(plan, node_totals, rows, int(places[best]), by_row)
        return int(passed.rows[best]), ranking._replace(drawn=drawn)
