"""The lists of this app as tables; lists/apps.py imports this module."""

from __future__ import annotations

from django.utils.translation import gettext

from kschedweb.fleet.filters import FleetFilter
from kschedweb.web.tables import Column, RowTable, Table, author_column, file_columns, register_tables
from kschedweb.web.translating import gettext_lazy as _

FLEET = Table(
    "fleet",
    _("Fleet"),
    (
        Column("name", _("Cluster"), sort="name", file="cluster", value="name"),
        Column("release", _("Release"), sort="release", form=gettext),
        Column("nodes", _("Nodes"), "number", sort="nodes"),
        Column("pods", _("Pods"), "number", sort="pods"),
        Column("pending", _("Pending"), "number", sort="pending"),
        Column(
            "why",
            _("Most frequent reason"),
            value=lambda line: line.reasons[0][0] if line.reasons else "",
            file="reason",
        ),
        Column(
            "requested",
            _("CPU requested (%)"),
            "number",
            sort="requested",
            value="requested",
            form="floatformat:0",
            file="cpu_requested_percent",
        ),
        Column(
            "used",
            _("CPU used (%)"),
            "number",
            sort="used",
            value="used",
            form="floatformat:0",
            file="cpu_used_percent",
        ),
        Column(
            "skew", _("Skew (points)"), "number", sort="skew", value="skew", form="floatformat:0", file="skew_points"
        ),
        Column("cost", _("Cost an hour"), "number", sort="hour", value="hour", cell_css="nowrap", file="cost_an_hour"),
        *file_columns("unit"),
        Column("read", _("Read"), sort="read", value="taken_at", file="taken_at"),
    ),
    css="dense",
    page="fleet",
    filters=FleetFilter,
    also=("reason", "ordering", "show", "by", "group"),
    other_parameters=("focus", "find"),
)
register_tables(
    FLEET,
    Table(
        "fleet-trials",
        _("Policies tried on many clusters"),
        (
            Column("policy", _("Policies")),
            Column("clusters", _("Clusters"), "number", form="length|grouped"),
            author_column(_("Asked by")),
            Column("when", _("When"), value="created_at", form="age"),
        ),
        css="dense",
        page="fleet-trials",
    ),
    RowTable(
        "trial-answers",
        _("Clusters"),
        (
            Column("cluster", _("Cluster")),
            Column("current", _("Get a node now"), "number", value="pending.current", form="grouped"),
            Column("changed", _("Get one then"), "number", value="pending.changed", form="grouped"),
            Column("moved", _("Move"), "number", cell_css="nowrap"),
            Column("nodes", _("Nodes in use"), "number", cell_css="nowrap"),
        ),
    ),
)
