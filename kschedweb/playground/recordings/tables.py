"""The lists of this app as tables; lists/apps.py finds them."""

from __future__ import annotations

from kschedweb.playground.recordings.filters import RecordingFilter
from kschedweb.web.tables import Column, Table, register

register(
    Table(
        "recordings",
        "Recordings",
        (
            Column("recording", "Recording"),
            Column("state", "State"),
            Column("recorded", "Recorded", css="number"),
            Column("records", "Records", css="number"),
            Column("nodes", "Nodes", css="number"),
            Column("pods", "Pods", css="number"),
            Column("size", "Size (KiB)", css="number"),
            Column("by", "Started by"),
        ),
        page="recordings",
        filters=RecordingFilter,
    ),
)
