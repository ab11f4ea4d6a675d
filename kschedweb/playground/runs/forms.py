"""Forms of runs and comparisons, and of how they are displayed."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

from django import forms
from django.http import QueryDict
from django.utils.text import format_lazy
from django.utils.translation import gettext, gettext_noop

from kschedweb.decisions.selectors import policy_choices
from kschedweb.engine.studies.document.parts import DEFAULT_INTERVAL
from kschedweb.playground.runs import selectors
from kschedweb.playground.runs.run_policies import INTERVAL, NO_DESCHEDULER
from kschedweb.playground.runs.services import FEWEST_POLICIES, LARGEST_SEED, MOST_POLICIES, MOST_SEEDS
from kschedweb.policies.dialect import PolicyKind
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
        self.revisions = {str(choice.pk): choice for choice in selectors.revision_choices(user)}
        # The address may name an older revision than those that are offered.
        if revision is not None:
            self.revisions.setdefault(str(revision.pk), revision)
        listed = [
            (
                key,
                gettext("%(scenario)s, revision %(revision)s")
                % {"scenario": choice.scenario.title, "revision": choice.number},
            )
            for key, choice in self.revisions.items()
        ]
        self.fields["scenario"].choices = listed  # type: ignore[attr-defined]

    @property
    def revision(self) -> ScenarioRevision:
        return self.revisions[self.cleaned_data["scenario"]]


# Minutes.
USUAL_EVERY, LONGEST_EVERY = int(DEFAULT_INTERVAL // 60), 24 * 60
NODEPOOLS = gettext_noop(
    "A policy of kind Karpenter adds and removes nodes, instead of the scenario's own autoscaler. Nodes join "
    "after the scenario's delay, or a minute."
)
DESCHEDULERS = gettext_noop(
    "A policy that holds a DeschedulerPolicy evicts pods during the run, instead of the scenario's own descheduler."
)


QUOTAS = gettext_noop(
    "Settings of the scenario's quota queues, such as team-b/on-demand/cpu/nominal=60, team-b/cohort=teams, "
    "team-b/reclaimWithinCohort=Any or fairSharing=true. Those that belong together stand on one line, with commas "
    "between."
)
# Settings of quota queues on one line.
LONGEST_QUOTAS = 140


class _Descheduled(forms.Form):
    """The interval of the chosen descheduler."""

    every = forms.IntegerField(
        label=_("Minutes between its rounds"),
        required=False,
        min_value=1,
        max_value=LONGEST_EVERY,
        initial=USUAL_EVERY,
    )

    def with_interval(self, chosen: str) -> str:
        """Return the chosen descheduler as the services take it, with its interval if that is not the usual one."""
        minutes = self.cleaned_data.get("every") or USUAL_EVERY
        return chosen if chosen in ("", NO_DESCHEDULER) or minutes == USUAL_EVERY else f"{chosen}{INTERVAL}{minutes}m"


class PolicyForm(_OnScenario):
    """A scenario and one policy."""

    policy = forms.ChoiceField(label=_("Policy"))

    def __init__(self, *args: Any, extra_labels: Iterable[str] = (), **kwargs: Any) -> None:
        """Offer ``extra_labels``, too: the labels of policies with which other runs were played."""
        super().__init__(*args, **kwargs)
        self.fields["policy"].choices = _with_labels(policy_choices(), extra_labels)  # type: ignore[attr-defined]


class RunForm(PolicyForm, _Descheduled):
    """A scenario, a policy, and what takes the place of the scenario's autoscaler and descheduler."""

    nodepools = forms.ChoiceField(label=_("NodePools"), required=False, help_text=_(NODEPOOLS))
    descheduler = forms.ChoiceField(label=_("Descheduler"), required=False, help_text=_(DESCHEDULERS))
    quotas = forms.CharField(label=_("Quota settings"), required=False, max_length=LONGEST_QUOTAS, help_text=_(QUOTAS))
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
        pool_choices = [("", gettext("As the scenario says")), *karpenters.list_choices()]
        self.fields["nodepools"].choices = pool_choices  # type: ignore[attr-defined]
        self.fields["descheduler"].choices = [pool_choices[0], *_descheduler_choices()]  # type: ignore[attr-defined]
        self.order_fields(["scenario", "policy", "nodepools", "descheduler", "every", "quotas", "seed"])

    @property
    def chosen(self) -> str:
        """The policy, with the NodePools, the descheduler and the quota settings that were chosen."""
        values = self.cleaned_data
        descheduler = self.with_interval(values["descheduler"])
        return "+".join(filter(None, (values["policy"], values["nodepools"], descheduler, values["quotas"])))


def _descheduler_choices() -> list[tuple[str, str]]:
    return [*policy_choices([PolicyKind.DESCHEDULER]), (NO_DESCHEDULER, gettext("None"))]


def asked_again(label: str) -> dict[str, str | int]:
    """Return the initial fields for a run with this label, such as default@1+trim@2 every 10m.

    A label with a part that is not saved, or no longer, is a choice of its own.
    """
    policy, *additions = label.split("+")
    initial: dict[str, str | int] = {"policy": policy}
    deschedulers, pools = dict(_descheduler_choices()), dict(karpenters.list_choices())
    if policy not in dict(policy_choices()):
        return {"policy": label}
    for other in additions:
        name, _, interval = other.partition(INTERVAL)
        if name in deschedulers:
            minutes = interval.removesuffix("m")
            initial |= {"descheduler": name} | ({"every": int(minutes)} if minutes.isdecimal() else {})
        elif name in pools:
            initial["nodepools"] = name
        elif "=" in other and "quotas" not in initial:
            initial["quotas"] = other
        else:
            return {"policy": label}
    return initial


