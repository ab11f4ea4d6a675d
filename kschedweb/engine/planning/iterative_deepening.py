"""The exact minimum of moves: every sequence of one move, of two, and so on, as long as the bound allows.

A sequence is dropped as soon as the bound says that the remaining moves cannot suffice. In small clusters this answers
at once; it ends without an answer if too many moves would have to be tried.
"""

from __future__ import annotations

import numpy as np

from kschedweb.engine.planning.bands import fewest_moves
from kschedweb.engine.planning.move_refusals import MoveRefusals
from kschedweb.engine.planning.results import MoveSearchResult
from kschedweb.engine.planning.skew_search import SkewSearch

# The most moves tried.
LOOKS = 3000


class IterativeDeepening(SkewSearch):
    """A ``SkewSearch`` that finds the shortest sequence, or nothing."""

    looks = 0

    def run(self) -> MoveSearchResult:
        first = max(fewest_moves(self.initial_band), 0)
        for depth in range(first, min(self.max_moves, len(self.columns.pods)) + 1):
            if self._search_depth(depth):
                return self._build_result(MoveRefusals.stop_reached())
            if self._should_stop:
                break
        return self._build_result(MoveRefusals().find_stop())

    @property
    def _should_stop(self) -> bool:
        return self.looks >= LOOKS or self.trial_cluster.late()

    def _search_depth(self, depth: int) -> bool:
        """Return whether ``depth`` more moves reach the objective; if so, they are made."""
        if self.reached:
            return True
        if depth == 0:
            return False
        for row in np.argsort(-self._estimate_gains(), kind="stable").tolist():
            if self._should_stop:
                return False
            if self.columns.unmoved[row] and self._try_pod(row, depth):
                return True
        return False

    def _try_pod(self, row: int, depth: int) -> bool:
        mark, state = self.trial_cluster.mark(), self.columns.save_state()
        self.looks += 1
        outcome = self.trial_cluster.move_pod(self.columns.pods[row])
        if not outcome.node:
            return False
        self._record_move(row, outcome)
        if fewest_moves(self.columns.band_of(self.at_most)) < depth:
            if self._search_depth(depth - 1):
                return True
            # Later pods may land elsewhere once those that leave are gone.
            if depth > 1:
                self.trial_cluster.end_wave()
                if self._search_depth(depth - 1):
                    return True
        self.trial_cluster.rollback(mark)
        self.columns.restore_state(state)
        self.values.pop()
        self.reasons.pop()
        return False
