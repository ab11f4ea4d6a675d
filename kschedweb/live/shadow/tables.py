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
            Column("pod", _("Pod"), cell_css="name"),
            Column("when", _("When"), cell_css="nowrap"),
            Column("verdict", _("Verdict")),
            Column("their-node", _("Their node"), cell_css="nowrap"),
            Column("best", _("Best here"), cell_css="nowrap"),
            Column("rank", _("Rank of their node"), css="number"),
            Column("difference", _("Points below"), css="number"),
            Column("plugin", _("By")),
            Column("scheduler", _("What the scheduler says"), cell_css="message"),
        ),
        css="dense wrap-heads",
        filters=VerdictFilter,
        also=("span",),
    ),
)
