"""The explanation of a classic scheduling cycle for one pod, in the form of the recorded answers."""

from __future__ import annotations

from dataclasses import field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from kschedweb.engine.framework.explanation import Explanation, ScoreColumn
from kschedweb.engine.framework.status import Code
from kschedweb.engine.json_types import Json
from kschedweb.engine.state.columns import Ints
from kschedweb.engine.values import dataclass

# These priorities score all nodes at once, without a map function, so they have no mapped score.
WHOLE = frozenset({"InterPodAffinityPriority"})


def _no_nodes() -> NDArray[np.intp]:
    return np.zeros(0, dtype=np.intp)


@dataclass(slots=True)
class ClassicExplanation(Explanation):
    """An explanation in which each filter is a predicate and each score a priority.

    ``raw`` is the mapped score, ``normalized`` the reduced one.
    """

    # The highest score of a priority.
    scale: ClassVar[int] = 10

    # Positions of the nodes in the order of output.
    listed: NDArray[np.intp] = field(default_factory=_no_nodes)
    # The reason why the cycle failed; "" if it did not.
    error: str = ""

    def to_dict(self) -> Json:
        result: Json = {"pod": self.pod, "predicates": {}, "rejected": {}}
        for node in self.listed.tolist():
            self._add_verdicts(node, result["predicates"], result["rejected"])
        result["feasible"] = self._node_names(self.feasible[self._output_order()]) or None
        if self.scores:
            result["priorities"] = {column.plugin: self._priority_to_dict(column) for column in self.scores}
        if self.chosen is not None:
            result["total"] = self._by_name(self.total)
            result["best"] = self._node_names(self.listed[np.isin(self.listed, self.best)])
            result["chosen"] = self.nodes[self.chosen]
        for key in ("message", "error"):
            if text := getattr(self, key):
                result[key] = text
        if self.preemption is not None:
            result["preemption"] = self.preemption.to_dict()
        if self.unasked:
            result["extendersNotAsked"] = self.unasked
        return result

    def _output_order(self) -> NDArray[np.intp]:
        """Return the places of the feasible nodes in the order of output."""
        ranks = np.empty_like(self.listed)
        ranks[self.listed] = np.arange(len(self.listed))
        return np.argsort(ranks[self.feasible])

    def _by_name(self, scores: Ints) -> dict[str, int]:
        order = self._output_order()
        return dict(zip(self._node_names(self.feasible[order]), scores[order].tolist(), strict=True))

    def _add_verdicts(
        self, node: int, predicates: dict[str, dict[str, list[str]]], rejected: dict[str, list[str]]
    ) -> None:
        """Add the verdicts of the predicates on one node, up to one that fails."""
        for column in self.filters:
            status = column.verdicts[int(column.codes[node])]
            if status.code is Code.ERROR:
                return
            if not status.ok:
                predicates.setdefault(column.plugin, {})[self.nodes[node]] = list(status.reasons)
                rejected.setdefault(self.nodes[node], list(status.reasons))

    def _priority_to_dict(self, column: ScoreColumn) -> Json:
        result: Json = {"weight": column.weight}
        if column.plugin not in WHOLE:
            result["mapped"] = self._by_name(column.raw)
        return result | {"reduced": self._by_name(column.normalized)}

    def _node_names(self, nodes: NDArray[np.intp]) -> list[str]:
        return [self.nodes[node] for node in nodes.tolist()]
