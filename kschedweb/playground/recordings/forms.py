"""Forms of the recording pages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import forms
from django.utils.text import format_lazy

from kschedweb.clusters.models import Cluster
from kschedweb.playground.recordings import selectors
from kschedweb.playground.recordings.services import MAX_SECONDS
from kschedweb.playground.scenarios.models import Scenario
from kschedweb.web.translating import gettext_lazy as _

if TYPE_CHECKING:
    from kschedweb.accounts.models import User


class ClusterField(forms.ModelChoiceField):  # type: ignore[type-arg]
    """A cluster by its name."""

    def label_from_instance(self, obj: Cluster) -> str:
        return obj.name


class StartForm(forms.Form):
    """The form for a new recording: a cluster and a duration."""

    cluster = ClusterField(Cluster.objects.none(), to_field_name="name", empty_label=None, label=_("Connected cluster"))
    minutes = forms.IntegerField(
        min_value=1,
        max_value=MAX_SECONDS // 60,
        initial=30,
        label=format_lazy(_("Minutes, at most {most} (a day)"), most=f"{MAX_SECONDS // 60:,}"),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # Set for each form, since the clusters change while the process runs.
        self.fields["cluster"].queryset = selectors.list_recordable()  # type: ignore[attr-defined]


class GiveForm(forms.Form):
    """The scenario that gets a copy of a recording."""

    scenario = forms.ModelChoiceField(Scenario.objects.none(), empty_label=None, label=_("Scenario of your own"))

    def __init__(self, user: User, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["scenario"].queryset = selectors.list_own_scenarios(user)  # type: ignore[attr-defined]
