"""The lists of this app as tables; lists/apps.py finds them."""

from __future__ import annotations

from kschedweb.live.shadow.filters import VerdictFilter
from kschedweb.web.tables import Column, Table, register_tables

register_tables(
    Table(
        "shadow",
        "Shadow verdicts",
        (
            Column("pod", "Pod"),
            Column("when", "When"),
            Column("verdict", "Verdict"),
            Column("their-node", "Their node"),
            Column("best", "Best here"),
            Column("rank", "Rank of their node", css="number"),
            Column("difference", "Points below", css="number"),
            Column("plugin", "By"),
            Column("scheduler", "What the scheduler says"),
        ),
        filters=VerdictFilter,
        also=("span",),
    ),
)
