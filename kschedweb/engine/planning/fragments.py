"""Fragments of devices: what is free on nodes that cannot serve a pod which asks for so many.

The published measure (Weng et al., "Beware of Fragmentation", USENIX ATC 2023) for a workload of one kind of pod: the
free devices of a node are fragments for a pod that does not fit there.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import field

import numpy as np

from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.planning.ground import Ground, Tried
from kschedweb.engine.planning.results import Bound, Found, PlanError
from kschedweb.engine.planning.stopping import Refusals
from kschedweb.engine.state.columns import Ints, Mask
from kschedweb.engine.values import dataclass

TRIES = 200  # sets of pods asked about for one step


@dataclass(frozen=True, slots=True)
class Fragmentation:
    """At most ``at_most`` devices of ``resource`` free on nodes with fewer than ``size`` free."""

    resource: str
    size: int
    at_most: int = 0
    name: str = field(default="fragmentation", init=False)
    unit: str = field(default="devices", init=False)
    rises: bool = field(default=False, init=False)

    @property
    def target(self) -> float:
        return self.at_most

    def gained(self, before: float, value: float) -> float:
        return before - max(value, self.at_most) if before > self.at_most else 0.0

    def reached(self, value: float) -> bool:
        return value <= self.at_most

    def search(self, ground: Ground, most: int, price: float) -> Found:
        """Make the moves on the ground; raises PlanError where no node has the resource."""
        return _Search(ground, self, most, price).run()


class _Devices:
    """Free devices by node. ``open`` are nodes to which pods can go."""

    def __init__(self, ground: Ground, objective: Fragmentation) -> None:
        snapshot, self._name = ground.snapshot, objective.resource
        has = snapshot.amounts(snapshot.allocatable, self._name)
        if not has.any():
            raise PlanError(f"no node has {self._name}")
        self.free: Ints = (has - snapshot.amounts(snapshot.requested, self._name)).astype(np.int64)
        self.has: Mask = has > 0
        self.open: Mask = self.has & ~snapshot.unschedulable
        self.size = objective.size

    def asked(self, pod: Pod) -> int:
        return int(pod.occupied.get(self._name, 0))

    def fragments(self, free: Ints | None = None) -> int:
        left = self.free if free is None else free
        return int(left[self.open & (left > 0) & (left < self.size)].sum())

    def after(self, steps: list[tuple[int, int, int]]) -> Ints:
        """What is free after moves of so many devices from one node to another."""
        free = self.free.copy()
        for amount, source, target in steps:
            free[source] += amount
            free[target] -= amount
        return free


class _Search:
    """Set after set of pods of one node, moved together or not at all."""

    def __init__(self, ground: Ground, objective: Fragmentation, most: int, price: float) -> None:
        self.ground, self.objective, self.most, self.price = ground, objective, most, price
        self.devices = _Devices(ground, objective)
        self.before = float(self.devices.fragments())
        self.values: list[float] = []
        self.reasons: list[str] = []
        self.refusals = Refusals()
        self._least = self._fewest_fragments()

    def _fewest_fragments(self) -> int:
        """What stays a fragment whatever is moved: all that is free, where it is too little for one pod.

        Pods that come from a cordoned node, or from one that holds more than it has, may use it up.
        """
        devices = self.devices
        free = devices.free[devices.open]
        closed = bool((devices.has & ~devices.open).any())
        return 0 if closed or (free < 0).any() or free.sum() >= devices.size else int(free.sum())

    def _bound(self, value: float) -> Bound:
        """A move frees less than a whole pod's devices on its node, and fills up as many elsewhere."""
        size = self.objective.size
        largest = max(map(self.devices.asked, self.ground.movable.values()), default=0)
        each, lowered = size - 1 + min(largest, size - 1), self.before - value
        moves = math.ceil(lowered / each) if lowered > 0 else 0
        return Bound(moves, float(self._least))

    def run(self) -> Found:
        stop = Refusals.reached()
        while not self.objective.reached(self.devices.fragments()):
            if len(self.values) >= self.most:
                stop = Refusals.most(self.most)
                break
            if self.ground.late():
                stop = Refusals.late()
                break
            if not self._step():
                if self.ground.wave_begun:
                    self.ground.end_wave()
                    continue
                stop = self.refusals.stop()
                break
        return Found(self.before, self.values, self.reasons, stop, self._bound)

    def _step(self) -> bool:
        """Make the first set of moves that lowers the fragments; False where none is found in this wave."""
        self.refusals = Refusals()
        for pods in self._sets():
            mark = self.ground.mark()
            tried = [self.ground.move(pod) for pod in pods]
            if all(one.node for one in tried) and self._kept(pods, tried):
                return True
            for one in tried:
                self.refusals.heard(one, gained=False)
            self.ground.rollback(mark)
        return False

    def _kept(self, pods: list[Pod], tried: list[Tried]) -> bool:
        index, devices = self.ground.snapshot.index, self.devices
        steps = [
            (devices.asked(pod), index[pod.node_name], index[one.node]) for pod, one in zip(pods, tried, strict=True)
        ]
        before, after = devices.fragments(), devices.after(steps)
        lowered = before - devices.fragments(after)
        if lowered <= self.price * len(pods):
            return False
        node, others = pods[0].node_name, f"with {len(pods)} pods" if len(pods) > 1 else "alone"
        free = int(after[index[node]])
        for place in range(len(pods)):
            self.values.append(before - lowered * (place + 1) / len(pods))
            self.reasons.append(f"leaves {free} free on {node}, {others}")
        devices.free = after
        return True

    def _sets(self) -> Iterator[list[Pod]]:
        """Sets of pods whose going may lower the fragments, those that promise most a move first."""
        index, devices = self.ground.snapshot.index, self.devices
        free = devices.free
        stranded = free[devices.open & (free > 0) & (free < devices.size)]
        found: list[tuple[float, int, list[Pod]]] = []
        for name, pods in self.ground.on().items():
            place = index[name]
            asking = sorted((pod for pod in pods if devices.asked(pod)), key=lambda pod: (devices.asked(pod), pod.key))
            for listed in [[pod] for pod in asking] + _making_room(asking, devices, int(free[place])):
                if len(self.values) + len(listed) > self.most:
                    continue
                hoped = self._hoped(listed, place, stranded)
                if hoped > 0:
                    found.append((-hoped / len(listed), len(found), listed))
        return (listed for _, _, listed in sorted(found, key=lambda one: one[:2])[:TRIES])

    def _hoped(self, pods: list[Pod], place: int, stranded: Ints) -> float:
        """By how much the fragments fall at most if these pods leave the node."""
        devices = self.devices
        there, asked = int(devices.free[place]), sum(map(devices.asked, pods))
        whole = there + asked >= devices.size
        here = 0 if not devices.open[place] or there >= devices.size else there if whole else -asked
        others = sum(devices.asked(pod) for pod in pods if (stranded >= devices.asked(pod)).any())
        return here + others


def _making_room(pods: list[Pod], devices: _Devices, free: int) -> list[list[Pod]]:
    """The fewest pods whose going makes room for a whole pod: the largest, and the smallest that do as well."""
    lacks = devices.size - free
    if lacks <= 0:
        return []
    found = []
    for order in (pods[::-1], pods):
        taken, listed = 0, []
        for pod in order:
            if taken >= lacks:
                break
            listed.append(pod)
            taken += devices.asked(pod)
        if taken >= lacks and len(listed) > 1:
            found.append(listed)
    return found
