"""The lists of this app as tables; lists/apps.py imports this module."""

from __future__ import annotations

from kschedweb.clusters.filters import NodeFilter, PodFilter
from kschedweb.web.tables import Column, Table, register_tables
from kschedweb.web.translating import gettext_lazy as _

register_tables(
    Table(
        "nodes",
        _("Nodes"),
        (
            Column("name", _("Node"), sort="name"),
            Column("zone", _("Zone"), sort="zone"),
            Column("instance-type", _("Instance type"), sort="instance_type"),
            Column("cpu", _("CPU requested (cores)"), css="number", sort="cpu"),
            Column("memory", _("Memory requested (GiB)"), css="number", sort="memory"),
            Column("pods", _("Pods"), css="number", sort="pods"),
            Column("other", _("Other resources")),
            Column("state", _("State and taints")),
        ),
        page="nodes",
        filters=NodeFilter,
        also=("show", "by", "group"),
        other_parameters=("focus", "find"),
    ),
    Table(
        "pods",
        _("Pods"),
        (
            Column("name", _("Pod"), sort="name"),
            Column("namespace", _("Namespace"), sort="namespace"),
            Column("node", _("Node"), sort="node"),
            Column("scheduler", _("What the scheduler says")),
            Column("cpu", _("CPU (cores)"), css="number", sort="cpu"),
            Column("memory", _("Memory (GiB)"), css="number", sort="memory"),
            Column("priority", _("Priority"), css="number", sort="priority"),
            Column("age", _("Age"), sort="created"),
        ),
        page="pods",
        filters=PodFilter,
        also=("reason",),
    ),
)
