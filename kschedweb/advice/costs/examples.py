"""Example prices for the nodes of a cluster: invented, round, and labelled as such."""

from __future__ import annotations

from math import floor, log10
from typing import TYPE_CHECKING

from kschedweb.advice.costs.columns import NodeColumns, nodes_of
from kschedweb.clusters.prices.services import prices_save
from kschedweb.clusters.selectors import snapshot_current
from kschedweb.engine.documents.marked_documents import as_yaml
from kschedweb.engine.objects.resources import CPU, MEMORY
from kschedweb.engine.pricing.price_table import CAPACITY_TYPE, KIND, VERSION

if TYPE_CHECKING:
    from kschedweb.clusters.models import Cluster

NOTE = "Invented example prices"
CURRENCY = "EUR"
# Per hour.
CORE, GIB = 0.04, 0.005
# Share of the on-demand price.
SPOT = 0.4
# Kinds of nodes in the table.
MAX_KINDS = 200
_GIB = float(1 << 30)


def prices_invent(*, cluster: Cluster) -> None:
    """Save example prices of the nodes of ``cluster``, which has none yet."""
    snapshot = snapshot_current(cluster)
    assert snapshot is not None
    prices_save(user=None, cluster=cluster, text=build_example_table(nodes_of(snapshot)), expected=0)


def build_example_table(nodes: NodeColumns) -> str:
    """Return a PriceTable for the kinds of ``nodes``, the dearest first, by cores and memory, with one digit."""
    kinds: dict[tuple[str, str], float] = {}
    for place, labels in enumerate(nodes.labels):
        kind = nodes.types[place], labels.get(CAPACITY_TYPE, "")
        price = nodes.allocatable[CPU][place] / 1000.0 * CORE + nodes.allocatable[MEMORY][place] / _GIB * GIB
        if kind[0]:
            kinds.setdefault(kind, price * (SPOT if kind[1] == "spot" else 1.0))
    # Rows that name a capacity type come first, since rows without one match the same nodes.
    order = sorted(kinds.items(), key=lambda item: (not item[0][1], -item[1], item[0]))
    rows = [_price_row(*kind, price) for kind, price in order[:MAX_KINDS]]
    data = {"apiVersion": VERSION, "kind": KIND, "currency": CURRENCY, "note": NOTE, "prices": rows}
    return "# Invented, round example prices: put your own in their place.\n" + as_yaml(data)


def _price_row(instance_type: str, capacity_type: str, price: float) -> dict[str, object]:
    return {
        "instanceType": instance_type,
        **({"capacityType": capacity_type} if capacity_type in ("on-demand", "spot", "reserved") else {}),
        "price": _round_price(price),
    }


def _round_price(price: float) -> float:
    """Return ``price`` rounded to one significant digit, at least 0.01."""
    price = max(float(price), 0.01)
    rounded = round(price, -floor(log10(price)))
    return int(rounded) if rounded >= 1 else rounded
