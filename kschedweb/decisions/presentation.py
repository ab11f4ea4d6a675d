"""The contents of the decision page as plain data, without HTTP and HTML."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
from django.utils.translation import gettext, gettext_noop

from kschedweb.decisions import words
from kschedweb.decisions.matrix.matrix import Matrix
from kschedweb.decisions.page_parts import Arithmetic, Headline, NearestMiss
from kschedweb.decisions.titles import FITS, STUCK, PlacementState
from kschedweb.engine.framework.explanation import FEASIBLE
from kschedweb.engine.framework.status import Code
from kschedweb.engine.json_types import Json
from kschedweb.engine.plugins.humanapproval import describe_request as waiting
from kschedweb.web.units import format_amount
from kschedweb.web.units import format_count as counted_nodes

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kschedweb.decisions.case import AnyCase
    from kschedweb.decisions.devices.tables import DevicesOnNode
    from kschedweb.engine import Explanation, Status
    from kschedweb.engine.releases.classic import Algorithm
    from kschedweb.engine.studies.fixes.shortages import ResourceShortage

UNKNOWN = gettext_noop("The answer depends on something that is not simulated here, so none is given.")
UNSCORED = gettext_noop("Nothing scores nodes under this policy, so every node scores 1.")
TIED = gettext_noop("Tie: kube-scheduler picks one of the nodes with the highest total at random.")


class Presentation(Matrix, ABC):
    """The contents of a case's page; subclasses have the words of their kind of policy."""

    case: AnyCase
    # A classic policy's predicates and priorities have pages of their own, to which names link.
    algorithm: Algorithm | None = None
    # The filters that check resources.
    fits = frozenset({"NodeResourcesFit"})
    # The sentence about several nodes with the highest total.
    tied = TIED

    def __init__(self, case: AnyCase, other: AnyCase | None = None) -> None:
        super().__init__(case.explanation, other.explanation if other else None)
        self.case = case

    @abstractmethod
    def compute_arithmetic(self, node: int, plugin: str) -> Arithmetic:
        """Return the arithmetic of ``plugin``'s score on the node at position ``node``."""

    @abstractmethod
    def explain_verdict(self, node: int, status: Status) -> words.VerdictReading: ...

    @abstractmethod
    def list_shortages(self, node: int) -> list[ResourceShortage]:
        """Return the resources that a node lacks, worst first."""

    @abstractmethod
    def summarize_reason(self, reason: words.RejectionReason) -> str:
        """Return the words for ``reason`` after a count of nodes."""

    def devices_on_node(self, node: int) -> DevicesOnNode | None:
        """Return the devices of the node at a position for the pod's claims, None if it claims none."""
        return None

    def list_notes(self) -> list[str]:
        """Return further notes on the answer."""
        return []

    @property
    def is_waiting(self) -> bool:
        """True if PreEnqueue keeps the pod from being scheduled at all."""
        return not self.explanation.pre_enqueue.ok

    def nearest_miss(self, limit: int | None = None) -> NearestMiss | None:
        """Return the rejected node with the fewest filters against it.

        Of several such nodes, at most ``limit`` of them (None: all), it is the one with the smallest shortage.
        """
        explanation = self.explanation
        if not explanation.filters:
            return None
        # Filters after the rejecting one ran too ("thorough"), so they can be counted for every node.
        against = sum((column.codes != 0).astype(np.int32) for column in explanation.filters)
        candidates = np.flatnonzero(explanation.rejected_by >= 0)
        if not candidates.size:
            return None
        fewest = candidates[against[candidates] == against[candidates].min()]
        node = min((int(item) for item in fewest[:limit]), key=self._distance_to_fit)
        status = explanation.verdict_at(node)
        assert status is not None
        reading, lacking, name = self.explain_verdict(node, status), self.list_shortages(node), explanation.nodes[node]
        if status.plugin in self.fits and lacking and len(lacking) == len(status.reasons):
            return NearestMiss(
                name,
                reading,
                gettext("%(name)s lacks only %(listed)s")
                % {"name": name, "listed": words.join_with_and([str(shortage) for shortage in lacking])},
            )
        text = reading.text if name in reading.text else f"{name}: {reading.text}"
        return NearestMiss(name, reading, text)

    def _distance_to_fit(self, node: int) -> tuple[int, int, float]:
        status = self.explanation.verdict_at(node)
        assert status is not None
        lacking = sum(item.missing / max(item.requested, 1) for item in self.list_shortages(node))
        return status.code is Code.UNRESOLVABLE, len(status.reasons), lacking

    def build_headline(self) -> Headline:
        """Return the headline: one sentence about the result, with details."""
        name = self.case.pod.name
        if self.is_waiting:
            return self._held_headline(name)
        if (unknown := self.explanation.find_unsimulated()) is not None:
            return Headline(
                gettext("%(name)s cannot be judged: %(about)s") % {"name": name, "about": unknown.facts[0]},
                "amber",
                [gettext(UNKNOWN)],
                unknown.message,
            )
        if self.explanation.chosen is None:
            return self._unschedulable_headline(name)
        return self._scheduled_headline(name)

    def _held_headline(self, name: str) -> Headline:
        status = self.explanation.pre_enqueue
        if status.plugin == "SchedulingGates":
            details = gettext("A gated pod is not scheduled until its gates are removed. %(without_gates)s") % {
                "without_gates": self._without_gates()
            }
            return Headline(
                gettext("%(name)s is gated: %(message)s") % {"name": name, "message": status.message},
                "amber",
                [details],
                status.message,
            )
        details = gettext("%(plugin)s keeps it out of the queue until that changes.") % {"plugin": status.plugin}
        return Headline(
            gettext("%(name)s is not tried: %(message)s") % {"name": name, "message": status.message},
            "amber",
            [details],
            status.message,
        )

    def _without_gates(self) -> str:
        chosen = self.explanation.chosen
        if chosen is None:
            return gettext("Without them, it would fit nowhere.")
        return gettext("Without them, it would go to %(nodes)s, as shown below.") % {
            "nodes": self.explanation.nodes[chosen]
        }

    @property
    def placement_state(self) -> PlacementState:
        """Return where the pod is, in relation to where it would go."""
        if not self.case.bound_to:
            return PlacementState.ATTEMPTED if self.case.from_run else PlacementState.PENDING
        return (
            PlacementState.ON_CHOSEN_NODE
            if self.case.bound_to == self.explanation.node
            else PlacementState.ON_OTHER_NODE
        )

    def _unschedulable_headline(self, name: str) -> Headline:
        title = STUCK[self.placement_state].format(pod=name, bound=self.case.bound_to, why=self._explain_infeasible())
        return Headline(title, "red", [*self._as_if_unbound(), *self.list_notes()], self.explanation.message)

    def _explain_infeasible(self) -> str:
        """Return why no node is feasible."""
        explanation, reasons = self.explanation, self.count_reasons()
        if explanation.pre_filter is not None:
            return explanation.pre_filter.message
        if not reasons and explanation.pre_filter_nodes is not None:
            return gettext("it may only run on %(listed)s, and the cluster has no such node") % {
                "listed": ", ".join(explanation.pre_filter_nodes[:3])
            }
        if not reasons:
            return explanation.message or gettext("there are no nodes")
        if len(reasons) == 1:
            return self._reason_for_all_nodes(reasons[0][0])
        # A title has room for one: the others are in the table of reasons.
        reason, number = reasons[0]
        return gettext("%(number)s of %(nodes)s nodes %(what)s") % {
            "number": f"{number:,}",
            "nodes": f"{len(explanation.nodes):,}",
            "what": self._phrase_for_count(reason, number),
        }

    def _as_if_unbound(self) -> list[str]:
        if not self.case.bound_to:
            return []
        return [
            gettext("Explained as if it were not on %(bound_to)s yet, in the cluster as the snapshot has it.")
            % {"bound_to": self.case.bound_to}
        ]

    def _scheduled_headline(self, name: str) -> Headline:
        explanation, says = self.explanation, FITS[self.placement_state]
        top = int(explanation.total.max())
        details = self._as_if_unbound()
        details += [
            describe_approval(approval) for approval in explanation.approval_requests.values()
        ] + self.list_notes()
        if explanation.is_unscored:
            details.append(gettext(UNSCORED))
        parameters: dict[str, object] = {"pod": name, "bound": self.case.bound_to, "node": explanation.node}
        parameters |= {"total": f"{top:,}", "maximum": f"{self.ceiling:,}"}
        if len(explanation.feasible) == 1:
            return Headline(says.only.format(**parameters), "blue", details)
        if len(explanation.best) > 1:
            details.append(gettext(self.tied))
            other_nodes = counted_nodes(len(explanation.best) - 1, "other nodes")
            return Headline(says.shared.format(**parameters, others=other_nodes), "blue", details)
        first, second = self.order[:2].tolist()
        margin = top - int(explanation.total[second])
        parameters |= {"margin": f"{margin:,}", "second": explanation.nodes[int(explanation.feasible[second])]}
        return Headline(says.ahead.format(**parameters, plugin=self.decided_by(first, second)), "blue", details)

    def count_reasons(self) -> list[tuple[words.RejectionReason, int]]:
        """Return the reasons of rejections, with the number of nodes for each."""
        return count_decisive_reasons(self.explanation)

    def in_group(self, key: str, node: int, count: int) -> str:
        status = self.explanation.verdict_at(node)
        assert status is not None
        texts = [
            self._phrase_for_count(words.RejectionReason(status.plugin, *reason_parts), count)
            for reason_parts in status.detailed_reasons
        ]
        return gettext("; ").join(dict.fromkeys(texts))

    def _reason_for_all_nodes(self, reason: words.RejectionReason) -> str:
        """Return the sentence for a reason that keeps the pod from every node."""
        if reason.plugin in self.fits and (requested := self.case.pod.requests.get(reason.fact, 0)):
            return gettext("no node has %(asked)s%(of)s free") % {
                "asked": format_amount(requested, reason.fact),
                "of": words.resource_suffix(reason.fact),
            }
        return gettext("every node %(summary)s") % {"summary": self.summarize_reason(reason)}

    def _phrase_for_count(self, reason: words.RejectionReason, number: int) -> str:
        text = self.summarize_reason(reason)
        if number == 1:
            return text
        verb, space, tail = text.partition(" ")
        # The plural of English verbs; translations have one form.
        plural = {"has": "have", "is": "are", "does": "do", "lacks": "lack", "would": "would"}.get(verb, verb)
        return f"{plural}{space}{tail}"


