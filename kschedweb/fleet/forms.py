"""The form of a trial on many clusters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import forms

from kschedweb.decisions.selectors import policy_choices, revision_named
from kschedweb.fleet.services import FleetQuestion
from kschedweb.web.translating import gettext_lazy as _

if TYPE_CHECKING:
    from collections.abc import Iterable


class TrialForm(forms.Form):
    """A policy in place of another one, and the clusters on which it is tried."""

    policy = forms.ChoiceField(label=_("Policy"), help_text=_("The policy in use now."))
    instead = forms.ChoiceField(label=_("Policy to try"), help_text=_("What the clusters would have instead."))
    clusters = forms.MultipleChoiceField(
        label=_("Clusters"),
        required=False,
        widget=forms.SelectMultiple(attrs={"size": 8}),
        help_text=_("Choose none for all that have been read."),
    )

    def __init__(self, names: Iterable[str], data: Any = None, initial: Any = None) -> None:
        super().__init__(data, initial=initial)
        choices = policy_choices()
        for field in ("policy", "instead"):
            self.fields[field].choices = choices  # type: ignore[attr-defined]
        self.fields["clusters"].choices = [(name, name) for name in names]  # type: ignore[attr-defined]

    @property
    def question(self) -> FleetQuestion:
        data = self.cleaned_data
        return FleetQuestion(
            revision_named(data["policy"], "policy"), revision_named(data["instead"], "instead"), data["clusters"]
        )
