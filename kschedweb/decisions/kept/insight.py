"""The part of a decision that needs the cluster, stored for people who read the decision later.

It has the arithmetic of the best nodes' scores, and plain words for the nodes that lack least.

Both are stored as they are shown: a live cluster changes a moment later, and a large one takes long to read again.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from kschedweb.decisions.matrix.matrix import Matrix
from kschedweb.decisions.page_parts import Arithmetic, ArithmeticStep, Figure, NearestMiss
from kschedweb.decisions.words import VerdictReading
from kschedweb.engine.json_types import Json

if TYPE_CHECKING:
    from kschedweb.decisions.presentation import Presentation
    from kschedweb.engine import Explanation, Status
    from kschedweb.engine.state.columns import Ints

# Nodes whose scores are explained.
BEST = 5
# Rejected nodes that are explained in plain words.
NEAREST = 20
# Rejected nodes among which the nearest miss is sought.
MISSES = 500


@dataclass(frozen=True)
class Insight:
    """The words and arithmetic about a decision."""

    # Of a pod that found no node.
    sentence: str = ""
    miss: NearestMiss | None = None
    # By node, then by plugin.
    readings: dict[str, dict[str, VerdictReading]] = field(default_factory=dict)
    worked: dict[str, dict[str, Arithmetic]] = field(default_factory=dict)
    # By plugin: a number for each node that distinguishes equal verdicts.
    kinds: dict[str, list[int]] = field(default_factory=dict)
    # By group of rejected nodes: its words.
    groups: dict[str, str] = field(default_factory=dict)

    def to_dict(self) -> Json:
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Json) -> Insight:
        """Read what ``to_dict`` returned."""
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
    """The matrix of a decision whose cluster is no longer available."""

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
        """Return the plain reading, which is stored for the nearest nodes."""
        return self.insight.readings.get(self.explanation.nodes[node], {}).get(status.plugin)

    def kinds(self, plugin: str) -> Ints | None:
        kind_by_node = self.insight.kinds.get(plugin)
        return None if kind_by_node is None else np.array(kind_by_node, dtype=np.int64)

    def in_group(self, key: str, node: int, count: int) -> str:
        return self.insight.groups.get(key, "")

    def find_arithmetic(self, node: str, plugin: str) -> Arithmetic | None:
        """Return the arithmetic of a cell, or why it is not known; None if no cell is named."""
        if not node or not plugin:
            return None
        arithmetic = self.insight.worked.get(node, {}).get(plugin)
        missing = f"The arithmetic was kept for the {BEST} best nodes only."
        return arithmetic or Arithmetic(node, plugin, "", error=missing)


def build_insight(decision: Presentation, chosen: str = "") -> Insight:
    """Return the insight into a decision; ``chosen`` is the node that the pod went to."""
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
    # Of many nodes with the best total, the chosen one need not be among the first.
    if chosen in at and chosen not in best:
        best.append(chosen)
    arithmetic_by_node = {
        node: {column.plugin: decision.compute_arithmetic(at[node], column.plugin) for column in explanation.scores}
        for node in best
    }
    return Insight("", None, readings, arithmetic_by_node, _kinds_by_plugin(decision), groups)


def _kinds_by_plugin(decision: Presentation) -> dict[str, list[int]]:
    """Return the numbers that distinguish equal verdicts, for the plugins that have several kinds."""
    several = {group.plugin for group in decision.groups if not group.key.endswith(".0")}
    kinds_by_plugin = {plugin: decision.kinds(plugin) for plugin in several}
    return {plugin: kinds.tolist() for plugin, kinds in kinds_by_plugin.items() if kinds is not None}


def _nearest_nodes(decision: Presentation) -> list[int]:
    """Return the nodes that the fewest filters reject, in their order."""
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


def _read_arithmetic(data: Json) -> Arithmetic:
    steps = [ArithmeticStep(**step) for step in data["steps"]]
    figures = [Figure(**figure) for figure in data["figures"]]
    return Arithmetic(**(data | {"steps": steps, "figures": figures}))
