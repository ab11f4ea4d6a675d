"""The real use of nodes and pods at one time, and its change by moves."""

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
# Windows of figures, the shortest first, as it is nearest to the present use.
WINDOWS = ("5m", "10m", "15m", "1h", "1d")
# One unit of the columns of allocatable, in cores and bytes.
UNIT = {CPU: 0.001, MEMORY: 1.0}
# Endings of figures that a move does not change.
UNMOVED_ENDINGS = ("_std", "system")


class ClusterUsage:
    """The use of the nodes of ``snapshot``, updated with moves, also in the snapshot's own watermarks."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._watermarks = snapshot.watermarks
        # Resource -> the window whose figures change with moves.
        self._windows: dict[str, str] = {}
        # Resource -> percent of allocatable, float64[nodes]; NaN where unknown.
        self.levels: dict[str, Floats] = {}
        self._pods: dict[str, PodUse] = {}
        for resource in RESOURCES:
            window = next((key for key in WINDOWS if self._has_figures(resource, key)), None)
            if window is not None and self._watermarks is not None:
                self._windows[resource] = window
                self.levels[resource] = self._watermarks.column(resource, window).copy()

    def _has_figures(self, resource: str, key: str) -> bool:
        return self._watermarks is not None and not np.isnan(self._watermarks.column(resource, key)).all()

    def current_levels(self) -> dict[str, Floats]:
        """Return the nodes' use now, as shown everywhere (``Watermarks.use_now``), with the moves.

        Percent of allocatable by resource, float64[nodes].
        """
        watermarks, current = self._watermarks, dict[str, Floats]()
        for resource, levels in self.levels.items():
            assert watermarks is not None
            column = watermarks.use_now(resource)
            if column is not None:
                current[resource] = np.maximum(
                    column + levels - watermarks.column(resource, self._windows[resource]), 0.0
                )
        return current

    @property
    def is_known(self) -> bool:
        return bool(self.levels)

    def use_of_pod(self, pod: Pod) -> PodUse:
        """Return the use of a pod: its own figures, or those of a pod of its workload."""
        if pod.key not in self._pods:
            self._pods[pod.key] = self._find_use(pod)
        return self._pods[pod.key]

    def _find_use(self, pod: Pod) -> PodUse:
        watermarks = self._watermarks
        if watermarks is None:
            return PodUse()
        if watermarks.pods is not None and (pod_use := watermarks.pods.get(pod.key)) is not None:
            return pod_use
        figures = watermarks.workload_figures(pod, self._snapshot.objects) or {}
        amounts = {
            resource: next((figures[resource][key] for key in WINDOWS if key in figures.get(resource, {})), None)
            for resource in RESOURCES
        }
        return PodUse(amounts[CPU], amounts[MEMORY])

    def percent_of_node(self, pod: Pod, resource: str, node: int) -> float:
        """Return the pod's use in percent of a node's allocatable; NaN if unknown."""
        used = self.use_of_pod(pod).cpu if resource == CPU else self.use_of_pod(pod).memory
        room = float(self._snapshot.resource_row(self._snapshot.allocatable, resource)[node]) * UNIT[resource]
        return math.nan if used is None or room <= 0 else 100.0 * used / room

    def move_pod(self, pod: Pod, source: str, target: str) -> bool:
        """Move the pod's use from ``source`` to ``target`` ("" for nowhere).

        Return True if the pod's use of every measured resource is known.
        """
        all_known = True
        for resource, levels in self.levels.items():
            for node, sign in ((source, -1.0), (target, 1.0)):
                if node:
                    place = self._snapshot.index[node]
                    share = self.percent_of_node(pod, resource, place)
                    all_known = all_known and not math.isnan(share)
                    if not math.isnan(share) and not math.isnan(levels[place]):
                        levels[place] = max(0.0, levels[place] + sign * share)
        return all_known

    def update_watermarks(self, now: float) -> None:
        """Set the snapshot's watermarks, which load-aware plugins read, to those of the moved pods."""
        watermarks = self._watermarks
        if watermarks is None or not self.levels:
            return
        changes = {name: levels - watermarks.column(name, self._windows[name]) for name, levels in self.levels.items()}
        figures = {
            (name, key): column if key.endswith(UNMOVED_ENDINGS) or name not in changes else column + changes[name]
            for (name, key), column in watermarks.figures.items()
        }
        updated = np.where(np.isnan(watermarks.updated), np.nan, now)
        moved_watermarks: Watermarks = replace(watermarks, figures=figures, updated=updated)
        self._snapshot.watermarks = moved_watermarks

    def to_metrics(self, pods: Iterable[Pod]) -> Metrics:
        """Return the same use in the form of metrics-server.

        The share of CPU stands for the result of a Prometheus query.
        """
        snapshot, nodes = self._snapshot, dict[str, Amounts]()
        capacities = {name: snapshot.resource_row(snapshot.allocatable, name) * UNIT[name] for name in RESOURCES}
        for place, name in enumerate(snapshot.names):
            levels = {resource: float(self.levels[resource][place]) for resource in self.levels}
            amounts = {resource: level * float(capacities[resource][place]) / 100 for resource, level in levels.items()}
            if not any(map(math.isnan, amounts.values())) and len(amounts) == len(RESOURCES):
                nodes[name] = _to_quantities(amounts[CPU], amounts[MEMORY])
        pod_uses = ((pod.key, self.use_of_pod(pod)) for pod in pods)
        pod_amounts = {
            key: _to_quantities(used.cpu, used.memory)
            for key, used in pod_uses
            if used.cpu is not None and used.memory is not None
        }
        shares = self.levels.get(CPU)
        cpu_shares = (
            {}
            if shares is None
            else {name: float(share) / 100 for name, share in zip(snapshot.names, shares, strict=True) if share >= 0}
        )
        return Metrics(nodes, pod_amounts, cpu_shares)


def workload_name(pod: Pod, snapshot: Snapshot) -> str:
    """Return ``namespace/Kind/name`` of the workload or controller of the pod; the pod's key without one."""
    name = workload_of(pod, snapshot.objects)
    if name is not None:
        return name
    return pod.key if pod.controller is None else f"{pod.namespace}/{pod.controller[1]}/{pod.controller[2]}"


def _to_quantities(cores: float, amount: float) -> Amounts:
    return {
        CPU: Quantity(round(cores * 1000) * MILLI, -9, format=DECIMAL_SI),
        MEMORY: Quantity(round(amount) * NANO, -9, format=BINARY_SI),
    }
