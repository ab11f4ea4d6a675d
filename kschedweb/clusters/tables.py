"""The lists of this app as tables; lists/apps.py finds them."""

from __future__ import annotations

from kschedweb.web.tables import Column, RowTable, Table, register_tables
from kschedweb.web.translating import gettext_lazy as _

register_tables(
    Table(
        "clusters",
        _("Clusters"),
        (
            Column("name", _("Cluster")),
            Column("source", _("Source"), value="get_source_display"),
            Column("version", _("Version")),
            Column("nodes", _("Nodes"), "number"),
            Column("pods", _("Pods"), "number"),
            Column("pending", _("Pending"), "number"),
            Column("read", _("Read")),
            Column("actions", _("Actions"), spoken=True),
        ),
        page="clusters",
    ),
    RowTable(
        "cluster-events",
        _("Events"),
        (
            Column("when", _("When"), cell_css="nowrap"),
            Column("source", _("Source"), value="row.source", cell_css="nowrap", verbatim=True),
            Column("reason", _("Reason")),
            Column("message", _("Message"), cell_css="message"),
        ),
        marks={"data-event": "row.reason"},
    ),
)
