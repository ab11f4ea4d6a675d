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
            Column("name", _("Node"), sort="name", cell_css="name"),
            Column("zone", _("Zone"), sort="zone", value="0.zone", cell_css="nowrap"),
            Column(
                "instance-type", _("Instance type"), sort="instance_type", value="0.instance_type", cell_css="nowrap"
            ),
            Column("cpu", _("CPU requested (cores)"), css="number", sort="cpu"),
            Column("memory", _("Memory requested (GiB)"), css="number", sort="memory"),
            Column("pods", _("Pods"), css="number", sort="pods"),
            Column("other", _("Other resources"), cell_css="small"),
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
            Column("name", _("Pod"), sort="name", cell_css="name"),
            Column("namespace", _("Namespace"), sort="namespace", value="row.namespace"),
            Column("node", _("Node"), sort="node", cell_css="node"),
            Column("scheduler", _("What the scheduler says"), cell_css="message"),
            Column("cpu", _("CPU (cores)"), css="number", sort="cpu", value="row.cpu_request", form="cores"),
            Column("memory", _("Memory (GiB)"), css="number", sort="memory", value="row.memory_request", form="gib"),
            Column("priority", _("Priority"), css="number", sort="priority", value="row.priority"),
            Column("age", _("Age"), sort="created", value="row.created_at", form="age", cell_css="nowrap"),
        ),
        page="pods",
        filters=PodFilter,
        also=("reason",),
    ),
)
