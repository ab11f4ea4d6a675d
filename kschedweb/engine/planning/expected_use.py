"""The expected use of pods, and the sums on each node: columns that a plan changes.

A pod uses what was measured of it, else what a pod of its workload uses (the mean of the windows of 15 minutes and an
hour, of those that are known; else of another). Pods without either share the rest of their node's measured use, in
proportion to their requests. On nodes that were not measured they use their requests.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.resources import CPU, MEMORY
from kschedweb.engine.planning.results import PlanError
from kschedweb.engine.state.columns import Floats, Mask
from kschedweb.engine.state.snapshot import Snapshot
from kschedweb.engine.state.watermarks.table import Figures, Watermarks
from kschedweb.engine.values import dataclass

WINDOWS = ("15m", "1h")
OTHER_WINDOWS = ("1d", "10m", "5m")
# Pods of different revisions of a workload may differ in use.
HASH = "pod-template-hash"
# Milli-CPU of a core; bytes.
UNIT = {CPU: 1000.0, MEMORY: 1.0}


@dataclass(frozen=True, slots=True, eq=False)
class ExpectedUse:
    """The expected use of one resource, in milli-CPU or bytes."""

    # All on nodes, without those that terminate.
    pods: Sequence[Pod]
    # The position of each pod's node.
    node: NDArray[np.intp]
    # The use of each pod.
    amount: Floats
    # float64[nodes].
    allocatable: Floats
    # The nodes whose levels are compared.
    counted: Mask
    # Measured per cent of allocatable, NaN for nodes that were not measured; None if none was.
    measured: Floats | None = None

    def compute_levels(self) -> Floats:
        """Return the per cent of allocatable that each node uses: measured, else ``of_pods``. Shape [nodes]."""
        sums = self.of_pods()
        return sums if self.measured is None else np.where(np.isnan(self.measured), sums, self.measured)

    def of_pods(self) -> Floats:
        """Return the per cent of allocatable that the pods of each node use together. Shape [nodes]."""
        sums = np.bincount(self.node, weights=self.amount, minlength=len(self.allocatable))
        levels: Floats = np.divide(
            100.0 * sums, self.allocatable, out=np.zeros_like(sums), where=self.allocatable > 0.0
        )
        return levels


def compute_expected_use(snapshot: Snapshot, resource: str) -> ExpectedUse:
    """Compute the expected use of ``resource``; raises PlanError if nothing is known of real use."""
    marks = snapshot.watermarks
    if marks is None:
        raise PlanError("nothing is known of real use: give watermarks")
    pod_nodes = zip(snapshot.pods.pods, snapshot.pods.node.tolist(), strict=True)
    slots = [(pod, node) for pod, node in pod_nodes if pod is not None and not pod.terminating]
    pods, node = [pod for pod, _ in slots], np.array([node for _, node in slots], dtype=np.intp)
    allocatable = snapshot.resource_row(snapshot.allocatable, resource).astype(np.float64)
    known_use = _find_known_use(pods, marks, snapshot, resource)
    measured = marks.use_now(resource)
    if measured is None and np.isnan(known_use).all():
        raise PlanError(f"nothing is known of real use of {resource}: give watermarks")
    requested = np.array([pod.occupied_nonzero[0 if resource == CPU else 1] for pod in pods], dtype=np.float64)
    amount = _share_rest(known_use, requested, node, allocatable, measured)
    counted = snapshot.node_columns.open_nodes() & (allocatable > 0.0)
    return ExpectedUse(pods, node, amount, allocatable, counted, measured)


def _find_known_use(pods: Sequence[Pod], marks: Watermarks, snapshot: Snapshot, resource: str) -> Floats:
    """Return the known use of each pod or of its workload, NaN if there is none. Shape [pods]."""
    known_use = np.full(len(pods), math.nan)
    workloads: dict[Hashable, float] = {}
    for place, pod in enumerate(pods):
        pod_figures = marks.pods.get(pod.key) if marks.pods is not None else None
        single = None if pod_figures is None else pod_figures.cpu if resource == CPU else pod_figures.memory
        if single is not None:
            known_use[place] = single * UNIT[resource]
            continue
        if not marks.workloads:
            continue
        owner = pod.namespace, pod.controller, pod.labels.get(HASH)
        if owner not in workloads:
            workloads[owner] = _compute_mean(marks.workload_figures(pod, snapshot.objects), resource) * UNIT[resource]
        known_use[place] = workloads[owner]
    return known_use


def _compute_mean(figures: Figures | None, resource: str) -> float:
    by_window: Mapping[str, float] = (figures or {}).get(resource, {})
    listed = [by_window[key] for key in WINDOWS if key in by_window] or [
        by_window[key] for key in OTHER_WINDOWS if key in by_window
    ][:1]
    return sum(listed) / len(listed) if listed else math.nan


def _share_rest(
    known_use: Floats, requests: Floats, node: NDArray[np.intp], allocatable: Floats, measured: Floats | None
) -> Floats:
    """Return ``known_use``, filled up with shares of what is left of the nodes' measured use."""
    lacks, size = np.isnan(known_use), len(allocatable)
    if not lacks.any():
        return known_use
    explained = np.bincount(node[~lacks], weights=known_use[~lacks], minlength=size)
    requested = np.bincount(node[lacks], weights=requests[lacks], minlength=size)
    level = np.full(size, math.nan) if measured is None else measured
    unexplained = np.maximum(level / 100.0 * allocatable - explained, 0.0)
    share = np.divide(unexplained, requested, out=np.zeros(size), where=requested > 0.0)[node]
    guessed = np.where(np.isnan(unexplained)[node], requests, share * requests)
    return np.where(lacks, guessed, known_use)
