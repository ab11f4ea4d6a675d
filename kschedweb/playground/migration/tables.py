"""The lists of this app as tables; lists/apps.py finds them."""

from __future__ import annotations

from kschedweb.playground.migration.filters import QuestionFilter
from kschedweb.web.tables import Column, Table, register

register(
    Table(
        "migration",
        "Classic migration",
        (
            Column("policy", "Classic policy"),
            Column("profile", "Profile"),
            Column("on", "On"),
            Column("pods", "Pods", css="number"),
            Column("moves", "Would move", css="number"),
            Column("state", "State"),
            Column("by", "Asked by"),
            Column("when", "When"),
        ),
        page="migration",
        filters=QuestionFilter,
    ),
)
