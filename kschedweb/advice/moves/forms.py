"""The form of the page Moves."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext

from kschedweb.advice.moves.questions import LONGEST_EVERY, MOST_ROUNDS, Asked, of_revision, starting
from kschedweb.decisions.selectors import policy_choices
from kschedweb.engine.studies.moves.fight import EVERY, ROUNDS
from kschedweb.policies.dialect import Kind
from kschedweb.policies.selectors import policy_get, revision_get
from kschedweb.web.translating import gettext_lazy as _


class MovesForm(forms.Form):
    """What would the descheduler evict?"""

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
        help_text=_("One after the other, to see whether the scheduler undoes what the descheduler does."),
    )
    minutes = forms.IntegerField(
        label=_("Minutes from one to the next"),
        required=False,
        min_value=1,
        max_value=LONGEST_EVERY,
        initial=int(EVERY // 60),
    )
    ask = forms.CharField(required=False, widget=forms.HiddenInput, initial="1")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["descheduler"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = [("", gettext("The starting policy (not saved)")), *policy_choices([Kind.DESCHEDULER])]

    @property
    def asks(self) -> bool:
        return any(self.data.get(name) for name in self.fields)

    def asked(self) -> Asked:
        data = self.cleaned_data
        rounds, every = data["rounds"] or ROUNDS, 60.0 * (data["minutes"] or EVERY // 60)
        if not data["descheduler"]:
            return starting(rounds, every)
        name, _, number = data["descheduler"].partition("@")
        return of_revision(revision_get(policy_get(name), int(number)), rounds, every)
