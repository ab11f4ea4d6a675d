"""Reads the price tables of clusters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kschedweb.clusters.prices.models import PriceSheet
from kschedweb.clusters.prices.validation import check_prices
from kschedweb.engine.json_types import Json
from kschedweb.web.lru import LRU

if TYPE_CHECKING:
    from uuid import UUID

    from kschedweb.clusters.models import Cluster
    from kschedweb.engine.pricing.price_table import PriceTable

# Tables that are read already, by their text and version.
_tables: LRU[PriceTable | None] = LRU(16)


def sheet_get(cluster: Cluster) -> PriceSheet:
    """Return the price table of ``cluster`` as it was written; an empty one of version 0 if there never was one."""
    sheet = PriceSheet.objects.select_related("changed_by").filter(cluster=cluster).first()
    return sheet or PriceSheet(cluster=cluster)


def table_in(sheet: PriceSheet) -> PriceTable | None:
    """Return the table in ``sheet``; ``None`` for an empty one. A version never changes, so each is read once."""
    if not sheet.text:
        return None
    return _tables.get((sheet.pk, sheet.version, sheet.text), lambda: check_prices(sheet.text).table)


def table_of(cluster: Cluster) -> PriceTable | None:
    """Return the price table of ``cluster``; ``None`` if it has none."""
    return table_in(sheet_get(cluster))


def prices_part(snapshot: UUID | str) -> Json:
    """Return the price table of the cluster of ``snapshot`` as a part of a scenario's document; {} if it has none."""
    sheet = PriceSheet.objects.filter(cluster__snapshots__pk=snapshot).first()
    if sheet is None or not sheet.text:
        return {}
    data = check_prices(sheet.text).data
    return {"prices": {name: value for name, value in data.items() if name not in ("apiVersion", "kind")}}


def is_priced(cluster: str) -> bool:
    """Return whether the cluster called ``cluster`` has a price table."""
    return PriceSheet.objects.filter(cluster__name=cluster).exclude(text="").exists()
