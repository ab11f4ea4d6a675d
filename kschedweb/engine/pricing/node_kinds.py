"""Kinds of nodes that cost the same, so that costs over time are sums over a few kinds instead of thousands of nodes.

Nodes are of one kind if they have the same entry of the table and are covered by the same commitments.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

import numpy as np
from numpy.typing import NDArray

from kschedweb.engine.pricing.price_table import Labels, PriceTable, instance_type
from kschedweb.engine.state.columns import Codes, Floats
from kschedweb.engine.values import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class NodeKinds:
    """The kinds of nodes of a table, sorted by entry, as columns that can be stored."""

    # "" without a table.
    currency: str = ""
    # A fee for each node an hour.
    per_node: float = 0.0
    # i4[kinds]: the position in the table, -1 for none.
    entry: Codes = field(default_factory=lambda: np.zeros(0, dtype=np.int32))
    # f8[kinds]: nan for a kind without a price.
    price: Floats = field(default_factory=lambda: np.zeros(0))
    # u1[commitments, kinds].
    covered: NDArray[np.uint8] = field(default_factory=lambda: np.zeros((0, 0), dtype=np.uint8))
    # i4[commitments]: how many nodes the commitment is for.
    nodes: Codes = field(default_factory=lambda: np.zeros(0, dtype=np.int32))
    # f8[commitments]: per cent.
    discount: Floats = field(default_factory=lambda: np.zeros(0))

    @classmethod
    def from_table(cls, table: PriceTable, labels: Sequence[Labels]) -> tuple[NodeKinds, Codes]:
        """Return the kinds of nodes with these labels, and the kind of each node: i4[nodes]."""
        candidates = _Candidates(table)
        both = [
            (
                candidates.find_entry(node_labels),
                *(commitment.match.matches(node_labels) for commitment in table.commitments),
            )
            for node_labels in labels
        ]
        distinct = sorted(set(both), key=lambda kind_key: (kind_key[0] < 0, kind_key))
        places = {kind_key: place for place, kind_key in enumerate(distinct)}
        entry = np.array([kind_key[0] for kind_key in distinct], dtype=np.int32)
        # The last price, nan, belongs to entry -1.
        prices = np.array([table_price.price for table_price in table.prices] + [np.nan])
        covered = np.array([kind_key[1:] for kind_key in distinct], dtype=np.uint8).reshape(
            len(distinct), len(table.commitments)
        )
        kinds = cls(
            table.currency,
            table.per_node,
            entry,
            prices[entry],
            covered.T,
            np.array([commitment.nodes for commitment in table.commitments], dtype=np.int32),
            np.array([commitment.discount for commitment in table.commitments], dtype=np.float64),
        )
        return kinds, np.array([places[kind_key] for kind_key in both], dtype=np.int32)

    def cost_per_hour(self, counts: Floats) -> tuple[Floats, Floats]:
        """Return the cost an hour of ``counts`` nodes of each kind, f8[times, kinds], and how many have no price:
        f8[times].

        Commitments take the most expensive nodes first, of equal ones the kind that comes first.
        """
        priced = ~np.isnan(self.price)
        free, price = np.array(counts, dtype=np.float64), np.where(priced, self.price, 0.0)
        number = free[:, priced].sum(axis=1)
        amount = free @ price + self.per_node * number
        for row, (nodes, discount) in enumerate(zip(self.nodes.tolist(), self.discount.tolist(), strict=True)):
            remaining = np.full(len(free), float(nodes))
            for kind in np.argsort(-price, kind="stable").tolist():
                if priced[kind] and self.covered[row, kind]:
                    discounted = np.minimum(free[:, kind], remaining)
                    free[:, kind] -= discounted
                    remaining -= discounted
                    amount -= discounted * price[kind] * discount / 100.0
        return amount, np.asarray(counts, dtype=np.float64)[:, ~priced].sum(axis=1)


class _Candidates:
    """Finds entries by instance type, so that a long table is not searched for each node."""

    def __init__(self, table: PriceTable) -> None:
        self._table = table
        self._entries_by_type: dict[str, list[int]] = {}

    def find_entry(self, labels: Labels) -> int:
        """Return the result of ``PriceTable.find_entry``, -1 for none."""
        kind = instance_type(labels)
        if kind not in self._entries_by_type:
            listed = enumerate(self._table.prices)
            self._entries_by_type[kind] = [place for place, price in listed if price.match.instance_type in ("", kind)]
        prices = self._table.prices
        return next((place for place in self._entries_by_type[kind] if prices[place].match.matches(labels)), -1)
