"""The lists of this app as tables; lists/apps.py imports this module."""

from __future__ import annotations

from kschedweb.web.tables import Column, Table, register_tables
from kschedweb.web.translating import gettext_lazy as _

_MONEY = (
    Column("hour", _("An hour"), css="number", sort="hour", measured=True),
    Column("month", _("A month"), css="number", sort="hour"),
)
_USE = (
    Column("used", _("Used"), css="number", sort="used"),
    Column("idle", _("Not used"), css="number", sort="idle"),
    Column("idle-share", _("Not used (%)"), css="number", sort="idle_share"),
)

register_tables(
    Table(
        "cost-nodes",
        _("Costs of nodes"),
        (
            Column("name", _("Nodes"), sort="name"),
            Column("count", _("Number"), css="number", sort="count"),
            *_MONEY,
            Column("requested", _("Requested"), css="number", sort="requested"),
            *_USE,
            Column("unpriced", _("No price"), css="number", sort="unpriced"),
        ),
        page="costs",
        also=("by", "ordering"),
    ),
    Table(
        "cost-pods",
        _("Costs of workloads"),
        (
            Column("name", _("Pods"), sort="name"),
            Column("count", _("Number"), css="number", sort="count"),
            *_MONEY,
            *_USE,
            Column("unpriced", _("No price"), css="number", sort="unpriced"),
        ),
        page="costs",
        also=("by", "ordering"),
    ),
)
