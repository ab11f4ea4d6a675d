"""The lists of this app as tables; lists/apps.py imports this module."""

from __future__ import annotations

from kschedweb.live.approvals.filters import RequestFilter
from kschedweb.web.tables import Column, Table, register_tables
from kschedweb.web.translating import gettext_lazy as _

register_tables(
    Table(
        "approvals-history",
        _("Requests for approval"),
        (
            Column("pod", _("Pod"), cell_css="name"),
            Column("asked", _("Asked"), cell_css="nowrap"),
            Column("state", _("State")),
            Column("node", _("Node"), cell_css="nowrap"),
            Column("cluster", _("Cluster"), value="0.scheduler.cluster.name"),
            Column("by", _("Decided by")),
            Column("reason", _("Reason"), value="0.reason", form="truncatechars:200", absent="", cell_css="message"),
        ),
        css="dense",
        page="approvals-history",
        filters=RequestFilter,
    ),
)
