"""The forms of the decision and load-aware pages."""

from __future__ import annotations

from typing import Any

from django import forms

from kschedweb.decisions.load_aware.curves import MOVING, Conditions
from kschedweb.web.errors import Unprocessable
from kschedweb.web.translating import gettext_lazy as _

PERCENT = "Percent of a node."


def _percent_field(
    label: str, help_text: str, initial: float, maximum: int = 100, step: str = "0.5"
) -> forms.FloatField:
    widget = forms.NumberInput(attrs={"step": step})
    return forms.FloatField(
        label=label, help_text=help_text, min_value=0, max_value=maximum, initial=initial, required=False, widget=widget
    )


class ConditionsForm(forms.Form):
    """The conditions of score curves; the defaults are those of ``Conditions``."""

    pod = _percent_field(_("Pod (% of a node)"), _("Requests, limit and use of the pod."), Conditions.pod)
    average = _percent_field(_("Average use (%)"), _("Mean use of the cluster, of allocatable."), Conditions.average)
    lowest = _percent_field(
        _("X axis starts at (% used)"), _("Use of the first node of the row."), Conditions.lowest, maximum=90, step="1"
    )
    deviation = _percent_field(
        _("Deviation (% points)"), _("Standard deviation of each node's use."), Conditions.deviation
    )
    requested = _percent_field(
        _("Requested (% of a node)"), _("What the pods on each node request."), Conditions.requested
    )
    moving = forms.ChoiceField(
        label=_("What changes along the X axis"),
        help_text=_("All other figures of a node stay at the average."),
        choices=list(MOVING.items()),
        required=False,
    )

    def clean(self) -> dict[str, Any]:
        data: dict[str, Any] = super().clean() or self.cleaned_data
        if not self.errors:
            try:
                self.conditions = build_conditions(data).validate()
            except Unprocessable as error:
                for problem in error.errors:
                    self.add_error(problem["path"], problem["message"])
        return data


def build_conditions(data: dict[str, Any]) -> Conditions:
    """Return the conditions from cleaned fields, with defaults for empty ones."""
    values = {name: value for name, value in data.items() if value not in (None, "")}
    if "lowest" in values:
        values["lowest"] = int(values["lowest"])
    return Conditions(**values)
