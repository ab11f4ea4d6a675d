"""The lists of this app as tables; lists/apps.py finds them."""

from __future__ import annotations

from kschedweb.web.tables import Column, Table, register

register(
    Table(
        "sweeps",
        "Sweeps",
        (
            Column("sweep", "Sweep"),
            Column("scenario", "Scenario"),
            Column("policy", "Base policy"),
            Column("trials", "Trials done", css="number"),
            Column("state", "State"),
            Column("by", "Started by"),
            Column("created", "Created"),
        ),
        page="sweeps",
    ),
)
