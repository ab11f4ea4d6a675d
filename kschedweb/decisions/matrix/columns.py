"""The columns of an explanation over nodes, with ranks, deviations and words."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from django.utils.translation import gettext

from kschedweb.decisions.matrix.ranking import Ranking
from kschedweb.decisions.matrix.spread import ScoreSpread
from kschedweb.decisions.words import VerdictReading
from kschedweb.engine.framework.explanation import EXCLUDED

if TYPE_CHECKING:
    from kschedweb.engine import Explanation, Status
    from kschedweb.engine.state.columns import Ints


class DecisionColumns:
    """One pod on every node. ``other`` is the explanation of the same pod under another policy.

    Subclasses have the snapshot, or what was stored of it.
    """

    # True if every filter runs on every node, and all reasons count.
    all_reasons = False

    def __init__(self, explanation: Explanation, other: Explanation | None = None) -> None:
        self.explanation = explanation
        self.other = None if other is None else Ranking(other, other.scale)
        self.spread = ScoreSpread(explanation.scores)
        totals = explanation.total
        # Best first; nodes with equal totals keep the scheduler's order.
        self.order = np.argsort(-totals, kind="stable") if totals.size else np.zeros(0, dtype=np.intp)

    @cached_property
    def ranking(self) -> Ranking:
        return Ranking(self.explanation, self.scale)

    @cached_property
    def places(self) -> dict[int, int]:
        """Return the index of each feasible node among the scores, by position."""
        return {node: index for index, node in enumerate(self.explanation.feasible.tolist())}

    @cached_property
    def index(self) -> dict[str, int]:
        """Return the positions of the nodes by name."""
        return {name: node for node, name in enumerate(self.explanation.nodes)}

    @property
    def ceiling(self) -> int:
        """Return the highest total that the weights allow."""
        return self.ranking.ceiling

    @property
    def scale(self) -> int:
        """Return the highest score of a plugin before its weight."""
        return self.explanation.scale

    @property
    def winners(self) -> tuple[int | None, int | None]:
        """Return the positions of the nodes that this policy and the other one choose; None without one."""
        other_node = "" if self.other is None else self.other.explanation.node
        return self.explanation.chosen, self.index.get(other_node)

    @property
    def shown_columns(self) -> list[int]:
        """Return the columns of scores to show: those in which nodes differ, or all if only one node is feasible."""
        everything = list(range(len(self.explanation.scores)))
        return self.spread.differing if len(self.places) > 1 else everything

    def folded_columns(self) -> list[tuple[str, int]]:
        """Return the other columns, whose plugins give all feasible nodes the same: plugin and weighted score."""
        visible = set(self.shown_columns)
        folded = [column for at, column in enumerate(self.explanation.scores) if at not in visible]
        return [(column.plugin, int(column.weighted[0])) for column in folded if column.raw.size]

    def kinds(self, plugin: str) -> Ints | None:
        """Return a number for each node that distinguishes equal verdicts of ``plugin``, None if nothing does."""
        return None

    def in_group(self, key: str, node: int, count: int) -> str:
        """Return plain words for group ``key``: ``count`` nodes like ``node``; "" if its message suffices."""
        return ""

    def explain_verdict(self, node: int, status: Status) -> VerdictReading | None:
        """Return the plain reading of a filter's verdict, None if there is only its own message."""
        return None

    def decisive_reading(self, node: int) -> VerdictReading | None:
        """Return the plain reading of the decisive verdict on a node, None if it is feasible."""
        status = self.explanation.verdict_at(node)
        if self.explanation.rejected_by[node] == EXCLUDED:
            why = status.message if status else gettext("PreFilter named other nodes")
            return VerdictReading(
                gettext("%(nodes)s was not checked: %(why)s") % {"nodes": self.explanation.nodes[node], "why": why}
            )
        return None if status is None else self.explain_verdict(node, status)
