"""What of a decision needs the cluster, for people who read it later: how the scores of the best nodes came about, and
in plain words why the pod does not fit the nodes that lack least.

Both are kept as they are shown: a live cluster changes a moment later, and a large one takes long to read again.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from kschedweb.decisions.matrix.matrix import Matrix
from kschedweb.decisions.page_parts import Arithmetic, ArithmeticStep, Figure, NearestMiss
from kschedweb.decisions.words import VerdictReading

if TYPE_CHECKING:
    from kschedweb.decisions.presentation import Presentation
    from kschedweb.engine import Explanation, Status
    from kschedweb.engine.state.columns import Ints

BEST = 5  # nodes whose scores are worked out
NEAREST = 20  # rejected nodes that are put in plain words
MISSES = 500  # rejected nodes among which the nearest miss is looked for


@dataclass(frozen=True)
class Insight:
    """``sentence`` and ``miss`` of a pod that found no node; ``readings`` and ``worked`` by node, then by plugin.

    ``kinds`` tell equal verdicts of a plugin apart, a number for each node; ``groups`` are the words for each group.
    """

    sentence: str = ""
    miss: NearestMiss | None = None
    readings: dict[str, dict[str, VerdictReading]] = field(default_factory=dict)
    worked: dict[str, dict[str, Arithmetic]] = field(default_factory=dict)
    kinds: dict[str, list[int]] = field(default_factory=dict)
    groups: dict[str, str] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Insight:
        """Read what ``to_dict`` gave."""
        miss = data["miss"]
        return cls(
            data["sentence"],
            None if miss is None else NearestMiss(miss["node"], VerdictReading(**miss["reading"]), miss["text"]),
            {
                node: {plugin: VerdictReading(**reading) for plugin, reading in readings.items()}
                for node, readings in data["readings"].items()
            },
            {
                node: {plugin: _read_arithmetic(cell) for plugin, cell in cells.items()}
                for node, cells in data["worked"].items()
            },
            data.get("kinds", {}),
            data.get("groups", {}),
        )


class KeptMatrix(Matrix):
    """The matrix of a decision whose cluster is not at hand any more."""

    def __init__(
        self, explanation: Explanation, insight: Insight, *, scale: int = 100, all_reasons: bool = False
    ) -> None:
        super().__init__(explanation)
        self.insight, self._scale = insight, scale
        self.all_reasons = all_reasons

    @property
    def scale(self) -> int:
        return self._scale

    def explain_verdict(self, node: int, status: Status) -> VerdictReading | None:
        """The plain reading that was kept, for the nearest nodes."""
        return self.insight.readings.get(self.explanation.nodes[node], {}).get(status.plugin)

    def kinds(self, plugin: str) -> Ints | None:
        kind_by_node = self.insight.kinds.get(plugin)
        return None if kind_by_node is None else np.array(kind_by_node, dtype=np.int64)

    def in_group(self, key: str, node: int, count: int) -> str:
        return self.insight.groups.get(key, "")

    def find_arithmetic(self, node: str, plugin: str) -> Arithmetic | None:
        """The arithmetic of a cell, or why it is not known; ``None`` where no cell is named."""
        if not node or not plugin:
            return None
        arithmetic = self.insight.worked.get(node, {}).get(plugin)
        missing = f"The arithmetic was kept for the {BEST} best nodes only."
        return arithmetic or Arithmetic(node, plugin, "", error=missing)


def build_insight(decision: Presentation, chosen: str = "") -> Insight:
    """The insight into a decision; ``chosen`` is the node that the pod went to."""
    explanation = decision.explanation
    readings = {explanation.nodes[node]: _build_readings(decision, node) for node in _nearest_nodes(decision)}
    groups = {group.key: group.words for group in decision.groups if group.words}
    if not explanation.feasible.size:
        return Insight(
            decision.build_headline().title,
            decision.nearest_miss(MISSES),
            readings,
            {},
            _kinds_by_plugin(decision),
            groups,
        )
    best = [explanation.nodes[node] for node in explanation.feasible[decision.order[:BEST]]]
    at = decision.case.snapshot.index
    if chosen in at and chosen not in best:
        best.append(chosen)  # of many nodes with the same total
    arithmetic_by_node = {
        node: {column.plugin: decision.compute_arithmetic(at[node], column.plugin) for column in explanation.scores}
        for node in best
    }
    return Insight("", None, readings, arithmetic_by_node, _kinds_by_plugin(decision), groups)


def _kinds_by_plugin(decision: Presentation) -> dict[str, list[int]]:
    """What tells equal verdicts apart, for the plugins of which there are several kinds."""
    several = {group.plugin for group in decision.groups if not group.key.endswith(".0")}
    kinds_by_plugin = {plugin: decision.kinds(plugin) for plugin in several}
    return {plugin: kinds.tolist() for plugin, kinds in kinds_by_plugin.items() if kinds is not None}


def _nearest_nodes(decision: Presentation) -> list[int]:
    """The nodes that the fewest filters reject, in their order."""
    explanation = decision.explanation
    rejected = np.flatnonzero(explanation.rejected_by >= 0)
    if not rejected.size:
        return []
    against = sum((column.codes[rejected] != 0).astype(np.int32) for column in explanation.filters)
    nearest: list[int] = rejected[np.argsort(against, kind="stable")[:NEAREST]].tolist()
    return nearest


def _build_readings(decision: Presentation, node: int) -> dict[str, VerdictReading]:
    failing = [
        column.verdicts[int(column.codes[node])] for column in decision.explanation.filters if column.codes[node]
    ]
    return {status.plugin: decision.explain_verdict(node, status) for status in failing}


def _read_arithmetic(data: dict[str, Any]) -> Arithmetic:
    steps = [ArithmeticStep(**step) for step in data["steps"]]
    figures = [Figure(**figure) for figure in data["figures"]]
    return Arithmetic(**(data | {"steps": steps, "figures": figures}))
