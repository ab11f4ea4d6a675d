"""The lists of this app as tables; lists/apps.py imports this module."""

from __future__ import annotations

from kschedweb.web.tables import Column, Table, register_tables
from kschedweb.web.translating import gettext_lazy as _

register_tables(
    Table(
        "pod-groups",
        _("Groups of pods"),
        (
            Column("group", _("Group")),
            Column("namespace", _("Namespace")),
            Column("state", _("State")),
            Column("least", "minCount", css="number"),
            Column("topology", _("In one domain of")),
            Column("priority", _("Priority"), css="number"),
        ),
    ),
)
