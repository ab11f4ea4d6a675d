"""What nodes have altogether, and figures of it: some schedulers count against that, not against allocatable."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from kschedweb.engine.objects.access import mapping
from kschedweb.engine.objects.quantity import read_list
from kschedweb.engine.objects.resources import units
from kschedweb.engine.state.columns import Floats, Ints

if TYPE_CHECKING:
    from kschedweb.engine.state.snapshot import Snapshot


def capacity(snapshot: Snapshot, resource: str) -> Ints:
    """What nodes have before anything is kept back for the system, in milli-CPU or bytes. Shape [nodes].

    A node that does not name its capacity, as no kubelet leaves it, is taken to keep nothing back.
    """

    def compute() -> Ints:
        listed = (
            (units(read_list(mapping(node.raw, "status"), "capacity", "status.")), node.allocatable)
            for node in snapshot.nodes
        )
        amounts = [full.get(resource, allocatable.get(resource, 0)) for full, allocatable in listed]
        return np.array(amounts, dtype=np.int64)

    return snapshot.memo(("capacity", resource), compute)


def of_capacity(snapshot: Snapshot, resource: str, key: str) -> Floats:
    """A figure in percent of capacity, NaN where unknown: as it was measured, else converted. Shape [nodes]."""

    def compute() -> Floats:
        watermarks = snapshot.watermarks
        if watermarks is None:
            return np.full(len(snapshot), math.nan)
        measured, share = watermarks.column(resource, f"{key}_capacity"), watermarks.column(resource, key)
        whole, part = capacity(snapshot, resource), snapshot.amounts(snapshot.allocatable, resource)
        # Where both are equal the figure stays as it is to the last bit; of nothing there are no percents to convert.
        converted = np.divide(share * part, whole, out=share.copy(), where=(whole != part) & (whole != 0))
        return np.where(np.isnan(measured), converted, measured)

    return snapshot.derived(("of capacity", resource, key), compute)
