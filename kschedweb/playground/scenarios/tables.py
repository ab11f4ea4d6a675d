"""The lists of this app as tables; lists/apps.py finds them."""

from __future__ import annotations

from kschedweb.playground.scenarios.filters import ScenarioFilter
from kschedweb.web.tables import Column, Table, register

register(
    Table(
        "scenarios",
        "Scenarios",
        (
            Column("name", "Scenario"),
            Column("description", "Description"),
            Column("revision", "Revision", css="number"),
            Column("changed", "Changed"),
            Column("by", "Created by"),
            Column("readers", "Visible to"),
            Column("actions", "Actions", spoken=True),
        ),
        page="scenarios",
        filters=ScenarioFilter,
    ),
)
