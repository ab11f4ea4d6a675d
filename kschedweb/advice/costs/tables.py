"""The lists of this app as tables; lists/apps.py finds them."""

from __future__ import annotations

from kschedweb.web.tables import Column, Table, register

_MONEY = (
    Column("hour", "An hour", css="number", sort="hour", measured=True),
    Column("month", "A month", css="number", sort="hour"),
)
_USE = (
    Column("used", "Used", css="number", sort="used"),
    Column("idle", "Not used", css="number", sort="idle"),
    Column("idle-share", "% not used", css="number", sort="idle_share"),
)

register(
    Table(
        "cost-nodes",
        "Costs of nodes",
        (
            Column("name", "Nodes", sort="name"),
            Column("count", "Number", css="number", sort="count"),
            *_MONEY,
            Column("requested", "Requested", css="number", sort="requested"),
            *_USE,
            Column("unpriced", "No price", css="number", sort="unpriced"),
        ),
        page="costs",
        also=("by", "ordering"),
    ),
    Table(
        "cost-pods",
        "Costs of workloads",
        (
            Column("name", "Pods", sort="name"),
            Column("count", "Number", css="number", sort="count"),
            *_MONEY,
            *_USE,
            Column("unpriced", "No price", css="number", sort="unpriced"),
        ),
        page="costs",
        also=("by", "ordering"),
    ),
)
