"""Tables of this app's lists; lists/apps.py finds them."""

from __future__ import annotations

from kschedweb.web.tables import Column, RowTable, Table, author_column, register_tables
from kschedweb.web.translating import gettext_lazy as _

MOVED = RowTable(
    "moved-pods",
    _("Pods that go elsewhere"),
    (
        Column("pod", _("Pod"), cell_css="name", sort="pod"),
        Column("what", _("What changes"), value="change", cell=lambda row: row.words, sort="what"),
        # Pages name the policies.
        Column("before", _("Before"), file="reference_node", value="before", cell_css="node", sort="before"),
        Column("after", _("After"), file="other_node", value="after", cell_css="node", sort="after"),
        Column("plugin", _("Decided by"), sort="plugin"),
        Column("lead", _("Lead (points)"), "number", sort="lead"),
        Column("said", value="message"),
        Column("follows"),
        Column("seed", _("Seed"), "number", sort="seed"),
        Column("policy"),
        Column("reference_pod", value="before_pod"),
        Column("other_pod", value="after_pod"),
    ),
)
register_tables(
    Table(
        "runs",
        _("Runs"),
        (
            Column("scenario", _("Scenario")),
            Column("policy", _("Policy"), value="label"),
            Column("seed", _("Seed"), "number"),
            Column("comparison", _("Comparison")),
            Column("state", _("State")),
            author_column(_("Started by")),
            Column("created", _("Created"), value="created_at", form="age"),
        ),
        page="runs",
    ),
    Table(
        "comparisons",
        _("Comparisons"),
        (
            Column("comparison", _("Comparison"), cell_css="name"),
            Column("kind", _("Kind"), value="kind.label"),
            Column("about", _("Scenario or recording")),
            Column("state", _("State")),
            author_column(_("Started by"), path="row.created_by"),
            Column("created", _("Created"), value="row.created_at", form="age"),
        ),
        page="comparisons",
        also=("kind",),
    ),
    RowTable(
        "explained-nodes",
        _("Verdicts"),
        (
            Column("name", _("Node"), cell_css="nowrap"),
            Column("pods", _("Pods on it"), form='join:", "', absent=_("none")),
            Column("verdict", _("Verdict"), cell_css="nowrap"),
            Column("note", _("Score, or why not"), cell_css="message"),
        ),
        marks={"class": lambda node: "selected" if node.state == "chosen" else None},
    ),
    RowTable(
        "compared-runs",
        _("Runs"),
        (
            Column("run", _("Policy")),
            Column("seed", _("Seed"), "number"),
            Column("state", _("State")),
            Column("progress", _("Progress")),
        ),
    ),
    RowTable(
        "run-measures",
        _("Measures"),
        (
            Column("label", _("Measure")),
            Column("text", _("Value"), "number", cell_css="nowrap"),
            Column("better", _("Better")),
            Column("sentence", _("What it says"), cell_css="message"),
        ),
    ),
    MOVED,
)
