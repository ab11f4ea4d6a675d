"""What the load-aware plugins of scheduler-plugins (its Trimaran family) have in common.

Their watcher reports each node's use as a list of metrics. Here the mean over 15 minutes is the figure "15m", the
standard deviation "15m_std".
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kschedweb.engine.objects.quantity import whole
from kschedweb.engine.objects.resources import CPU, MEMORY, Amounts, Container, PodResources
from kschedweb.engine.state.columns import Floats, Ints, Mask, Rows
from kschedweb.engine.state.watermarks.table import Watermarks
from kschedweb.engine.values import dataclass

MEAN, DEVIATION = "15m", "15m_std"


@dataclass(frozen=True, slots=True)
class Measured:
    """The use of one resource on some nodes in percent; where ``known`` is false, both others are 0."""

    known: Mask
    mean: Floats
    deviation: Floats

    @classmethod
    def of(cls, watermarks: Watermarks, resource: str, rows: Rows) -> Measured:
        """Read the use of ``resource``. A deviation without a mean counts as measured with mean 0, as upstream."""
        mean, deviation = (watermarks.column(resource, key)[rows] for key in (MEAN, DEVIATION))
        known = ~(np.isnan(mean) & np.isnan(deviation))
        return cls(known, np.nan_to_num(mean), np.nan_to_num(deviation))

    def shares(self, allocatable: Ints | Floats, request: int = 0) -> tuple[Floats, Floats]:
        """Mean plus ``request``, and deviation, as shares of ``allocatable`` in 0..1; 0 where allocatable is 0."""
        size = allocatable.astype(np.float64)
        there = size > 0
        divisor = np.where(there, size, 1.0)
        used, spread = (np.clip(part * size / 100, 0.0, size) for part in (self.mean, self.deviation))
        mean = np.clip((used + float(max(request, 0))) / divisor, 0.0, 1.0)
        deviation = np.clip(spread / divisor, 0.0, 1.0)
        return np.where(there, mean, 0.0), np.where(there, deviation, 0.0)


def reported(watermarks: Watermarks, rows: Rows) -> Mask:
    """The nodes that the watcher reports on."""
    known = ~np.isnan(watermarks.updated[rows])
    for resource in (CPU, MEMORY):
        known = known | Measured.of(watermarks, resource, rows).known
    return known


def effective(resources: PodResources, of: Callable[[Container], Amounts]) -> tuple[int, int]:
    """The effective requests or limits of a pod: (milli-CPU, bytes).

    They are the sum over containers, or the largest init container if that is more, plus the overhead. Each container
    is rounded up by itself. Upstream ignores sidecars and pod-level resources, so they are ignored here.
    """
    return _effective(resources, of, CPU), _effective(resources, of, MEMORY)


def _effective(resources: PodResources, of: Callable[[Container], Amounts], name: str) -> int:
    together = sum(whole(name, of(container).get(name, 0)) for container in resources.containers)
    alone = (whole(name, of(container).get(name, 0)) for container in resources.init_containers)
    return max([together, *alone]) + whole(name, resources.overhead.get(name, 0))


def requests(container: Container) -> Amounts:
    """A container's requests, for ``effective``."""
    return container.requests


def limits(container: Container) -> Amounts:
    """A container's limits, for ``effective``."""
    return container.limits
