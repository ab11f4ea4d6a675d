"""The lists of this app as tables; lists/apps.py finds them."""

from __future__ import annotations

from kschedweb.playground.gate.filters import GateFilter
from kschedweb.web.tables import Column, Table, register

register(
    Table(
        "gate",
        "Gate verdicts",
        (
            Column("policy", "Policy"),
            Column("verdict", "Verdict"),
            Column("baseline", "Baseline"),
            Column("on", "On"),
            Column("by", "Asked by"),
            Column("when", "When"),
        ),
        page="gate",
        filters=GateFilter,
    ),
)
