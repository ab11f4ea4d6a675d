"""Searches for moves that even out the use of nodes, one after the other: a greedy one, and an exact one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from kschedweb.engine.planning.bands import best_band, fewest_moves
from kschedweb.engine.planning.columns import PlanColumns
from kschedweb.engine.planning.move_refusals import MoveRefusals
from kschedweb.engine.planning.results import Bound, MoveSearchResult, Stop
from kschedweb.engine.planning.trial_cluster import Late, MoveOutcome, TrialCluster, never
from kschedweb.engine.state.columns import Floats

# Points; smaller differences do not count.
EPSILON = 1e-9
LOWEST, HIGHEST = "lowest", "highest"
# Pods tried at first, and how often the batch is doubled if none of them helps.
TRIES, ROUNDS = 12, 4
# The most moves that `IterativeDeepening` tries.
MAX_TRIED_MOVES = 3000


class SkewSearch:
    """A greedy search: each move is the one that brings nodes outside the band nearest to it."""

    def __init__(
        self,
        trial_cluster: TrialCluster,
        columns: PlanColumns,
        resource: str,
        at_most: float,
        power: int,
        max_moves: int,
    ) -> None:
        self.trial_cluster, self.columns, self.resource, self.at_most = trial_cluster, columns, resource, at_most
        self.power, self.max_moves = power, max_moves
        self.initial_band = columns.band_of(at_most)
        # The band in which all nodes should end up, in per cent.
        self.low = best_band(self.initial_band)
        self.high = self.low + at_most
        # Bands that are tried when the first cannot be filled.
        self.other_bands = [HIGHEST, LOWEST]
        self.before = columns.skew()
        self.values: list[float] = []
        self.reasons: list[str] = []
        self.refusals = MoveRefusals()
        self.late: Late = never

    @property
    def reached(self) -> bool:
        return self.columns.skew() <= self.at_most + EPSILON

    def run(self) -> MoveSearchResult:
        stop = self.refusals.stop_reached()
        while not self.reached:
            if len(self.values) >= self.max_moves:
                stop = self.refusals.stop_at_max_moves(self.max_moves)
                break
            if self.late():
                stop = self.refusals.stop_out_of_time()
                break
            if not self._take_step():
                if self.trial_cluster.wave_begun:
                    self.trial_cluster.end_wave()
                    continue
                if self._other_band():
                    continue
                stop = self.refusals.find_stop()
                break
        return self._build_result(stop)

    def _other_band(self) -> bool:
        """Switch to a band that begins at the lowest or ends at the highest node, if the current one cannot be
        filled."""
        if not self.at_most or not self.other_bands:
            return False
        level = self.columns.level[self.columns.counted]
        self.low = float(level.min()) if self.other_bands.pop() == LOWEST else float(level.max()) - self.at_most
        self.high = self.low + self.at_most
        return True

    def _build_result(self, stop: Stop) -> MoveSearchResult:
        return MoveSearchResult(self.before, self.values, self.reasons, stop, self._compute_bound)

    def _compute_bound(self, value: float) -> Bound:
        """Return the fewest moves after which the skew can be ``value``, if pods landed anywhere."""
        return Bound(fewest_moves(replace(self.initial_band, width=max(value, self.at_most))))

    def _take_step(self) -> bool:
        """Make the best move that is found; return False if there is none in this wave."""
        self.refusals = MoveRefusals()
        best: tuple[float, int, MoveOutcome] | None = None
        for batch in self._candidate_batches():
            for row, hoped in batch:
                # `hoped` is an upper bound and falls, so that no later pod can do better.
                if best is not None and best[0] >= hoped:
                    break
                outcome = self.trial_cluster.preview_move(self.columns.pods[row])
                gain = self._compute_gain(row, self.trial_cluster.snapshot.index[outcome.node]) if outcome.node else 0.0
                self.refusals.record_outcome(outcome, gained=gain > EPSILON)
                if gain > EPSILON and (best is None or gain > best[0]):
                    best = gain, row, outcome
            if best is not None:
                break
        if best is None:
            return False
        final_outcome = self.trial_cluster.move_pod(self.columns.pods[best[1]])
        assert final_outcome.node == best[2].node
        self._record_move(best[1], final_outcome)
        return True

    def _record_move(self, row: int, outcome: MoveOutcome) -> None:
        """Record the effect of a pod's move."""
        columns, pod = self.columns, self.columns.pods[row]
        ends = [int(columns.node[row]), self.trial_cluster.snapshot.index[outcome.node]]
        before = columns.level[ends].tolist()
        columns.move_pod(row, ends[1])
        changes = [
            f"{name} from {old_level:.1f} % to {other:.1f} %"
            for name, old_level, other in zip(
                (pod.node_name, outcome.node), before, columns.level[ends].tolist(), strict=True
            )
        ]
        self.values.append(columns.skew())
        self.reasons.append(f"brings {' and '.join(changes)} of {self.resource}")

    def _candidate_batches(self) -> Iterator[list[tuple[int, float]]]:
        """Yield batches of pods with the most that their moves could gain, the best first."""
        hoped = self._estimate_gains()
        order = np.argsort(-hoped, kind="stable")
        order = order[hoped[order] > EPSILON]
        offset, size = 0, TRIES
        while offset < len(order) and size < TRIES * 2**ROUNDS:
            listed = order[offset : offset + size].tolist()
            yield [(row, float(hoped[row])) for row in listed]
            offset, size = offset + len(listed), 2 * size

    def _estimate_gains(self) -> Floats:
        """Return what each pod's move would gain if it went to the lowest node. Shape [pods]."""
        columns = self.columns
        level = np.where(columns.counted, columns.level, np.inf)
        lowest = int(level.argmin())
        up = 100.0 * columns.amount / columns.allocatable[columns.node]
        source_level = columns.level[columns.node]
        freed = np.where(
            columns.counted[columns.node],
            self._measure_excess(source_level) - self._measure_excess(source_level - up),
            0.0,
        )
        down = 100.0 * columns.amount / columns.allocatable[lowest]
        paid = self._measure_excess(columns.level[lowest] + down) - self._measure_excess(
            np.full_like(down, columns.level[lowest])
        )
        return np.where(columns.unmoved & (columns.node != lowest), freed - paid, -np.inf)

    def _compute_gain(self, row: int, target: int) -> float:
        columns, source = self.columns, int(self.columns.node[row])
        ends = np.array([source, target])
        before = columns.level[ends]
        after = before + np.array([-columns.to_points(row, source), columns.to_points(row, target)])
        changed = np.where(columns.counted[ends], self._measure_excess(before) - self._measure_excess(after), 0.0)
        return float(changed.sum())

    def _measure_excess(self, level: Floats) -> Floats:
        """Return how far outside the band each node is, to a power."""
        far: Floats = np.maximum(level - self.high, 0.0) ** self.power + np.maximum(self.low - level, 0.0) ** self.power
        return far


class IterativeDeepening(SkewSearch):
    """A search for the exact minimum of moves: every sequence of one move, of two, and so on, as the bound allows.

    A sequence is dropped as soon as the bound says that the remaining moves cannot suffice. In small clusters this
    answers at once; it ends without an answer if too many moves would have to be tried.
    """

    # Moves tried so far.
    tried_moves = 0

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
        return self.tried_moves >= MAX_TRIED_MOVES or self.trial_cluster.late()

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
        self.tried_moves += 1
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
