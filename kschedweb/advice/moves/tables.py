"""The tables of a dry run: their columns on pages and in files."""

from __future__ import annotations

from kschedweb.web.tables import Column, RowTable, register_tables
from kschedweb.web.translating import gettext_lazy as _

CELLS = "advice/moves/cells"
LANDINGS = RowTable(
    "moves",
    _("Pods"),
    (
        Column("pod", _("Pod"), cell_css="name"),
        Column("workload"),
        Column("node", _("Leaves"), cell=f"{CELLS}/node.html"),
        Column("plugin", _("Evicted by")),
        Column("profile"),
        Column("fate", _("What happens to it"), cell=f"{CELLS}/fate.html"),
        Column("target"),
        Column("message"),
    ),
    marks={"data-fate": lambda row: row["fate"]},
)
PLUGINS = RowTable(
    "plugins",
    _("By plugin"),
    (
        Column("plugin", _("Plugin"), cell_css="name", cell=f"{CELLS}/plugin.html"),
        Column("evicted", _("Evictions"), "number"),
        Column("nodes", _("From nodes"), "number"),
        Column("lands", _("Land elsewhere"), "number"),
        Column("returns", _("Come back"), "number"),
        Column("unfit", _("Fit nowhere"), "number"),
        Column("gone", _("Not replaced"), "number"),
    ),
)
DISTURBED = RowTable(
    "workloads",
    _("Workloads"),
    (
        Column("workload", _("Workload"), cell_css="name"),
        Column("pods", _("Pods"), "number"),
        Column("evicted", _("Restarted"), "number"),
        Column("unfit", _("Fit nowhere"), "number"),
    ),
)
CYCLES = RowTable(
    "cycles",
    _("Cycle"),
    (
        Column("number", _("Cycle"), "number"),
        Column("evicted", _("Evictions"), "number"),
        Column("again", _("Evicted again"), "number"),
        Column("returned", _("Come back"), "number"),
        Column("unfit", _("Fit nowhere"), "number"),
    ),
)

register_tables(
    RowTable(
        "measure-gains",
        _("Measures"),
        (
            Column("label", _("Measure"), cell_css="name"),
            Column("before", _("Before"), "number", form='floatformat:"-2g"'),
            Column("after", _("After"), "number", form='floatformat:"-2g"'),
            Column("unit", _("Unit")),
        ),
    ),
)
