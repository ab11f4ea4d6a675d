"""Tables of this app: their columns on pages and in files."""

from __future__ import annotations

from kschedweb.web.tables import Column, RowTable, register_tables
from kschedweb.web.translating import gettext_lazy as _

register_tables(
    RowTable(
        "tried-pods",
        _("Pods"),
        (
            Column("pod", _("Pod"), cell_css="name"),
            Column("current", _("Current"), absent=_("no node"), cell_css="node"),
            Column("changed", _("Changed"), absent=_("no node"), cell_css="node"),
            Column("why", _("Why"), cell_css="message"),
        ),
        marks={"data-pod": "pod"},
    ),
)
