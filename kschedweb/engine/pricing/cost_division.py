"""The division of a node's price between its pods, and the part of it that nobody uses.

A node's price is divided between its resources by the table's weights. Of each resource a pod has the share of the
node's allocatable that it requests. What it requests and does not use is *idle*; what no pod requests is *free*.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from kschedweb.engine.pricing.price_table import Weights
from kschedweb.engine.state.columns import Codes, Floats
from kschedweb.engine.values import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class DividedCosts:
    """The cost of an hour, divided."""

    # float64[pods]: nan on nodes without a price.
    requested_cost: Floats
    # float64[pods]: nan on nodes without a price, and for pods whose use is unknown.
    idle: Floats
    # float64[nodes]: 0 where pods request more than allocatable; their sum is then the node's price.
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

    ``hourly`` and ``allocatable`` are by node; ``node`` is the position of each pod's node, ``requests`` and ``used``
    are by pod, nan where unknown. All amounts of a resource have the same unit.
    """
    requested_cost = np.zeros(len(node))
    idle = np.zeros(len(node))
    free = np.zeros(len(hourly))
    for name, share in weights.compute_shares().items():
        paid = hourly * share
        total = np.bincount(node, weights=requests[name], minlength=len(hourly))
        # Overcommitted nodes divide their price by what is requested, so that no more is paid than they cost.
        whole = np.maximum(allocatable[name], total)
        with np.errstate(divide="ignore", invalid="ignore"):
            unit_price = np.where(whole > 0.0, paid / whole, np.where(np.isnan(paid), np.nan, 0.0))
        requested_cost += unit_price[node] * requests[name]
        idle += unit_price[node] * np.maximum(requests[name] - used[name], 0.0)
        free += np.where(whole > 0.0, unit_price * (whole - total), paid)
    return DividedCosts(requested_cost, idle, free)
