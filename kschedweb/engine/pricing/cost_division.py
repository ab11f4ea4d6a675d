"""Who asks for what is paid: a node's price divided between its pods, and what of it nobody uses.

A node's price is divided between its resources by the table's weights. Of each resource a pod has the share that it
requests of what the node can allocate. What it requests and does not use is *idle*; what no pod requests is *free*.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from kschedweb.engine.pricing.price_table import Weights
from kschedweb.engine.state.columns import Codes, Floats
from kschedweb.engine.values import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class DividedCosts:
    """An hour's money. ``requested_cost`` and ``idle`` are float64[pods], ``free`` is float64[nodes].

    ``requested_cost`` and ``idle`` are nan for pods on nodes without a price; ``idle`` too for pods whose use is
    unknown. Where pods request more than the node can allocate, ``free`` is 0 and the pods' sum is the node's price.
    """

    requested_cost: Floats
    idle: Floats
    free: Floats


def divide_costs(
    hourly: Floats,
    node: Codes,
    allocatable: Mapping[str, Floats],
    requests: Mapping[str, Floats],
    used: Mapping[str, Floats],
    weights: Weights,
) -> DividedCosts:
    """Divide what nodes cost an hour between the pods on them.

    ``hourly`` and ``allocatable`` are of nodes; ``node`` is the position of each pod's node, ``requests`` and ``used``
    are of pods, nan where unknown. All amounts of a resource have one unit.
    """
    requested_cost = np.zeros(len(node))
    idle = np.zeros(len(node))
    free = np.zeros(len(hourly))
    for name, share in weights.compute_shares().items():
        paid = hourly * share
        total = np.bincount(node, weights=requests[name], minlength=len(hourly))
        whole = np.maximum(allocatable[name], total)
        with np.errstate(divide="ignore", invalid="ignore"):
            unit_price = np.where(whole > 0.0, paid / whole, np.where(np.isnan(paid), np.nan, 0.0))
        requested_cost += unit_price[node] * requests[name]
        idle += unit_price[node] * np.maximum(requests[name] - used[name], 0.0)
        free += np.where(whole > 0.0, unit_price * (whole - total), paid)
    return DividedCosts(requested_cost, idle, free)
