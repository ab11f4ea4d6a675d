"""The contents of the decision page under a classic policy: predicates and priorities, in their own messages."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from django.utils.translation import gettext

from kschedweb.decisions.classic import arithmetic, words
from kschedweb.decisions.presentation import Presentation, count_decisive_reasons, merge_reason_counts
from kschedweb.decisions.words import RejectionReason
from kschedweb.engine.cycle.node_search import MIN_FEASIBLE
from kschedweb.engine.framework.handle import BESIDE_NOMINATED
from kschedweb.engine.releases.classic.catalogue import ALL_NODES

if TYPE_CHECKING:
    from kschedweb.decisions.case import AnyCase, ClassicCase
    from kschedweb.decisions.page_parts import Arithmetic, FilterVerdict
    from kschedweb.decisions.words import VerdictReading
    from kschedweb.engine import Status
    from kschedweb.engine.studies.fixes.shortages import ResourceShortage

# The schedulerName of pods that name none.
TODAY = "default-scheduler"


class ClassicDecision(Presentation):
    """The presentation of a classic policy's decision."""

    case: ClassicCase
    fits = frozenset({"PodFitsResources", "GeneralPredicates"})

    def __init__(self, case: ClassicCase, other: AnyCase | None = None) -> None:
        super().__init__(case, other)
        self.algorithm = algorithm = case.scheduler.algorithm
        self.all_reasons = algorithm.always_check_all
        self.version = algorithm.edition.version
        self.tied = (
            gettext(
                "Tie: nodes with the highest total take turns from pod to pod. Shown is the last name, which is first "
                "after a start."
            )
            if algorithm.edition.old
            else gettext(
                "Tie: nodes with the highest total take turns from pod to pod. Shown is the one that is first after a "
                "start."
            )
        )

    def missing(self) -> list[str]:
        """Return the extenders, which pages do not call."""
        return [gettext("extender %(url)s") % {"url": url} for url in self.explanation.unasked]

    def compute_arithmetic(self, node: int, plugin: str) -> Arithmetic:
        return arithmetic.explain_priority_score(self, self.case, node, plugin)

    def explain_verdict(self, node: int, status: Status) -> VerdictReading:
        return words.explain_status(self.case, node, status)

    def list_shortages(self, node: int) -> list[ResourceShortage]:
        return words.find_shortages(self.case, node)

    def summarize_reason(self, reason: RejectionReason) -> str:
        return str(words.in_short(self.case, reason))

    def count_reasons(self) -> list[tuple[RejectionReason, int]]:
        """Count the reasons of rejections: those of each node's first predicate, or of all predicates if all run."""
        if not self.all_reasons:
            return count_decisive_reasons(self.explanation)
        filters, first = self.explanation.filters, self.explanation.rejected_by
        # With nominated pods a node is checked twice, and the second check ends at its first failure.
        crowded = bool(filters) and filters[0].plugin == BESIDE_NOMINATED
        listed = [
            (RejectionReason(column.plugin, *reason), int(np.count_nonzero((column.codes == code) & meant)))
            for position, column in enumerate(filters)
            for meant in [first != 0 if crowded and position else True]
            for code, status in enumerate(column.verdicts)
            for reason in status.detailed_reasons
        ]
        return [(reason, number) for reason, number in merge_reason_counts(listed) if number]

    def verdicts(self, node: int) -> list[FilterVerdict]:
        """Return every predicate's verdict on a node. Those after the first rejection are hypothetical."""
        verdicts, ended = [], False
        for verdict in super().verdicts(node):
            verdicts.append(replace(verdict, is_evaluated=not ended))
            ended = ended or (verdict.decisive and (not self.all_reasons or verdict.plugin == BESIDE_NOMINATED))
        return verdicts

    def list_notes(self) -> list[str]:
        """Return notes on settings that the columns do not show, and on fields of the pod that the policy ignores."""
        algorithm, pod = self.case.scheduler.algorithm, self.case.pod
        notes = []
        if algorithm.edition.share < ALL_NODES and len(self.explanation.nodes) >= MIN_FEASIBLE:
            text = gettext(
                "It runs with percentageOfNodesToScore %(share)s: it scores that share of the nodes, and continues "
                "there with the next pod. Here all nodes are scored."
            )
            notes.append(text % {"share": algorithm.edition.share})
        if algorithm.never_asked:
            text = gettext("Never run, as the fixed order of predicates does not have them: %(names)s.")
            notes.append(text % {"names": ", ".join(algorithm.never_asked)})
        if pod.scheduler_name != TODAY:
            text = gettext(
                "The pod asks for the scheduler %(scheduler)s. A Policy names no scheduler, so the pod is explained "
                "anyway."
            )
            notes.append(text % {"scheduler": pod.scheduler_name})
        if pod.gates:
            notes.append(gettext("Scheduling gates did not exist then, so they do not hold it."))
        if algorithm.edition.old and not self.explanation.feasible.size:
            notes.append(gettext("It evicts no pods: priorities were off unless a feature gate turned them on."))
        return notes
