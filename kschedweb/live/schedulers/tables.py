"""The lists of this app as tables; lists/apps.py finds them."""

from __future__ import annotations

from kschedweb.live.schedulers.decisions.filters import DecisionFilter
from kschedweb.web.tables import Column, RowTable, Table, file_columns, register_tables
from kschedweb.web.translating import gettext_lazy as _

DECISIONS = Table(
    "decisions",
    _("Live decisions"),
    (
        Column("pod", _("Pod"), cell_css="name", exported=False),
        Column("when", _("When"), value="at", form="age", cell_css="nowrap", file="at"),
        *file_columns("namespace", "name", "uid", "attempt"),
        Column("result", _("Result")),
        Column("node", _("Node"), cell_css="nowrap"),
        *file_columns("evaluated"),
        Column("feasible", _("Feasible (nodes)"), "number"),
        Column("margin", _("Margin (points)"), "number", absent=""),
        *file_columns("drawn"),
        Column("latency", _("Latency (ms)"), "number"),
        Column(
            "scheduler",
            _("What the scheduler says"),
            value="message",
            form="truncatechars:160",
            absent="",
            cell_css="message",
            file="message",
        ),
        *file_columns("ended_at", "engine"),
    ),
    css="dense",
    filters=DecisionFilter,
)
register_tables(
    DECISIONS,
    RowTable(
        "live-processes",
        _("Processes"),
        (
            Column("process", _("Process"), cell_css="name"),
            Column("role", _("Role")),
            Column("epoch", _("Epoch"), "number"),
            Column("silent", _("Heartbeat"), form="heartbeat_age"),
            Column("started_at", _("Started"), form="age"),
            Column("bound", _("Bound (pods)"), "number"),
            Column("cluster", _("Cluster")),
        ),
    ),
    RowTable(
        "missing-rights",
        _("Missing rights"),
        (
            Column("right", _("Right")),
            Column("group", _("Group"), absent=_("core")),
            Column("where", _("Where")),
            Column("costs", _("Without it")),
        ),
    ),
    RowTable(
        "election-terms",
        _("Leader election"),
        (
            Column("name", _("Setting"), cell_css="name"),
            Column("value", _("In use")),
            Column("source", _("Source")),
        ),
        marks={"data-setting": "name", "data-source": "source"},
    ),
    RowTable(
        "live-schedulers",
        _("Live schedulers"),
        (
            Column("scheduler", _("Scheduler"), cell_css="name"),
            Column("cluster", _("Cluster")),
            Column("mode", _("Mode"), value="live.get_mode_display"),
            Column("state", _("State")),
            Column("policy", _("Policy"), cell_css="name"),
            Column("leader", _("Leader"), cell_css="node"),
            Column("bound", _("Bound (pods/s)"), "number"),
            Column("queued", _("Not placed (pods)"), "number"),
            Column("median", _("Median time to schedule (ms)"), "number", form="floatformat:0"),
        ),
        css="wrap-heads",
    ),
)
