"""The lists of this app as tables; lists/apps.py finds them."""

from __future__ import annotations

from kschedweb.jobs.filters import JobFilter
from kschedweb.web.tables import Column, Table, author_column, register_tables
from kschedweb.web.translating import gettext_lazy as _

register_tables(
    Table(
        "jobs",
        "Jobs",
        (
            Column("job", _("Job")),
            Column("state", _("State")),
            Column("progress", _("Progress")),
            author_column(_("Started by")),
            Column("created", _("Created"), value="created_at", form="age", cell_css="nowrap"),
            Column("ended", _("Ended"), value="ended_at", form="age", absent="", cell_css="nowrap"),
        ),
        page="jobs",
        filters=JobFilter,
    ),
)
