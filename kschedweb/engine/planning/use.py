"""What pods are expected to use, and what that comes to on each node: columns that a plan moves about.

A pod uses what was measured of it, else what a pod of its workload uses (the mean of the windows of 15 minutes and an
hour, of those that are known; else of another). Pods of which neither is known share what is left of their node's
measured use, in proportion to their requests. Where a node was not measured they use what they request.
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
OTHERS = ("1d", "10m", "5m")
HASH = "pod-template-hash"
UNIT = {CPU: 1000.0, MEMORY: 1.0}  # milli-CPU a core, bytes


@dataclass(frozen=True, slots=True, eq=False)
class Use:
    """``pods`` are all on nodes but those that terminate. ``node`` is the position of each one's, ``amount`` its use
    (milli-CPU, bytes).

    ``allocatable`` is float64[nodes] in the same unit. ``counted``: nodes whose levels are compared. ``measured`` is
    the percent of allocatable that was measured of each node, NaN where it was not, ``None`` where none was.
    """

    pods: Sequence[Pod]
    node: NDArray[np.intp]
    amount: Floats
    allocatable: Floats
    counted: Mask
    measured: Floats | None = None

    def levels(self) -> Floats:
        """Percent of allocatable that each node uses: what was measured of it, else ``of_pods``. Shape [nodes]."""
        sums = self.of_pods()
        return sums if self.measured is None else np.where(np.isnan(self.measured), sums, self.measured)

    def of_pods(self) -> Floats:
        """Percent of allocatable that the pods of each node use together. Shape [nodes]."""
        sums = np.bincount(self.node, weights=self.amount, minlength=len(self.allocatable))
        found: Floats = np.divide(100.0 * sums, self.allocatable, out=np.zeros_like(sums), where=self.allocatable > 0.0)
        return found


def expected(snapshot: Snapshot, resource: str) -> Use:
    """Raises PlanError where nothing is known of real use."""
    marks = snapshot.watermarks
    if marks is None:
        raise PlanError("nothing is known of real use: give watermarks")
    there = zip(snapshot.pods.pods, snapshot.pods.node.tolist(), strict=True)
    slots = [(pod, node) for pod, node in there if pod is not None and not pod.terminating]
    pods, node = [pod for pod, _ in slots], np.array([node for _, node in slots], dtype=np.intp)
    allocatable = snapshot.amounts(snapshot.allocatable, resource).astype(np.float64)
    known = _known(pods, marks, snapshot, resource)
    measured = marks.use_now(resource)
    if measured is None and np.isnan(known).all():
        raise PlanError(f"nothing is known of real use of {resource}: give watermarks")
    asked = np.array([pod.occupied_nonzero[0 if resource == CPU else 1] for pod in pods], dtype=np.float64)
    amount = _shared(known, asked, node, allocatable, measured)
    counted = snapshot.node_columns.open() & (allocatable > 0.0)
    return Use(pods, node, amount, allocatable, counted, measured)


def _known(pods: Sequence[Pod], marks: Watermarks, snapshot: Snapshot, resource: str) -> Floats:
    """What is known of each pod or of its workload, NaN where nothing is. Shape [pods]."""
    found = np.full(len(pods), math.nan)
    workloads: dict[Hashable, float] = {}
    for place, pod in enumerate(pods):
        own = marks.pods.get(pod.key) if marks.pods is not None else None
        single = None if own is None else own.cpu if resource == CPU else own.memory
        if single is not None:
            found[place] = single * UNIT[resource]
            continue
        if not marks.workloads:
            continue
        owner = pod.namespace, pod.controller, pod.labels.get(HASH)
        if owner not in workloads:
            workloads[owner] = _mean(marks.workload(pod, snapshot.objects), resource) * UNIT[resource]
        found[place] = workloads[owner]
    return found


def _mean(figures: Figures | None, resource: str) -> float:
    of: Mapping[str, float] = (figures or {}).get(resource, {})
    listed = [of[key] for key in WINDOWS if key in of] or [of[key] for key in OTHERS if key in of][:1]
    return sum(listed) / len(listed) if listed else math.nan


def _shared(
    known: Floats, asked: Floats, node: NDArray[np.intp], allocatable: Floats, measured: Floats | None
) -> Floats:
    """``known``, and where it is not a share of what is left of the node's use."""
    lacks, size = np.isnan(known), len(allocatable)
    if not lacks.any():
        return known
    explained = np.bincount(node[~lacks], weights=known[~lacks], minlength=size)
    requested = np.bincount(node[lacks], weights=asked[lacks], minlength=size)
    level = np.full(size, math.nan) if measured is None else measured
    left = np.maximum(level / 100.0 * allocatable - explained, 0.0)
    share = np.divide(left, requested, out=np.zeros(size), where=requested > 0.0)[node]
    guessed = np.where(np.isnan(left)[node], asked, share * asked)
    return np.where(lacks, guessed, known)
