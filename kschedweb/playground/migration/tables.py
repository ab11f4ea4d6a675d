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
            Column("profile", _("Profile")),
            Column("on", _("On")),
            Column("pods", _("Pods"), css="number"),
            Column("moves", _("Would move"), css="number"),
            Column("state", _("State")),
            Column("by", _("Asked by")),
            Column("when", _("When")),
        ),
        page="migration",
        filters=QuestionFilter,
        other_parameters=tuple(MovesForm.base_fields),
    ),
)
