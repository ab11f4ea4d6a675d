"""The lists of this app as tables; lists/apps.py imports this module."""

from __future__ import annotations

from django.utils.translation import gettext

from kschedweb.fleet.filters import FleetFilter
from kschedweb.web.tables import Column, Table, register_tables
from kschedweb.web.translating import gettext_lazy as _

register_tables(
    Table(
        "fleet",
        _("Fleet"),
        (
            Column("name", _("Cluster"), sort="name"),
            Column("release", _("Release"), sort="release", form=gettext),
            Column("nodes", _("Nodes"), css="number", sort="nodes"),
            Column("pods", _("Pods"), css="number", sort="pods"),
            Column("pending", _("Pending"), css="number", sort="pending"),
            Column("why", _("Most frequent reason"), value="reasons.0.0"),
            Column("requested", _("CPU requested (%)"), css="number", sort="requested", form="floatformat:0"),
            Column("used", _("CPU used (%)"), css="number", sort="used", form="floatformat:0"),
            Column("skew", _("Skew (points)"), css="number", sort="skew", form="floatformat:0"),
            Column("cost", _("Cost an hour"), css="number", sort="hour", cell_css="nowrap"),
            Column("read", _("Read"), sort="read"),
        ),
        css="dense",
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
            Column("clusters", _("Clusters"), css="number", form="length|grouped"),
            Column("by", _("Asked by"), value="created_by.username", absent=_("system")),
            Column("when", _("When"), value="created_at", form="age"),
        ),
        css="dense",
        page="fleet-trials",
    ),
)
