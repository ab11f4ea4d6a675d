"""The lists of this app as tables; lists/apps.py finds them."""

from __future__ import annotations

from kschedweb.web.tables import Column, Table, register

register(
    Table(
        "runs",
        "Runs",
        (
            Column("scenario", "Scenario"),
            Column("policy", "Policy"),
            Column("seed", "Seed", css="number"),
            Column("comparison", "Comparison"),
            Column("state", "State"),
            Column("by", "Started by"),
            Column("created", "Created"),
        ),
        page="runs",
    ),
    Table(
        "comparisons",
        "Comparisons",
        (
            Column("comparison", "Comparison"),
            Column("kind", "Kind"),
            Column("about", "Scenario or recording"),
            Column("state", "State"),
            Column("by", "Started by"),
            Column("created", "Created"),
        ),
        page="comparisons",
        also=("kind",),
    ),
)
