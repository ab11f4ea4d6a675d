"""Shared parts of the load-aware plugins of scheduler-plugins, its Trimaran family.

Their watcher reports each node's use as a list of metrics. Here the mean over 15 minutes is the figure "15m", the
standard deviation "15m_std".
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kschedweb.engine.objects.quantity import round_to_unit
from kschedweb.engine.objects.resources import CPU, MEMORY, Amounts, Container, PodResources
from kschedweb.engine.state.columns import Floats, Ints, Mask, Rows
from kschedweb.engine.state.watermarks.table import Watermarks
from kschedweb.engine.values import dataclass

MEAN, DEVIATION = "15m", "15m_std"


@dataclass(frozen=True, slots=True)
class TrimaranUse:
    """The use of one resource on some nodes in percent."""

    # Where it is False, both others are 0.
    measured: Mask
    mean: Floats
    deviation: Floats

    @classmethod
    def from_watermarks(cls, watermarks: Watermarks, resource: str, rows: Rows) -> TrimaranUse:
        """Read the use of ``resource``.

        As upstream, a deviation without a mean counts as measured with mean 0.
        """
        mean, deviation = (watermarks.column(resource, key)[rows] for key in (MEAN, DEVIATION))
        measured = ~(np.isnan(mean) & np.isnan(deviation))
        return cls(measured, np.nan_to_num(mean), np.nan_to_num(deviation))

    def compute_shares(self, allocatable: Ints | Floats, request: int = 0) -> tuple[Floats, Floats]:
        """Return mean plus ``request``, and deviation, as shares of ``allocatable`` in 0..1.

        Both are 0 where allocatable is 0.
        """
        size = allocatable.astype(np.float64)
        has_amount = size > 0
        divisor = np.where(has_amount, size, 1.0)
        used, spread = (np.clip(part * size / 100, 0.0, size) for part in (self.mean, self.deviation))
        mean = np.clip((used + float(max(request, 0))) / divisor, 0.0, 1.0)
        deviation = np.clip(spread / divisor, 0.0, 1.0)
        return np.where(has_amount, mean, 0.0), np.where(has_amount, deviation, 0.0)


def reported_nodes(watermarks: Watermarks, rows: Rows) -> Mask:
    """Return the mask of the nodes that the watcher reports on."""
    mask = ~np.isnan(watermarks.updated[rows])
    for resource in (CPU, MEMORY):
        mask = mask | TrimaranUse.from_watermarks(watermarks, resource, rows).measured
    return mask


def effective_amounts(resources: PodResources, amounts_of: Callable[[Container], Amounts]) -> tuple[int, int]:
    """Return the effective requests or limits of a pod: (milli-CPU, bytes).

    They are the sum over containers, or the largest init container if that is more, plus the overhead. Each container
    is rounded up by itself. Upstream ignores sidecars and pod-level resources, so they are ignored here.
    """
    return _effective_amount(resources, amounts_of, CPU), _effective_amount(resources, amounts_of, MEMORY)


def _effective_amount(resources: PodResources, amounts_of: Callable[[Container], Amounts], name: str) -> int:
    together = sum(round_to_unit(name, amounts_of(container).get(name, 0)) for container in resources.containers)
    alone = (round_to_unit(name, amounts_of(container).get(name, 0)) for container in resources.init_containers)
    return max([together, *alone]) + round_to_unit(name, resources.overhead.get(name, 0))


def container_requests(container: Container) -> Amounts:
    """Return a container's requests, for ``effective_amounts``."""
    return container.requests


def container_limits(container: Container) -> Amounts:
    """Return a container's limits, for ``effective_amounts``."""
    return container.limits
