"""The lists of this app as tables; lists/apps.py finds them."""

from __future__ import annotations

from kschedweb.accounts.filters import AuditFilter, UserFilter
from kschedweb.web.tables import Column, Table, register_tables
from kschedweb.web.translating import gettext_lazy as _

register_tables(
    Table(
        "people",
        _("People"),
        (
            Column("name", _("Name")),
            Column("role", _("Role")),
            Column("state", _("State")),
            Column("last-login", _("Last login")),
            Column("actions", _("Actions"), spoken=True),
        ),
        page="people",
        filters=UserFilter,
    ),
    Table(
        "audit",
        _("Audit"),
        (
            Column("when", _("When")),
            Column("who", _("Who")),
            Column("address", _("Address")),
            Column("what", _("What")),
            Column("on", _("On")),
            Column("details", _("Details")),
        ),
        page="audit",
        filters=AuditFilter,
    ),
)
