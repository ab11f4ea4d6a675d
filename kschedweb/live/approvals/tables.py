"""The lists of this app as tables; lists/apps.py imports this module."""

from __future__ import annotations

from kschedweb.live.approvals.filters import RequestFilter
from kschedweb.web.tables import Column, RowTable, Table, file_columns, register_tables
from kschedweb.web.translating import gettext_lazy as _

HISTORY = Table(
    "approvals-history",
    _("Requests for approval"),
    (
        Column("pod", _("Pod"), cell_css="name", exported=False),
        Column("asked", _("Asked"), cell_css="nowrap", file="asked_at"),
        Column("cluster", query="scheduler__cluster__name"),
        *file_columns("namespace", "name", "uid", "node"),
        Column("state", _("State")),
        Column("node", _("Node"), cell_css="nowrap", exported=False),
        Column("cluster", _("Cluster"), value="0.scheduler.cluster.name", exported=False),
        Column("by", _("Decided by"), file="decided_by"),
        *file_columns("decided_at", "ended_at"),
        Column("reason", _("Reason"), value="0.reason", form="truncatechars:200", absent="", cell_css="message"),
        *file_columns("created_by"),
    ),
    css="dense",
    page="approvals-history",
    filters=RequestFilter,
)
register_tables(
    HISTORY,
    RowTable(
        "webhooks",
        _("Endpoints"),
        (
            Column("name", _("Name"), cell_css="name"),
            Column("url", _("Address"), form="breakable", cell_css="break", verbatim=True),
            Column("state", _("State")),
            Column("events", _("Events"), form='join:", "'),
            Column("pending", _("Waiting to be sent"), "number"),
            Column("failed", _("Gave up"), "number"),
            Column("last", _("Last message"), form="age", absent=_("never")),
        ),
        css="",
    ),
    RowTable(
        "deliveries",
        _("Deliveries"),
        (
            Column("event", _("Event")),
            Column("about", _("About"), cell_css="break"),
            Column("created_at", _("Made"), form="age", cell_css="nowrap"),
            Column("state", _("State")),
            Column("attempts", _("Tries"), "number"),
            Column("status", _("HTTP status"), "number"),
            Column("next_at", _("Next try"), form="moment", cell_css="nowrap"),
            Column("error", _("Error"), form="translated", absent="", cell_css="message"),
        ),
    ),
)
