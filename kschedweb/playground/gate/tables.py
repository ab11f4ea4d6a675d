"""Tables of this app's lists; lists/apps.py finds them."""

from __future__ import annotations

from kschedweb.playground.gate.filters import GateFilter
from kschedweb.playground.gate.forms import GateForm
from kschedweb.web.tables import Column, Table, register_tables
from kschedweb.web.translating import gettext_lazy as _

register_tables(
    Table(
        "gate",
        _("Gate verdicts"),
        (
            Column("policy", _("Policy")),
            Column("verdict", _("Verdict")),
            Column("baseline", _("Baseline")),
            Column("on", _("On")),
            Column("by", _("Asked by")),
            Column("when", _("When")),
        ),
        page="gate",
        filters=GateFilter,
        other_parameters=tuple(GateForm.base_fields),
    ),
)
