"""The decision page's contents: an explanation arranged for a person. Plain data, nothing of HTTP or HTML."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from kschedweb.dashboard.units import amount
from kschedweb.engine.framework.explanation import EXCLUDED, FEASIBLE
from kschedweb.engine.framework.status import OUTSIDE
from kschedweb.playground import words
from kschedweb.playground.parts import Answer, Cell, Miss, Row, Stage, Verdict

if TYPE_CHECKING:
    from kschedweb.engine import Explanation, Pod
    from kschedweb.playground.services import Case

# The longest matrix on one page, and how long its pages are where it is longer.
ONE_PAGE, PAGE_SIZE = 200, 100
UNKNOWN = "The scheduler's answer hangs on what is not simulated here, so none is given."
BEST, PRE_FILTER = "feasible", "prefilter"


class Decision:
    """A case, and what a page shows of it."""

    def __init__(self, case: Case, other: Case | None = None) -> None:
        self.case = case
        self.explanation: Explanation = case.explanation
        self.other = other.explanation if other else None
        self.ranks = _ranks(self.explanation)
        totals = self.explanation.total
        # Best first; nodes with equal totals stay in the scheduler's order.
        self.order = np.argsort(-totals, kind="stable") if totals.size else np.zeros(0, dtype=np.intp)

    @property
    def ceiling(self) -> int:
        """The highest total that the weights allow."""
        return sum(100 * column.weight for column in self.explanation.scores)

    @property
    def waiting(self) -> bool:
        """Whether PreEnqueue keeps the pod from being scheduled at all."""
        return not self.explanation.pre_enqueue.ok

    def stages(self) -> list[Stage]:
        """The funnel from all nodes to the chosen one; filters that lost nothing are left to ``quiet``."""
        found, total = self.explanation, len(self.explanation.nodes)
        stages, left = [Stage("", "All nodes", total, 0, total, kind="all")], total
        excluded = int(np.count_nonzero(found.rejected_by == EXCLUDED))
        if excluded:
            left -= excluded
            reason = found.pre_filter.message if found.pre_filter else "not among the nodes that PreFilter named"
            stages.append(Stage(PRE_FILTER, "PreFilter", left, excluded, total, reason))
        for position, column in enumerate(found.filters):
            here = found.rejected_by == position
            lost = int(np.count_nonzero(here))
            if lost:
                left -= lost
                stages.append(Stage(column.plugin, column.plugin, left, lost, total, self._reasons(position, here)))
        stages.append(Stage(BEST, "Feasible", left, 0, total, kind="feasible"))
        if left:
            best = len(found.best)
            top = int(found.total.max())
            note = f"total {top}" if best == 1 else f"{best} nodes share total {top}"
            stages.append(Stage("best", "Best score", best, left - best, total, note, kind="chosen"))
        return stages

    def quiet(self) -> dict[str, list[str]]:
        """The filters that rejected nothing: those that ran, and those that had nothing to check."""
        lossy = set(np.unique(self.explanation.rejected_by).tolist())
        quiet = [column for position, column in enumerate(self.explanation.filters) if position not in lossy]
        return {
            "passed": [column.plugin for column in quiet if not column.skipped],
            "skipped": [column.plugin for column in quiet if column.skipped],
            "missing": self.missing(),
        }

    def missing(self) -> list[str]:
        """What would have a say but was not asked, so that the answer leaves it out."""
        return filters_missing(self.case)

    def _reasons(self, position: int, here: np.ndarray) -> str:
        column, counts = self.explanation.filters[position], Counter[str]()
        for code, number in zip(*np.unique(column.codes[here], return_counts=True), strict=True):
            for reason in column.verdicts[int(code)].reasons:
                counts[reason] += int(number)
        return ", ".join(f"{number} {reason}" for reason, number in counts.most_common(4))

    def positions(self, stage: str) -> list[int]:
        """The nodes of a stage ("" for all): feasible ones best first, then rejected ones by filter and reason."""
        found = self.explanation
        feasible = [int(node) for node in found.feasible[self.order]]
        if stage == BEST:
            return feasible
        if stage == "best":
            return list(found.best)
        rejected = [int(node) for node in np.flatnonzero(found.rejected_by != FEASIBLE)]
        rejected.sort(key=self._group)
        if not stage:
            return feasible + rejected
        if stage == PRE_FILTER:
            return [node for node in rejected if found.rejected_by[node] == EXCLUDED]
        names = [column.plugin for column in found.filters]
        wanted = names.index(stage) if stage in names else -9
        return [node for node in rejected if found.rejected_by[node] == wanted]

    def _group(self, node: int) -> tuple[int, tuple[str, ...], int]:
        verdict = self.explanation.verdict_at(node)
        # A node that passed more filters is nearer to fitting, so it comes first.
        return -int(self.explanation.rejected_by[node]), verdict.reasons if verdict else (), node

    def rows(self, positions: list[int]) -> list[Row]:
        """The matrix rows of these nodes, in this order."""
        found = self.explanation
        at = {int(node): index for index, node in enumerate(found.feasible)}
        top = int(found.total.max()) if found.total.size else 0
        others = self._other_totals()
        rows = []
        for node in positions:
            name = found.nodes[node]
            if node not in at:
                rows.append(
                    Row(name, status=found.verdict_at(node), reading=self.reading(node), other=others.get(name))
                )
                continue
            index = at[node]
            total, other = int(found.total[index]), others.get(name)
            cells = tuple(
                _cell(column.plugin, int(column.raw[index]), int(column.normalized[index]), column.weight)
                for column in found.scores
            )
            difference = None if other is None else other - total
            rows.append(
                Row(
                    name,
                    self.ranks[index],
                    total,
                    total - top,
                    node == found.chosen,
                    cells,
                    None,
                    None,
                    other,
                    difference,
                )
            )
        return rows

    def _other_totals(self) -> dict[str, int]:
        if self.other is None:
            return {}
        return {
            self.other.nodes[node]: int(total)
            for node, total in zip(self.other.feasible.tolist(), self.other.total.tolist(), strict=True)
        }

    def reading(self, node: int) -> words.Reading | None:
        """The plain reading of the decisive verdict on a node, ``None`` where it is feasible."""
        status = self.explanation.verdict_at(node)
        if self.explanation.rejected_by[node] == EXCLUDED:
            why = status.message if status else "PreFilter named other nodes"
            return words.Reading(f"{self.explanation.nodes[node]} was not looked at: {why}")
        if status is None:
            return None
        return words.reading(self.case.snapshot, self.case.pod, node, status)

    def verdicts(self, node: int) -> list[Verdict]:
        """Every filter's word on a node, in the scheduler's order."""
        found = self.explanation
        verdicts = []
        if found.rejected_by[node] == EXCLUDED:
            verdicts.append(Verdict("PreFilter", "fail", found.verdict_at(node), True, self.reading(node)))
        for position, column in enumerate(found.filters):
            code = int(column.codes[node])
            if column.skipped or code == 0:
                verdicts.append(Verdict(column.plugin, "skip" if column.skipped else "pass"))
                continue
            status = column.verdicts[code]
            reading = words.reading(self.case.snapshot, self.case.pod, node, status)
            verdicts.append(Verdict(column.plugin, "fail", status, found.rejected_by[node] == position, reading))
        return verdicts

    def nearest_miss(self) -> Miss | None:
        """The rejected node with the fewest filters against it and, among those, the least missing."""
        found = self.explanation
        if not found.filters:
            return None
        against = sum((column.codes != 0).astype(np.int32) for column in found.filters)
        candidates = np.flatnonzero(found.rejected_by >= 0)
        if not candidates.size:
            return None
        fewest = candidates[against[candidates] == against[candidates].min()]
        node = min((int(item) for item in fewest), key=self._distance)
        status = found.verdict_at(node)
        assert status is not None
        reading = words.reading(self.case.snapshot, self.case.pod, node, status)
        lacking = words.shortages(self.case.snapshot, self.case.pod, node)
        name = found.nodes[node]
        if status.plugin == "NodeResourcesFit" and lacking and len(lacking) == len(status.reasons):
            return Miss(name, reading, f"{name} lacks only {' and '.join(map(str, lacking))}")
        text = reading.text if name in reading.text else f"{name}: {reading.text}"
        return Miss(name, reading, text)

    def _distance(self, node: int) -> tuple[int, int, float]:
        status = self.explanation.verdict_at(node)
        assert status is not None
        lacking = words.shortages(self.case.snapshot, self.case.pod, node)
        return words.unresolvable(status), len(status.reasons), sum(item.missing / item.asked for item in lacking)

    def answer(self) -> Answer:
        """What became of the pod, in one sentence, with what else belongs beside it."""
        name = self.case.pod.name
        if self.waiting:
            return self._held(name)
        if (unknown := self.explanation.unsimulated()) is not None:
            why = unknown.message.removeprefix(OUTSIDE)
            return Answer(f"{name} cannot be judged: {why}", "amber", [UNKNOWN], unknown.message)
        if self.explanation.chosen is None:
            return self._unschedulable(name)
        return self._scheduled(name)

    def _held(self, name: str) -> Answer:
        status = self.explanation.pre_enqueue
        if status.plugin == "SchedulingGates":
            details = f"A gated pod is not scheduled until its gates are removed. {self._without_gates()}"
            return Answer(f"{name} is gated: {status.message}", "amber", [details], status.message)
        details = f"{status.plugin} keeps it out of the queue until that has changed."
        return Answer(f"{name} is not tried: {status.message}", "amber", [details], status.message)

    def _without_gates(self) -> str:
        chosen = self.explanation.chosen
        if chosen is None:
            return "Without them it would fit nowhere."
        return f"Without them it would go to {self.explanation.nodes[chosen]}, as shown below."

    def _unschedulable(self, name: str) -> Answer:
        found, pod = self.explanation, self.case.pod
        reasons, total = histogram(found), len(found.nodes)
        bound = f" It runs on {self.case.bound_to} now, but would not be placed again." if self.case.bound_to else ""
        verb = "would not fit" if self.case.bound_to else "is pending"
        details = [bound.strip()] if bound else []
        if found.pre_filter is not None:
            return Answer(f"{name} {verb}: {found.pre_filter.message}", "red", details, found.message)
        if not reasons and found.pre_filter_nodes is not None:
            named = ", ".join(found.pre_filter_nodes[:3])
            title = f"{name} {verb}: it may only run on {named}, and the cluster has no such node"
            return Answer(title, "red", details, found.message)
        if not reasons:
            return Answer(f"{name} {verb}: {found.message or 'there are no nodes'}", "red", details, found.message)
        if len(reasons) == 1:
            title = f"{name} {verb}: {_none(pod, reasons[0][0])}"
        else:
            listed = [f"{number} {_counted(pod, reason, number)}" for reason, number in reasons[:3]]
            left = len(reasons) - 3
            more = "" if left < 1 else "; and one more reason" if left == 1 else f"; and {left} more reasons"
            title = f"{name} {verb}: of {total} nodes, {'; '.join(listed)}{more}"
        return Answer(title, "red", details, found.message)

    def _scheduled(self, name: str) -> Answer:
        found = self.explanation
        assert found.chosen is not None
        node, top = found.nodes[found.chosen], int(found.total.max())
        details = []
        if self.case.bound_to:
            where = "the same node" if self.case.bound_to == node else f"{node}, not {self.case.bound_to}"
            details.append(
                f"It is bound to {self.case.bound_to}; this explains it as if it were not bound yet, "
                f"in the cluster as it is now, and the choice would be {where}."
            )
        if len(found.feasible) == 1:
            return Answer(f"{name} goes to {node}, the only node that can run it", "blue", details)
        if len(found.best) > 1:
            others = "1 other node" if len(found.best) == 2 else f"{len(found.best) - 1} other nodes"
            details.append(
                "kube-scheduler takes one of the nodes with the highest total; the first in its order is shown."
            )
            title = f"{name} goes to {node}: {top} of {self.ceiling}, shared with {others}"
            return Answer(title, "blue", details)
        second = int(self.order[1])
        margin = top - int(found.total[second])
        behind = found.nodes[int(found.feasible[second])]
        decided = self._decided(int(self.order[0]), second)
        return Answer(
            f"{name} goes to {node}: {top} of {self.ceiling}, {margin} ahead of {behind}; {decided} decided",
            "blue",
            details,
        )

    def _decided(self, first: int, second: int) -> str:
        """The plugin that gave the best node most of its lead."""
        column = max(self.explanation.scores, key=lambda item: int(item.weighted[first] - item.weighted[second]))
        return column.plugin


def page_size(rows: int) -> int:
    """How many rows of a matrix with ``rows`` of them one page shows."""
    return ONE_PAGE if rows <= ONE_PAGE else PAGE_SIZE


def histogram(explanation: Explanation) -> list[tuple[str, int]]:
    """Every reason of the decisive verdicts with its number of nodes, most frequent first."""
    counts: Counter[str] = Counter()
    for position, column in enumerate(explanation.filters):
        here = explanation.rejected_by == position
        for code, number in zip(*np.unique(column.codes[here], return_counts=True), strict=True):
            for reason in column.verdicts[int(code)].reasons:
                counts[reason] += int(number)
    return counts.most_common()


def filters_missing(case: Case) -> list[str]:
    """The profile's filters, and the extenders, that were not evaluated: pages ask no other server."""
    profiles = case.scheduler.configuration.profiles
    profile = next(item for item in profiles if item.scheduler_name == case.pod.scheduler_name)
    known = {plugin.name for plugin in case.scheduler.framework(case.pod).plugins("filter")}
    missing = [ref.name for ref in profile.points.get("filter", ()) if ref.name not in known]
    return missing + [f"extender {url}" for url in case.explanation.unasked]


