"""The form of the page of a workload."""

from __future__ import annotations

from django import forms

from kschedweb.web.translating import gettext_lazy as _

# Minutes: a month.
LONGEST_RUN = 43_200


class ForecastForm(forms.Form):
    """Run time of jobs, for a forecast."""

    run_minutes = forms.IntegerField(
        label=_("Jobs run for (minutes)"),
        required=False,
        min_value=1,
        max_value=LONGEST_RUN,
        help_text=_("Without it finished workloads tell."),
    )
