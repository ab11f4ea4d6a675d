"""Tables of this app: their columns on pages and in files."""

from __future__ import annotations

from kschedweb.web.tables import Column, RowTable, register_tables
from kschedweb.web.translating import gettext_lazy as _

register_tables(
    RowTable(
        "repositories",
        _("Repositories"),
        (
            Column("name", _("Name")),
            Column("url", _("Address"), form="breakable", cell_css="break", verbatim=True),
            Column("commit", _("Commit")),
            Column("looked_at", _("Last checked"), form="age", absent=_("never")),
            Column("problem", _("Problem")),
        ),
    ),
    RowTable(
        "repository-files",
        _("Files"),
        (
            Column("path", _("File")),
            Column("policy", _("Policy")),
            Column("state", _("State")),
        ),
    ),
    RowTable(
        "repository-commits",
        _("Commits"),
        (
            Column("commit", _("Commit")),
            Column("author", _("Author")),
            Column("subject", _("Subject")),
            Column("result", _("Result of it")),
        ),
    ),
)
