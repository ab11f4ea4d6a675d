"""One pod's search for a node after PreFilter: the walk over the nodes, the extenders, and the choice of the best."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from kschedweb.engine.cycle.placement import Placement, Unplaced
from kschedweb.engine.cycle.plan import Plan, Scored, Unplanned
from kschedweb.engine.cycle.ranking import UNRANKED, Standing, standing
from kschedweb.engine.cycle.request import SearchRequest
from kschedweb.engine.cycle.search import NONE, Filtered, highest, lead, positions, search
from kschedweb.engine.extenders.extender import ExtenderError, Extenders, Passed
from kschedweb.engine.framework.diagnosis import EXTENDER, Diagnosis
from kschedweb.engine.framework.handle import CycleHandle
from kschedweb.engine.framework.interface import Cycle
from kschedweb.engine.framework.runtime import PreFilterOutcome
from kschedweb.engine.framework.status import Code
from kschedweb.engine.state.columns import Ints
from kschedweb.engine.values import dataclass

MIN_FEASIBLE, MIN_PERCENTAGE = 100, 5


@dataclass(slots=True)
class Attempt:
    """Looks for the best node that passes filters and extenders. The nominated node is tried first.

    ``start`` is the position of the node where the search begins and, after it, where the next one does.
    ``percentage`` of the nodes are scored, if the profile does not say how many.
    """

    plan: Plan | Unplanned
    cycle: Cycle
    outcome: PreFilterOutcome
    handle: CycleHandle
    extenders: Extenders
    request: SearchRequest
    start: int
    percentage: int

    def place(self) -> Placement | Unplaced:
        """Raises CycleError where a filter, a score or an extender fails."""
        cycle, outcome, snapshot = self.cycle, self.outcome, self.cycle.snapshot
        narrowed_by, within = tuple(outcome.narrowed_by), self.request.within
        filtered = self.plan.filter(cycle, outcome).beside(self.handle.beside_nominated(cycle))
        # The nominated node is looked at even if PreFilter leaves it out.
        nominated = snapshot.index.get(cycle.pod.nominated_node, -1)
        if within is not None:
            filtered, nominated = filtered.within(within), nominated if nominated in within else -1
        tried = self._try_nominated(filtered, nominated)
        if tried.rows.size:
            return Placement(cycle.pod.key, snapshot.names[int(tried.rows[0])], 1 + len(tried.statuses), 1)
        if outcome.nodes is not None:
            named = positions(snapshot, outcome.nodes)
            filtered = filtered.within(named if within is None else named[np.isin(named, within)])
        start = self.start
        found = search(filtered, start, self._wanted(filtered.looked_at), nominated if tried.statuses else -1)
        self.request.watch.lap("Filter", Code.SUCCESS if found.failure is None else Code.ERROR)
        offered = len(snapshot) if within is None else len(within)
        self.start = (start + found.evaluated) % offered
        if found.failure is not None:
            raise found.failure.failure
        if self.request.told is not None:
            self.request.told(cycle, self._diagnosis(filtered, tried, start, found.visited))
        if self.extenders:
            known = self._diagnosis(filtered, tried, start, found.visited)
            known.number = None if within is None else offered
            self.start = (start + len(found.feasible) + known.explicit) % offered
            return self._extend(found.feasible, Unplaced(cycle, known, self.handle, narrowed_by))
        if not found.feasible.size:
            diagnosis = self._diagnosis(filtered, tried)
            diagnosis.number = None if within is None else offered
            return Unplaced(cycle, diagnosis, self.handle, narrowed_by)
        best, told = self._best_of(found.feasible)
        chosen = snapshot.names[int(found.feasible[best])]
        return told.placement(cycle.pod.key, chosen, found.evaluated, len(found.feasible))

    def _diagnosis(self, filtered: Filtered, tried: Passed, start: int = 0, visited: int | None = None) -> Diagnosis:
        """What a walk from ``start`` on knows of the nodes that it ``visited``, and of the nominated one."""
        absent = self.outcome.absent(*(status.plugin for status in tried.statuses.values()))
        return filtered.diagnosis(self.cycle.snapshot, absent, start, visited, tried.statuses)

    def _wanted(self, nodes: int) -> int:
        """How many feasible nodes are enough (specification 1.5)."""
        framework = self.handle.framework
        if not (framework.points.score or self.extenders.any("prioritize") or self.extenders.any("filter")):
            return 1
        if nodes < MIN_FEASIBLE:
            return nodes
        percentage = framework.profile.percentage_of_nodes_to_score
        if percentage is None:
            percentage = self.percentage
        if percentage == 0:
            percentage = max(MIN_PERCENTAGE, 50 - nodes // 125)
        return max(MIN_FEASIBLE, nodes * percentage // 100)

    def _try_nominated(self, filtered: Filtered, nominated: int) -> Passed:
        """The node ``nominated`` (-1: none) where it passes, before any other is looked at; extenders may fail here."""
        if nominated < 0:
            return Passed(NONE)
        name = self.cycle.snapshot.names[nominated]
        if not filtered.passes(nominated):
            rejects = filtered.rejects(nominated)
            return Passed(NONE, statuses={name: filtered.status(nominated).decisive} if rejects else {})
        try:
            return self.extenders.filter(self.cycle, np.array([nominated], dtype=np.intp))
        except ExtenderError:
            return Passed(NONE)

    def _best_of(self, feasible: NDArray[np.intp]) -> tuple[int, Standing]:
        """The place of the best of the nodes ``feasible``, and where it stands among them."""
        if len(feasible) == 1:
            return 0, UNRANKED
        watch = self.request.watch
        with watch.failing("Score"):
            scored = self.plan.totals(self.cycle, feasible)
        best, drawn = self._pick(scored)
        watch.lap("Score")
        told = self._standing(self.plan, scored, feasible, best)
        return best, told._replace(drawn=drawn) if drawn else told

    def _pick(self, scored: Scored) -> tuple[int, int]:
        """The position of the node that is taken, and among how many equally good ones it was drawn (0: it was not)."""
        draw = self.request.draw
        if draw is None or len(best := highest(scored.totals)) == 1:
            return scored.root(), 0
        return int(best[draw(len(best))]), len(best)

    def _standing(
        self, plan: Plan | Unplanned, scored: Scored, rows: NDArray[np.intp], best: int, added: Ints | None = None
    ) -> Standing:
        """What the placement tells about the choice of the node at place ``best`` of ``rows``."""
        snapshot, ranks = self.cycle.snapshot, self.request.ranks
        if ranks:
            also = snapshot.index.get(self.request.also, -1)
            return standing(plan, scored, rows, snapshot.names, best, ranks, added, also)
        if not plan.framework.weighs_margin:
            return UNRANKED
        return Standing(margin=lead(scored.totals if added is None else scored.totals + added))

    def _extend(self, feasible: NDArray[np.intp], otherwise: Unplaced) -> Placement | Unplaced:
        """The best of the nodes that extenders let pass; ``otherwise`` learns what they said of the others."""
        cycle, watch = self.cycle, self.request.watch
        passed = self.extenders.filter(cycle, feasible)
        otherwise.diagnosis.extra.update(passed.statuses)
        if not passed.rows.size:
            blamed = (EXTENDER,) if feasible.size else ()
            return replace(otherwise, narrowed_by=otherwise.narrowed_by + blamed)
        evaluated = len(passed.rows) + otherwise.diagnosis.explicit
        watch.lap(EXTENDER)
        with watch.failing("Score"):
            best, told = self._best_passed(passed)
        watch.lap("Score")
        name = cycle.snapshot.names[best]
        return told.placement(cycle.pod.key, name, evaluated, len(passed.rows))

    def _best_passed(self, passed: Passed) -> tuple[int, Standing]:
        """The best of the nodes that extenders let pass, and where it stands among them."""
        if len(passed.rows) == 1:
            return int(passed.rows[0]), UNRANKED
        rows, places = np.unique(passed.rows, return_inverse=True)
        scored, plan = passed.scored_on(self.cycle), self.plan
        if scored is not self.cycle:
            plan = Unplanned(self.handle.framework, scored.snapshot)
        found = plan.totals(scored, rows)
        added, spoken = self.extenders.prioritize(self.cycle, passed)
        ranks = np.unique(found.totals[places] + added, return_inverse=True)[1]
        # Of equal nodes, those that an extender scored come first; kube-scheduler takes any of these.
        best, drawn = self._pick(Scored(2 * ranks.astype(np.int64) + spoken, []))
        by_row = np.zeros(len(rows), dtype=np.int64)
        by_row[places] = added
        told = self._standing(plan, found, rows, int(places[best]), by_row)
        return int(passed.rows[best]), told._replace(drawn=drawn)
