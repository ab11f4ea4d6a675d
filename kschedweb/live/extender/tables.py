"""Tables of this app: their columns on pages and in files."""

from __future__ import annotations

from kschedweb.web.tables import Column, RowTable, register_tables
from kschedweb.web.translating import gettext_lazy as _

register_tables(
    RowTable(
        "extenders",
        _("Extender"),
        (
            Column("scheduler", _("Scheduler"), cell_css="name"),
            Column("cluster", _("Cluster")),
            Column("policy", _("Policy")),
            Column("plugins", _("Plugins that decide"), value="2", form='join:", "'),
            Column("secret", _("Secret")),
            Column("configure", _("kube-scheduler side"), when="may_administer"),
        ),
        css="",
    ),
)
