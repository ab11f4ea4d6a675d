"""Tables of this app's lists; lists/apps.py finds them."""

from __future__ import annotations

from kschedweb.web.tables import Column, Table, register_tables
from kschedweb.web.translating import gettext_lazy as _

register_tables(
    Table(
        "sweeps",
        _("Sweeps"),
        (
            Column("sweep", _("Sweep"), cell_css="name"),
            Column("scenario", _("Scenario")),
            Column("policy", _("Base policy"), value="label"),
            Column("trials", _("Trials done"), css="number"),
            Column("state", _("State")),
            Column("by", _("Started by"), value="created_by.username", absent=_("system")),
            Column("created", _("Created"), value="created_at", form="age"),
        ),
        page="sweeps",
    ),
)
