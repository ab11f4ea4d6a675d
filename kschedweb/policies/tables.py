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
            Column("name", _("Policy"), cell_css="name"),
            Column("kind", _("Kind"), verbatim=True),
            Column("description", _("Description"), form="translated", absent="", cell_css="message"),
            Column("revision", _("Revision"), css="number"),
            Column("changed", _("Changed"), value="changed_at", form="age"),
            Column("by", _("By"), value="changed_by", absent=_("system")),
            Column("actions", _("Actions"), spoken=True),
        ),
        page="policies",
        filters=PolicyFilter,
    ),
)
