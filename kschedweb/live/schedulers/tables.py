"""The lists of this app as tables; lists/apps.py finds them."""

from __future__ import annotations

from kschedweb.live.schedulers.decisions.filters import DecisionFilter
from kschedweb.web.tables import Column, Table, register_tables

register_tables(
    Table(
        "decisions",
        "Live decisions",
        (
            Column("pod", "Pod"),
            Column("when", "When"),
            Column("result", "Result"),
            Column("node", "Node"),
            Column("feasible", "Feasible (nodes)", css="number"),
            Column("margin", "Margin (points)", css="number"),
            Column("latency", "Latency (ms)", css="number"),
            Column("scheduler", "What the scheduler says"),
        ),
        filters=DecisionFilter,
    ),
)
