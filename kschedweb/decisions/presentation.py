"""The contents of the decision page as plain data, without HTTP and HTML."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from kschedweb.decisions import words
from kschedweb.decisions.matrix import Matrix
from kschedweb.decisions.parts import Arithmetic, Headline, Miss
from kschedweb.engine.framework.explanation import FEASIBLE
from kschedweb.engine.framework.status import Code
from kschedweb.engine.plugins.humanapproval import words as waiting
from kschedweb.web.units import amount

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kschedweb.decisions.case import AnyCase
    from kschedweb.decisions.devices.tables import DevicesOnNode
    from kschedweb.engine import Explanation, Status
    from kschedweb.engine.releases.classic import Algorithm

UNKNOWN = "The scheduler's answer hangs on what is not simulated here, so none is given."
TIED = "kube-scheduler takes one of the nodes with the highest total; the first in its order is shown."


class Presentation(Matrix, ABC):
    """What a page shows of a case; subclasses have the words of their kind of policy."""

    case: AnyCase
    algorithm: Algorithm | None = None  # its predicates and priorities have pages of their own
    fits = frozenset({"NodeResourcesFit"})  # the filters that check resources
    tied = TIED

    def __init__(self, case: AnyCase, other: AnyCase | None = None) -> None:
        super().__init__(case.explanation, other.explanation if other else None)
        self.case = case

    @abstractmethod
    def worked(self, node: int, plugin: str) -> Arithmetic:
        """The arithmetic of ``plugin``'s score on the node at position ``node``."""

    @abstractmethod
    def read(self, node: int, status: Status) -> words.Reading: ...

    @abstractmethod
    def shortages(self, node: int) -> list[words.Shortage]:
        """The resources that a node lacks, worst first."""

    @abstractmethod
    def summary(self, reason: words.RejectionReason) -> str:
        """The words for ``reason`` after a count of nodes."""

    def devices(self, node: int) -> DevicesOnNode | None:
        """The devices of the node at a position for the pod's claims; ``None`` where it claims none."""
        return None

    def notes(self) -> list[str]:
        """Further notes on the answer."""
        return []

    @property
    def waiting(self) -> bool:
        """Whether PreEnqueue keeps the pod from being scheduled at all."""
        return not self.explanation.pre_enqueue.ok

    def nearest_miss(self, most: int | None = None) -> Miss | None:
        """The rejected node with the fewest filters against it.

        Among the first ``most`` of several such nodes (``None``: all), it is the one with the smallest shortage.
        """
        found = self.explanation
        if not found.filters:
            return None
        against = sum((column.codes != 0).astype(np.int32) for column in found.filters)
        candidates = np.flatnonzero(found.rejected_by >= 0)
        if not candidates.size:
            return None
        fewest = candidates[against[candidates] == against[candidates].min()]
        node = min((int(item) for item in fewest[:most]), key=self._distance)
        status = found.verdict_at(node)
        assert status is not None
        reading, lacking, name = self.read(node, status), self.shortages(node), found.nodes[node]
        if status.plugin in self.fits and lacking and len(lacking) == len(status.reasons):
            return Miss(name, reading, f"{name} lacks only {' and '.join(map(str, lacking))}")
        text = reading.text if name in reading.text else f"{name}: {reading.text}"
        return Miss(name, reading, text)

    def _distance(self, node: int) -> tuple[int, int, float]:
        status = self.explanation.verdict_at(node)
        assert status is not None
        lacking = sum(item.missing / max(item.asked, 1) for item in self.shortages(node))
        return status.code is Code.UNRESOLVABLE, len(status.reasons), lacking

    def answer(self) -> Headline:
        """The headline: one sentence about the result, with details."""
        name = self.case.pod.name
        if self.waiting:
            return self._held(name)
        if (unknown := self.explanation.unsimulated()) is not None:
            return Headline(f"{name} cannot be judged: {unknown.about[0]}", "amber", [UNKNOWN], unknown.message)
        if self.explanation.chosen is None:
            return self._unschedulable(name)
        return self._scheduled(name)

    def _held(self, name: str) -> Headline:
        status = self.explanation.pre_enqueue
        if status.plugin == "SchedulingGates":
            details = f"A gated pod is not scheduled until its gates are removed. {self._without_gates()}"
            return Headline(f"{name} is gated: {status.message}", "amber", [details], status.message)
        details = f"{status.plugin} keeps it out of the queue until that has changed."
        return Headline(f"{name} is not tried: {status.message}", "amber", [details], status.message)

    def _without_gates(self) -> str:
        chosen = self.explanation.chosen
        if chosen is None:
            return "Without them it would fit nowhere."
        return f"Without them it would go to {self.explanation.nodes[chosen]}, as shown below."

    def _unschedulable(self, name: str) -> Headline:
        found = self.explanation
        reasons, total = self.reasons(), len(found.nodes)
        bound = f" It runs on {self.case.bound_to} now, but would not be placed again." if self.case.bound_to else ""
        verb = "would not fit" if self.case.bound_to else "is pending"
        details = [bound.strip()] if bound else []
        details += self.notes()
        if found.pre_filter is not None:
            return Headline(f"{name} {verb}: {found.pre_filter.message}", "red", details, found.message)
        if not reasons and found.pre_filter_nodes is not None:
            named = ", ".join(found.pre_filter_nodes[:3])
            title = f"{name} {verb}: it may only run on {named}, and the cluster has no such node"
            return Headline(title, "red", details, found.message)
        if not reasons:
            return Headline(f"{name} {verb}: {found.message or 'there are no nodes'}", "red", details, found.message)
        if len(reasons) == 1:
            title = f"{name} {verb}: {self._none(reasons[0][0])}"
        else:
            listed = [f"{number} {self._counted(reason, number)}" for reason, number in reasons[:3]]
            left = len(reasons) - 3
            more = "" if left < 1 else "; and one more reason" if left == 1 else f"; and {left} more reasons"
            title = f"{name} {verb}: of {total} nodes, {'; '.join(listed)}{more}"
        return Headline(title, "red", details, found.message)

    def _scheduled(self, name: str) -> Headline:
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
        details += [held(asked) for asked in found.asks.values()] + self.notes()
        if len(found.feasible) == 1:
            return Headline(f"{name} goes to {node}, the only node that can run it", "blue", details)
        if len(found.best) > 1:
            others = "1 other node" if len(found.best) == 2 else f"{len(found.best) - 1} other nodes"
            details.append(self.tied)
            title = f"{name} goes to {node}: {top} of {self.ceiling}, shared with {others}"
            return Headline(title, "blue", details)
        second = int(self.order[1])
        margin = top - int(found.total[second])
        behind = found.nodes[int(found.feasible[second])]
        decided = self.decided_by(int(self.order[0]), second)
        return Headline(
            f"{name} goes to {node}: {top} of {self.ceiling}, {margin} ahead of {behind}; {decided} decided",
            "blue",
            details,
        )

    def reasons(self) -> list[tuple[words.RejectionReason, int]]:
        """Why nodes were rejected, with the number of nodes for each reason."""
        return histogram(self.explanation)

    def _none(self, reason: words.RejectionReason) -> str:
        """The sentence for a reason that keeps the pod from every node."""
        if reason.plugin in self.fits and (asked := self.case.pod.requests.get(reason.about, 0)):
            return f"no node has {amount(asked, reason.about)}{words.of(reason.about)} free"
        return f"every node {self.summary(reason)}"

    def _counted(self, reason: words.RejectionReason, number: int) -> str:
        text = self.summary(reason)
        if number == 1:
            return text
        verb, _, rest = text.partition(" ")
        plural = {"has": "have", "is": "are", "does": "do", "lacks": "lack", "would": "would"}.get(verb, verb)
        return f"{plural} {rest}"


