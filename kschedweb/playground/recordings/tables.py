"""Tables of this app's lists; lists/apps.py finds them."""

from __future__ import annotations

from kschedweb.playground.recordings.filters import RecordingFilter
from kschedweb.web.tables import Column, Table, register_tables
from kschedweb.web.translating import gettext_lazy as _

register_tables(
    Table(
        "recordings",
        _("Recordings"),
        (
            Column("recording", _("Recording")),
            Column("state", _("State")),
            Column("recorded", _("Recorded"), css="number"),
            Column("records", _("Records"), css="number"),
            Column("nodes", _("Nodes"), css="number"),
            Column("pods", _("Pods"), css="number"),
            Column("size", _("Size (KiB)"), css="number"),
            Column("by", _("Started by")),
        ),
        page="recordings",
        filters=RecordingFilter,
    ),
)
