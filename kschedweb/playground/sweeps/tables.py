"""Tables of this app's lists; lists/apps.py finds them."""

from __future__ import annotations

from kschedweb.web.tables import Column, RowTable, Table, author_column, register_tables
from kschedweb.web.translating import gettext_lazy as _

register_tables(
    Table(
        "sweeps",
        _("Sweeps"),
        (
            Column("sweep", _("Sweep"), cell_css="name"),
            Column("scenario", _("Scenario")),
            Column("policy", _("Base policy"), value="label"),
            Column("trials", _("Trials done"), "number"),
            Column("state", _("State")),
            author_column(_("Started by")),
            Column("created", _("Created"), value="created_at", form="age"),
        ),
        page="sweeps",
    ),
    RowTable(
        "failed-trials",
        _("Trials that failed"),
        (
            Column("number", _("Trial")),
            Column("error", _("Why"), form="translated"),
        ),
    ),
    RowTable(
        "sweep-dimensions",
        _("Vary this field"),
        (
            Column("name", _("Vary")),
            Column("now", _("Now"), value="offer.now"),
            Column("low", _("From")),
            Column("high", _("To")),
            Column("step", _("Step size")),
            Column("values", _("Values")),
            Column("spacing", _("Spacing")),
        ),
        css="dense dimensions",
    ),
)
