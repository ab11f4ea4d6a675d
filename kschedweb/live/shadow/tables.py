"""The lists of this app as tables; lists/apps.py finds them."""

from __future__ import annotations

from kschedweb.live.shadow.filters import VerdictFilter
from kschedweb.web.tables import Column, Table, register_tables
from kschedweb.web.translating import gettext_lazy as _

register_tables(
    Table(
        "shadow",
        "Shadow verdicts",
        (
            Column("pod", _("Pod")),
            Column("when", _("When")),
            Column("verdict", _("Verdict")),
            Column("their-node", _("Their node")),
            Column("best", _("Best here")),
            Column("rank", _("Rank of their node"), css="number"),
            Column("difference", _("Points below"), css="number"),
            Column("plugin", _("By")),
            Column("scheduler", _("What the scheduler says")),
        ),
        filters=VerdictFilter,
        also=("span",),
    ),
)
