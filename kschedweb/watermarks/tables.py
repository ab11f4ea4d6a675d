"""The lists of this app as tables; lists/apps.py finds them."""

from __future__ import annotations

from kschedweb.web.tables import Column, Table, register_tables
from kschedweb.web.translating import gettext_lazy as _

register_tables(
    Table(
        "usage-nodes",
        _("Use of nodes"),
        (
            Column("name", _("Node"), sort="name"),
            Column("pods", _("Pods"), css="number", sort="pods"),
            Column("requested", _("Requested"), css="number", sort="requested", measured=True),
            Column("requested-share", _("% requested"), css="number", sort="requested_share"),
            Column("used", _("Used"), css="number", sort="used", measured=True),
            Column("used-share", _("% used"), css="number", sort="used_share"),
            Column("ratio", _("Requested ÷ used"), css="number", sort="ratio"),
            Column("unused", _("Requested, not used"), css="number", sort="unused", measured=True),
            Column("from", _("Data from")),
        ),
        page="usage-nodes",
        also=("resource", "statistic", "search", "ordering"),
    ),
    Table(
        "usage-workloads",
        _("Use of workloads"),
        (
            Column("name", _("Workload"), sort="name"),
            Column("pods", _("Pods"), css="number", sort="pods"),
            Column("requested", _("Requested"), css="number", sort="requested", measured=True),
            Column("used", _("Used"), css="number", sort="used", measured=True),
            Column("ratio", _("Requested ÷ used"), css="number", sort="ratio"),
            Column("unused", _("Requested, not used"), css="number", sort="unused", measured=True),
            Column("from", _("Data from")),
        ),
        page="usage-workloads",
        also=("resource", "statistic", "search", "ordering"),
    ),
)
