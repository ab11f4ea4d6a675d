"""The lists of this app as tables; lists/apps.py finds them."""

from __future__ import annotations

from kschedweb.jobs.filters import JobFilter
from kschedweb.web.tables import Column, Table, register_tables

register_tables(
    Table(
        "jobs",
        "Jobs",
        (
            Column("job", "Job"),
            Column("state", "State"),
            Column("progress", "Progress"),
            Column("by", "Started by"),
            Column("created", "Created"),
            Column("ended", "Ended"),
        ),
        page="jobs",
        filters=JobFilter,
    ),
)