def held(asked: dict[str, Any]) -> str:
    """A few sentences that say that the pod would wait for people, and why."""
    because = f", because {'; '.join(asked['why'])}" if asked["why"] else ""
    after = "bound all the same" if asked["onTimeout"] == "Allow" else "rejected"
    text = f"Before it is bound it would be {waiting(asked)}{because}. Without an answer it is then {after}."
    return f"{text} {asked['reason']}" if asked["reason"] else text


def histogram(explanation: Explanation) -> list[tuple[words.RejectionReason, int]]:
    """Every reason of the decisive verdicts with its number of nodes, most frequent first."""
    listed: list[tuple[words.RejectionReason, int]] = []
    for position, column in enumerate(explanation.filters):
        here = explanation.rejected_by == position
        for code, number in zip(*np.unique(column.codes[here], return_counts=True), strict=True):
            told = column.verdicts[int(code)].told
            listed += [(words.RejectionReason(column.plugin, *reason), int(number)) for reason in told]
    return counted(listed)


def counted(listed: Iterable[tuple[words.RejectionReason, int]]) -> list[tuple[words.RejectionReason, int]]:
    """The number of nodes of each text, also if several plugins share it; most frequent first."""
    first: dict[str, words.RejectionReason] = {}
    counts: Counter[str] = Counter()
    for reason, number in listed:
        first.setdefault(reason.text, reason)
        counts[reason.text] += number
    return [(first[text], number) for text, number in counts.most_common()]


def last_reasons(explanation: Explanation) -> tuple[str, ...]:
    """The reasons of the last filter that rejected a node, which left no feasible one."""
    if explanation.pre_filter is not None:
        return explanation.pre_filter.reasons
    last = int(explanation.rejected_by.max(initial=FEASIBLE))
    if last < 0:  # PreFilter named only nodes that do not exist
        return explanation.absent.reasons if explanation.absent is not None else ()
    column = explanation.filters[last]
    codes = np.unique(column.codes[explanation.rejected_by == last])
    return tuple(dict.fromkeys(reason for code in codes for reason in column.verdicts[int(code)].reasons))
