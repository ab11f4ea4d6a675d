"""The form of the gate: policy, baseline, cluster and thresholds."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from django import forms
from django.utils.translation import gettext

from kschedweb.clusters.prices.selectors import is_priced
from kschedweb.decisions.selectors import policy_choices
from kschedweb.engine.json_types import Json
from kschedweb.engine.releases import RELEASES
from kschedweb.engine.studies.document.document import ScenarioError
from kschedweb.engine.studies.document.parts import ALL, PENDING
from kschedweb.engine.studies.gate import thresholds
from kschedweb.engine.studies.gate.gate import DEFAULTS
from kschedweb.engine.studies.gate.thresholds import Thresholds
from kschedweb.playground.gate import selectors
from kschedweb.playground.gate.invocation import GateInvocation
from kschedweb.web import messages
from kschedweb.web.translating import gettext_lazy as _

if TYPE_CHECKING:
    from kschedweb.accounts.models import User

PLACES = ((ALL, _("All pods again")), (PENDING, _("Only pending pods")))
OF_POLICY = [
    ("", _("the release of the policy")),
    *((name, f"kube-scheduler {release.label}") for name, release in RELEASES.items()),
]
# Fields by the keys of thresholds.
FIELDS = {
    "maxNewlyUnschedulable": "newly",
    "maxMoved": "moved",
    "maxPending": "pending",
    "maxSkewIncrease": "skew",
    "zoneLossPriority": "zone_loss",
    "measures": "measures",
}
# What a verdict is held to where nothing is said, on the page as over REST and on the command line.
DEFAULTS_OF_FIELDS = {FIELDS[key]: str(value) for key, value in Thresholds().plain.items()}
# A line of limits, such as "wait_p99 max=30", and one of its limits.
LINE = re.compile(r"\s*(?P<name>[^\s:]+)\s*:?\s+(?P<limits>.+)")
PART = re.compile(r"(max|min|maxChange)\s*=\s*(\S+)")


def _amount_field(label: str, help_text: str) -> forms.CharField:
    attributes = {"inputmode": "decimal", "autocomplete": "off"}
    widget = forms.TextInput(attrs=attributes)
    return forms.CharField(label=label, help_text=help_text, required=False, max_length=20, widget=widget)


class GateForm(forms.Form):
    """The form takes its question from the address; missing parameters have their initial values."""

    policy = forms.ChoiceField(label=_("Policy"), help_text=_("The policy to check."))
    release = forms.ChoiceField(
        label=_("Run by"), choices=OF_POLICY, required=False, help_text=_("The kube-scheduler that runs the policy.")
    )
    baseline = forms.ChoiceField(label=_("Baseline"), required=False, help_text=_("What the policy is compared with."))
    baseline_release = forms.ChoiceField(
        label=_("Baseline run by"),
        choices=OF_POLICY,
        required=False,
        help_text=_("Another release with the same policy shows what an upgrade changes."),
    )
    on = forms.ChoiceField(label=_("On"), help_text=_("A cluster's latest snapshot, or a scenario."))
    place = forms.ChoiceField(
        label=_("Pods to place"),
        choices=PLACES,
        required=False,
        help_text=_("For clusters only. A scenario defines this itself."),
    )
    newly = _amount_field(
        _("Newly unschedulable"), _("Pods that find no node but would under the baseline. A number, or any.")
    )
    moved = _amount_field(_("Moved"), _("Pods that go to another node. A number, or a percentage such as 10%."))
    pending = _amount_field(_("Pending"), _("Pods still waiting at the end."))
    skew = _amount_field(
        _("Skew"), _("Percentage points by which the skew of CPU and memory requests at the end may grow.")
    )
    zone_loss = _amount_field(
        _("Loss of a zone"), _("Pods of this priority and above must survive the loss of any zone.")
    )
    measures = forms.CharField(
        label=_("Limits of measures"),
        required=False,
        max_length=2000,
        widget=forms.Textarea(attrs={"rows": 3, "spellcheck": "false", "class": "code"}),
        help_text=_("One per line, such as <code>wait_p99 max=30</code> or <code>spread_cpu_end maxChange=10%</code>."),
    )

    def __init__(self, user: User, data: Any, *, cluster: str = "", policy: str = "") -> None:
        policies = policy_choices()
        clusters, scenarios = selectors.cluster_choices(), selectors.scenario_choices(user)
        targets = [value for value, _ in clusters + scenarios]
        preferred = f"cluster:{cluster}"
        first = {"policy": policy or "default", "on": preferred if preferred in targets else next(iter(targets), "")}
        # Reversed, so that the newest revision of each policy, which comes first, stays.
        latest = {value.partition("@")[0]: value for value, _ in reversed(policies)}
        first["policy"] = latest.get(first["policy"], next(iter(latest.values()), ""))
        fields = {name: "" for name in self.base_fields} | DEFAULTS_OF_FIELDS | first | {"place": ALL}
        # A form without parameters is bound, too, so that its commands are shown on the first visit.
        values = {name: data.get(name) for name in fields if name in data}
        super().__init__(fields | values)
        self.user = user
        self.has_params = bool(values)
        listed = {
            "policy": policies,
            "baseline": [("", messages.translate_words(DEFAULTS)), *policies],
            "on": [(gettext("Clusters"), clusters), (gettext("Scenarios"), scenarios)],
        }
        for name, choices in listed.items():
            self.fields[name].choices = choices  # type: ignore[attr-defined]

    def clean(self) -> dict[str, object]:
        data = super().clean() or self.cleaned_data
        raw: Json = {key: data[name].strip() for key, name in FIELDS.items() if name != "measures" and data.get(name)}
        for key in ("maxPending", "maxSkewIncrease", "zoneLossPriority"):
            if key in raw:
                raw[key] = thresholds.parse_number(raw[key])
        if data.get("measures"):
            raw["measures"] = self._parse_measures(data["measures"])
        try:
            data["thresholds"] = thresholds.read_thresholds(raw, "")
        except ScenarioError as error:
            for problem in error.problems:
                # Problems of a measure are shown at the field of all measures.
                key = problem.path.partition(".")[0].partition("[")[0]
                path = problem.path[len(key) :].lstrip(".")
                self.add_error(FIELDS.get(key), f"{path}: {problem.text}." if path else f"It {problem.text}.")
        return data

    def _parse_measures(self, text: str) -> dict[str, dict[str, object]]:
        """Return the limits of measures in ``text``, one line for each, as a thresholds file has them."""
        measures: dict[str, dict[str, object]] = {}
        for number, line in enumerate(text.splitlines(), start=1):
            if not line.strip():
                continue
            read = LINE.fullmatch(line)
            limits = PART.findall(read["limits"]) if read else []
            if read is None or not limits or PART.sub("", read["limits"]).replace(",", "").strip():
                self.add_error(
                    "measures",
                    gettext("Line %(number)s: write a name and limits: skew_cpu_end max=40 maxChange=10%%.")
                    % {"number": number},
                )
                continue
            measures[read["name"]] = {key: thresholds.parse_number(value.rstrip(",")) for key, value in limits}
        return measures

    @property
    def thresholds(self) -> Thresholds:
        limits: Thresholds = self.cleaned_data["thresholds"]
        return limits

    @property
    def invocation(self) -> GateInvocation:
        """The question as shell commands."""
        data = self.cleaned_data
        kind, _, name = data["on"].partition(":")
        return GateInvocation(
            policy=data["policy"],
            baseline=data["baseline"],
            thresholds=self.thresholds.plain,
            cluster=name if kind == "cluster" else "",
            scenario=name if kind == "scenario" else "",
            place=data["place"] or ALL,
            release=data["release"],
            baseline_release=data["baseline_release"],
            priced=kind == "cluster" and is_priced(name),
        )
