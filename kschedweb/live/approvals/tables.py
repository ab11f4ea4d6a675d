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
            Column("pod", _("Pod")),
            Column("asked", _("Asked")),
            Column("state", _("State")),
            Column("node", _("Node")),
            Column("cluster", _("Cluster")),
            Column("by", _("Decided by")),
            Column("reason", _("Reason")),
        ),
        page="approvals-history",
        filters=RequestFilter,
    ),
)
