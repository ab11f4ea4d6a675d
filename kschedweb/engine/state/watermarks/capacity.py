"""Capacity of nodes, and figures in percent of it: some schedulers use capacity instead of allocatable."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from kschedweb.engine.objects.json_access import get_mapping
from kschedweb.engine.objects.quantity import read_quantities
from kschedweb.engine.objects.resources import round_to_units
from kschedweb.engine.state.columns import Floats, Ints

if TYPE_CHECKING:
    from kschedweb.engine.state.snapshot import Snapshot


def node_capacity(snapshot: Snapshot, resource: str) -> Ints:
    """Return the nodes' capacity, in milli-CPU or bytes. Shape [nodes].

    It includes the amounts reserved for the system. A node without capacity, which no kubelet leaves out, counts with
    its allocatable.
    """

    def compute_amounts() -> Ints:
        listed = (
            (round_to_units(read_quantities(get_mapping(node.raw, "status"), "capacity", "status.")), node.allocatable)
            for node in snapshot.nodes
        )
        amounts = [full.get(resource, allocatable.get(resource, 0)) for full, allocatable in listed]
        return np.array(amounts, dtype=np.int64)

    return snapshot.cached_by_nodes(("capacity", resource), compute_amounts)


def capacity_percent(snapshot: Snapshot, resource: str, key: str) -> Floats:
    """Return a figure in percent of capacity: measured, else converted from allocatable; NaN if unknown.

    Shape [nodes].
    """

    def compute_percent() -> Floats:
        watermarks = snapshot.watermarks
        if watermarks is None:
            return np.full(len(snapshot), math.nan)
        measured, share = watermarks.column(resource, f"{key}_capacity"), watermarks.column(resource, key)
        whole, part = node_capacity(snapshot, resource), snapshot.resource_row(snapshot.allocatable, resource)
        # Where both are equal the figure keeps its last bit; with a capacity of 0 there is nothing to convert.
        converted = np.divide(share * part, whole, out=share.copy(), where=(whole != part) & (whole != 0))
        return np.where(np.isnan(measured), converted, measured)

    return snapshot.cached_by_watermarks(("of capacity", resource, key), compute_percent)
