"""Shortages of a node for a pod."""

from __future__ import annotations

import numpy as np

from kschedweb.engine.objects.amounts import format_amount
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.resources import CPU
from kschedweb.engine.state.columns import Floats
from kschedweb.engine.state.snapshot import Snapshot
from kschedweb.engine.values import dataclass


@dataclass(frozen=True)
class ResourceShortage:
    """A resource of which a node has less than a pod requests, in milli-CPU or whole units."""

    resource: str
    requested: int
    free: int
    allocatable: int

    @property
    def missing(self) -> int:
        return self.requested - self.free

    def __str__(self) -> str:
        return format_resource(self.missing, self.resource)


def format_resource(amount: int, resource: str) -> str:
    """Return an amount with the name of its resource: "20.25 CPU", "1.5Gi memory"."""
    text = format_amount(amount, resource)
    return text if resource == CPU else f"{text} {resource}"


def find_resource_shortages(snapshot: Snapshot, pod: Pod, node: int) -> list[ResourceShortage]:
    """Return the resources of which the node at a position has too little for ``pod``, worst first."""
    shortages = []
    for resource, request in pod.requests.items():
        column = snapshot.resources.get(resource)
        allocatable = int(snapshot.allocatable[column, node]) if column is not None else 0
        used = int(snapshot.requested[column, node]) if column is not None else 0
        if request > 0 and request > allocatable - used:
            shortages.append(ResourceShortage(resource, request, allocatable - used, allocatable))
    return sorted(shortages, key=lambda item: -item.missing / item.requested)


def compute_distances(snapshot: Snapshot, pod: Pod) -> Floats:
    """Return how much each node lacks: the sum over resources of the missing share of the request. Shape [nodes]."""
    distances: Floats = np.zeros(len(snapshot), dtype=np.float64)
    for resource, request in pod.requests.items():
        if request <= 0:
            continue
        free = snapshot.resource_row(snapshot.allocatable, resource) - snapshot.resource_row(
            snapshot.requested, resource
        )
        distances += np.maximum(request - free, 0) / request
    return distances
