"""The explanation of a scheduling cycle: every filter and every score on every node, whatever the others say."""

from __future__ import annotations

import numpy as np

from kschedweb.engine.cycle.placement import Placement, Unplaced
from kschedweb.engine.cycle.plan import Unplanned
from kschedweb.engine.cycle.search import lead, positions
from kschedweb.engine.extenders.extender import Extenders, Passed
from kschedweb.engine.framework.diagnosis import EXTENDER, Diagnosis
from kschedweb.engine.framework.explanation import UNSCORED, Explanation, ScoreColumn
from kschedweb.engine.framework.handle import CycleHandle
from kschedweb.engine.framework.interface import Cycle
from kschedweb.engine.framework.runtime import Framework, PreFilterOutcome
from kschedweb.engine.framework.status import Code, CycleError


def explain(
    explanation: Explanation,
    cycle: Cycle,
    outcome: PreFilterOutcome,
    handle: CycleHandle,
    extenders: Extenders,
    *,
    preemption: bool,
    as_run: bool,
) -> None:
    """Fill in ``explanation`` after PreFilter came to ``outcome``; with ``preemption`` PostFilter is asked too.

    Raises CycleError where the cycle itself fails; with ``as_run`` not where only the scores of an only node do.
    """
    diagnosis = _filters(explanation, cycle, outcome, handle)
    passed = _extended(explanation, cycle, diagnosis, extenders)
    if (unknown := explanation.unsimulated()) is not None:
        explanation.leave_open(unknown)
    elif explanation.feasible.size:
        _choose(explanation, cycle, handle, extenders, passed, as_run=as_run)
    elif outcome.status.code is Code.ERROR:
        explanation.message = outcome.status.message
    else:
        explanation.message = diagnosis.message()
        if preemption:
            ask_post_filter(explanation, Unplaced(cycle, diagnosis, handle), extenders)


def _filters(explanation: Explanation, cycle: Cycle, outcome: PreFilterOutcome, handle: CycleHandle) -> Diagnosis:
    snapshot = cycle.snapshot
    if not outcome.status.ok:
        explanation.pre_filter = outcome.status
        diagnosis = Diagnosis.of_pre_filter(snapshot.names, snapshot.index, outcome.status)
    else:
        filtered = Unplanned(handle.framework, snapshot).filter(cycle, outcome).beside(handle.beside_nominated(cycle))
        if outcome.nodes is not None:
            explanation.pre_filter_nodes = sorted(outcome.nodes)
            explanation.absent = outcome.absent().by(min(outcome.narrowed_by, default=""))
            filtered = filtered.within(positions(snapshot, outcome.nodes))
        explanation.filters, explanation.feasible = filtered.columns, filtered.feasible
        diagnosis = filtered.diagnosis(snapshot, outcome.absent())
    explanation.rejected_by = diagnosis.rejected_by
    return diagnosis


def _extended(explanation: Explanation, cycle: Cycle, diagnosis: Diagnosis, extenders: Extenders) -> Passed:
    """Let extenders look at the feasible nodes; what they say comes as the last filter of all."""
    passed = Passed(explanation.feasible)
    if explanation.feasible.size:
        explanation.unasked = extenders.unasked(cycle.pod, "filter", "prioritize")
    if explanation.unasked or not (explanation.feasible.size and extenders.any("filter")):
        return passed
    passed = extenders.filter(cycle, explanation.feasible)
    diagnosis.extra.update(passed.statuses)
    column = passed.column(explanation.nodes, explanation.feasible)
    explanation.filters = [*explanation.filters, column]
    explanation.rejected_by[column.codes != 0] = len(explanation.filters) - 1
    explanation.feasible = np.unique(passed.rows)
    return passed


def ask_post_filter(explanation: Explanation, found: Unplaced, extenders: Extenders) -> None:
    """Fill in what PostFilter says; ``explanation.unasked`` are then the extenders that nobody may ask for victims."""
    explanation.unasked = extenders.unasked(found.cycle.pod, "preempt")
    if explanation.unasked:
        found.handle.extenders = ()
    try:
        result = found.post_filter()
    except CycleError as error:
        explanation.post_filter = str(error)
    else:
        explanation.post_filter, explanation.preemption = result.status.message, result.details


def _choose(
    explanation: Explanation,
    cycle: Cycle,
    handle: CycleHandle,
    extenders: Extenders,
    passed: Passed,
    *,
    as_run: bool,
) -> None:
    framework, rows, scored = handle.framework, explanation.feasible, passed.scored_on(cycle)
    try:
        _scores(explanation, cycle, scored, framework, extenders, passed)
    except CycleError:
        if not as_run or len(rows) > 1:
            raise
        # kube-scheduler takes an only node unscored, so that what fails here does not fail there.
        explanation.scores, explanation.total = [], np.zeros(1, dtype=np.int64)
    explanation.best = rows[explanation.total == explanation.total.max()].tolist()
    explanation.chosen = explanation.best[0]
    margin = lead(explanation.total) if len(rows) > 1 else None
    placement = Placement(explanation.pod, explanation.node, len(explanation.nodes), len(rows), margin=margin)
    scored.decision = placement.decision(scored.pod, scored.snapshot.now)
    explanation.asks = framework.asks(scored, explanation.node)


def _scores(
    explanation: Explanation,
    cycle: Cycle,
    scored: Cycle,
    framework: Framework,
    extenders: Extenders,
    passed: Passed,
) -> None:
    rows = explanation.feasible
    skipped = framework.pre_score(scored, rows)
    explanation.scores = framework.score(scored, rows, skipped)
    if extenders.any("prioritize") and not explanation.unasked:
        added, _ = extenders.prioritize(cycle, passed.sorted())
        explanation.scores.append(ScoreColumn(EXTENDER, 1, added, added))
    explanation.skipped = sorted(skipped & set(framework.weights))
    explanation.total = sum((column.weighted for column in explanation.scores), np.zeros(len(rows), dtype=np.int64))
    if not framework.points.score and not extenders:
        explanation.total = explanation.total + UNSCORED
