"""The lists of this app as tables; lists/apps.py finds them."""

from __future__ import annotations

from kschedweb.live.schedulers.decisions.filters import DecisionFilter
from kschedweb.web.tables import Column, Table, register_tables

register_tables(
    Table(
        "decisions",
        "Live decisions",
        (
            Column("pod", "Pod", cell_css="name"),
            Column("when", "When", value="at", form="age", cell_css="nowrap"),
            Column("result", "Result"),
            Column("node", "Node", cell_css="nowrap"),
            Column("feasible", "Feasible (nodes)", css="number"),
            Column("margin", "Margin (points)", css="number", absent=""),
            Column("latency", "Latency (ms)", css="number"),
            Column(
                "scheduler",
                "What the scheduler says",
                value="message",
                form="truncatechars:160",
                absent="",
                cell_css="message",
            ),
        ),
        css="dense",
        filters=DecisionFilter,
    ),
)
