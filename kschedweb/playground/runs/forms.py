"""The forms of runs and comparisons, and of their display."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import forms

from kschedweb.decisions.selectors import policy_choices
from kschedweb.playground.runs import selectors
from kschedweb.playground.runs.services import LARGEST_SEED, MOST_POLICIES, MOST_SEEDS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kschedweb.accounts.models import User
    from kschedweb.playground.scenarios.models import ScenarioRevision


class _OnScenario(forms.Form):
    """A form with a scenario that the person may read: its newest revision, or the one in the address."""

    scenario = forms.ChoiceField(
        label="Scenario",
        help_text="Unless it says otherwise, pods of its cluster are taken off and placed anew (place: all), so that "
        "the policy decides about each of them.",
    )

    def __init__(self, user: User, *args: Any, revision: ScenarioRevision | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.user = user
        self.revisions = {str(one.pk): one for one in selectors.revision_choices(user)}
        if revision is not None:
            self.revisions.setdefault(str(revision.pk), revision)
        listed = [(key, f"{one.scenario.name}, revision {one.number}") for key, one in self.revisions.items()]
        self.fields["scenario"].choices = listed  # type: ignore[attr-defined]

    @property
    def revision(self) -> ScenarioRevision:
        return self.revisions[self.cleaned_data["scenario"]]


class RunForm(_OnScenario):
    policy = forms.ChoiceField(label="Policy")
    seed = forms.IntegerField(
        label="Seed",
        min_value=0,
        max_value=LARGEST_SEED,
        initial=1,
        help_text="Where the scenario generates pods or deals out recorded use, another seed gives others; elsewhere "
        "every seed gives the same run.",
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["policy"].choices = policy_choices()  # type: ignore[attr-defined]


class ComparisonForm(_OnScenario):
    """The sentence at the top of a comparison."""

    reference = forms.ChoiceField(label="Reference", help_text="The policy that the others are held against.")
    policies = forms.MultipleChoiceField(
        label="Policies",
        help_text=f"From 1 to {MOST_POLICIES - 1} that are held against the reference.",
        widget=forms.CheckboxSelectMultiple,
    )
    seeds = forms.CharField(
        label="Seeds",
        initial="1",
        max_length=120,
        help_text=f"Up to {MOST_SEEDS} whole numbers with spaces between. Only a scenario that generates pods, or "
        "deals out recorded use, has something to draw at random; of every other one the first seed says all.",
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        choices = policy_choices()
        for given in (self.initial.get("reference"), *(self.initial.get("policies") or ())):
            if given and given not in dict(choices):
                choices.append((given, given.replace("@", ", revision ")))
        self.fields["reference"].choices = choices  # type: ignore[attr-defined]
        self.fields["policies"].choices = choices  # type: ignore[attr-defined]

    def clean_seeds(self) -> list[int]:
        words = self.cleaned_data["seeds"].replace(",", " ").split()
        if not all(word.isascii() and word.isdecimal() and len(word) < 11 for word in words):
            raise forms.ValidationError("Write whole numbers from 0 on, with spaces between.")
        return [int(word) for word in words]

    @property
    def chosen(self) -> list[str]:
        """The policies, the reference first."""
        return list(dict.fromkeys([self.cleaned_data["reference"], *self.cleaned_data["policies"]]))


class LookForm(forms.Form):
    """The display of a run: what colours the nodes, and at which time (seconds; "": the end)."""

    show = forms.ChoiceField(required=False)
    at = forms.FloatField(required=False, min_value=0.0)

    def __init__(self, data: Any, shows: Iterable[str], end: float) -> None:
        super().__init__(data)
        self.end = end
        known = list(shows)
        self.default = "cpu" if "cpu" in known or not known else known[0]
        self.fields["show"].choices = [(name, name) for name in known]  # type: ignore[attr-defined]
        self.full_clean()

    @property
    def key(self) -> str:
        return str(self.cleaned_data.get("show") or self.default)

    @property
    def time(self) -> float:
        asked = self.cleaned_data.get("at")
        return self.end if asked is None or asked != asked else min(float(asked), self.end)
