"""The contents of the decision page under a classic policy: predicates and priorities, in their own messages."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from django.utils.translation import gettext

from kschedweb.decisions.classic import arithmetic, words
from kschedweb.decisions.presentation import Presentation, counted, histogram
from kschedweb.decisions.words import RejectionReason
from kschedweb.engine.cycle.attempt import MIN_FEASIBLE
from kschedweb.engine.framework.handle import BESIDE_NOMINATED
from kschedweb.engine.releases.classic.catalogue import ALL_NODES

if TYPE_CHECKING:
    from kschedweb.decisions.case import AnyCase, ClassicCase
    from kschedweb.decisions.parts import Arithmetic, FilterVerdict
    from kschedweb.decisions.words import Reading, Shortage
    from kschedweb.engine import Status

TODAY = "default-scheduler"


class ClassicDecision(Presentation):
    """The presentation of a classic policy's decision."""

    case: ClassicCase
    fits = frozenset({"PodFitsResources", "GeneralPredicates"})

    def __init__(self, case: ClassicCase, other: AnyCase | None = None) -> None:
        super().__init__(case, other)
        self.algorithm = decides = case.scheduler.algorithm
        self.all_reasons = decides.always_check_all
        self.version = decides.edition.version
        self.tied = (
            gettext(
                "Nodes with the highest total are chosen in turn from pod to pod; the last name is shown, which is "
                "chosen first after a start."
            )
            if decides.edition.old
            else gettext(
                "Nodes with the highest total are chosen in turn from pod to pod; the first in its order is shown, "
                "which is chosen first after a start."
            )
        )

    def missing(self) -> list[str]:
        """The extenders, which pages do not call."""
        return [gettext("extender %(url)s") % {"url": url} for url in self.explanation.unasked]

    def worked(self, node: int, plugin: str) -> Arithmetic:
        return arithmetic.explain(self, self.case, node, plugin)

    def read(self, node: int, status: Status) -> Reading:
        return words.reading(self.case, node, status)

    def shortages(self, node: int) -> list[Shortage]:
        return words.shortages(self.case, node)

    def summary(self, reason: RejectionReason) -> str:
        return str(words.in_short(self.case, reason))

    def reasons(self) -> list[tuple[RejectionReason, int]]:
        """Why nodes were rejected: the reasons of each node's first predicate, or of all if all run."""
        if not self.all_reasons:
            return histogram(self.explanation)
        filters, first = self.explanation.filters, self.explanation.rejected_by
        # Beside pods that were promised a node all predicates are asked at once, and then no more.
        crowded = bool(filters) and filters[0].plugin == BESIDE_NOMINATED
        listed = [
            (RejectionReason(column.plugin, *reason), int(np.count_nonzero((column.codes == code) & meant)))
            for position, column in enumerate(filters)
            for meant in [first != 0 if crowded and position else True]
            for code, status in enumerate(column.verdicts)
            for reason in status.told
        ]
        return [(reason, number) for reason, number in counted(listed) if number]

    def verdicts(self, node: int) -> list[FilterVerdict]:
        """Every predicate's verdict on a node; those after the first rejection are hypothetical."""
        found, ended = [], False
        for verdict in super().verdicts(node):
            found.append(replace(verdict, asked=not ended))
            ended = ended or (verdict.decisive and (not self.all_reasons or verdict.plugin == BESIDE_NOMINATED))
        return found

    def notes(self) -> list[str]:
        """Notes on settings of the process that the columns do not show, and on fields of the pod that it ignores."""
        decides, pod = self.case.scheduler.algorithm, self.case.pod
        found = []
        if decides.edition.share < ALL_NODES and len(self.explanation.nodes) >= MIN_FEASIBLE:
            said = gettext(
                "It runs with percentageOfNodesToScore %(share)s: it scores that share of the nodes, and continues "
                "there with the next pod. Here all nodes are scored."
            )
            found.append(said % {"share": decides.edition.share})
        if decides.never_asked:
            said = gettext("Never run, as the fixed order of predicates does not have them: %(names)s.")
            found.append(said % {"names": ", ".join(decides.never_asked)})
        if pod.scheduler_name != TODAY:
            said = gettext(
                "The pod asks for the scheduler %(scheduler)s. A Policy names no scheduler, so the pod is explained "
                "anyway."
            )
            found.append(said % {"scheduler": pod.scheduler_name})
        if pod.gates:
            found.append(gettext("Scheduling gates did not exist then, so they do not hold it."))
        if decides.edition.old and not self.explanation.feasible.size:
            found.append(gettext("It evicts no pods: priorities were off unless a feature gate turned them on."))
        return found