def describe_approval(approval: Json) -> str:
    """Return a few sentences that say that the pod would wait for people, and why."""
    because = (
        gettext(", because %(listed)s") % {"listed": gettext("; ").join(approval["why"])} if approval["why"] else ""
    )
    after = gettext("bound anyway") if approval["onTimeout"] == "Allow" else gettext("rejected")
    text = gettext(
        "Before it is bound, it would be %(waiting)s%(because)s. Without an answer it would be %(after)s."
    ) % {"waiting": waiting(approval), "because": because, "after": after}
    return f"{text} {approval['reason']}" if approval["reason"] else text


def count_decisive_reasons(explanation: Explanation) -> list[tuple[words.RejectionReason, int]]:
    """Return every reason of the decisive verdicts with its number of nodes, the most frequent first."""
    listed: list[tuple[words.RejectionReason, int]] = []
    for position, column in enumerate(explanation.filters):
        mask = explanation.rejected_by == position
        for code, number in zip(*np.unique(column.codes[mask], return_counts=True), strict=True):
            reasons = column.verdicts[int(code)].detailed_reasons
            listed += [(words.RejectionReason(column.plugin, *reason), int(number)) for reason in reasons]
    return merge_reason_counts(listed)


def merge_reason_counts(listed: Iterable[tuple[words.RejectionReason, int]]) -> list[tuple[words.RejectionReason, int]]:
    """Return the number of nodes of each text, also if several plugins share it; the most frequent first."""
    first: dict[str, words.RejectionReason] = {}
    counts: Counter[str] = Counter()
    for reason, number in listed:
        first.setdefault(reason.text, reason)
        counts[reason.text] += number
    return [(first[text], number) for text, number in counts.most_common()]


def last_reasons(explanation: Explanation) -> tuple[str, ...]:
    """Return the reasons of the last filter that rejected a node, which left no feasible one."""
    if explanation.pre_filter is not None:
        return explanation.pre_filter.reasons
    last = int(explanation.rejected_by.max(initial=FEASIBLE))
    # PreFilter named only nodes that do not exist.
    if last < 0:
        return explanation.absent.reasons if explanation.absent is not None else ()
    column = explanation.filters[last]
    codes = np.unique(column.codes[explanation.rejected_by == last])
    return tuple(dict.fromkeys(reason for code in codes for reason in column.verdicts[int(code)].reasons))
