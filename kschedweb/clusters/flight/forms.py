"""The form of a flight recorder."""

from __future__ import annotations

from django import forms

from kschedweb.clusters.flight.services import LEAST_MIB, MOST_DAYS, MOST_MIB
from kschedweb.web.translating import gettext_lazy as _


class RecorderForm(forms.Form):
    """The switch of a recorder, and how much it keeps."""

    on = forms.BooleanField(label=_("Record this cluster always"), required=False)
    days = forms.IntegerField(label=_("Keep for days"), min_value=1, max_value=MOST_DAYS)
    limit_mib = forms.IntegerField(
        label=_("Keep at most (MiB)"),
        min_value=LEAST_MIB,
        max_value=MOST_MIB,
        help_text=_("The oldest is deleted first."),
    )
