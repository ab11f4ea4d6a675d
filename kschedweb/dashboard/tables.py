"""The lists of this app as tables; lists/apps.py imports this module."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kschedweb.clusters.filters import NodeFilter, PodFilter
from kschedweb.web.tables import Column, RowTable, Table, file_columns, register_tables
from kschedweb.web.translating import gettext_lazy as _

if TYPE_CHECKING:
    from kschedweb.dashboard.selectors import ListedPod


def _read_decision(item: ListedPod) -> str:
    return item.outcome.message or f"fits {item.outcome.node}" if item.outcome else ""


NODES = Table(
    "nodes",
    _("Nodes"),
    (
        Column("name", _("Node"), sort="name", cell_css="name"),
        Column("zone", _("Zone"), sort="zone", value="0.zone", cell_css="nowrap"),
        *file_columns("region"),
        Column("instance-type", _("Instance type"), sort="instance_type", value="0.instance_type", cell_css="nowrap"),
        *file_columns("ready", "unschedulable", "taints", "cpu_allocatable", "cpu_requested"),
        *file_columns("memory_allocatable", "memory_requested", "pods_allocatable", "pods_bound"),
        Column("cpu", _("CPU requested (cores)"), "number", sort="cpu", exported=False),
        Column("memory", _("Memory requested (GiB)"), "number", sort="memory", exported=False),
        Column("pods", _("Pods"), "number", sort="pods", exported=False),
        Column("other", _("Other resources"), cell_css="small", exported=False),
        Column("state", _("State and taints"), exported=False),
    ),
    page="nodes",
    filters=NodeFilter,
    also=("show", "by", "group"),
    other_parameters=("focus", "find"),
)
PODS = Table(
    "pods",
    _("Pods"),
    (
        Column("name", _("Pod"), sort="name", cell_css="name", exported=False),
        Column("namespace", _("Namespace"), sort="namespace", value="row.namespace"),
        *file_columns("name", path="row"),
        Column("node", _("Node"), sort="node", value="row.node", cell_css="node"),
        *file_columns("pending", "gated", "phase", "scheduler_name", "priority", "owner", "pod_group", path="row"),
        Column("scheduler", _("What the scheduler says"), cell_css="message", exported=False),
        Column(
            "cpu", _("CPU (cores)"), "number", sort="cpu", value="row.cpu_request", form="cores", file="cpu_request"
        ),
        Column(
            "memory",
            _("Memory (GiB)"),
            "number",
            sort="memory",
            value="row.memory_request",
            form="gib",
            file="memory_request",
        ),
        Column("priority", _("Priority"), "number", sort="priority", value="row.priority", exported=False),
        Column(
            "age", _("Age"), sort="created", value="row.created_at", form="age", cell_css="nowrap", file="created_at"
        ),
        *file_columns("message", path="row"),
        Column("decision", value=_read_decision),
    ),
    page="pods",
    filters=PodFilter,
    also=("reason",),
)
register_tables(
    NODES,
    PODS,
    RowTable(
        "zones",
        _("Zones"),
        (
            Column("zone", _("Zone"), cell_css="nowrap"),
            Column("nodes", _("Nodes"), "number"),
            Column("cpu", _("Free CPU (cores)"), "number"),
            Column("memory", _("Free memory (GiB)"), "number"),
            Column("pods", _("Free pods"), "number"),
        ),
        css="",
    ),
)
