"""Tables of this app's lists; lists/apps.py finds them."""

from __future__ import annotations

from kschedweb.playground.recordings.filters import RecordingFilter
from kschedweb.web.tables import Column, Table, author_column, register_tables
from kschedweb.web.translating import gettext_lazy as _

register_tables(
    Table(
        "recordings",
        _("Recordings"),
        (
            Column("recording", _("Recording"), cell_css="name"),
            Column("state", _("State")),
            Column("recorded", _("Recorded"), "number", value="lasted", form="duration"),
            Column("records", _("Records"), "number"),
            Column("nodes", _("Nodes"), "number"),
            Column("pods", _("Pods"), "number"),
            Column("size", _("Size (KiB)"), "number", value="kib"),
            author_column(_("Started by")),
        ),
        page="recordings",
        filters=RecordingFilter,
    ),
)
