"""When bound pods came to be where they are, as columns that all plugins share."""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np

from kschedweb.engine.objects.json_access import Json, get_string
from kschedweb.engine.objects.pod import Pod, read_scheduled_time, read_start_time
from kschedweb.engine.state.columns import Codes, Floats, Mask
from kschedweb.engine.state.pod_table import PodTable

BOUND, PENDING, RUNNING = 1, 2, 3  # of pods that came with their node: in some phase, and in these
NOTHING: Json = {}
PHASES = {"Pending": PENDING, "Running": RUNNING}


class PodTimes:
    """The pods of ``table`` by slot, as they were when this was made; ``placed`` are times of pods placed since then.

    What a free slot says is of no pod.
    """

    def __init__(self, table: PodTable, placed: dict[str, float]) -> None:
        self._pods, self._slots, self._placed = table.pods, table.slots, placed
        self.node: Codes = table.node.copy()

    @property
    def is_computed(self) -> bool:
        """Whether the pods were looked at, so that nothing of this changes any more."""
        return "_pod_rows" in vars(self)

    @cached_property
    def has_pod(self) -> Mask:
        """Whether the slot has a pod."""
        return self.node >= 0

    @cached_property
    def scheduled(self) -> Floats:
        """When the pod got its node, in seconds of the epoch; NaN if unknown."""
        times: Floats = self._pod_rows[0]
        return times

    @cached_property
    def started(self) -> Floats:
        """When the pod started, in seconds of the epoch; infinite where it has not."""
        times: Floats = self._pod_rows[1]
        return times

    @cached_property
    def came_bound(self) -> Mask:
        """Whether the pod came with its node: it was not placed in this snapshot."""
        mask: Mask = self._pod_rows[2] >= BOUND
        return mask

    @cached_property
    def is_running(self) -> Mask:
        """Whether a pod that came with its node runs; one that is being deleted does not."""
        mask: Mask = self._pod_rows[2] == RUNNING
        return mask

    @cached_property
    def is_waiting(self) -> Mask:
        """Whether a pod that came with its node has not begun to run; one that is being deleted is not among them."""
        mask: Mask = self._pod_rows[2] == PENDING
        return mask

    @cached_property
    def _pod_rows(self) -> Floats:
        """The times, and what is told of the phase. Shape [3, slots]."""
        nothing = math.nan, math.nan, 0
        rows = np.array([nothing if pod is None else _read_row(pod) for pod in self._pods], dtype=np.float64)
        columns: Floats = rows.reshape(-1, 3).T
        for key, time in self._placed.items():
            columns[0, self._slots[key]] = time
        return columns


def _read_row(pod: Pod) -> tuple[float, float, int]:
    """Once for each of many pods: Pod.read has looked at the kinds of these fields, and to remember costs as much."""
    raw = pod.raw
    status = raw.get("status") or NOTHING
    bound = BOUND if (raw.get("spec") or NOTHING).get("nodeName") else 0
    if bound and not pod.terminating:
        bound = PHASES.get(get_string(status, "phase", "status."), BOUND)
    return read_scheduled_time(raw, status), read_start_time(status), bound
