"""The contents of the decision page under a classic policy: predicates and priorities, in their own messages."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kschedweb.decisions.classic import arithmetic, words
from kschedweb.decisions.presentation import Presentation, counted, histogram
from kschedweb.decisions.words import RejectionReason

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
    shows_differences_only = True

    def __init__(self, case: ClassicCase, other: AnyCase | None = None) -> None:
        super().__init__(case, other)
        self.algorithm = decides = case.scheduler.algorithm
        self.all_reasons = decides.always_check_all
        self.version = decides.edition.version
        by_name = decides.edition.old
        first = "the last name" if by_name else "the first in its order"
        self.tied = (
            "Nodes with the highest total are taken in turn, one after the other from pod to pod: "
            f"{first} is shown, which comes first after a start."
        )

    @property
    def ceiling(self) -> int:
        """The highest total that the weights allow; without priorities every node has a total of 1."""
        return super().ceiling or 1

    def missing(self) -> list[str]:
        """The extenders, which pages do not call."""
        return [f"extender {url}" for url in self.explanation.unasked]

    def worked(self, node: int, plugin: str) -> Arithmetic:
        return arithmetic.explain(self, self.case, node, plugin)

    def read(self, node: int, status: Status) -> Reading:
        return words.reading(self.case, node, status)

    def shortages(self, node: int) -> list[Shortage]:
        return words.shortages(self.case, node)

    def summary(self, reason: RejectionReason) -> str:
        return words.in_short(self.case, reason)

    def reasons(self) -> list[tuple[RejectionReason, int]]:
        """Why nodes were rejected: the reasons of each node's first predicate, or of all if all run."""
        if not self.all_reasons:
            return histogram(self.explanation)
        listed = [
            (RejectionReason(column.plugin, *reason), int((column.codes == code).sum()))
            for column in self.explanation.filters
            for code, status in enumerate(column.verdicts)
            for reason in status.told
        ]
        return [(reason, number) for reason, number in counted(listed) if number]

    def verdicts(self, node: int) -> list[FilterVerdict]:
        """Every predicate's verdict on a node; those after the first rejection are hypothetical."""
        found, ended = [], False
        for verdict in super().verdicts(node):
            found.append(replace(verdict, asked=not ended or self.all_reasons))
            ended = ended or verdict.decisive
        return found

    def notes(self) -> list[str]:
        """Notes on settings of the process that the columns do not show, and on fields of the pod that it ignores."""
        decides, pod = self.case.scheduler.algorithm, self.case.pod
        found = []
        if decides.edition.percentage and decides.edition.percentage < 100 and len(self.explanation.nodes) >= 100:
            found.append(
                f"It was started with percentageOfNodesToScore {decides.edition.percentage}: it scores that part of "
                "the nodes, and goes on from there with the next pod. Here all are scored."
            )
        if decides.never_asked:
            listed = ", ".join(decides.never_asked)
            found.append(f"Never asked, since the fixed order of predicates does not have them: {listed}.")
        if pod.scheduler_name != TODAY:
            found.append(
                f"The pod asks for the scheduler {pod.scheduler_name}; a Policy does not say whose pods it is for, "
                "so it is explained as one of them."
            )
        if pod.gates:
            found.append("Its scheduling gates did not exist then, so they do not hold it.")
        if not self.explanation.feasible.size:
            found.append("Which pods it would have evicted is not simulated.")
        return found
