"""The node map of a bill: which part of each node's price nobody requests, or uses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from django.utils.translation import gettext

from kschedweb.watermarks import node_maps
from kschedweb.web.nodemap.nodemap import MapChoice, MapLayer, NodeColouring, make_layer, round_half_up

if TYPE_CHECKING:
    from kschedweb.advice.costs.billing import Bill
    from kschedweb.clusters.models import Snapshot
    from kschedweb.web.nodemap.nodemap import NodeMap


def map_costs(snapshot: Snapshot, bill: Bill, choice: MapChoice) -> NodeMap | None:
    """Return the map of the nodes of ``snapshot`` by the idle part of their price; None for none, or too many."""

    def make_own_layers(names: Sequence[str]) -> Iterator[MapLayer]:
        total = bill.total
        if total.has_use:
            sentence = gettext("%(share)s %% of the price is not used; on one node %(most)s %%.")
            yield _make_layer("unused", gettext("price not used"), sentence, bill.unused, total.idle_share, names)
        sentence = gettext("%(share)s %% of the price is not requested; on one node %(most)s %%.")
        share = 100 - total.requested_share
        yield _make_layer("unrequested", gettext("price not requested"), sentence, bill.unrequested, share, names)

    return node_maps.map_snapshot(snapshot, choice, own=make_own_layers) if bill.total.hour else None


def _make_layer(
    key: str, label: str, sentence: str, shares: dict[str, float], total: float, names: Sequence[str]
) -> MapLayer:
    arguments = {"share": f"{total:.0f}", "most": round_half_up(max(shares.values(), default=0.0))}
    return make_layer(NodeColouring(key, label, sentence=sentence % arguments), names, shares)
