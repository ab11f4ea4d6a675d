"""Watermarks: the real use of nodes and workloads, as columns."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import Any

import numpy as np

from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import (
    ObjectError,
    get_mapping,
    get_number,
    get_objects_and_paths,
    get_string,
)
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.resources import CPU, MEMORY
from kschedweb.engine.state.cluster_objects import ClusterObjects
from kschedweb.engine.state.columns import Floats
from kschedweb.engine.values import dataclass

# Kinds of owners that have figures; CloneSet is OpenKruise's.
WORKLOADS = frozenset({"Deployment", "StatefulSet", "DaemonSet", "CloneSet"})
HOURS = 24
# Windows of a node's present use, wherever a skew or share is shown: the first that is known counts. The mean of an
# hour depends least on the moment at which somebody looks.
NOW_WINDOWS = ("1h", "15m", "10m", "5m", "1d")
# The key of a curve among the CPU figures of a workload.
HOURLY = "hours"
# Resource -> window or statistic -> value.
Figures = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True, slots=True)
class PodUse:
    """The measured use of one pod."""

    # Cores; None if unknown.
    cpu: float | None = None
    # Bytes; None if unknown.
    memory: float | None = None
    # Koordinator's class at the time of measuring.
    priority_class: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Watermarks:
    """Figures of the nodes in percent of allocatable, and of workloads in cores and bytes per pod.

    A figure's key is the window of its mean ("5m", "10m", "15m", "1h", "1d"), "15m_std" for the standard deviation over
    a window, or "1h_max", "1d_max" for the highest 5-minute mean in one. With the suffix "_capacity" the figure is in
    percent of capacity: sources that measure against capacity may add it, so that no rounding is lost.

    Some sources, such as Koordinator's, also have percentiles of a window like "5m_p95" (avg, p50, p90, p95, p99), and
    "system" for use outside pods.
    """

    # Names of the nodes.
    names: Sequence[str]
    # float64[nodes] in seconds of the epoch; NaN for a node without figures.
    updated: Floats
    # (resource, key) -> float64[nodes], NaN where unknown.
    figures: Mapping[tuple[str, str], Floats]
    # By "namespace/Kind/name".
    workloads: Mapping[str, Figures] = field(default_factory=dict)
    # The origin of the figures.
    source: str = ""
    # By "namespace/name"; None if the source does not measure single pods.
    pods: Mapping[str, PodUse] | None = None
    # Seconds between reports, float64[nodes]; NaN, or None for all nodes, if unknown.
    interval: Floats | None = None
    # By "namespace/Kind/name": the cores that a pod uses at each hour of the day in UTC, learnt from the days before.
    # float64[24], NaN for an unknown hour. The mapping is replaced when a curve changes.
    curves: Mapping[str, Floats] = field(default_factory=dict)

    def column(self, resource: str, key: str) -> Floats:
        """Return percent of allocatable, NaN where unknown. Shape [nodes]."""
        column = self.figures.get((resource, key))
        return np.full(len(self.names), math.nan) if column is None else column

    def use_now(self, resource: str) -> Floats | None:
        """Return the percent of allocatable that each node uses now; ``None`` if nothing is known.

        It is the first of NOW_WINDOWS with a known value. Shape [nodes].
        """
        columns = (self.column(resource, window) for window in NOW_WINDOWS)
        return next((column for column in columns if not np.isnan(column).all()), None)

    def workload_figures(self, pod: Pod, objects: ClusterObjects) -> Figures | None:
        """Return the use per pod of the workload that ``pod`` belongs to; ``None`` if unknown."""
        if not self.workloads:
            return None
        name = workload_of(pod, objects)
        return None if name is None else self.workloads.get(name)

    def workload_curve(self, pod: Pod, objects: ClusterObjects) -> Floats | None:
        """Return the curve of the day of the workload that ``pod`` belongs to; ``None`` if unknown.

        Shape [24].
        """
        name = workload_of(pod, objects) if self.curves else None
        return None if name is None else self.curves.get(name)

    def align_to(self, names: Sequence[str]) -> Watermarks:
        """Return the same figures for the nodes ``names``, in their order; NaN for nodes without figures."""
        if list(names) == list(self.names):
            return self
        position_by_name = {name: position for position, name in enumerate(self.names)}
        places = np.array([position_by_name.get(name, len(position_by_name)) for name in names], dtype=np.intp)

        def align_column(column: Floats) -> Floats:
            return np.append(column, math.nan)[places]

        return replace(
            self,
            names=list(names),
            updated=align_column(self.updated),
            figures={key: align_column(column) for key, column in self.figures.items()},
            interval=None if self.interval is None else align_column(self.interval),
        )

    @classmethod
    def from_json(cls, raw: Any, names: Sequence[str], source: str = "scenario") -> Watermarks:
        """Read figures in scenario form (``nodes``, ``workloads`` and ``pods``).

        Raise ObjectError with the path. Figures of nodes that are not in ``names`` are checked and left out.
        """
        if not isinstance(raw, dict):
            raise ObjectError("must be an object")
        index = {name: position for position, name in enumerate(names)}
        updated, interval = np.full(len(names), math.nan), np.full(len(names), math.nan)
        figures: dict[tuple[str, str], Floats] = {}
        for name in get_mapping(raw, "nodes"):
            entry, at = get_mapping(raw["nodes"], name, "nodes."), f"nodes.{name}."
            time, node_figures = get_number(entry, "updated", at), read_figures(entry, at)
            report_interval = get_number(entry, "interval", at, minimum=0.0)
            if name not in index:
                continue
            updated[index[name]] = math.nan if time is None else time
            interval[index[name]] = math.nan if report_interval is None else report_interval
            for resource, of_resource in node_figures.items():
                for key, value in of_resource.items():
                    column = figures.setdefault((resource, key), np.full(len(names), math.nan))
                    column[index[name]] = value
        intervals = None if np.isnan(interval).all() else interval
        workloads, curves = _parse_workloads(raw)
        return cls(list(names), updated, figures, workloads, source, _parse_pods(raw), intervals, curves)


def _parse_workloads(raw: Json) -> tuple[dict[str, Figures], dict[str, Floats]]:
    listed = get_mapping(raw, "workloads")
    workloads: dict[str, Figures] = {}
    curves: dict[str, Floats] = {}
    for name in listed:
        if name.count("/") != 2 or not all(name.split("/")):
            raise ObjectError(f"workloads.{name}: must be like namespace/Deployment/name")
        workloads[name], curve = read_workload(get_mapping(listed, name, "workloads."), f"workloads.{name}.")
        if curve is not None:
            curves[name] = curve
    return workloads, curves


def _parse_pods(raw: Json) -> dict[str, PodUse] | None:
    if raw.get("pods") is None:
        return None
    listed, uses = get_mapping(raw, "pods"), {}
    for name in listed:
        if name.count("/") != 1 or not all(name.split("/")):
            raise ObjectError(f"pods.{name}: must be like namespace/name")
        entry, at = get_mapping(listed, name, "pods."), f"pods.{name}."
        cpu, memory = (get_number(entry, resource, at, minimum=0.0) for resource in (CPU, MEMORY))
        uses[name] = PodUse(cpu, memory, get_string(entry, "priorityClass", at))
    return uses


def read_figures(entry: Json, path: str = "") -> dict[str, dict[str, float]]:
    """Return resource -> key -> value, without nulls. Raise ObjectError with the path."""
    figures: dict[str, dict[str, float]] = {}
    for resource in (CPU, MEMORY):
        listed = get_mapping(entry, resource, path)
        values = {key: get_number(listed, key, f"{path}{resource}.", minimum=0.0) for key in listed}
        figures[resource] = {key: value for key, value in values.items() if value is not None}
    return figures


def read_workload(entry: Json, path: str = "") -> tuple[dict[str, dict[str, float]], Floats | None]:
    """Return the figures of a workload, and its curve of the day if ``cpu.hours`` has one. Raise ObjectError."""
    cpu = dict(get_mapping(entry, CPU, path))
    listed, at = cpu.pop(HOURLY, None), f"{path}{CPU}.{HOURLY}"
    figures = read_figures({**entry, CPU: cpu}, path)
    if listed is None:
        return figures, None
    if not isinstance(listed, list) or len(listed) != HOURS:
        raise ObjectError(f"{at}: must be a list of {HOURS} numbers, one an hour from 00:00 UTC on, null: not known")
    values = [
        get_number({f"{HOURLY}[{hour}]": value}, f"{HOURLY}[{hour}]", f"{path}{CPU}.", 0.0)
        for hour, value in enumerate(listed)
    ]
    return figures, np.array([math.nan if value is None else value for value in values])


def workload_of(pod: Pod, objects: ClusterObjects) -> str | None:
    """Return ``namespace/Kind/name`` of the workload that made the pod, if any.

    It is a Deployment, StatefulSet, DaemonSet or CloneSet.
    """
    kind, name = _find_owner(get_mapping(pod.raw, "metadata"))
    if kind == "ReplicaSet":
        replica_set = objects.get("ReplicaSet", pod.namespace, name)
        if replica_set is not None:
            kind, name = _find_owner(get_mapping(replica_set, "metadata"))
        elif suffix := pod.labels.get("pod-template-hash"):
            # The name of a Deployment's ReplicaSet is the Deployment's name and the hash of the pod template.
            kind, name = "Deployment", name.removesuffix(f"-{suffix}")
    return f"{pod.namespace}/{kind}/{name}" if kind in WORKLOADS else None


def _find_owner(metadata: Json) -> tuple[str, str]:
    """Return kind and name of the controlling owner, else of the first one; empty if there is none."""
    owners = [owner for owner, _ in get_objects_and_paths(metadata, "ownerReferences", "metadata.")]
    for owner in sorted(owners, key=lambda owner: owner.get("controller") is not True):
        return get_string(owner, "kind"), get_string(owner, "name")
    return "", ""
