"""Tables of this app's lists; lists/apps.py finds them."""

from __future__ import annotations

from kschedweb.playground.scenarios.filters import ScenarioFilter
from kschedweb.web.tables import Column, RowTable, Table, author_column, register_tables
from kschedweb.web.translating import gettext_lazy as _

register_tables(
    Table(
        "scenarios",
        _("Scenarios"),
        (
            Column("name", _("Scenario"), cell_css="name"),
            Column("description", _("Description"), value="shown_description", cell_css="message"),
            Column("revision", _("Revision"), "number"),
            Column("changed", _("Changed"), value="changed_at", form="age"),
            Column("by", _("Created by")),
            Column("readers", _("Visible to")),
            Column("actions", _("Actions"), spoken=True),
        ),
        page="scenarios",
        filters=ScenarioFilter,
    ),
    RowTable(
        "scenario-files",
        _("Files"),
        (
            Column("name", _("File"), cell_css="name"),
            Column("kind", _("What it is"), value="get_kind_display"),
            Column("lines", _("Lines"), "number"),
            Column("size", _("Size (KiB)"), "number", value="kib"),
            Column("uploaded", _("Uploaded"), value="created_at", form="age"),
            author_column(_("By")),
            Column("actions", _("Actions"), spoken=True),
        ),
        css="",
    ),
)
