"""Times at which bound pods got their nodes and started, as columns that all plugins share."""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np

from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import get_string
from kschedweb.engine.objects.pod import Pod, read_scheduled_time, read_start_time
from kschedweb.engine.state.columns import Codes, Floats, Mask
from kschedweb.engine.state.pod_table import PodTable

# Phases of pods that came with their node; BOUND stands for any other phase. 0 is a pod that was placed here.
BOUND, PENDING, RUNNING = 1, 2, 3
NOTHING: Json = {}
PHASES = {"Pending": PENDING, "Running": RUNNING}


class PodTimes:
    """The bound pods by slot, as they were when this was made. Entries of free slots mean nothing.

    ``placed`` are the times of pods that were placed in this snapshot.
    """

    def __init__(self, table: PodTable, placed: dict[str, float]) -> None:
        self._pods, self._slots, self._placed = table.pods, table.slots, placed
        self.node: Codes = table.node.copy()

    @property
    def is_computed(self) -> bool:
        """True if the pods were read, so that nothing here changes any more."""
        return "_pod_rows" in vars(self)

    @cached_property
    def has_pod(self) -> Mask:
        """The mask of the slots that have a pod."""
        return self.node >= 0

    @cached_property
    def scheduled(self) -> Floats:
        """The time at which each pod got its node, in seconds of the epoch; NaN if unknown."""
        times: Floats = self._pod_rows[0]
        return times

    @cached_property
    def started(self) -> Floats:
        """The time at which each pod started, in seconds of the epoch; infinite if it has not."""
        times: Floats = self._pod_rows[1]
        return times

    @cached_property
    def came_bound(self) -> Mask:
        """The mask of the pods that came with their node: they were not placed in this snapshot."""
        mask: Mask = self._pod_rows[2] >= BOUND
        return mask

    @cached_property
    def is_running(self) -> Mask:
        """The mask of the pods that came with their node and run, except those being deleted."""
        mask: Mask = self._pod_rows[2] == RUNNING
        return mask

    @cached_property
    def is_waiting(self) -> Mask:
        """The mask of the pods that came with their node and do not run yet, except those being deleted."""
        mask: Mask = self._pod_rows[2] == PENDING
        return mask

    @cached_property
    def _pod_rows(self) -> Floats:
        """Times of scheduling and start, and the phase. Shape [3, slots]."""
        nothing = math.nan, math.nan, 0
        rows = np.array([nothing if pod is None else _read_row(pod) for pod in self._pods], dtype=np.float64)
        columns: Floats = rows.reshape(-1, 3).T
        for key, time in self._placed.items():
            columns[0, self._slots[key]] = time
        return columns


def _read_row(pod: Pod) -> tuple[float, float, int]:
    """Return the row of one pod, without a cache: it is read once, and a cache would cost as much.

    ``Pod.from_json`` has checked the kinds of these fields.
    """
    raw = pod.raw
    status = raw.get("status") or NOTHING
    bound = BOUND if (raw.get("spec") or NOTHING).get("nodeName") else 0
    if bound and not pod.terminating:
        bound = PHASES.get(get_string(status, "phase", "status."), BOUND)
    return read_scheduled_time(raw, status), read_start_time(status), bound
