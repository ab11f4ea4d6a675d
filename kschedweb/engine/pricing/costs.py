"""The cost of nodes an hour, and over time, as columns.

Amounts are in the table's currency. A node without a price is nan in ``price`` and is in no sum; the number of such
nodes is given beside every amount.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kschedweb.engine.pricing.node_kinds import NodeKinds
from kschedweb.engine.pricing.price_table import Labels, PriceTable
from kschedweb.engine.state.columns import Codes, Floats, Mask
from kschedweb.engine.values import dataclass

# Seconds.
HOUR = 3600.0


@dataclass(frozen=True, slots=True)
class NodeCost:
    """A cost, with the node-hours that it covers."""

    # In the table's currency; None if no node has a price.
    amount: float | None
    node_hours: float
    # The node-hours without a price.
    unpriced: float = 0.0

    def __add__(self, other: NodeCost) -> NodeCost:
        amounts = [cost.amount for cost in (self, other) if cost.amount is not None]
        return NodeCost(
            sum(amounts) if amounts else None, self.node_hours + other.node_hours, self.unpriced + other.unpriced
        )


@dataclass(frozen=True, slots=True, eq=False)
class Rates:
    """Prices of nodes an hour."""

    table: PriceTable | None
    # float64[nodes], nan for nodes without a price.
    price: Floats
    # int32[nodes]: the position of the node's price in the table, -1 for none.
    entry: Codes
    # int32[nodes]: the place in `kinds`.
    kind: Codes
    kinds: NodeKinds

    @classmethod
    def from_table(cls, table: PriceTable | None, labels: Sequence[Labels]) -> Rates:
        """Create the rates of nodes with these labels; without a table no node has a price."""
        if table is None:
            none = np.full(len(labels), -1, dtype=np.int32)
            return cls(None, np.full(len(labels), np.nan), none, none, NodeKinds())
        kinds, kind = NodeKinds.from_table(table, labels)
        return cls(table, kinds.price[kind], kinds.entry[kind], kind, kinds)

    @property
    def covered(self) -> Mask:
        """The nodes that each commitment covers: bool[commitments, nodes]."""
        if self.table is None:
            return np.zeros((0, len(self.price)), dtype=np.bool_)
        return self.kinds.covered[:, self.kind] > 0

    def price_per_node(self, existing: Mask | None = None) -> Floats:
        """Return the cost of each node an hour while the nodes ``existing`` exist, nan for others and unpriced ones.

        Commitments take the most expensive nodes first; of equal ones the kind that comes first, and within a kind
        the first.
        """
        cost = self.price if existing is None else np.where(existing, self.price, np.nan)
        cost = np.array(cost)
        if self.table is None:
            return cost
        free = ~np.isnan(cost)
        covered = self.covered
        for row, commitment in enumerate(self.table.commitments):
            [open_to] = np.nonzero(free & covered[row])
            dearest = open_to[np.lexsort((self.kind[open_to], -cost[open_to]))][: commitment.nodes]
            cost[dearest] *= 1.0 - commitment.discount / 100.0
            free[dearest] = False
        return cost + self.table.per_node

    def cost_per_hour(self, existing: Mask | None = None) -> NodeCost:
        """Return the cost of an hour while the nodes ``existing`` exist."""
        nodes = len(self.price) if existing is None else int(existing.sum())
        return _sum_cost(self.price_per_node(existing), 1.0, nodes)

    def cost_over(self, times: Floats, existing: Mask) -> NodeCost:
        """Return the cost from the first of ``times`` (seconds) to the last.

        ``existing`` is bool[times - 1, nodes]: whether each node exists between two of the times.
        """
        total = NodeCost(None, 0.0)
        for seconds, row in zip(np.diff(times).tolist(), existing, strict=True):
            total += _sum_cost(self.price_per_node(row), seconds / HOUR, int(row.sum()))
        return total


def _sum_cost(hourly: Floats, hours: float, nodes: int) -> NodeCost:
    priced = ~np.isnan(hourly)
    count = int(priced.sum())
    amount = float(hourly[priced].sum()) * hours if count else None
    return NodeCost(amount, nodes * hours, (nodes - count) * hours)
