"""The lists of this app as tables; lists/apps.py finds them."""

from __future__ import annotations

from kschedweb.web.tables import Column, Table, register_tables
from kschedweb.web.translating import gettext_lazy as _

register_tables(
    Table(
        "clusters",
        _("Clusters"),
        (
            Column("name", _("Cluster")),
            Column("source", _("Source"), value="get_source_display"),
            Column("version", _("Version")),
            Column("nodes", _("Nodes"), css="number"),
            Column("pods", _("Pods"), css="number"),
            Column("pending", _("Pending"), css="number"),
            Column("read", _("Read")),
            Column("actions", _("Actions"), spoken=True),
        ),
        page="clusters",
    ),
)
