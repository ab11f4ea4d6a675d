"""The lists of this app as tables; lists/apps.py finds them."""

from __future__ import annotations

from kschedweb.accounts.filters import AuditFilter, UserFilter
from kschedweb.web.tables import Column, RowTable, Table, register_tables
from kschedweb.web.translating import gettext_lazy as _

register_tables(
    Table(
        "people",
        _("People"),
        (
            Column("name", _("Name")),
            Column("role", _("Role")),
            Column("state", _("State")),
            Column("last-login", _("Last login"), value="last_login", form="age", absent=_("never")),
            Column("actions", _("Actions"), spoken=True),
        ),
        page="people",
        filters=UserFilter,
    ),
    Table(
        "audit",
        _("Audit"),
        (
            Column("when", _("When"), value="at", form="age", cell_css="nowrap"),
            Column("who", _("Who"), value="actor_name"),
            Column("address", _("Address"), absent=""),
            Column("what", _("What"), cell_css="nowrap"),
            Column("on", _("On")),
            Column("details", _("Details")),
        ),
        names=None,
        css="dense",
        page="audit",
        filters=AuditFilter,
    ),
    RowTable(
        "grants",
        _("Grants"),
        (
            Column("who", _("Who")),
            Column("role", _("Role"), value="0.get_role_display"),
            Column("clusters", _("Clusters")),
            Column("namespaces", _("Namespaces"), value="0.namespaces", form='join:", "', absent=_("All")),
            Column("by", _("Granted by")),
            Column("actions", _("Actions"), spoken=True),
        ),
        css="",
    ),
)
