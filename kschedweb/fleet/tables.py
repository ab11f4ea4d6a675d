"""The lists of this app as tables; lists/apps.py imports this module."""

from __future__ import annotations

from kschedweb.fleet.filters import FleetFilter
from kschedweb.web.tables import Column, Table, register_tables
from kschedweb.web.translating import gettext_lazy as _

register_tables(
    Table(
        "fleet",
        _("Fleet"),
        (
            Column("name", _("Cluster"), sort="name"),
            Column("release", _("Release"), sort="release"),
            Column("nodes", _("Nodes"), css="number", sort="nodes"),
            Column("pods", _("Pods"), css="number", sort="pods"),
            Column("pending", _("Pending"), css="number", sort="pending"),
            Column("why", _("Most frequent reason")),
            Column("requested", _("CPU requested (%)"), css="number", sort="requested"),
            Column("used", _("CPU used (%)"), css="number", sort="used"),
            Column("skew", _("Skew (points)"), css="number", sort="skew"),
            Column("cost", _("Cost an hour"), css="number", sort="hour"),
            Column("read", _("Read"), sort="read"),
        ),
        page="fleet",
        filters=FleetFilter,
        also=("reason", "ordering"),
    ),
)
register_tables(
    Table(
        "fleet-trials",
        _("Policies tried on many clusters"),
        (
            Column("policy", _("Policies")),
            Column("clusters", _("Clusters"), css="number"),
            Column("by", _("Asked by")),
            Column("when", _("When")),
        ),
        page="fleet-trials",
    ),
)
