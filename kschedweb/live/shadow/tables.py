"""The lists of this app as tables; lists/apps.py finds them."""

from __future__ import annotations

from kschedweb.live.shadow.filters import VerdictFilter
from kschedweb.web.tables import Column, RowTable, Table, file_columns, register_tables
from kschedweb.web.translating import gettext_lazy as _

VERDICTS = Table(
    "shadow",
    _("Shadow verdicts"),
    (
        Column("pod", _("Pod"), cell_css="name", exported=False),
        Column("when", _("When"), cell_css="nowrap", file="at"),
        *file_columns("namespace", "name", "uid"),
        Column("verdict", _("Verdict")),
        Column("their-node", _("Their node"), cell_css="nowrap", file="node"),
        Column("best", _("Best here"), cell_css="nowrap"),
        *file_columns("ties", "feasible"),
        Column("rank", _("Rank of their node"), "number"),
        Column("difference", _("Points below"), "number"),
        Column("plugin", _("By")),
        Column("scheduler", _("What the scheduler says"), cell_css="message", file="message"),
        *file_columns("said", "late", "engine"),
    ),
    css="dense wrap-heads",
    filters=VerdictFilter,
    also=("span",),
)
register_tables(
    VERDICTS,
    RowTable(
        "drift-causes",
        _("What causes the differences"),
        (
            Column("plugin", _("Plugin")),
            Column("verdict", _("Verdict")),
            Column("pods", _("Pods"), "number"),
            Column("mean", _("Mean difference (points)"), "number", form="floatformat:1"),
        ),
        css="dense wrap-heads",
    ),
    RowTable(
        "shadows",
        _("Shadow"),
        (
            Column("scheduler", _("Scheduler"), cell_css="name"),
            Column("cluster", _("Cluster")),
            Column("policy", _("Policy")),
            Column("mode", _("Mode"), value="0.get_mode_display"),
            Column("judged", _("Pods judged"), "number", value="1.total", form='floatformat:"0g"'),
            Column("agreement", _("Agreement (%)"), "number", value="1.agree", form="floatformat:1"),
            Column("mean", _("Mean difference (points)"), "number", value="1.mean", form="floatformat:1"),
        ),
        css="",
    ),
)
