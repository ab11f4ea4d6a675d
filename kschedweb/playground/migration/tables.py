"""Tables of this app's lists; lists/apps.py finds them."""

from __future__ import annotations

from kschedweb.playground.migration.filters import QuestionFilter
from kschedweb.playground.migration.forms import MovesForm
from kschedweb.web.tables import Column, Table, register_tables
from kschedweb.web.translating import gettext_lazy as _

register_tables(
    Table(
        "migration",
        _("Old policy files"),
        (
            Column("policy", _("Classic policy")),
            Column("profile", _("Profile"), value="profile_label"),
            Column("on", _("On"), value="about"),
            Column("pods", _("Pods"), css="number", value="counts.pods"),
            Column("moves", _("Would move"), css="number", value="counts.verdicts.moves"),
            Column("state", _("State")),
            Column("by", _("Asked by"), value="created_by.username", absent=_("system")),
            Column("when", _("When"), value="created_at", form="age"),
        ),
        css="dense",
        page="migration",
        filters=QuestionFilter,
        other_parameters=tuple(MovesForm.base_fields),
    ),
)
