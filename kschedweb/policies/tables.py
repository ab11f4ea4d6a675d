"""The lists of this app as tables; lists/apps.py finds them."""

from __future__ import annotations

from kschedweb.policies.filters import PolicyFilter
from kschedweb.web.tables import Column, Table, register_tables
from kschedweb.web.translating import gettext_lazy as _

register_tables(
    Table(
        "policies",
        _("Policies"),
        (
            Column("name", _("Policy")),
            Column("kind", _("Kind")),
            Column("description", _("Description")),
            Column("revision", _("Revision"), css="number"),
            Column("changed", _("Changed")),
            Column("by", _("By")),
            Column("actions", _("Actions"), spoken=True),
        ),
        page="policies",
        filters=PolicyFilter,
    ),
)