def _with_labels(choices: list[tuple[str, str]], labels: Iterable[str]) -> list[tuple[str, str]]:
    """Return the choices, with those of ``labels`` that are not among them."""
    existing = dict(choices)
    return [
        *choices,
        *((label, label.replace("@", ", revision ")) for label in dict.fromkeys(labels) if label not in existing),
    ]


class ComparisonForm(_OnScenario, _Descheduled):
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
            "A policy of kind Karpenter adds and removes nodes, instead of the scenario's own autoscaler. Nodes "
            "join after the scenario's delay, or a minute. Each policy is run with each of them."
        ),
        widget=forms.CheckboxSelectMultiple,
    )
    deschedulers = forms.MultipleChoiceField(
        label=_("Deschedulers"),
        required=False,
        help_text=_(
            "A policy that holds a DeschedulerPolicy evicts pods during the run, instead of the scenario's own "
            "descheduler. Each policy is run with each of them; None is without one."
        ),
        widget=forms.CheckboxSelectMultiple,
    )
    quotas = forms.CharField(
        label=_("Quota settings"),
        required=False,
        max_length=MOST_POLICIES * LONGEST_QUOTAS,
        help_text=format_lazy(
            "{settings} {lines}",
            settings=_(QUOTAS),
            lines=_("Each policy is run with the scenario's own settings, and with each line."),
        ),
        widget=forms.Textarea(attrs={"rows": 3}),
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

    def __init__(self, *args: Any, extra_labels: Iterable[str] = (), **kwargs: Any) -> None:
        """Offer ``extra_labels``, too: the labels of policies with which other runs were played."""
        super().__init__(*args, **kwargs)
        # A comparison that is run again posts labels with additions, which are not among the saved policies.
        posted = [label for name in ("reference", "policies") for label in self._posted_values(name) if "+" in label]
        choices = _with_labels(policy_choices(), [*extra_labels, *posted])
        self.fields["nodepools"].choices = karpenters.list_choices()  # type: ignore[attr-defined]
        self.fields["deschedulers"].choices = _descheduler_choices()  # type: ignore[attr-defined]
        usual = (name for name, _ in choices if name.startswith(f"{DEFAULT_POLICY}@"))
        self.fields["reference"].initial = next(usual, None)
        self.fields["reference"].choices = choices  # type: ignore[attr-defined]
        self.fields["policies"].choices = choices  # type: ignore[attr-defined]
        self.order_fields(
            ["scenario", "reference", "policies", "nodepools", "deschedulers", "every", "quotas", "seeds"]
        )

    def _posted_values(self, name: str) -> list[str]:
        """Return the posted values. Labels with NodePools are accepted here; the service checks that both parts
        exist."""
        return self.data.getlist(name) if isinstance(self.data, QueryDict) else []

    def clean_seeds(self) -> list[int]:
        words = self.cleaned_data["seeds"].replace(",", " ").split()
        # Ten digits hold the largest seed; isdecimal alone accepts digits of other scripts.
        if not all(word.isascii() and word.isdecimal() and len(word) < 11 for word in words):
            raise forms.ValidationError(gettext("Enter whole numbers, 0 or more, separated by spaces."))
        return [int(word) for word in words]

    @property
    def chosen(self) -> list[str]:
        """The policies, the reference first: each with each of the NodePools, deschedulers and quota settings."""
        policies = dict.fromkeys([self.cleaned_data["reference"], *self.cleaned_data["policies"]])
        additions = (
            self.cleaned_data["nodepools"] or [""],
            map(self.with_interval, self.cleaned_data["deschedulers"] or [""]),
            ["", *self.quota_lines],
        )
        return ["+".join(filter(None, combination)) for combination in product(policies, *additions)]

    @property
    def quota_lines(self) -> list[str]:
        """The settings of quota queues, of which each makes a run of each policy."""
        lines = (line.strip() for line in (self.cleaned_data.get("quotas") or "").splitlines())
        return list(dict.fromkeys(filter(None, lines)))

    def clean_quotas(self) -> str:
        text = str(self.cleaned_data["quotas"])
        if faulty := next((line for line in text.splitlines() if line.strip() and "=" not in line), None):
            raise forms.ValidationError(gettext("%(line)s has no value.") % {"line": faulty[:80]})
        return text

    def clean(self) -> dict[str, object]:
        data = super().clean() or self.cleaned_data
        counts = [len(data.get(name) or ()) for name in ("nodepools", "deschedulers")]
        if "policies" in data and not data["policies"] and max(counts) < FEWEST_POLICIES and not self.quota_lines:
            message = gettext_noop(
                "Choose a policy to compare with the reference, two of the NodePools or of the deschedulers, or write "
                "a line of quota settings."
            )
            self.add_error("policies", gettext(message))
        return data


class LookForm(forms.Form):
    """The display of a run."""

    # Key of what colours the nodes.
    show = forms.ChoiceField(required=False)
    # Seconds in the simulation; empty for the end.
    at = forms.FloatField(required=False, min_value=0.0)

    def __init__(self, data: Any, shows: Iterable[str], end: float) -> None:
        super().__init__(data)
        self.end = end
        keys = list(shows)
        self.default = "cpu" if "cpu" in keys or not keys else keys[0]
        self.fields["show"].choices = [(name, name) for name in keys]  # type: ignore[attr-defined]
        self.full_clean()

    @property
    def key(self) -> str:
        return str(self.cleaned_data.get("show") or self.default)

    @property
    def time(self) -> float:
        at = self.cleaned_data.get("at")
        # A float field accepts nan, which does not equal itself.
        return self.end if at is None or at != at else min(float(at), self.end)
