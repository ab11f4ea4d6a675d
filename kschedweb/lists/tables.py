"""Tables of this app: their columns on pages and in files."""

from __future__ import annotations

from kschedweb.web.tables import Column, RowTable, register_tables
from kschedweb.web.translating import gettext_lazy as _

register_tables(
    RowTable(
        "saved-views",
        _("Saved views"),
        (
            Column("view", _("View")),
            Column("list", _("List"), value="0.list.title"),
            Column("filters", _("Filter and order")),
            Column("hidden", _("Hidden columns"), value="3", absent=_("none")),
            Column("actions", _("Actions"), spoken=True),
        ),
        css="",
    ),
)
