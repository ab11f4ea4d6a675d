"""The forms of runs and comparisons, and of their display."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import forms
from django.http import QueryDict
from django.utils.text import format_lazy
from django.utils.translation import gettext, gettext_noop

from kschedweb.decisions.selectors import policy_choices
from kschedweb.playground.runs import selectors
from kschedweb.playground.runs.services import FEWEST_POLICIES, LARGEST_SEED, MOST_POLICIES, MOST_SEEDS
from kschedweb.policies.karpenter import selectors as karpenters
from kschedweb.policies.selectors import DEFAULT_POLICY
from kschedweb.web.translating import gettext_lazy as _

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kschedweb.accounts.models import User
    from kschedweb.playground.scenarios.models import ScenarioRevision


class _OnScenario(forms.Form):
    """A form with a scenario that the person may read: its newest revision, or the one in the address."""

    scenario = forms.ChoiceField(
        label=_("Scenario"),
        help_text=_(
            "Unless the scenario says otherwise, all pods of its cluster are placed again (place: all), "
            "so the policy decides about each of them."
        ),
    )

    def __init__(self, user: User, *args: Any, revision: ScenarioRevision | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.user = user
        self.revisions = {str(one.pk): one for one in selectors.revision_choices(user)}
        if revision is not None:
            self.revisions.setdefault(str(revision.pk), revision)
        listed = [
            (
                key,
                gettext("%(scenario)s, revision %(revision)s")
                % {"scenario": one.scenario.name, "revision": one.number},
            )
            for key, one in self.revisions.items()
        ]
        self.fields["scenario"].choices = listed  # type: ignore[attr-defined]

    @property
    def revision(self) -> ScenarioRevision:
        return self.revisions[self.cleaned_data["scenario"]]


NODEPOOLS = gettext_noop(
    "A policy of kind Karpenter brings and takes nodes, in place of the scenario's own autoscaler. A node joins as "
    "long after it was asked for as the scenario says, or a minute."
)


class RunForm(_OnScenario):
    policy = forms.ChoiceField(label=_("Policy"))
    nodepools = forms.ChoiceField(label=_("NodePools"), required=False, help_text=_(NODEPOOLS))
    seed = forms.IntegerField(
        label=_("Seed"),
        min_value=0,
        max_value=LARGEST_SEED,
        initial=1,
        help_text=_(
            "If the scenario generates pods or assigns recorded use, each seed gives other pods or use. "
            "Otherwise every seed gives the same run."
        ),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["policy"].choices = policy_choices()  # type: ignore[attr-defined]
        own = [("", gettext("As the scenario says")), *karpenters.choices()]
        self.fields["nodepools"].choices = own  # type: ignore[attr-defined]

    @property
    def chosen(self) -> str:
        """The policy, with the NodePools that were chosen."""
        return "+".join(filter(None, (self.cleaned_data["policy"], self.cleaned_data["nodepools"])))


class ComparisonForm(_OnScenario):
    """The sentence at the top of a comparison."""

    reference = forms.ChoiceField(label=_("Reference"), help_text=_("The policy that the others are compared with."))
    policies = forms.MultipleChoiceField(
        label=_("Policies"),
        required=False,
        help_text=format_lazy(_("From 1 to {most} policies to compare with the reference."), most=MOST_POLICIES - 1),
        widget=forms.CheckboxSelectMultiple,
    )
    nodepools = forms.MultipleChoiceField(
        label=_("NodePools"),
        required=False,
        help_text=_(
            "A policy of kind Karpenter brings and takes nodes, in place of the scenario's own autoscaler. A node "
            "joins as long after it was asked for as the scenario says, or a minute. Each policy is run with each of "
            "them."
        ),
        widget=forms.CheckboxSelectMultiple,
    )
    seeds = forms.CharField(
        label=_("Seeds"),
        initial="1",
        max_length=120,
        help_text=format_lazy(
            _(
                "Up to {most} whole numbers, separated by spaces. More than one is useful only if the scenario "
                "generates pods or assigns recorded use at random."
            ),
            most=MOST_SEEDS,
        ),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        choices = policy_choices()
        posted = [one for name in ("reference", "policies") for one in self._posted(name) if "+" in one]
        for given in (self.initial.get("reference"), *(self.initial.get("policies") or ()), *posted):
            if given and given not in dict(choices):
                choices.append((given, given.replace("@", ", revision ")))
        self.fields["nodepools"].choices = karpenters.choices()  # type: ignore[attr-defined]
        usual = (name for name, _ in choices if name.startswith(f"{DEFAULT_POLICY}@"))
        self.fields["reference"].initial = next(usual, None)
        self.fields["reference"].choices = choices  # type: ignore[attr-defined]
        self.fields["policies"].choices = choices  # type: ignore[attr-defined]

    def _posted(self, name: str) -> list[str]:
        """What was chosen; with NodePools it is no policy alone, and the service says whether there are both."""
        return self.data.getlist(name) if isinstance(self.data, QueryDict) else []

    def clean_seeds(self) -> list[int]:
        words = self.cleaned_data["seeds"].replace(",", " ").split()
        if not all(word.isascii() and word.isdecimal() and len(word) < 11 for word in words):
            raise forms.ValidationError(gettext("Enter whole numbers, 0 or more, separated by spaces."))
        return [int(word) for word in words]

    @property
    def chosen(self) -> list[str]:
        """The policies, the reference first."""
        policies = dict.fromkeys([self.cleaned_data["reference"], *self.cleaned_data["policies"]])
        nodepools = self.cleaned_data["nodepools"]
        return [f"{policy}+{one}" for policy in policies for one in nodepools] if nodepools else list(policies)

    def clean(self) -> dict[str, Any]:
        data: dict[str, Any] = super().clean() or self.cleaned_data
        if "policies" in data and not data["policies"] and len(data.get("nodepools") or ()) < FEWEST_POLICIES:
            self.add_error(
                "policies", gettext("Choose a policy to compare with the reference, or two of the NodePools.")
            )
        return data


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
