"""The lists of this app as tables; lists/apps.py finds them."""

from __future__ import annotations

from kschedweb.jobs.filters import JobFilter
from kschedweb.web.tables import Column, Table, register_tables
from kschedweb.web.translating import gettext_lazy as _

register_tables(
    Table(
        "jobs",
        "Jobs",
        (
            Column("job", _("Job")),
            Column("state", _("State")),
            Column("progress", _("Progress")),
            Column("by", _("Started by")),
            Column("created", _("Created")),
            Column("ended", _("Ended")),
        ),
        page="jobs",
        filters=JobFilter,
    ),
)
