"""The cost of an hour before and after nodes come or go."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kschedweb.clusters.prices.selectors import table_of
from kschedweb.clusters.selectors import node_rows
from kschedweb.engine.pricing.costs import Rates
from kschedweb.engine.pricing.price_table import INSTANCE_TYPE, Labels

if TYPE_CHECKING:
    from kschedweb.clusters.models import Snapshot


@dataclass(frozen=True)
class CostChange:
    """Amounts per hour."""

    # The currency.
    unit: str
    before: float
    after: float
    # How many nodes come or go.
    nodes: int
    # How many of these have no price, and count nothing.
    unpriced: int

    @property
    def change(self) -> float:
        """The additional amount per hour; negative if it gets cheaper."""
        return self.after - self.before

    @property
    def size(self) -> float:
        return abs(self.change)


def cost_change(
    snapshot: Snapshot, *, added: Sequence[Labels] = (), removed: Collection[str] = ()
) -> CostChange | None:
    """Return the change if nodes with the labels ``added`` come, and those called ``removed`` go.

    ``None`` without a price table, or if no node comes or goes. Commitments are counted anew for all nodes.
    """
    table = table_of(snapshot.cluster) if added or removed else None
    if table is None:
        return None
    rows = list(node_rows(snapshot).values_list("name", "labels", "instance_type"))
    # Snapshots from before labels were kept have the instance type alone.
    labels = [{INSTANCE_TYPE: kind} if stored_labels is None else stored_labels for _, stored_labels, kind in rows]
    rates = Rates.from_table(table, [*labels, *added])
    comes = np.arange(len(rates.price)) >= len(rows)
    goes = np.array([name in removed for name, _, _ in rows] + [False] * len(added), dtype=np.bool_)
    before, after = rates.cost_per_hour(~comes), rates.cost_per_hour(~goes)
    moved = comes | goes
    return CostChange(
        table.currency,
        before.amount or 0.0,
        after.amount or 0.0,
        int(moved.sum()),
        int(np.isnan(rates.price[moved]).sum()),
    )
