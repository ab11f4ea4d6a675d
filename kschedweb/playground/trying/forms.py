"""Forms of a change: where it is tried, what is changed, and what is done with it afterwards."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django import forms
from django.utils.translation import gettext

from kschedweb.decisions.selectors import policy_choices
from kschedweb.engine.releases import RELEASES
from kschedweb.playground.gate.forms import GateForm
from kschedweb.playground.gate.selectors import scenario_choices
from kschedweb.playground.trying.changes import PACKING, STRATEGIES, PolicyEdit
from kschedweb.playground.trying.plugin_phrases import describe_preference
from kschedweb.playground.trying.sentences import policy_label
from kschedweb.policies.services import NAME_HELP
from kschedweb.web.translating import gettext_lazy as _

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kschedweb.accounts.models import User
    from kschedweb.clusters.models import Cluster
    from kschedweb.playground.trying.changes import Offers
    from kschedweb.policies.models import Policy, Revision

# The type of a weight in a KubeSchedulerConfiguration is int32.
MOST_WEIGHT = 2**31 - 1
# The right end of a slider, unless a weight is larger than half of it.
SLIDER_LIMIT = 10
# Choices of SaveForm.
REVISION, DRAFT = "revision", "draft"


class WhereForm(forms.Form):
    """The question of the page, from its address: the policy, and where it is changed."""

    policy = forms.ChoiceField(label=_("Policy"), help_text=_("The current policy, which is changed."))
    cluster = forms.ChoiceField(label=_("Cluster"), help_text=_("Its latest snapshot."), required=False)
    scenario = forms.ChoiceField(label=_("Or scenario"), required=False, help_text=_("Instead of the cluster."))

    def __init__(
        self, user: User, chosen: dict[str, str], *, policies: Iterable[Policy], clusters: Iterable[Cluster]
    ) -> None:
        super().__init__(initial=chosen)
        listed = {
            "policy": [(policy.name, policy.name) for policy in policies],
            "cluster": [(cluster.name, cluster.name) for cluster in clusters],
            "scenario": [
                ("", gettext("None")),
                *((key.partition(":")[2], name) for key, name in scenario_choices(user)),
            ],
        }
        for name, choices in listed.items():
            self.fields[name].choices = choices  # type: ignore[attr-defined]


@dataclass(frozen=True)
class WeightSlider:
    """The slider of one weight."""

    field: forms.BoundField
    # In plain words, "" if nobody says.
    phrase: str
    # The plugin, with its profile where there are several.
    label: str
    # The weight in the current policy.
    now: int
    # The right end of the slider.
    most: int


class WeightsForm(forms.Form):
    """The weights of all score plugins, packing or spreading, and the release, each as it is or changed."""

    strategy = forms.ChoiceField(required=False, label=_("Pack or spread"), widget=forms.RadioSelect)
    release = forms.ChoiceField(required=False, label=_("Release of kube-scheduler"))

    def __init__(self, offers: Offers, data: Any = None, *, shown: Offers | None = None) -> None:
        """``offers`` are of the current policy; the form begins with the values of ``shown`` if it is given."""
        self.offers = offers
        begin = shown or offers
        weights = {offer.path: offer.now for offer in begin.weights}
        initial = {f"w{place}": weights.get(offer.path, 0) for place, offer in enumerate(offers.weights)}
        self._shown_strategy = next(iter(begin.strategy_by_path.values()), "")
        super().__init__(data, initial={**initial, "strategy": self._shown_strategy, "release": begin.release})
        for place, offer in enumerate(offers.weights):
            self.fields[f"w{place}"] = forms.IntegerField(
                min_value=0, max_value=MOST_WEIGHT, required=False, label=offer.label
            )
        now = next(iter(offers.strategy_by_path.values()), "")
        choices = [(name, label) for name, label in STRATEGIES.items()]
        if now and now not in STRATEGIES:
            choices.insert(0, (now, gettext("As it is (%(strategy)s)") % {"strategy": now}))
        self.fields["strategy"].choices = choices  # type: ignore[attr-defined]
        releases = sorted({offers.release, *offers.releases}, key=lambda name: [int(part) for part in name.split(".")])
        labels = [(name, RELEASES[name].label if name in RELEASES else name) for name in releases]
        self.fields["release"].choices = labels  # type: ignore[attr-defined]

    @property
    def packs(self) -> bool:
        return (self["strategy"].value() or self._shown_strategy) == PACKING

    @property
    def sliders(self) -> list[WeightSlider]:
        """The weights, each with its slider."""
        most = max([SLIDER_LIMIT, *(2 * offer.now for offer in self.offers.weights)])
        return [
            WeightSlider(
                self[f"w{place}"],
                describe_preference(offer.plugin, packs=self.packs),
                offer.label,
                offer.now,
                most,
            )
            for place, offer in enumerate(self.offers.weights)
        ]

    @property
    def change(self) -> PolicyEdit:
        """The differences from the current policy."""
        values: dict[str, Any] = {}
        for place, offer in enumerate(self.offers.weights):
            weight = self.cleaned_data.get(f"w{place}")
            if weight is not None and weight != offer.now:
                values[offer.path] = weight
        strategy = self.cleaned_data.get("strategy")
        values |= {path: strategy for path, now in self.offers.strategy_by_path.items() if strategy and strategy != now}
        release = self.cleaned_data.get("release") or ""
        return PolicyEdit(values=values, release="" if release == self.offers.release else release)


class InsteadForm(forms.Form):
    """Another saved policy in place of the current one."""

    instead = forms.ChoiceField(label=_("New policy"), help_text=_("A saved policy instead of the current one."))

    def __init__(self, base: Revision, data: Any = None) -> None:
        super().__init__(data)
        choices = [(value, name) for value, name in policy_choices() if value != policy_label(base)]
        self.fields["instead"].choices = choices  # type: ignore[attr-defined]


class SaveForm(forms.Form):
    """A tried change as a revision of its policy, or as a draft: a policy of its own."""

    kind = forms.ChoiceField(label=_("Save as"))
    name = forms.CharField(max_length=63, required=False, label=_("Name of the draft"), help_text=_(NAME_HELP))
    comment = forms.CharField(max_length=500, required=False, label=_("Comment"), help_text=_("Why it is changed."))

    def __init__(self, policy: str, number: int, data: Any = None, *, only_draft: bool = False) -> None:
        # 57 characters leave room for "-draft" in a name of 63.
        super().__init__(data, initial={"kind": DRAFT if only_draft else REVISION, "name": f"{policy[:57]}-draft"})
        draft = (DRAFT, gettext("a draft: a policy of its own, which nothing runs"))
        revision = (
            REVISION,
            gettext("revision %(revision)s of %(policy)s") % {"revision": number + 1, "policy": policy},
        )
        self.fields["kind"].choices = [draft] if only_draft else [revision, draft]  # type: ignore[attr-defined]

    def clean(self) -> dict[str, object]:
        data = super().clean() or self.cleaned_data
        if data.get("kind") == DRAFT and not data.get("name"):
            self.add_error("name", gettext("A draft needs a name."))
        return data

    @property
    def draft(self) -> str:
        """The name of the draft; "" for a revision."""
        return str(self.cleaned_data["name"]) if self.cleaned_data["kind"] == DRAFT else ""


class ThresholdsForm(GateForm):
    """The thresholds of the gate; the rest of its question is the tried change."""

    NAMES = ("newly", "moved", "pending", "skew", "measures")

    @property
    def shown_fields(self) -> list[forms.BoundField]:
        return [self[name] for name in self.NAMES]


class ScenarioForm(forms.Form):
    """The scenario over which the current and the changed policy are run."""

    scenario = forms.ChoiceField(label=_("Scenario"), required=False)

    def __init__(self, user: User, default_label: str, data: Any = None) -> None:
        super().__init__(data)
        listed = [("", default_label), *((key.partition(":")[2], name) for key, name in scenario_choices(user))]
        self.fields["scenario"].choices = listed  # type: ignore[attr-defined]
