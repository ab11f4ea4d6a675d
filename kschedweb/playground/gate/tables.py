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
            Column("baseline", _("Baseline"), value="baseline_title", form="translated"),
            Column("on", _("On"), value="about"),
            Column("by", _("Asked by"), value="created_by.username", absent=_("system")),
            Column("when", _("When"), value="created_at", form="age"),
        ),
        css="dense",
        page="gate",
        filters=GateFilter,
        other_parameters=tuple(GateForm.base_fields),
    ),
)
