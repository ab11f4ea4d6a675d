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
            Column("policy", _("Policy")),
            Column("seed", _("Seed"), css="number"),
            Column("comparison", _("Comparison")),
            Column("state", _("State")),
            Column("by", _("Started by")),
            Column("created", _("Created")),
        ),
        page="runs",
    ),
    Table(
        "comparisons",
        _("Comparisons"),
        (
            Column("comparison", _("Comparison")),
            Column("kind", _("Kind")),
            Column("about", _("Scenario or recording")),
            Column("state", _("State")),
            Column("by", _("Started by")),
            Column("created", _("Created")),
        ),
        page="comparisons",
        also=("kind",),
    ),
)
