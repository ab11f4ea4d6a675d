"""Tables of this app's lists; lists/apps.py finds them."""

from __future__ import annotations

from kschedweb.playground.migration.filters import QuestionFilter
from kschedweb.playground.migration.forms import MovesForm
from kschedweb.web.tables import Column, RowTable, Table, author_column, register_tables
from kschedweb.web.translating import gettext_lazy as _

MOVED = RowTable(
    "migrated-pods",
    _("Pods that differ"),
    (
        Column("pod", _("Pod"), cell_css="name", sort="pod"),
        Column("verdict", _("What changes"), value="raw.verdict", cell=lambda row: row.words, sort="verdict"),
        Column("bound_to", value="raw.boundTo"),
        Column(
            "classic",
            _("Under the classic policy"),
            value="raw.classic",
            file="classic_node",
            cell_css="node",
            sort="classic",
        ),
        Column(
            "profile", _("Under the profile"), value="raw.profile", file="profile_node", cell_css="node", sort="profile"
        ),
        Column("classic_best", value="raw.classicBest"),
        Column("profile_best", value="raw.profileBest"),
        Column("rule", _("By"), value="raw.rule.name", sort="rule"),
        Column("side", value="raw.rule.side"),
        Column("kind", value="raw.rule.kind"),
        Column("lead", value="raw.rule.lead"),
        Column("share", _("Why"), value="raw.rule.share", cell=lambda row: row.why, cell_css="message", sort="share"),
        Column("reason", value="raw.rule.reason"),
        Column(
            "bound",
            _("Node now"),
            value="raw.boundTo",
            cell_css="node",
            when="question.bound",
            sort="bound",
            exported=False,
        ),
    ),
)
register_tables(
    Table(
        "migration",
        _("Old policy files"),
        (
            Column("policy", _("Classic policy")),
            Column("profile", _("Profile"), value="profile_label"),
            Column("on", _("On"), value="about"),
            Column("pods", _("Pods"), "number", value="counts.pods"),
            Column("moves", _("Would move"), "number", value="counts.verdicts.moves"),
            Column("state", _("State")),
            author_column(_("Asked by")),
            Column("when", _("When"), value="created_at", form="age"),
        ),
        css="dense",
        page="migration",
        filters=QuestionFilter,
        other_parameters=tuple(MovesForm.base_fields),
    ),
    RowTable(
        "migration-rules",
        _("By which rule"),
        (
            Column("rule", _("Rule")),
            Column("side", _("Side"), value="raw.side"),
            Column("words", _("What it does")),
            Column("moves", _("Pods that move"), "number", value="raw.moves"),
            Column("only", _("Fit only under one"), "number"),
        ),
    ),
    MOVED,
    RowTable(
        "migration-verdicts",
        _("All pods"),
        (
            Column("outcome", _("Outcome")),
            Column("pods", _("Pods"), "number", value="3"),
            Column("meaning", _("Meaning"), value="2"),
        ),
    ),
)
