"""What nodes cost an hour, and over time, as columns.

Amounts are in the table's currency. A node without a price is nan in ``price`` and counts in no sum; how many there are
is told beside every amount.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kschedweb.engine.pricing.node_kinds import NodeKinds
from kschedweb.engine.pricing.price_table import Labels, PriceTable
from kschedweb.engine.state.columns import Codes, Floats, Mask
from kschedweb.engine.values import dataclass

HOUR = 3600.0


@dataclass(frozen=True, slots=True)
class NodeCost:
    """``amount`` of money for ``node_hours``, of which ``unpriced`` have no price; ``None`` where none has one."""

    amount: float | None
    node_hours: float
    unpriced: float = 0.0

    def __add__(self, other: NodeCost) -> NodeCost:
        amounts = [cost.amount for cost in (self, other) if cost.amount is not None]
        return NodeCost(
            sum(amounts) if amounts else None, self.node_hours + other.node_hours, self.unpriced + other.unpriced
        )


@dataclass(frozen=True, slots=True, eq=False)
class Rates:
    """Prices of nodes an hour.

    ``price`` is float64[nodes], nan where there is none. ``entry`` is the position of each one's price in the table, -1
    where there is none. ``kind`` is int32[nodes], the place in ``kinds`` (kinds.py).
    """

    table: PriceTable | None
    price: Floats
    entry: Codes
    kind: Codes
    kinds: NodeKinds

    @classmethod
    def from_table(cls, table: PriceTable | None, labels: Sequence[Labels]) -> Rates:
        """The rates of nodes with these labels; without a table none has a price."""
        if table is None:
            none = np.full(len(labels), -1, dtype=np.int32)
            return cls(None, np.full(len(labels), np.nan), none, none, NodeKinds())
        kinds, kind = NodeKinds.from_table(table, labels)
        return cls(table, kinds.price[kind], kinds.entry[kind], kind, kinds)

    @property
    def covered(self) -> Mask:
        """Whom each commitment is about: bool[commitments, nodes]."""
        if self.table is None:
            return np.zeros((0, len(self.price)), dtype=np.bool_)
        return self.kinds.covered[:, self.kind] > 0

    def price_per_node(self, existing: Mask | None = None) -> Floats:
        """What each node costs an hour while the nodes ``existing`` exist, nan for the others and for those unpriced.

        Commitments take the dearest nodes first; of equal ones the kind that comes first, and of a kind the first.
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
        """What an hour costs while the nodes ``existing`` exist."""
        nodes = len(self.price) if existing is None else int(existing.sum())
        return _sum_cost(self.price_per_node(existing), 1.0, nodes)

    def cost_over(self, times: Floats, existing: Mask) -> NodeCost:
        """What is paid from the first of ``times`` (seconds) to the last.

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
