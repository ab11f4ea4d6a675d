"""The lists of this app as tables; lists/apps.py imports this module."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kschedweb.web.tables import Column, RowTable, Table, register_tables
from kschedweb.web.translating import gettext_lazy as _
from kschedweb.web.units import price_in_column, whole_percent

if TYPE_CHECKING:
    from kschedweb.advice.costs.billing import CostLine


def _amount(name: str, label: str, *, by: str = "", measured: bool = False) -> Column:
    """Return the column of an amount of money, which needs a price."""

    def read(line: CostLine) -> float | None:
        amount: float = getattr(line, name)
        return round(amount, 6) if amount == amount else None

    def render(line: CostLine) -> str | None:
        return price_in_column(getattr(line, name)) if line.has_price else None

    return Column(name, label, "number", sort=by or name, measured=measured, value=read, cell=render)


_COUNT = Column("count", _("Number"), "number", sort="count")
_MONEY = (_amount("hour", _("An hour"), measured=True), _amount("month", _("A month"), by="hour"))
_REQUESTED = _amount("requested", _("Requested"))
_USE = (
    replace(_amount("used", _("Used")), form="price_in_column", cell=""),
    replace(_amount("idle", _("Not used")), form="price_in_column", cell=""),
    Column("idle-share", _("Not used (%)"), "number", sort="idle_share", form=whole_percent, exported=False),
)
_UNPRICED = Column("unpriced", _("No price"), "number", sort="unpriced")
NODES = Table(
    "cost-nodes",
    _("Costs of nodes"),
    (
        Column("name", _("Nodes"), sort="name", absent=_("(none)"), cell_css="name"),
        *(_COUNT, *_MONEY, _REQUESTED, *_USE, _UNPRICED),
    ),
    page="costs",
    also=("by", "ordering"),
)
PODS = Table(
    "cost-pods",
    _("Costs of workloads"),
    (
        Column("name", _("Pods"), sort="name", absent=_("(none)"), cell_css="name"),
        *(_COUNT, *_MONEY, replace(_REQUESTED, label=""), *_USE, _UNPRICED),
    ),
    page="costs",
    also=("by", "ordering"),
)
register_tables(NODES, PODS)

register_tables(
    RowTable(
        "unpriced-nodes",
        _("Nodes without a price"),
        (
            Column("type", _("Instance type"), absent=_("none: price them by labels"), cell_css="name"),
            Column("capacity_type", _("Capacity type")),
            Column("count", _("Nodes"), "number"),
            Column("names", _("The first of them"), form='join:", "', cell_css="wrap small"),
            Column("add", _("Add a row"), when="may_change", spoken=True),
        ),
    ),
)
