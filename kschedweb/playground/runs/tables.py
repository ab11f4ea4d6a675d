"""Tables of this app's lists; lists/apps.py finds them."""

from __future__ import annotations

from kschedweb.web.tables import Column, Table, register_tables
from kschedweb.web.translating import gettext_lazy as _

register_tables(
    Table(
        "runs",
        _("Runs"),
        (
            Column("scenario", _("Scenario")),
            Column("policy", _("Policy"), value="label"),
            Column("seed", _("Seed"), css="number"),
            Column("comparison", _("Comparison")),
            Column("state", _("State")),
            Column("by", _("Started by"), value="created_by.username", absent=_("system")),
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
            Column("by", _("Started by"), value="row.created_by.username", absent=_("system")),
            Column("created", _("Created"), value="row.created_at", form="age"),
        ),
        page="comparisons",
        also=("kind",),
    ),
)
