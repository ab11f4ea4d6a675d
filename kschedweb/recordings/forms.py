"""The forms of the recording pages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import forms

from kschedweb.clusters.models import Cluster
from kschedweb.recordings import selectors
from kschedweb.recordings.services import MOST
from kschedweb.scenarios.models import Scenario

if TYPE_CHECKING:
    from kschedweb.accounts.models import User


class StartForm(forms.Form):
    """Which cluster, and for how long."""

    cluster = forms.ModelChoiceField(
        Cluster.objects.none(), to_field_name="name", empty_label=None, help_text="A connected one."
    )
    minutes = forms.IntegerField(
        min_value=1, max_value=MOST // 60, initial=30, help_text=f"From 1 to {MOST // 60:,}, which is a day."
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["cluster"].queryset = selectors.connected()  # type: ignore[attr-defined]


class GiveForm(forms.Form):
    """Which scenario gets a copy of a recording."""

    scenario = forms.ModelChoiceField(
        Scenario.objects.none(),
        empty_label=None,
        help_text="One of your own; its document names the file under arrivals.",
    )

    def __init__(self, user: User, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["scenario"].queryset = selectors.scenarios(user)  # type: ignore[attr-defined]
