"""Fragments of devices: free devices on nodes with too few of them for a pod of a given size.

The published measure (Weng et al., "Beware of Fragmentation", USENIX ATC 2023) for a workload of one kind of pod: a
node's free devices are fragments for a pod that does not fit there.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import field

import numpy as np

from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.planning.move_refusals import MoveRefusals
from kschedweb.engine.planning.results import Bound, MoveSearchResult, PlanError
from kschedweb.engine.planning.trial_cluster import MoveOutcome, TrialCluster
from kschedweb.engine.state.columns import Ints, Mask
from kschedweb.engine.values import dataclass

# The most sets of pods that are tried for one step.
TRIES = 200


@dataclass(frozen=True, slots=True)
class Fragmentation:
    """The objective of at most ``at_most`` fragments."""

    # The name of the device resource.
    resource: str
    # Devices that a pod needs on one node.
    size: int
    # Devices that may stay free on nodes with fewer than `size` free.
    at_most: int = 0
    name: str = field(default="fragmentation", init=False)
    unit: str = field(default="devices", init=False)
    rises: bool = field(default=False, init=False)

    @property
    def target(self) -> float:
        return self.at_most

    def compute_gain(self, before: float, value: float) -> float:
        return before - max(value, self.at_most) if before > self.at_most else 0.0

    def is_reached(self, value: float) -> bool:
        return value <= self.at_most

    def find_moves(self, trial_cluster: TrialCluster, max_moves: int, price: float) -> MoveSearchResult:
        """Make the moves on the trial cluster; raises PlanError if no node has the resource."""
        return _FragmentSearch(trial_cluster, self, max_moves, price).run()


class _Devices:
    """Free devices by node."""

    def __init__(self, trial_cluster: TrialCluster, objective: Fragmentation) -> None:
        snapshot, self._name = trial_cluster.snapshot, objective.resource
        has = snapshot.resource_row(snapshot.allocatable, self._name)
        if not has.any():
            raise PlanError(f"no node has {self._name}")
        self.free: Ints = (has - snapshot.resource_row(snapshot.requested, self._name)).astype(np.int64)
        self.has: Mask = has > 0
        # Nodes to which pods can go.
        self.open: Mask = self.has & ~snapshot.unschedulable
        self.size = objective.size

    def count_requested(self, pod: Pod) -> int:
        return int(pod.occupied.get(self._name, 0))

    def count_fragments(self, free: Ints | None = None) -> int:
        remaining = self.free if free is None else free
        return int(remaining[self.open & (remaining > 0) & (remaining < self.size)].sum())

    def free_after(self, steps: list[tuple[int, int, int]]) -> Ints:
        """Return what is free after ``steps``: (devices, source, target)."""
        free = self.free.copy()
        for amount, source, target in steps:
            free[source] += amount
            free[target] -= amount
        return free


class _FragmentSearch:
    """A search by sets of pods of one node, moved together or not at all."""

    def __init__(self, trial_cluster: TrialCluster, objective: Fragmentation, max_moves: int, price: float) -> None:
        self.trial_cluster, self.objective, self.max_moves, self.price = trial_cluster, objective, max_moves, price
        self.devices = _Devices(trial_cluster, objective)
        self.before = float(self.devices.count_fragments())
        self.values: list[float] = []
        self.reasons: list[str] = []
        self.refusals = MoveRefusals()
        self._unavoidable = self._fewest_fragments()

    def _fewest_fragments(self) -> int:
        """Return how many fragments no move can remove: all that is free, if it is too little for one pod.

        Pods from a cordoned node, or from one that holds more than it has, may use it up.
        """
        devices = self.devices
        free = devices.free[devices.open]
        closed = bool((devices.has & ~devices.open).any())
        return 0 if closed or (free < 0).any() or free.sum() >= devices.size else int(free.sum())

    def _compute_bound(self, value: float) -> Bound:
        """Return a lower bound of the moves to ``value``.

        A move frees less than a whole pod's devices on its node, and fills up at most as many elsewhere.
        """
        size = self.objective.size
        largest = max(map(self.devices.count_requested, self.trial_cluster.movable.values()), default=0)
        per_move, lowered = size - 1 + min(largest, size - 1), self.before - value
        moves = math.ceil(lowered / per_move) if lowered > 0 else 0
        return Bound(moves, float(self._unavoidable))

    def run(self) -> MoveSearchResult:
        stop = MoveRefusals.stop_reached()
        while not self.objective.is_reached(self.devices.count_fragments()):
            if len(self.values) >= self.max_moves:
                stop = MoveRefusals.stop_at_max_moves(self.max_moves)
                break
            if self.trial_cluster.late():
                stop = MoveRefusals.stop_out_of_time()
                break
            if not self._take_step():
                if self.trial_cluster.wave_begun:
                    self.trial_cluster.end_wave()
                    continue
                stop = self.refusals.find_stop()
                break
        return MoveSearchResult(self.before, self.values, self.reasons, stop, self._compute_bound)

    def _take_step(self) -> bool:
        """Make the first set of moves that lowers the fragments; return False if there is none in this wave."""
        self.refusals = MoveRefusals()
        for pods in self._pod_sets():
            mark = self.trial_cluster.mark()
            outcomes = [self.trial_cluster.move_pod(pod) for pod in pods]
            if all(outcome.node for outcome in outcomes) and self._apply_moves(pods, outcomes):
                return True
            for outcome in outcomes:
                self.refusals.record_outcome(outcome, gained=False)
            self.trial_cluster.rollback(mark)
        return False

    def _apply_moves(self, pods: list[Pod], outcomes: list[MoveOutcome]) -> bool:
        index, devices = self.trial_cluster.snapshot.index, self.devices
        steps = [
            (devices.count_requested(pod), index[pod.node_name], index[outcome.node])
            for pod, outcome in zip(pods, outcomes, strict=True)
        ]
        before, after = devices.count_fragments(), devices.free_after(steps)
        lowered = before - devices.count_fragments(after)
        if lowered <= self.price * len(pods):
            return False
        node, company = pods[0].node_name, f"with {len(pods)} pods" if len(pods) > 1 else "alone"
        free = int(after[index[node]])
        # Every move of the set gets an equal share of the gain, as only the whole set has one.
        for place in range(len(pods)):
            self.values.append(before - lowered * (place + 1) / len(pods))
            self.reasons.append(f"leaves {free} free on {node}, {company}")
        devices.free = after
        return True

    def _pod_sets(self) -> Iterator[list[Pod]]:
        """Return sets of pods whose move may lower the fragments, sorted by the gain hoped for per move."""
        index, devices = self.trial_cluster.snapshot.index, self.devices
        free = devices.free
        stranded = free[devices.open & (free > 0) & (free < devices.size)]
        ranked_sets: list[tuple[float, int, list[Pod]]] = []
        for name, pods in self.trial_cluster.movable_by_node().items():
            place = index[name]
            asking = sorted(
                (pod for pod in pods if devices.count_requested(pod)),
                key=lambda pod: (devices.count_requested(pod), pod.key),
            )
            for listed in [[pod] for pod in asking] + _making_room(asking, devices, int(free[place])):
                if len(self.values) + len(listed) > self.max_moves:
                    continue
                hoped = self._estimate_gain(listed, place, stranded)
                if hoped > 0:
                    ranked_sets.append((-hoped / len(listed), len(ranked_sets), listed))
        return (listed for _, _, listed in sorted(ranked_sets, key=lambda entry: entry[:2])[:TRIES])

    def _estimate_gain(self, pods: list[Pod], place: int, stranded: Ints) -> float:
        """Return by how much at most the fragments fall if these pods leave the node."""
        devices = self.devices
        node_free, requested = int(devices.free[place]), sum(map(devices.count_requested, pods))
        whole = node_free + requested >= devices.size
        local_gain = 0 if not devices.open[place] or node_free >= devices.size else node_free if whole else -requested
        remote_gain = sum(
            devices.count_requested(pod) for pod in pods if (stranded >= devices.count_requested(pod)).any()
        )
        return local_gain + remote_gain


def _making_room(pods: list[Pod], devices: _Devices, free: int) -> list[list[Pod]]:
    """Return the fewest pods that make room for a whole pod: the largest, and the smallest that suffice."""
    lacks = devices.size - free
    if lacks <= 0:
        return []
    pod_sets = []
    for order in (pods[::-1], pods):
        gathered, listed = 0, []
        for pod in order:
            if gathered >= lacks:
                break
            listed.append(pod)
            gathered += devices.count_requested(pod)
        if gathered >= lacks and len(listed) > 1:
            pod_sets.append(listed)
    return pod_sets
