"""What nodes and pods really use at one time, and what moves make of it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from kschedweb.engine.cel.quantities import BINARY_SI, DECIMAL_SI, Quantity
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.quantity import MILLI, NANO
from kschedweb.engine.objects.resources import CPU, MEMORY
from kschedweb.engine.rebalancing.metrics import Amounts, Metrics
from kschedweb.engine.state.columns import Floats
from kschedweb.engine.state.snapshot import Snapshot
from kschedweb.engine.state.watermarks.table import PodUse, Watermarks, workload_of

RESOURCES = (CPU, MEMORY)
SHORTEST = ("5m", "10m", "15m", "1h", "1d")  # windows of figures, that which says most of now first
UNIT = {CPU: 0.001, MEMORY: 1.0}  # of the columns of allocatable, in cores and bytes
NOT_LEVELS = ("_std", "system")


class Use:
    """The use of the nodes of ``snapshot``, which is kept up with moves, also in the snapshot's own watermarks.

    ``levels`` is float64[nodes] by resource, in percent of allocatable, NaN where nobody knows.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._known = snapshot.watermarks
        self._windows: dict[str, str] = {}
        self.levels: dict[str, Floats] = {}
        self._pods: dict[str, PodUse] = {}
        for resource in RESOURCES:
            window = next((key for key in SHORTEST if self._has(resource, key)), None)
            if window is not None and self._known is not None:
                self._windows[resource] = window
                self.levels[resource] = self._known.column(resource, window).copy()

    def _has(self, resource: str, key: str) -> bool:
        return self._known is not None and not np.isnan(self._known.column(resource, key)).all()

    def now(self) -> dict[str, Floats]:
        """What nodes use now as everywhere it is shown (``Watermarks.use_now``), with the moves. Float64[nodes]."""
        known, found = self._known, dict[str, Floats]()
        for resource, levels in self.levels.items():
            assert known is not None
            shown = known.use_now(resource)
            if shown is not None:
                found[resource] = np.maximum(shown + levels - known.column(resource, self._windows[resource]), 0.0)
        return found

    @property
    def known(self) -> bool:
        return bool(self.levels)

    def of(self, pod: Pod) -> PodUse:
        """What a pod uses: its own figures, or those of a pod of its workload."""
        if pod.key not in self._pods:
            self._pods[pod.key] = self._of(pod)
        return self._pods[pod.key]

    def _of(self, pod: Pod) -> PodUse:
        known = self._known
        if known is None:
            return PodUse()
        if known.pods is not None and (own := known.pods.get(pod.key)) is not None:
            return own
        figures = known.workload(pod, self._snapshot.objects) or {}
        found = {
            resource: next((figures[resource][key] for key in SHORTEST if key in figures.get(resource, {})), None)
            for resource in RESOURCES
        }
        return PodUse(found[CPU], found[MEMORY])

    def percent(self, pod: Pod, resource: str, node: int) -> float:
        """What the pod's use is of a node's allocatable; NaN where nobody knows."""
        used = self.of(pod).cpu if resource == CPU else self.of(pod).memory
        room = float(self._snapshot.amounts(self._snapshot.allocatable, resource)[node]) * UNIT[resource]
        return math.nan if used is None or room <= 0 else 100.0 * used / room

    def move(self, pod: Pod, source: str, target: str) -> bool:
        """The pod left ``source`` and runs on ``target`` ("": nowhere). Whether all that is measured of it is known."""
        whole = True
        for resource, levels in self.levels.items():
            for node, sign in ((source, -1.0), (target, 1.0)):
                if node:
                    place = self._snapshot.index[node]
                    share = self.percent(pod, resource, place)
                    whole = whole and not math.isnan(share)
                    if not math.isnan(share) and not math.isnan(levels[place]):
                        levels[place] = max(0.0, levels[place] + sign * share)
        return whole

    def measured(self, now: float) -> None:
        """Let the snapshot's watermarks, with which load-aware plugins decide, be those of the moved pods."""
        known = self._known
        if known is None or not self.levels:
            return
        changes = {name: levels - known.column(name, self._windows[name]) for name, levels in self.levels.items()}
        figures = {
            (name, key): column if key.endswith(NOT_LEVELS) or name not in changes else column + changes[name]
            for (name, key), column in known.figures.items()
        }
        updated = np.where(np.isnan(known.updated), np.nan, now)
        moved: Watermarks = replace(known, figures=figures, updated=updated)
        self._snapshot.watermarks = moved

    def metrics(self, pods: Iterable[Pod]) -> Metrics:
        """The same as metrics-server would say it; the share of CPU stands for what a query of Prometheus returns."""
        snapshot, nodes = self._snapshot, dict[str, Amounts]()
        rooms = {name: snapshot.amounts(snapshot.allocatable, name) * UNIT[name] for name in RESOURCES}
        for place, name in enumerate(snapshot.names):
            levels = {one: float(self.levels[one][place]) for one in self.levels}
            known = {one: level * float(rooms[one][place]) / 100 for one, level in levels.items()}
            if not any(map(math.isnan, known.values())) and len(known) == len(RESOURCES):
                nodes[name] = _amounts(known[CPU], known[MEMORY])
        own = ((pod.key, self.of(pod)) for pod in pods)
        of_pods = {
            key: _amounts(used.cpu, used.memory)
            for key, used in own
            if used.cpu is not None and used.memory is not None
        }
        shares = self.levels.get(CPU)
        queried = (
            {}
            if shares is None
            else {name: float(share) / 100 for name, share in zip(snapshot.names, shares, strict=True) if share >= 0}
        )
        return Metrics(nodes, of_pods, queried)


def workload(pod: Pod, snapshot: Snapshot) -> str:
    """``namespace/Kind/name`` of whatever controls the pod, as a person calls it; the pod itself without one."""
    named = workload_of(pod, snapshot.objects)
    if named is not None:
        return named
    return pod.key if pod.controller is None else f"{pod.namespace}/{pod.controller[1]}/{pod.controller[2]}"


def _amounts(cores: float, amount: float) -> Amounts:
    return {
        CPU: Quantity(round(cores * 1000) * MILLI, -9, format=DECIMAL_SI),
        MEMORY: Quantity(round(amount) * NANO, -9, format=BINARY_SI),
    }
