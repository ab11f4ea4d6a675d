"""Tables of this app's lists; lists/apps.py finds them."""

from __future__ import annotations

from kschedweb.playground.gate.filters import GateFilter
from kschedweb.playground.gate.forms import GateForm
from kschedweb.web.tables import Column, RowTable, Table, author_column, register_tables
from kschedweb.web.translating import gettext_lazy as _

register_tables(
    Table(
        "gate",
        _("Gate verdicts"),
        (
            Column("policy", _("Policy")),
            Column("verdict", _("Verdict")),
            Column("baseline", _("Baseline"), value="baseline_title", form="translated"),
            Column("on", _("On"), value="about"),
            author_column(_("Asked by")),
            Column("when", _("When"), value="created_at", form="age"),
        ),
        css="dense",
        page="gate",
        filters=GateFilter,
        other_parameters=tuple(GateForm.base_fields),
    ),
    RowTable(
        "upgrade-causes",
        _("Pods that are placed elsewhere"),
        (
            Column("plugin", _("What decides")),
            Column("count", _("Pods"), "number"),
            Column("following", _("Following others"), "number"),
            Column("example", _("For example")),
            Column("changes", _("Can be explained by")),
        ),
    ),
    RowTable(
        "upgrade-messages",
        _("Messages that change"),
        (
            Column("gone", _("No longer reported"), form='join:"; "', cell_css="message"),
            Column("new", _("Now reported"), form='join:"; "', cell_css="message"),
            Column("count", _("Pods"), "number"),
            Column("example", _("For example"), cell_css="message"),
            Column("changes", _("Can be explained by")),
        ),
        names=None,
    ),
    RowTable(
        "upgrade-fields",
        _("Fields of the configuration"),
        (
            Column("path", _("Field"), cell_css="name"),
            Column("kind", _("Change")),
            Column("before", _("Before"), cell_css="message"),
            Column("after", _("After"), cell_css="message"),
            Column("changes", _("Can be explained by")),
        ),
    ),
    RowTable(
        "gate-checks",
        _("Checks"),
        (
            Column("label", _("Check"), form="translated"),
            Column("verdict", _("Verdict")),
            Column("value", _("Value"), "number", cell_css="nowrap"),
            Column("baseline", _("Baseline"), "number", cell_css="nowrap"),
            Column("limits", _("Limit"), cell_css="nowrap"),
            Column("sentence", _("What it says"), form="translated"),
        ),
    ),
    RowTable(
        "gate-pods",
        _("Pods"),
        (
            Column("pod", _("Pod"), cell_css="name"),
            Column("before", _("Under the baseline"), absent=_("no node")),
            Column("after", _("Under the policy"), absent=_("no node")),
            Column("plugin", _("Decided by")),
            Column("lead", _("Lead (points)"), "number"),
            Column("said", _("What the scheduler says"), cell_css="message"),
        ),
    ),
    RowTable(
        "release-answers",
        _("Release"),
        (
            Column("release", _("Release")),
            Column(
                "errors",
                _("The configuration"),
                form='join:"; "',
                absent=_("valid"),
                cell_css="message",
                when="release_change.change.is_of_configuration",
            ),
            Column("node", _("Node"), absent=_("none"), when="not release_change.change.is_of_configuration"),
            Column("totals", _("Totals"), when="not release_change.change.is_of_configuration"),
            Column("scores", _("Scores"), when="not release_change.change.is_of_configuration"),
            Column(
                "said",
                _("Message and verdicts"),
                cell_css="message",
                when="not release_change.change.is_of_configuration",
            ),
        ),
    ),
    RowTable(
        "measures",
        _("Measures"),
        (
            Column("label", _("Measure")),
            Column("name", _("Name")),
            Column("before", _("Baseline"), "number", cell_css="nowrap"),
            Column("after", _("Policy"), "number", cell_css="nowrap"),
            Column("change", _("Change"), "number", cell_css="nowrap"),
        ),
        css="dense differences",
    ),
)
