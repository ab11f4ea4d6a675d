"""The explanation of a scheduling cycle: every filter and every score on every node, even if one rejects it."""

from __future__ import annotations

import numpy as np

from kschedweb.engine.cycle.node_walk import compute_lead, find_positions
from kschedweb.engine.cycle.placement import FitFailure, Placement
from kschedweb.engine.cycle.signature_plans import AdHocPlan
from kschedweb.engine.extenders.extender import Extenders, FilteredNodes
from kschedweb.engine.framework.diagnosis import EXTENDER, Diagnosis
from kschedweb.engine.framework.explanation import UNSCORED, Explanation, ScoreColumn
from kschedweb.engine.framework.handle import CycleHandle
from kschedweb.engine.framework.interface import Cycle
from kschedweb.engine.framework.runtime import Framework, PreFilterOutcome
from kschedweb.engine.framework.status import Code, CycleError


def fill_explanation(
    explanation: Explanation,
    cycle: Cycle,
    outcome: PreFilterOutcome,
    handle: CycleHandle,
    extenders: Extenders,
    *,
    preemption: bool,
    as_scheduled: bool,
) -> None:
    """Fill in ``explanation`` after PreFilter returned ``outcome``; ``preemption`` runs PostFilter too.

    Raises CycleError if the cycle fails. With ``as_scheduled``, a failing score of the only feasible node is ignored.
    """
    diagnosis = _fill_filters(explanation, cycle, outcome, handle)
    passed = _apply_extenders(explanation, cycle, diagnosis, extenders)
    if (unknown := explanation.find_unsimulated()) is not None:
        explanation.leave_open(unknown)
    elif explanation.feasible.size:
        _fill_choice(explanation, cycle, handle, extenders, passed, as_scheduled=as_scheduled)
    elif outcome.status.code is Code.ERROR:
        explanation.message = outcome.status.message
    else:
        explanation.message = diagnosis.message()
        if preemption:
            ask_post_filter(explanation, FitFailure(cycle, diagnosis, handle), extenders)


def _fill_filters(explanation: Explanation, cycle: Cycle, outcome: PreFilterOutcome, handle: CycleHandle) -> Diagnosis:
    snapshot = cycle.snapshot
    if not outcome.status.ok:
        explanation.pre_filter = outcome.status
        diagnosis = Diagnosis.of_pre_filter(snapshot.names, snapshot.index, outcome.status)
    else:
        filtered = (
            AdHocPlan(handle.framework, snapshot)
            .run_filter_plugins(cycle, outcome)
            .with_nominated_column(handle.beside_nominated(cycle))
        )
        if outcome.nodes is not None:
            explanation.pre_filter_nodes = sorted(outcome.nodes)
            explanation.absent = outcome.absent_status().with_plugin(min(outcome.narrowed_by, default=""))
            filtered = filtered.restrict_to(find_positions(snapshot, outcome.nodes))
        explanation.filters, explanation.feasible = filtered.columns, filtered.feasible
        diagnosis = filtered.to_diagnosis(snapshot, outcome.absent_status())
    explanation.rejected_by = diagnosis.rejected_by
    return diagnosis


def _apply_extenders(
    explanation: Explanation, cycle: Cycle, diagnosis: Diagnosis, extenders: Extenders
) -> FilteredNodes:
    """Let extenders filter the feasible nodes; their statuses become the last filter column."""
    passed = FilteredNodes(explanation.feasible)
    if explanation.feasible.size:
        explanation.unasked = extenders.unasked_urls(cycle.pod, "filter", "prioritize")
    if explanation.unasked or not (explanation.feasible.size and extenders.has_any_verb("filter")):
        return passed
    passed = extenders.filter(cycle, explanation.feasible)
    diagnosis.extra.update(passed.statuses)
    column = passed.to_filter_column(explanation.nodes, explanation.feasible)
    explanation.filters = [*explanation.filters, column]
    explanation.rejected_by[column.codes != 0] = len(explanation.filters) - 1
    explanation.feasible = np.unique(passed.rows)
    return passed


def ask_post_filter(explanation: Explanation, fit_failure: FitFailure, extenders: Extenders) -> None:
    """Fill in the result of PostFilter.

    ``explanation.unasked`` then has the extenders that cannot be asked about victims.
    """
    explanation.unasked = extenders.unasked_urls(fit_failure.cycle.pod, "preempt")
    if explanation.unasked:
        fit_failure.handle.extenders = ()
    try:
        result = fit_failure.post_filter()
    except CycleError as error:
        explanation.post_filter = str(error)
    else:
        explanation.post_filter, explanation.preemption = result.status.message, result.details


def _fill_choice(
    explanation: Explanation,
    cycle: Cycle,
    handle: CycleHandle,
    extenders: Extenders,
    passed: FilteredNodes,
    *,
    as_scheduled: bool,
) -> None:
    framework, rows, scored = handle.framework, explanation.feasible, passed.scored_on(cycle)
    try:
        _fill_scores(explanation, cycle, scored, framework, extenders, passed)
    except CycleError:
        if not as_scheduled or len(rows) > 1:
            raise
        # kube-scheduler takes a single feasible node without scoring it, so that this error does not occur there.
        explanation.scores, explanation.total = [], np.zeros(1, dtype=np.int64)
    explanation.best = rows[explanation.total == explanation.total.max()].tolist()
    explanation.chosen = explanation.best[0]
    margin = compute_lead(explanation.total) if len(rows) > 1 else None
    placement = Placement(explanation.pod, explanation.node, len(explanation.nodes), len(rows), margin=margin)
    scored.decision = placement.to_decision(scored.pod, scored.snapshot.now)
    explanation.approval_requests = framework.collect_approval_requests(scored, explanation.node)


def _fill_scores(
    explanation: Explanation,
    cycle: Cycle,
    scored: Cycle,
    framework: Framework,
    extenders: Extenders,
    passed: FilteredNodes,
) -> None:
    rows = explanation.feasible
    skipped = framework.pre_score(scored, rows)
    explanation.scores = framework.score(scored, rows, skipped)
    if extenders.has_any_verb("prioritize") and not explanation.unasked:
        added, _ = extenders.prioritize(cycle, passed.in_node_order())
        explanation.scores.append(ScoreColumn(EXTENDER, 1, added, added))
    explanation.skipped = sorted(skipped & set(framework.weights))
    explanation.total = sum((column.weighted for column in explanation.scores), np.zeros(len(rows), dtype=np.int64))
    if not framework.points.score and not extenders:
        explanation.total = explanation.total + UNSCORED
