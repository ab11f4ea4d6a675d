"""Movable pods and levels of nodes, as columns that a search for moves changes."""

from __future__ import annotations

import numpy as np

from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.planning.bands import Band
from kschedweb.engine.planning.expected_use import compute_expected_use
from kschedweb.engine.planning.results import PlanError
from kschedweb.engine.planning.trial_cluster import TrialCluster
from kschedweb.engine.state.columns import Floats, Mask


class PlanColumns:
    """Movable pods and levels of nodes.

    With ``by_pods``, levels are the sums over pods even on nodes that were measured.
    """

    def __init__(self, trial_cluster: TrialCluster, resource: str, *, by_pods: bool = False) -> None:
        use = compute_expected_use(trial_cluster.snapshot, resource)
        # The nodes whose levels are compared.
        self.counted: Mask = use.counted
        if int(self.counted.sum()) < 2:
            raise PlanError("there are fewer than two nodes to which pods can go")
        rows = [place for place, pod in enumerate(use.pods) if pod.key in trial_cluster.movable]
        self.pods: list[Pod] = [use.pods[place] for place in rows]
        self.node, self.amount = use.node[rows].copy(), use.amount[rows]
        # Infinite where a node has none, so that no pod raises its level.
        self.allocatable: Floats = np.where(use.allocatable > 0.0, use.allocatable, np.inf)
        self.level = use.of_pods() if by_pods else use.compute_levels()
        self.unmoved: Mask = np.ones(len(rows), dtype=np.bool_)

    def save_state(self) -> tuple[Floats, Mask]:
        return self.level.copy(), self.unmoved.copy()

    def restore_state(self, state: tuple[Floats, Mask]) -> None:
        self.level, self.unmoved = state[0].copy(), state[1].copy()

    def skew(self) -> float:
        level = self.level[self.counted]
        return float(level.max() - level.min())

    def to_points(self, row: int, node: int) -> float:
        """Return by how many points the pod raises the level of the node."""
        return float(100.0 * self.amount[row] / self.allocatable[node])

    def move_pod(self, row: int, target: int) -> None:
        source = int(self.node[row])
        # The measured use of a node may be less than the expected use of its pods.
        self.level[source] = max(self.level[source] - self.to_points(row, source), 0.0)
        self.level[target] += self.to_points(row, target)
        self.unmoved[row] = False

    def band_of(self, width: float) -> Band:
        rows = self.unmoved
        return Band(width, self.level.copy(), self.allocatable, self.counted, self.node[rows], self.amount[rows])
