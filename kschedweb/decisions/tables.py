"""The lists of this app as tables; lists/apps.py imports this module."""

from __future__ import annotations

from kschedweb.web.tables import Column, Table, register_tables
from kschedweb.web.translating import gettext_lazy as _

register_tables(
    Table(
        "pod-groups",
        _("Groups of pods"),
        (
            Column("group", _("Group"), cell_css="name"),
            Column("namespace", _("Namespace")),
            Column("state", _("State"), cell_css="message"),
            Column("least", "minCount", css="number", value="min_count"),
            Column("topology", _("In one domain of"), cell_css="break", verbatim=True),
            Column("priority", _("Priority"), css="number"),
        ),
    ),
)
