"""Ranks of the feasible nodes, and their shares of the highest total, by which policies of any scale are compared."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kschedweb.decisions.page_parts import Place
from kschedweb.engine.framework.explanation import UNSCORED

if TYPE_CHECKING:
    from kschedweb.engine import Explanation
    from kschedweb.engine.state.columns import Ints


class Ranking:
    """The places of an explanation's feasible nodes; ``scale`` is the highest score of a plugin before its weight."""

    def __init__(self, explanation: Explanation, scale: int) -> None:
        self.explanation = explanation
        weights = sum(column.weight for column in explanation.scores)
        self.ceiling = UNSCORED if explanation.is_unscored else scale * weights
        self.ranks = _compute_ranks(explanation.total)
        self._index = {explanation.nodes[node]: at for at, node in enumerate(explanation.feasible.tolist())}

    def place_by_name(self, node: str) -> Place | None:
        """Return the place of the node named ``node``, None if it is not feasible or does not exist."""
        index = self._index.get(node)
        return None if index is None else self.place_by_index(index)

    def places_by_name(self) -> dict[str, Place]:
        """Return the places of all feasible nodes, in the scheduler's order."""
        return {node: self.place_by_index(index) for node, index in self._index.items()}

    def place_by_index(self, index: int) -> Place:
        """Return the place of the feasible node at ``index`` among the scores."""
        total = int(self.explanation.total[index])
        return Place(int(self.ranks[index]), len(self._index), total, self.ceiling)


def _compute_ranks(total: Ints) -> Ints:
    """Return the ranks, 1 for the best; equal totals share a rank."""
    ranks: Ints = np.searchsorted(np.sort(-total), -total, side="left") + 1
    return ranks
