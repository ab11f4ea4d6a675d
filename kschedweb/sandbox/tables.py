"""Tables of this app: their columns on pages and in files."""

from __future__ import annotations

from kschedweb.web.tables import Column, RowTable, register_tables
from kschedweb.web.translating import gettext_lazy as _

register_tables(
    RowTable(
        "sandbox-events",
        _("Events"),
        (
            Column("reason", _("Event")),
            Column("about", _("About")),
            Column("message", _("Message")),
            Column("at", _("When"), form="age", cell_css="nowrap"),
        ),
    ),
    RowTable(
        "sandbox-objects",
        _("Object"),
        (
            Column("object", _("Object")),
            Column("state", _("State")),
            Column("by", _("By"), when="removable"),
            Column("actions", _("Actions"), spoken=True, when="removable"),
        ),
    ),
)
