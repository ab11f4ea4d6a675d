"""Moves of pods for the sake of an even use, one after the other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from kschedweb.engine.planning.bands import best_band, fewest_moves
from kschedweb.engine.planning.columns import Columns
from kschedweb.engine.planning.ground import Ground, Late, Tried, never
from kschedweb.engine.planning.results import Bound, Found, Stop
from kschedweb.engine.planning.stopping import Refusals
from kschedweb.engine.state.columns import Floats

LEAST = 1e-9  # points; smaller differences do not count
LOWEST, HIGHEST = "lowest", "highest"
TRIES, ROUNDS = 12, 4  # pods asked about at a time, at first, and how many times twice as many


class Search:
    """One move after the other, each the one that brings the nodes outside the band nearest to it."""

    def __init__(self, ground: Ground, columns: Columns, resource: str, at_most: float, power: int, most: int) -> None:
        self.ground, self.columns, self.resource, self.at_most = ground, columns, resource, at_most
        self.power, self.most = power, most
        self.begun = columns.band_of(at_most)
        self.low = best_band(self.begun)
        self.high = self.low + at_most
        self.others = [HIGHEST, LOWEST]
        self.before = columns.skew()
        self.values: list[float] = []
        self.reasons: list[str] = []
        self.refusals = Refusals()
        self.late: Late = never

    @property
    def reached(self) -> bool:
        return self.columns.skew() <= self.at_most + LEAST

    def run(self) -> Found:
        stop = self.refusals.reached()
        while not self.reached:
            if len(self.values) >= self.most:
                stop = self.refusals.most(self.most)
                break
            if self.late():
                stop = self.refusals.late()
                break
            if not self._step():
                if self.ground.wave_begun:
                    self.ground.end_wave()
                    continue
                if self._other_band():
                    continue
                stop = self.refusals.stop()
                break
        return self._ended(stop)

    def _other_band(self) -> bool:
        """Where the band cannot be filled from below, or not from above, take one that begins where the nodes are."""
        if not self.at_most or not self.others:
            return False
        level = self.columns.level[self.columns.counted]
        self.low = float(level.min()) if self.others.pop() == LOWEST else float(level.max()) - self.at_most
        self.high = self.low + self.at_most
        return True

    def _ended(self, stop: Stop) -> Found:
        return Found(self.before, self.values, self.reasons, stop, self._bound)

    def _bound(self, value: float) -> Bound:
        """The fewest moves after which the skew can be ``value``, if pods landed wherever one likes."""
        return Bound(fewest_moves(replace(self.begun, width=max(value, self.at_most))))

    def _step(self) -> bool:
        """Make the best move that is found; False where there is none in this wave."""
        self.refusals = Refusals()
        best: tuple[float, int, Tried] | None = None
        for batch in self._batches():
            for row, hoped in batch:
                if best is not None and best[0] >= hoped:
                    break
                tried = self.ground.look(self.columns.pods[row])
                gain = self._gain(row, self.ground.snapshot.index[tried.node]) if tried.node else 0.0
                self.refusals.heard(tried, gained=gain > LEAST)
                if gain > LEAST and (best is None or gain > best[0]):
                    best = gain, row, tried
            if best is not None:
                break
        if best is None:
            return False
        made = self.ground.move(self.columns.pods[best[1]])
        assert made.node == best[2].node
        self._record(best[1], made)
        return True

    def _record(self, row: int, made: Tried) -> None:
        """Keep what the move of a pod does."""
        columns, pod = self.columns, self.columns.pods[row]
        ends = [int(columns.node[row]), self.ground.snapshot.index[made.node]]
        before = columns.level[ends].tolist()
        columns.move(row, ends[1])
        told = [
            f"{name} from {one:.1f} % to {other:.1f} %"
            for name, one, other in zip((pod.node_name, made.node), before, columns.level[ends].tolist(), strict=True)
        ]
        self.values.append(columns.skew())
        self.reasons.append(f"brings {' and '.join(told)} of {self.resource}")

    def _batches(self) -> Iterator[list[tuple[int, float]]]:
        """Pods with what their moves would gain at most, the best first."""
        hoped = self._hopes()
        order = np.argsort(-hoped, kind="stable")
        order = order[hoped[order] > LEAST]
        taken, size = 0, TRIES
        while taken < len(order) and size < TRIES * 2**ROUNDS:
            listed = order[taken : taken + size].tolist()
            yield [(row, float(hoped[row])) for row in listed]
            taken, size = taken + len(listed), 2 * size

    def _hopes(self) -> Floats:
        """What each pod's move would gain if it went to the lowest node. Shape [pods]."""
        columns = self.columns
        level = np.where(columns.counted, columns.level, np.inf)
        lowest = int(level.argmin())
        up = 100.0 * columns.amount / columns.allocatable[columns.node]
        there = columns.level[columns.node]
        freed = np.where(columns.counted[columns.node], self._out(there) - self._out(there - up), 0.0)
        down = 100.0 * columns.amount / columns.allocatable[lowest]
        paid = self._out(columns.level[lowest] + down) - self._out(np.full_like(down, columns.level[lowest]))
        return np.where(columns.there & (columns.node != lowest), freed - paid, -np.inf)

    def _gain(self, row: int, target: int) -> float:
        columns, source = self.columns, int(self.columns.node[row])
        ends = np.array([source, target])
        before = columns.level[ends]
        after = before + np.array([-columns.points(row, source), columns.points(row, target)])
        changed = np.where(columns.counted[ends], self._out(before) - self._out(after), 0.0)
        return float(changed.sum())

    def _out(self, level: Floats) -> Floats:
        """How far outside the band a node is, to a power."""
        far: Floats = np.maximum(level - self.high, 0.0) ** self.power + np.maximum(self.low - level, 0.0) ** self.power
        return far
