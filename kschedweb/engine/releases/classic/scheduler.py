"""The classic scheduling cycle: predicates on nodes, priorities on those that pass, round robin among the best."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kschedweb.engine.cycle.attempt import MIN_FEASIBLE
from kschedweb.engine.cycle.cycle import Scheduler
from kschedweb.engine.cycle.explaining import ask_post_filter
from kschedweb.engine.cycle.placement import NO_NODES, Placement, Unplaced
from kschedweb.engine.cycle.plan import Plan, Unplanned
from kschedweb.engine.cycle.ranking import UNRANKED, Standing, standing
from kschedweb.engine.cycle.request import NODE_ONLY, SearchRequest
from kschedweb.engine.cycle.search import NOWHERE, Filtered
from kschedweb.engine.extenders.extender import Extenders, Passed
from kschedweb.engine.framework.diagnosis import EXTENDER, NO_REASON
from kschedweb.engine.framework.explanation import FEASIBLE, UNSCORED, ScoreColumn
from kschedweb.engine.framework.handle import BESIDE_NOMINATED, CycleHandle
from kschedweb.engine.framework.interface import Cycle
from kschedweb.engine.framework.runtime import Factory, Framework
from kschedweb.engine.framework.status import Code, CycleError, Status
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.releases.classic.algorithm import Algorithm
from kschedweb.engine.releases.classic.catalogue import ALL_NODES
from kschedweb.engine.releases.classic.explanation import ClassicExplanation
from kschedweb.engine.releases.classic.extenders import ClassicExtenders
from kschedweb.engine.releases.classic.framework import ClassicFramework
from kschedweb.engine.releases.classic.objects import as_of_then, sources
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
class ClassicUnplaced(Unplaced):
    """A cycle that found no node; ``found`` says so in the words of then."""

    found: Placement = field(default_factory=lambda: Placement(""))

    def placement(self) -> Placement:
        return self.found


class ClassicScheduler(Scheduler):
    """kube-scheduler 1.13 (or 1.9) over a snapshot. ``explain`` changes nothing; ``schedule`` and ``bind`` do.

    Nodes are visited one by one, alternating between zones; several best nodes are taken in turn. The original checks
    16 nodes in parallel. So where it does not visit all nodes, or several are equal, its order is random.
    """

    extenders_of = ClassicExtenders
    takes_turns = True
    snapshot: ClassicSnapshot

    def __init__(
        self,
        snapshot: ClassicSnapshot,
        algorithm: Algorithm,
        registry: Mapping[str, Factory] | None = None,
        *,
        nominator: Nominator | None = None,
        extenders: Extenders | None = None,
    ) -> None:
        self.algorithm = algorithm
        super().__init__(snapshot, algorithm, registry, nominator=nominator, extenders=extenders)
        self.turn = 0  # number of choices among several nodes so far

    def _made(self, registry: Mapping[str, Factory]) -> dict[str, Framework]:
        self._framework = ClassicFramework(self.algorithm)
        return {self.algorithm.profiles[0].scheduler_name: self._framework}

    def framework(self, pod: Pod) -> Framework:
        """The one that there is: a Policy does not say whose pods it is for."""
        return self._framework

    def follow(self, other: Scheduler) -> None:
        super().follow(other)
        if isinstance(other, ClassicScheduler):
            self.turn = other.turn

    def explain(
        self, pod: Pod, *, preemption: bool = False, thorough: bool = True, as_run: bool = True
    ) -> ClassicExplanation:
        """Every predicate's verdict and every score on every node; a bound pod is explained as if it were pending.

        A predicate fails only if the cycle reaches it, and message and choice are those of the cycle. Without
        ``as_run`` each predicate runs on all nodes, as in the recorded answers. Raises CycleError if a priority fails;
        with ``as_run`` also for other failures of the cycle.
        """
        snapshot = self.snapshot
        if pod.key in snapshot.pods.slots:
            snapshot, pod = snapshot.without(pod.key)
        pod = as_of_then(pod)
        if as_run:
            self._check(pod)
        found = ClassicExplanation(pod.key, "", snapshot.names, listed=snapshot.listed)
        cycle, plan = Cycle(snapshot, pod), Unplanned(self.framework(pod), snapshot)
        handle, filtered = self._filtered(plan, cycle, explains=True)
        found.filters = filtered.columns
        found.rejected_by = np.where(filtered.first == NOWHERE, np.int32(FEASIBLE), filtered.first)
        all_asked = self.algorithm.always_check_all
        errors = _errors(filtered, snapshot.listed, every=all_asked or not as_run)
        if errors and as_run:
            raise CycleError(_aggregate(errors))
        found.error = list(errors)[-1] if errors else ""
        found.unasked = self.extenders.unasked(pod, "filter", "prioritize") if filtered.feasible.size else []
        found.feasible = filtered.feasible
        if not found.error:
            refusals = {} if found.unasked else self._explain_extenders(found, cycle)
            if found.feasible.size:
                self._explain_scores(found, cycle, as_run=as_run)
            else:
                found.message = self._fit_error(filtered, snapshot.listed, refusals, every=all_asked and as_run)
                if preemption:
                    failed = self._unplaced(cycle, handle, filtered, refusals, found.message, 0)
                    ask_post_filter(found, failed, self.extenders)
        return found

    def _explain_extenders(self, found: ClassicExplanation, cycle: Cycle) -> dict[str, Status]:
        """Call the extenders' filters and reject nodes accordingly; returns what they said, by node."""
        asked = found.feasible
        passed = self.extenders.filter(cycle, asked)
        if len(passed.rows) < len(asked):
            found.filters = [*found.filters, passed.column(found.nodes, asked)]
            found.rejected_by[np.setdiff1d(asked, passed.rows)] = len(found.filters) - 1
            found.feasible = np.unique(passed.rows)
        return passed.statuses

    def _explain_scores(self, found: ClassicExplanation, cycle: Cycle, *, as_run: bool) -> None:
        try:
            found.scores = self._scores(cycle, found.feasible)
        except CycleError:
            if not as_run or len(found.feasible) > 1:
                raise
            found.scores = []  # kube-scheduler takes an only node unscored, so that what fails here does not fail there
        found.total = sum((one.weighted for one in found.scores), np.zeros(len(found.feasible), dtype=np.int64))
        if not found.scores and not self.extenders:
            found.total = found.total + UNSCORED
        if self.extenders and not found.unasked:
            found.total = found.total + self.extenders.prioritize(cycle, Passed(found.feasible))[0]
        best = found.feasible[found.total == found.total.max()]
        found.best = best.tolist()
        if as_run:
            walked = best[np.argsort((best - self.start) % len(found.nodes))]
            found.chosen = self._next(walked) if len(found.feasible) > 1 else found.best[0]
        else:
            found.chosen = next(node for node in found.listed.tolist() if node in found.best)

    def _scores(self, cycle: Cycle, rows: NDArray[np.intp]) -> list[ScoreColumn]:
        """The mapped and reduced scores of the priorities by name; a skipped priority gives 0."""
        framework = self.framework(cycle.pod)
        skipped = framework.pre_score(cycle, rows)
        zeros: Ints = np.zeros(len(rows), dtype=np.int64)
        return [
            ScoreColumn(one.name, self.algorithm.weights[one.name], zeros, zeros)
            if one.name in skipped
            else framework.ask_score(one, cycle, rows)
            for one in framework.points.score
        ]

    def schedule_one(self, pod: Pod, request: SearchRequest = NODE_ONLY) -> Placement:
        return super().schedule_one(as_of_then(pod), request)

    def find(self, pod: Pod, request: SearchRequest = NODE_ONLY) -> Placement:
        return super().find(as_of_then(pod), request)

    def verdict(self, pod: Pod, node: str) -> Status:
        return super().verdict(as_of_then(pod), node)

    def _check(self, pod: Pod) -> None:
        """Raise CycleError if there are no nodes, or a claim is missing or terminating; 1.9 did not check claims."""
        for kind, name in () if self.algorithm.edition.old else sources(pod):
            claim = self.snapshot.objects.storage.claims.get((pod.namespace, name)) if kind == "claim" else None
            if kind == "claim" and (claim is None or claim.terminating):
                raise CycleError(
                    f'persistentvolumeclaim "{name}" {"not found" if claim is None else "is being deleted"}'
                )
        if not len(self.snapshot):
            raise CycleError(NO_NODES)

    def _place(self, pod: Pod, request: SearchRequest) -> Placement | Unplaced:
        self._check(pod)
        plan = self._plans.get(self.framework(pod), pod)
        cycle = plan.cycle(pod)
        handle, filtered = self._filtered(plan, cycle, elsewhere=request.elsewhere)
        if request.within is not None:
            filtered = filtered.within(request.within)
        walk = self._walk(filtered, request.start)
        if errors := _errors(filtered, walk.visited, every=self.algorithm.always_check_all):
            raise CycleError(_aggregate(errors))
        refusals: dict[str, Status] = {}
        rows, evaluated = walk.feasible, len(walk.visited)
        if self.extenders and rows.size:
            passed = self.extenders.filter(cycle, rows)
            rows, refusals = passed.rows, passed.statuses
        if not rows.size:
            said = self._fit_error(filtered, walk.visited, refusals, every=self.algorithm.always_check_all)
            return self._unplaced(cycle, handle, filtered, refusals, said, evaluated)
        best, told = (int(rows[0]), UNRANKED) if len(rows) == 1 else self._best(plan, cycle, rows, request)
        return told.placement(pod.key, self.snapshot.names[best], evaluated, len(rows))

    def _filtered(self, plan: Plan | Unplanned, cycle: Cycle, **how: bool) -> tuple[CycleHandle, Filtered]:
        """What the predicates say of each node, with and without the pods nominated to it, and how to ask them."""
        outcome = plan.pre_filter(cycle)
        handle = self._handle(self.framework(cycle.pod), outcome, **how)
        filtered = plan.filter(cycle, outcome)
        if self.algorithm.edition.old:  # priorities were off by default, and with them nominations
            handle.nominator = Nominator()
        elif len(self.nominator):
            # What is known of affinity may change with nominated pods, even where no pod on a node has any.
            affinity = {one.name for one in self.algorithm.predicates if isinstance(one, MatchInterPodAffinity)}
            handle.skipped = handle.skipped - affinity
            filtered = filtered.beside(handle.beside_nominated(cycle))
        return handle, filtered

    def _unplaced(
        self,
        cycle: Cycle,
        handle: CycleHandle,
        filtered: Filtered,
        refusals: Mapping[str, Status],
        said: str,
        evaluated: int,
    ) -> ClassicUnplaced:
        diagnosis = filtered.diagnosis(cycle.snapshot, NO_REASON, extra=refusals)
        # An extender need not say why it leaves a node out.
        by_extender = {EXTENDER} if np.any(filtered.first == NOWHERE) else set()
        rejected_by = diagnosis.plugins | by_extender
        found = Placement(cycle.pod.key, evaluated=evaluated, message=said, rejected_by=rejected_by)
        return ClassicUnplaced(cycle, diagnosis, handle, found=found)

    def _walk(self, filtered: Filtered, start: int | None) -> Walk:
        """Visit nodes from ``start`` (or where the last walk ended) until one more than the wanted number passes."""
        size = len(self.snapshot)
        begin = self.start if start is None else start
        wanted, order = self._wanted(size), np.arange(size, dtype=np.intp)
        feasible = filtered.feasible
        if wanted >= size and not begin:
            return Walk(order, feasible)
        order = np.roll(order, -begin)
        in_order = order[np.isin(order, feasible)]
        if len(in_order) <= wanted:
            return Walk(order, in_order)
        visited = int((in_order[wanted] - begin) % size) + 1
        self._start = (begin + visited) % size
        return Walk(order[:visited], in_order[:wanted])

    def _wanted(self, size: int) -> int:
        share = self.algorithm.edition.share
        return size if size < MIN_FEASIBLE or share == ALL_NODES else max(MIN_FEASIBLE, size * share // ALL_NODES)

    def _best(
        self, plan: Plan | Unplanned, cycle: Cycle, rows: NDArray[np.intp], request: SearchRequest
    ) -> tuple[int, Standing]:
        """The node that is taken of several, and where it stands among them."""
        ascending, places = rows, None
        if self.extenders or self._wanted(len(self.snapshot)) < len(self.snapshot) or self.start:
            ascending, places = np.unique(rows, return_inverse=True)
        scored = plan.totals(cycle, ascending)
        totals = scored.totals if places is None else scored.totals[places]
        added: Ints | None = None
        if self.extenders:
            added = self.extenders.prioritize(cycle, Passed(rows))[0]
            totals = totals + added
        best = self._next(rows[totals == totals.max()])
        self.turn += 1
        if not request.ranks:
            return best, UNRANKED
        if added is not None:
            by_row = np.zeros(len(ascending), dtype=np.int64)
            by_row[places] = added
            added = by_row
        at, also = int(np.searchsorted(ascending, best)), self.snapshot.index.get(request.also, -1)
        return best, standing(plan, scored, ascending, self.snapshot.names, at, request.ranks, added, also)

    def _next(self, best: NDArray[np.intp]) -> int:
        """Which of the best nodes, in the order of the walk, has its turn; 1.9 sorted them by name in reverse."""
        place = self.turn % len(best)
        if not self.algorithm.edition.old:
            return int(best[place])
        by_name: list[int] = sorted(best.tolist(), key=lambda row: self.snapshot.names[row], reverse=True)
        return by_name[place]

    def _fit_error(
        self, filtered: Filtered, visited: NDArray[np.intp], refusals: Mapping[str, Status], *, every: bool
    ) -> str:
        """The FitError message: reasons of the first predicate that rejects each node, or of ``every`` one."""
        counts = Counter(status.message for status in refusals.values())
        crowded = bool(filtered.columns) and filtered.columns[0].plugin == BESIDE_NOMINATED
        asked = visited[filtered.first[visited] != 0] if crowded else visited  # once, if not beside nominated pods
        for position, column in enumerate(filtered.columns):
            if len(column.verdicts) == 1:
                continue
            first = visited[filtered.first[visited] == position]
            meant = asked if every and not (crowded and position == 0) else first
            numbers = np.bincount(column.codes[meant], minlength=len(column.verdicts))
            for status, number in zip(column.verdicts, numbers.tolist(), strict=True):
                for reason in status.reasons if status.code is not Code.ERROR else ():
                    counts[reason] += number
        reasons = sorted(f"{number} {reason}" for reason, number in counts.items() if number)
        return f"0/{len(self.snapshot)} nodes are available: {', '.join(reasons)}."


def _errors(filtered: Filtered, visited: NDArray[np.intp], *, every: bool) -> Counter[str]:
    """How often predicates fail on the nodes ``visited``, by message; with ``every`` also after a rejection."""
    found: Counter[str] = Counter()
    failing: dict[int, str] = {}
    for position, column in enumerate(filtered.columns):
        for code, status in enumerate(column.verdicts):
            if status.code is Code.ERROR:
                nodes = visited[column.codes[visited] == code]
                for node in nodes.tolist():
                    if every or filtered.first[node] == position:
                        failing.setdefault(node, status.message)
    for node in visited.tolist() if failing else ():
        if node in failing:
            said = failing[node]
            number = found.pop(said, 0)
            found[said] = number + 1  # the latest message comes last
    return found


def _aggregate(errors: Counter[str]) -> str:
    parts = [said if number == 1 else f"{said} (repeated {number} times)" for said, number in errors.items()]
    return parts[0] if len(parts) == 1 else f"[{', '.join(parts)}]"
