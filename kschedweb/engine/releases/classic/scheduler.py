"""The classic scheduling cycle: predicates on nodes, priorities on those that pass, round robin among the best."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kschedweb.engine.cycle.attempt import MIN_FEASIBLE
from kschedweb.engine.cycle.placement import NO_NODES, Placement
from kschedweb.engine.cycle.plan import Plan, Plans, Unplanned
from kschedweb.engine.cycle.search import NOWHERE, Filtered
from kschedweb.engine.extenders.extender import Passed, Post
from kschedweb.engine.framework.explanation import FEASIBLE, ScoreColumn
from kschedweb.engine.framework.interface import Cycle
from kschedweb.engine.framework.status import Code, CycleError
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.releases.classic.algorithm import Algorithm
from kschedweb.engine.releases.classic.explanation import ClassicExplanation
from kschedweb.engine.releases.classic.extenders import ClassicExtenders
from kschedweb.engine.releases.classic.framework import ClassicFramework
from kschedweb.engine.releases.classic.objects import as_of_then, sources
from kschedweb.engine.releases.classic.snapshot import ClassicSnapshot
from kschedweb.engine.state.columns import Ints

EVERYTHING = 100  # percent


class Walk(NamedTuple):
    """The visited nodes in order, and those of them that pass."""

    visited: NDArray[np.intp]
    feasible: NDArray[np.intp]


class ClassicScheduler:
    """kube-scheduler 1.13 (or 1.9) over a snapshot. ``explain`` changes nothing; ``schedule`` and ``bind`` do.

    Nodes are visited one by one, alternating between zones; several best nodes are taken in turn. The original checks
    16 nodes in parallel. So where it does not visit all nodes, or several are equal, its order is random.
    """

    def __init__(self, snapshot: ClassicSnapshot, algorithm: Algorithm, post: Post | None = None) -> None:
        self.snapshot, self.algorithm = snapshot, algorithm
        self.extenders = ClassicExtenders(algorithm.extenders, post)
        self.start = 0  # position in the node order where the next walk begins
        self.turn = 0  # number of choices among several nodes so far
        self._framework = ClassicFramework(algorithm)
        self._plans = Plans(snapshot)

    def explain(self, pod: Pod, *, as_run: bool = False) -> ClassicExplanation:
        """Every predicate's verdict and every score on every node; a bound pod is explained as if it were pending.

        As in the recorded answers, each predicate runs on all nodes. With ``as_run`` a predicate fails only if the
        cycle reaches it, and message and choice are those of the cycle. Raises CycleError if a priority fails; with
        ``as_run`` also for other failures of the cycle.
        """
        snapshot = self.snapshot
        if pod.key in snapshot.pods.slots:
            snapshot = snapshot.copy()
            pod = snapshot.remove_pod(pod.key).on("")
        pod = as_of_then(pod)
        if as_run:
            self._check(pod)
        found = ClassicExplanation(pod.key, "", snapshot.names, listed=snapshot.listed)
        cycle = Cycle(snapshot, pod)
        plan = Unplanned(self._framework, snapshot)
        filtered = plan.filter(cycle, plan.pre_filter(cycle))
        found.filters = filtered.columns
        found.rejected_by = np.where(filtered.first == NOWHERE, np.int32(FEASIBLE), filtered.first)
        all_asked = self.algorithm.always_check_all
        errors = _errors(filtered, snapshot.listed, every=all_asked or not as_run)
        if errors and as_run:
            raise CycleError(_aggregate(errors))
        found.error = list(errors)[-1] if errors else ""
        found.unasked = self.extenders.unasked(pod, "filter", "prioritize")
        found.feasible = filtered.feasible
        if not found.error:
            refusals = {} if found.unasked else self._explain_extenders(found, cycle)
            if found.feasible.size:
                self._explain_scores(found, cycle)
                if as_run:
                    found.chosen = int(self._in_turn(np.array(found.best, dtype=np.intp))[0])
            else:
                found.message = self._fit_error(filtered, snapshot.listed, refusals, every=all_asked and as_run)
        return found

    def _explain_extenders(self, found: ClassicExplanation, cycle: Cycle) -> dict[str, str]:
        """Call the extenders' filters and reject nodes accordingly; returns their messages by node."""
        asked = found.feasible
        passed = self.extenders.filter(cycle, asked)
        if len(passed.rows) < len(asked):
            found.filters = [*found.filters, passed.column(found.nodes, asked)]
            found.rejected_by[np.setdiff1d(asked, passed.rows)] = len(found.filters) - 1
            found.feasible = np.unique(passed.rows)
        return {name: status.message for name, status in passed.statuses.items()}

    def _explain_scores(self, found: ClassicExplanation, cycle: Cycle) -> None:
        found.scores = self._scores(cycle, found.feasible)
        found.total = sum((one.weighted for one in found.scores), np.zeros(len(found.feasible), dtype=np.int64))
        if not found.scores and not self.extenders:
            found.total = found.total + 1
        if self.extenders and not found.unasked:
            found.total = found.total + self.extenders.prioritize(cycle, Passed(found.feasible))[0]
        found.best = found.feasible[found.total == found.total.max()].tolist()
        found.chosen = next(node for node in found.listed.tolist() if node in found.best)

    def _scores(self, cycle: Cycle, rows: NDArray[np.intp]) -> list[ScoreColumn]:
        """The mapped and reduced scores of the priorities by name; a skipped priority gives 0."""
        skipped = self._framework.pre_score(cycle, rows)
        zeros: Ints = np.zeros(len(rows), dtype=np.int64)
        return [
            ScoreColumn(one.name, self.algorithm.weights[one.name], zeros, zeros)
            if one.name in skipped
            else self._framework.ask_score(one, cycle, rows)
            for one in self._framework.points.score
        ]

    def schedule(self, pods: Iterable[Pod]) -> list[Placement]:
        """Place pods one by one; each sees those before it."""
        placements = []
        for pod in map(as_of_then, pods):
            placements.append(self.find(pod))
            if placements[-1].node:
                self.bind(pod, placements[-1].node)
        return placements

    def bind(self, pod: Pod, node: str) -> None:
        """Put ``pod`` on ``node`` in the snapshot."""
        self.snapshot.place_pod(as_of_then(pod), node)

    def find(self, pod: Pod) -> Placement:
        """Run the cycle for ``pod`` without binding it. A failure is the message of the placement."""
        pod = as_of_then(pod)
        try:
            self._check(pod)
            return self._find(pod)
        except CycleError as error:
            return Placement(pod.key, message=str(error))

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

    def _find(self, pod: Pod) -> Placement:
        plan = self._plans.get(self._framework, pod)
        cycle = plan.cycle(pod)
        filtered = plan.filter(cycle, plan.pre_filter(cycle))
        walk = self._walk(filtered)
        if errors := _errors(filtered, walk.visited, every=self.algorithm.always_check_all):
            raise CycleError(_aggregate(errors))
        refusals: dict[str, str] = {}
        rows = walk.feasible
        if self.extenders and rows.size:
            passed = self.extenders.filter(cycle, rows)
            rows, refusals = passed.rows, {name: status.message for name, status in passed.statuses.items()}
        evaluated = len(walk.visited)
        if not rows.size:
            said = self._fit_error(filtered, walk.visited, refusals, every=self.algorithm.always_check_all)
            return Placement(pod.key, evaluated=evaluated, message=said, rejected_by=_blamed(filtered))
        best = int(rows[0]) if len(rows) == 1 else self._best(plan, cycle, rows)
        return Placement(pod.key, self.snapshot.names[best], evaluated, len(rows))

    def _walk(self, filtered: Filtered) -> Walk:
        """Visit nodes from where the last walk ended, until one more than the wanted number passes."""
        size = len(self.snapshot)
        wanted, order = self._wanted(size), np.arange(size, dtype=np.intp)
        feasible = filtered.feasible
        if wanted >= size and not self.start:
            return Walk(order, feasible)
        order = np.roll(order, -self.start)
        in_order = order[filtered.first[order] == NOWHERE]
        if len(in_order) <= wanted:
            return Walk(order, in_order)
        visited = int((in_order[wanted] - self.start) % size) + 1
        self.start = (self.start + visited) % size
        return Walk(order[:visited], in_order[:wanted])

    def _wanted(self, size: int) -> int:
        percentage = self.algorithm.edition.percentage
        if size < MIN_FEASIBLE or not 0 < percentage < EVERYTHING:
            return size
        return max(MIN_FEASIBLE, size * percentage // EVERYTHING)

    def _best(self, plan: Plan | Unplanned, cycle: Cycle, rows: NDArray[np.intp]) -> int:
        straight = self._wanted(len(self.snapshot)) == len(self.snapshot) and not self.extenders
        ascending = rows if straight and not self.start else np.unique(rows)
        totals = plan.totals(cycle, ascending).totals
        if ascending is not rows:
            totals = totals[np.searchsorted(ascending, rows)]
        if self.extenders:
            totals = totals + self.extenders.prioritize(cycle, Passed(rows))[0]
        best = self._in_turn(rows[totals == totals.max()])
        self.turn += 1
        return int(best[(self.turn - 1) % len(best)])

    def _in_turn(self, best: NDArray[np.intp]) -> NDArray[np.intp]:
        """The best nodes in the order in which they are taken; 1.9 sorted them by name in reverse."""
        if not self.algorithm.edition.old:
            return best
        return np.array(sorted(best.tolist(), key=lambda row: self.snapshot.names[row], reverse=True), dtype=np.intp)

    def _fit_error(
        self, filtered: Filtered, visited: NDArray[np.intp], refusals: dict[str, str], *, every: bool
    ) -> str:
        """The FitError message: reasons of the first predicate that rejects each node, or of ``every`` one."""
        counts = Counter(refusals.values())
        for position, column in enumerate(filtered.columns):
            if len(column.verdicts) == 1:
                continue
            meant = visited if every else visited[filtered.first[visited] == position]
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


def _blamed(filtered: Filtered) -> frozenset[str]:
    """The predicates that rejected a node first."""
    positions = np.unique(filtered.first[filtered.first != NOWHERE]).tolist()
    return frozenset(filtered.columns[position].plugin for position in positions)
