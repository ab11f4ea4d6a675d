"""The form of the page Moves."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext

from kschedweb.advice.moves.requests import (
    LONGEST_EVERY,
    MOST_ROUNDS,
    DryRunRequest,
    request_for_revision,
    starting_request,
)
from kschedweb.decisions.selectors import policy_choices
from kschedweb.engine.studies.moves.repeated_cycles import ROUND_INTERVAL, ROUNDS
from kschedweb.policies.dialect import PolicyKind
from kschedweb.policies.selectors import policy_get, revision_get
from kschedweb.web.translating import gettext_lazy as _


class MovesForm(forms.Form):
    """The question what the descheduler would evict."""

    descheduler = forms.ChoiceField(
        label=_("Policy of the descheduler"),
        required=False,
        help_text=_("One of the site's DeschedulerPolicies, or the starting policy: LowNodeUtilization with nodeFit."),
    )
    rounds = forms.IntegerField(
        label=_("Cycles"),
        required=False,
        min_value=1,
        max_value=MOST_ROUNDS,
        initial=ROUNDS,
        help_text=_("Cycles in a row. Shows whether the scheduler undoes the descheduler's work."),
    )
    minutes = forms.IntegerField(
        label=_("Minutes between cycles"),
        required=False,
        min_value=1,
        max_value=LONGEST_EVERY,
        initial=int(ROUND_INTERVAL // 60),
    )
    ask = forms.CharField(required=False, widget=forms.HiddenInput, initial="1")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["descheduler"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = [("", gettext("The starting policy (not saved)")), *policy_choices([PolicyKind.DESCHEDULER])]

    @property
    def is_submitted(self) -> bool:
        return any(self.data.get(name) for name in self.fields)

    def build_request(self) -> DryRunRequest:
        data = self.cleaned_data
        rounds, interval = data["rounds"] or ROUNDS, 60.0 * (data["minutes"] or ROUND_INTERVAL // 60)
        if not data["descheduler"]:
            return starting_request(rounds, interval)
        name, _, number = data["descheduler"].partition("@")
        return request_for_revision(revision_get(policy_get(name), int(number)), rounds, interval)
