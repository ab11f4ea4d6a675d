"""Watermarks: what nodes and workloads really use, as columns."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import Any

import numpy as np

from kschedweb.engine.objects.access import Json, ObjectError, each, mapping, number, text
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.resources import CPU, MEMORY
from kschedweb.engine.state.cluster import ClusterObjects
from kschedweb.engine.state.columns import Floats
from kschedweb.engine.values import dataclass

WORKLOADS = frozenset({"Deployment", "StatefulSet", "DaemonSet", "CloneSet"})
HOURS = 24
# The windows of what a node uses now, in every skew and share that is shown: the first one that is known. The mean of
# an hour hangs least on the moment at which somebody looks.
NOW_WINDOWS = ("1h", "15m", "10m", "5m", "1d")
HOURLY = "hours"  # the key of a curve among the CPU figures of a workload
Figures = Mapping[str, Mapping[str, float]]  # resource -> window or statistic -> value


@dataclass(frozen=True, slots=True)
class PodUse:
    """The use of one pod in cores and bytes (``None``: unknown), and the priority class at the time of measuring."""

    cpu: float | None = None
    memory: float | None = None
    priority_class: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Watermarks:
    """Figures of the nodes ``names`` in percent of allocatable, and of workloads in cores and bytes per pod.

    ``updated`` is float64[nodes] in seconds of the epoch, NaN for a node without figures; ``source`` names their
    origin. A figure's key is the window of its mean ("5m", "10m", "15m", "1h", "1d"), "15m_std" for the standard
    deviation over a window, or "1h_max", "1d_max" for the highest 5-minute mean in one. With the suffix "_capacity" the
    figure is in percent of capacity. Sources that measure against capacity may add it, so that no rounding is lost.

    Some sources, such as Koordinator's, also have percentiles of a window like "5m_p95" (avg, p50, p90, p95, p99),
    "system" for use outside pods, the use of single pods, and the seconds between reports in ``interval``,
    float64[nodes].

    ``curves`` is what a pod of a workload uses at each hour of the day in UTC, learnt from the days before: float64[24]
    in cores, NaN for an hour of which nothing is known. The mapping is replaced when a curve changes.
    """

    names: Sequence[str]
    updated: Floats
    figures: Mapping[tuple[str, str], Floats]  # (resource, key) -> [nodes], NaN where unknown
    workloads: Mapping[str, Figures] = field(default_factory=dict)  # "namespace/Kind/name"
    source: str = ""
    pods: Mapping[str, PodUse] | None = None  # "namespace/name"; None: the source has no single pods
    interval: Floats | None = None  # NaN, or None for all nodes: unknown
    curves: Mapping[str, Floats] = field(default_factory=dict)  # "namespace/Kind/name"

    def column(self, resource: str, key: str) -> Floats:
        """Percent of allocatable, NaN where unknown. Shape [nodes]."""
        known = self.figures.get((resource, key))
        return np.full(len(self.names), math.nan) if known is None else known

    def use_now(self, resource: str) -> Floats | None:
        """Percent of allocatable that each node uses, by the first of NOW_WINDOWS of which any is known. Shape [nodes].

        ``None`` where nothing is known.
        """
        columns = (self.column(resource, window) for window in NOW_WINDOWS)
        return next((column for column in columns if not np.isnan(column).all()), None)

    def workload(self, pod: Pod, objects: ClusterObjects) -> Figures | None:
        """The use per pod of the workload that ``pod`` belongs to; ``None`` if unknown."""
        if not self.workloads:
            return None
        name = workload_of(pod, objects)
        return None if name is None else self.workloads.get(name)

    def curve(self, pod: Pod, objects: ClusterObjects) -> Floats | None:
        """The curve of the day of the workload that ``pod`` belongs to; ``None`` if unknown. Shape [24]."""
        name = workload_of(pod, objects) if self.curves else None
        return None if name is None else self.curves.get(name)

    def aligned(self, names: Sequence[str]) -> Watermarks:
        """The same figures for the nodes ``names``, in their order; NaN for nodes without figures."""
        if list(names) == list(self.names):
            return self
        known = {name: position for position, name in enumerate(self.names)}
        places = np.array([known.get(name, len(known)) for name in names], dtype=np.intp)

        def moved(column: Floats) -> Floats:
            return np.append(column, math.nan)[places]

        return replace(
            self,
            names=list(names),
            updated=moved(self.updated),
            figures={key: moved(column) for key, column in self.figures.items()},
            interval=None if self.interval is None else moved(self.interval),
        )

    @classmethod
    def read(cls, raw: Any, names: Sequence[str], source: str = "scenario") -> Watermarks:
        """Read figures in scenario form (``nodes``, ``workloads`` and ``pods``); raises ObjectError with the path.

        Figures of nodes that are not in ``names`` are checked, and left out.
        """
        if not isinstance(raw, dict):
            raise ObjectError("must be an object")
        index = {name: position for position, name in enumerate(names)}
        updated, interval = np.full(len(names), math.nan), np.full(len(names), math.nan)
        figures: dict[tuple[str, str], Floats] = {}
        for name in mapping(raw, "nodes"):
            entry, at = mapping(raw["nodes"], name, "nodes."), f"nodes.{name}."
            time, found = number(entry, "updated", at), read_figures(entry, at)
            every = number(entry, "interval", at, least=0.0)
            if name not in index:
                continue
            updated[index[name]] = math.nan if time is None else time
            interval[index[name]] = math.nan if every is None else every
            for resource, of_resource in found.items():
                for key, value in of_resource.items():
                    column = figures.setdefault((resource, key), np.full(len(names), math.nan))
                    column[index[name]] = value
        told = None if np.isnan(interval).all() else interval
        workloads, curves = _workloads(raw)
        return cls(list(names), updated, figures, workloads, source, _pods(raw), told, curves)


def _workloads(raw: Json) -> tuple[dict[str, Figures], dict[str, Floats]]:
    listed = mapping(raw, "workloads")
    workloads: dict[str, Figures] = {}
    curves: dict[str, Floats] = {}
    for name in listed:
        if name.count("/") != 2 or not all(name.split("/")):
            raise ObjectError(f"workloads.{name}: must be like namespace/Deployment/name")
        workloads[name], curve = read_workload(mapping(listed, name, "workloads."), f"workloads.{name}.")
        if curve is not None:
            curves[name] = curve
    return workloads, curves


def _pods(raw: Json) -> dict[str, PodUse] | None:
    if raw.get("pods") is None:
        return None
    listed, found = mapping(raw, "pods"), {}
    for name in listed:
        if name.count("/") != 1 or not all(name.split("/")):
            raise ObjectError(f"pods.{name}: must be like namespace/name")
        entry, at = mapping(listed, name, "pods."), f"pods.{name}."
        cpu, memory = (number(entry, resource, at, least=0.0) for resource in (CPU, MEMORY))
        found[name] = PodUse(cpu, memory, text(entry, "priorityClass", at))
    return found


def read_figures(entry: Json, path: str = "") -> dict[str, dict[str, float]]:
    """Resource -> key -> value, without nulls. Raises ObjectError with the path."""
    found: dict[str, dict[str, float]] = {}
    for resource in (CPU, MEMORY):
        listed = mapping(entry, resource, path)
        values = {key: number(listed, key, f"{path}{resource}.", least=0.0) for key in listed}
        found[resource] = {key: value for key, value in values.items() if value is not None}
    return found


def read_workload(entry: Json, path: str = "") -> tuple[dict[str, dict[str, float]], Floats | None]:
    """The figures of a workload, and its curve of the day where ``cpu.hours`` tells of one. Raises ObjectError."""
    cpu = dict(mapping(entry, CPU, path))
    listed, at = cpu.pop(HOURLY, None), f"{path}{CPU}.{HOURLY}"
    figures = read_figures({**entry, CPU: cpu}, path)
    if listed is None:
        return figures, None
    if not isinstance(listed, list) or len(listed) != HOURS:
        raise ObjectError(f"{at}: must be a list of {HOURS} numbers, one an hour from 00:00 UTC on, null: not known")
    values = [
        number({f"{HOURLY}[{hour}]": value}, f"{HOURLY}[{hour}]", f"{path}{CPU}.", 0.0)
        for hour, value in enumerate(listed)
    ]
    return figures, np.array([math.nan if value is None else value for value in values])


def workload_of(pod: Pod, objects: ClusterObjects) -> str | None:
    """``namespace/Kind/name`` of the Deployment, StatefulSet, DaemonSet or CloneSet that made the pod, if any."""
    kind, name = _owner(mapping(pod.raw, "metadata"))
    if kind == "ReplicaSet":
        replica_set = objects.get("ReplicaSet", pod.namespace, name)
        if replica_set is not None:
            kind, name = _owner(mapping(replica_set, "metadata"))
        elif suffix := pod.labels.get("pod-template-hash"):
            # The name of a Deployment's ReplicaSet is the Deployment's name and the hash of the pod template.
            kind, name = "Deployment", name.removesuffix(f"-{suffix}")
    return f"{pod.namespace}/{kind}/{name}" if kind in WORKLOADS else None


def _owner(metadata: Json) -> tuple[str, str]:
    """Kind and name of the controlling owner, else of the first one; empty if there is none."""
    owners = [owner for owner, _ in each(metadata, "ownerReferences", "metadata.")]
    for owner in sorted(owners, key=lambda owner: owner.get("controller") is not True):
        return text(owner, "kind"), text(owner, "name")
    return "", ""
