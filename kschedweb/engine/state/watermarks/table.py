"""Watermarks: what nodes and workloads really use, as columns."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from kschedweb.engine.objects.access import Json, ObjectError, each, mapping, number, text
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.resources import CPU, MEMORY
from kschedweb.engine.state.cluster import ClusterObjects
from kschedweb.engine.state.columns import Floats

WORKLOADS = frozenset({"Deployment", "StatefulSet", "DaemonSet", "CloneSet"})
Figures = Mapping[str, Mapping[str, float]]  # resource -> window or statistic -> value


@dataclass(frozen=True, slots=True)
class PodUse:
    """What one pod uses, in cores and bytes (``None``: not told), and the priority class that it was measured under."""

    cpu: float | None = None
    memory: float | None = None
    priority_class: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Watermarks:
    """Figures of the nodes ``names``, in percent of allocatable, and of workloads, in cores and bytes a pod.

    ``updated`` is float64[nodes], seconds of the epoch, NaN where a node has no figures; ``source`` says where they
    are from. A figure's key is the window of its mean ("5m", "10m", "15m", "1h", "1d"), "15m_std" for the standard
    deviation over a window, or "1h_max", "1d_max" for the highest 5-minute mean in one. With "_capacity" behind it the
    same figure is in percent of capacity: sources that measure it so may add it, to be read back to the last bit.

    Sources that know more, as Koordinator's does, add "5m_p95" and the like for a percentile of a window (avg, p50,
    p90, p95, p99), "system" for what is used outside pods, the use of single pods, and in ``interval``, float64[nodes],
    every how many seconds they report.
    """

    names: Sequence[str]
    updated: Floats
    figures: Mapping[tuple[str, str], Floats]  # (resource, key) -> [nodes], NaN where unknown
    workloads: Mapping[str, Figures] = field(default_factory=dict)  # "namespace/Kind/name"
    source: str = ""
    pods: Mapping[str, PodUse] | None = None  # "namespace/name"; None: single pods are not told of
    interval: Floats | None = None  # NaN, or None for all nodes: not told

    def column(self, resource: str, key: str) -> Floats:
        """Percent of allocatable, NaN where unknown. Shape [nodes]."""
        known = self.figures.get((resource, key))
        return np.full(len(self.names), math.nan) if known is None else known

    def workload(self, pod: Pod, objects: ClusterObjects) -> Figures | None:
        """What a pod of the workload uses that ``pod`` belongs to; ``None`` where that is not known."""
        if not self.workloads:
            return None
        name = workload_of(pod, objects)
        return None if name is None else self.workloads.get(name)

    def aligned(self, names: Sequence[str]) -> Watermarks:
        """The same figures for the nodes ``names``, in their order; nodes without any have none."""
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
        """Figures in the form of scenarios (``nodes``, ``workloads`` and ``pods``); raises ObjectError with the path.

        What is said of nodes that are not among ``names`` is checked, and left out.
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
        return cls(list(names), updated, figures, _workloads(raw), source, _pods(raw), told)


def _workloads(raw: Json) -> dict[str, Figures]:
    listed = mapping(raw, "workloads")
    for name in listed:
        if name.count("/") != 2 or not all(name.split("/")):
            raise ObjectError(f"workloads.{name}: must be like namespace/Deployment/name")
    return {name: read_figures(mapping(listed, name, "workloads."), f"workloads.{name}.") for name in listed}


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
    """Resource -> key -> value; what is null is left out. Raises ObjectError with the path."""
    found: dict[str, dict[str, float]] = {}
    for resource in (CPU, MEMORY):
        listed = mapping(entry, resource, path)
        values = {key: number(listed, key, f"{path}{resource}.", least=0.0) for key in listed}
        found[resource] = {key: value for key, value in values.items() if value is not None}
    return found


def workload_of(pod: Pod, objects: ClusterObjects) -> str | None:
    """``namespace/Kind/name`` of the Deployment, StatefulSet, DaemonSet or CloneSet that made the pod, if one did."""
    kind, name = _owner(mapping(pod.raw, "metadata"))
    if kind == "ReplicaSet":
        replica_set = objects.get("ReplicaSet", pod.namespace, name)
        if replica_set is not None:
            kind, name = _owner(mapping(replica_set, "metadata"))
        elif suffix := pod.labels.get("pod-template-hash"):
            # A ReplicaSet that a Deployment made is called after it and its pods' template.
            kind, name = "Deployment", name.removesuffix(f"-{suffix}")
    return f"{pod.namespace}/{kind}/{name}" if kind in WORKLOADS else None


def _owner(metadata: Json) -> tuple[str, str]:
    """Kind and name of the owner that controls, else of the first; empty where there is none."""
    owners = [owner for owner, _ in each(metadata, "ownerReferences", "metadata.")]
    for owner in sorted(owners, key=lambda owner: owner.get("controller") is not True):
        return text(owner, "kind"), text(owner, "name")
    return "", ""
