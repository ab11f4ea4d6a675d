"""When bound pods came to be where they are, as columns that all plugins share."""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np

from kschedweb.engine.objects.access import Json, text
from kschedweb.engine.objects.pod import Pod, scheduled, started
from kschedweb.engine.state.columns import Codes, Floats, Mask
from kschedweb.engine.state.pods import PodTable

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
    def known(self) -> bool:
        """Whether the pods were looked at, so that nothing of this changes any more."""
        return "_told" in vars(self)

    @cached_property
    def taken(self) -> Mask:
        """Whether the slot has a pod."""
        return self.node >= 0

    @cached_property
    def scheduled(self) -> Floats:
        """When the pod got its node, in seconds of the epoch; NaN if unknown."""
        found: Floats = self._told[0]
        return found

    @cached_property
    def started(self) -> Floats:
        """When the pod started, in seconds of the epoch; infinite where it has not."""
        found: Floats = self._told[1]
        return found

    @cached_property
    def came_bound(self) -> Mask:
        """Whether the pod came with its node: it was not placed in this snapshot."""
        found: Mask = self._told[2] >= BOUND
        return found

    @cached_property
    def running(self) -> Mask:
        """Whether a pod that came with its node runs; one that is being deleted does not."""
        found: Mask = self._told[2] == RUNNING
        return found

    @cached_property
    def waits(self) -> Mask:
        """Whether a pod that came with its node has not begun to run; one that is being deleted is not among them."""
        found: Mask = self._told[2] == PENDING
        return found

    @cached_property
    def _told(self) -> Floats:
        """The times, and what is told of the phase. Shape [3, slots]."""
        nothing = math.nan, math.nan, 0
        rows = np.array([nothing if pod is None else _told(pod) for pod in self._pods], dtype=np.float64)
        found: Floats = rows.reshape(-1, 3).T
        for key, time in self._placed.items():
            found[0, self._slots[key]] = time
        return found


def _told(pod: Pod) -> tuple[float, float, int]:
    """Once for each of many pods: Pod.read has looked at the kinds of these fields, and to remember costs as much."""
    raw = pod.raw
    status = raw.get("status") or NOTHING
    bound = BOUND if (raw.get("spec") or NOTHING).get("nodeName") else 0
    if bound and not pod.terminating:
        bound = PHASES.get(text(status, "phase", "status."), BOUND)
    return scheduled(raw, status), started(status), bound
