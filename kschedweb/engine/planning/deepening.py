"""The fewest moves exactly: every sequence of one move, of two, and so on, as far as the bound lets hope.

A sequence is given up as soon as the bound says that the moves that are left cannot do. In small clusters this answers
at once; it ends without an answer where too many moves would have to be tried.
"""

from __future__ import annotations

import numpy as np

from kschedweb.engine.planning.bands import fewest_moves
from kschedweb.engine.planning.results import Found
from kschedweb.engine.planning.search import Search
from kschedweb.engine.planning.stopping import Refusals

LOOKS = 3000  # moves tried at most


class Deepening(Search):
    """As ``Search``, but what it makes is the shortest sequence, or nothing."""

    looks = 0

    def run(self) -> Found:
        first = max(fewest_moves(self.begun), 0)
        for depth in range(first, min(self.most, len(self.columns.pods)) + 1):
            if self._found(depth):
                return self._ended(Refusals.reached())
            if self._enough:
                break
        return self._ended(Refusals().stop())

    @property
    def _enough(self) -> bool:
        return self.looks >= LOOKS or self.ground.late()

    def _found(self, depth: int) -> bool:
        """Whether so many more moves reach the objective; they are made then."""
        if self.reached:
            return True
        if depth == 0:
            return False
        for row in np.argsort(-self._hopes(), kind="stable").tolist():
            if self._enough:
                return False
            if self.columns.there[row] and self._tried(row, depth):
                return True
        return False

    def _tried(self, row: int, depth: int) -> bool:
        mark, state = self.ground.mark(), self.columns.state()
        self.looks += 1
        tried = self.ground.move(self.columns.pods[row])
        if not tried.node:
            return False
        self._record(row, tried)
        if fewest_moves(self.columns.band_of(self.at_most)) < depth:
            if self._found(depth - 1):
                return True
            if depth > 1:  # what follows may land elsewhere once those that leave are gone
                self.ground.end_wave()
                if self._found(depth - 1):
                    return True
        self.ground.rollback(mark)
        self.columns.restore(state)
        self.values.pop()
        self.reasons.pop()
        return False
