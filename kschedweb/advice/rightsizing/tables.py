"""The list of containers as a table; lists/apps.py imports this module."""

from __future__ import annotations

from kschedweb.web.tables import Column, Table, register_tables

register_tables(
    Table(
        "right-sizes",
        "Requests against recommendations",
        (
            Column("name", "Workload and container", sort="name"),
            Column("pods", "Pods", css="number", sort="pods"),
            Column("cpu-requested", "CPU requested (cores)", css="number"),
            Column("cpu-target", "CPU target (cores)", css="number"),
            Column("cpu-bounds", "CPU bounds (cores)", css="number"),
            Column("cpu-saved", "CPU saved (cores)", css="number", sort="cpu"),
            Column("memory-requested", "Memory requested (GiB)", css="number"),
            Column("memory-target", "Memory target (GiB)", css="number"),
            Column("memory-bounds", "Memory bounds (GiB)", css="number"),
            Column("memory-saved", "Memory saved (GiB)", css="number", sort="memory"),
            Column("hour", "Saved an hour", css="number", sort="hour", measured=True),
            Column("days", "History (days)", css="number", sort="days"),
        ),
        page="right-sizing",
        also=("ordering", "method", "search", "show", "namespace"),
    ),
)