def last_reasons(explanation: Explanation) -> tuple[str, ...]:
    """The reasons of the last filter that rejected a node: the one that took the nodes the others had left."""
    if explanation.pre_filter is not None:
        return explanation.pre_filter.reasons
    last = int(explanation.rejected_by.max(initial=FEASIBLE))
    if last < 0:
        # PreFilter named nodes, none of which exists; the message is "0/N nodes are available: N reason.".
        _, _, listed = explanation.message.partition(": ")
        return (listed.partition(" ")[2].removesuffix("."),) if listed else ()
    column = explanation.filters[last]
    codes = np.unique(column.codes[explanation.rejected_by == last])
    return tuple(dict.fromkeys(reason for code in codes for reason in column.verdicts[int(code)].reasons))


def _cell(plugin: str, raw: int, normalized: int, weight: int) -> Cell:
    return Cell(plugin, raw, normalized, weight, normalized * weight, min(6, normalized * 7 // 101))


def _ranks(explanation: Explanation) -> list[int]:
    """1 for the best; equal totals share a rank."""
    totals = np.sort(-explanation.total)
    ranks: list[int] = (np.searchsorted(totals, -explanation.total, side="left") + 1).tolist()
    return ranks


def _none(pod: Pod, reason: str) -> str:
    """The sentence where one reason keeps the pod from every node."""
    if reason.startswith(words.INSUFFICIENT):
        resource = reason.removeprefix(words.INSUFFICIENT)
        what = "" if resource == "cpu" else f" {resource}"
        return f"no node has {amount(pod.requests.get(resource, 0), resource)}{what} free"
    return f"every node {words.summary(pod, reason)}"


def _counted(pod: Pod, reason: str, number: int) -> str:
    text = words.summary(pod, reason)
    if number == 1:
        return text
    verb, _, rest = text.partition(" ")
    plural = {"has": "have", "is": "are", "does": "do", "lacks": "lack", "would": "would"}.get(verb, verb)
    return f"{plural} {rest}"
