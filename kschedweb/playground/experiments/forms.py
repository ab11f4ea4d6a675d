"""The form of an experiment."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext

from kschedweb.engine.experiment import Setup, SetupError
from kschedweb.engine.json_types import Json
from kschedweb.playground.experiments import selectors
from kschedweb.web import messages
from kschedweb.web.errors import ApplicationError
from kschedweb.web.translating import gettext_lazy as _

if TYPE_CHECKING:
    from kschedweb.playground.experiments.models import Experiment

# The engine's usual settings are the initial values.
DEFAULT = Setup()
# Seconds.
HOUR = 3600
# The settings that have a field of their own.
FIELD_SETTINGS = ("nodes", "used", "room", "deployments", "since")


class ExperimentForm(forms.Form):
    """The form of an experiment: the recording, the policies, the seeds, and the cluster."""

    recording = forms.ChoiceField(label=_("Recording"), required=False)
    file = forms.FileField(
        label=_("Or upload one"),
        required=False,
        help_text=_(
            "CSV, optionally gzipped: one line per machine, with its name and then a percentage for every five minutes."
        ),
        widget=forms.ClearableFileInput(attrs={"accept": ".csv,.gz"}),
    )
    recording_name = forms.CharField(
        label=_("Its name"), required=False, max_length=63, help_text=_("The name under which the recording is stored.")
    )
    policies = forms.MultipleChoiceField(
        label=_("Policies"),
        initial=["default", "water-level"],
        widget=forms.SelectMultiple(attrs={"size": 12}),
        help_text=_("Several can be chosen; saved policies are listed by revision."),
    )
    seeds = forms.CharField(
        label=_("Seeds"),
        initial="1",
        help_text=_("Whole numbers, separated by spaces. Each seed gives other pods and a separate run."),
    )
    nodes = forms.IntegerField(label=_("Nodes"), min_value=1, max_value=200, initial=DEFAULT.nodes)
    used = forms.FloatField(
        label=_("Mean use of nodes"),
        min_value=0.01,
        max_value=1.0,
        initial=DEFAULT.used,
        help_text=_("As a share: 0.7 is 70 %."),
    )
    room = forms.FloatField(
        label=_("Room for requests"),
        min_value=0.85,
        max_value=10.0,
        initial=DEFAULT.room,
        help_text=_("How many times over a node's cores may be requested."),
    )
    deployments = forms.IntegerField(label=_("Deployments"), min_value=1, max_value=5000, initial=DEFAULT.deployments)
    since = forms.FloatField(
        label=_("Measures begin after"),
        min_value=0,
        initial=DEFAULT.since / HOUR,
        required=False,
        help_text=_(
            "In hours. With 24, a policy learns on the first day of a two-day recording and is measured on the second."
        ),
    )
    other = forms.CharField(
        label=_("Other settings"),
        required=False,
        widget=forms.Textarea(attrs={"rows": 2, "class": "mono", "spellcheck": "false"}),
        help_text=_('As JSON, for example {"cores": 16, "pace": 60}. Empty: the usual values.'),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        uploaded = [
            (
                str(recording.pk),
                gettext("%(name)s (%(number)s machines)") % {"name": recording.name, "number": recording.machines},
            )
            for recording in selectors.recording_list()
        ]
        self.fields["recording"].choices = [("", messages.translate_words(selectors.DEMO_TITLE)), *uploaded]  # type: ignore[attr-defined]
        posted_policies = self.data.getlist("policies") if isinstance(self.data, QueryDict) else []
        chosen_policies = [*posted_policies, *self.initial.get("policies", ())]
        self.fields["policies"].choices = selectors.list_policies(chosen_policies)  # type: ignore[attr-defined]

    def clean_seeds(self) -> list[int]:
        words = self.cleaned_data["seeds"].replace(",", " ").split()
        # Ten digits hold the largest seed; isdecimal alone accepts digits of other scripts.
        if not all(word.isascii() and word.isdecimal() and len(word) < 11 for word in words):
            raise forms.ValidationError(gettext("Enter whole numbers, 0 or more, separated by spaces."))
        return [int(word) for word in words]

    def clean_other(self) -> Json:
        try:
            other = json.loads(self.cleaned_data["other"] or "{}")
        except ValueError:
            other = None
        if not isinstance(other, dict):
            raise forms.ValidationError(gettext("Enter a JSON object."))
        if names := [name for name in FIELD_SETTINGS if name in other]:
            raise forms.ValidationError(gettext("Enter %(name)s in its own field.") % {"name": names[0]})
        try:
            Setup.from_values(other)
        except SetupError as error:
            raise forms.ValidationError(str(error)) from None
        return other

    def clean(self) -> dict[str, object]:
        cleaned = super().clean() or {}
        if cleaned.get("file") and not cleaned.get("recording_name"):
            self.add_error("recording_name", gettext("Name the recording that you upload."))
        return cleaned

    def add_service_errors(self, error: ApplicationError) -> None:
        """Show a service's errors at their fields, those of other settings with the setting's name."""
        for item in error.errors or [{"path": "", "message": error.detail}]:
            path, message = item["path"], item["message"]
            if path in self.fields:
                self.add_error(path, message)
            elif path in DEFAULT.to_dict():
                self.add_error("other", f"{path}: {message}")
            else:
                self.add_error(None, message)

    @property
    def setup(self) -> Json:
        """The settings that differ from the engine's defaults."""
        usual = DEFAULT.to_dict()
        values = {name: self.cleaned_data[name] for name in FIELD_SETTINGS}
        # Hours from a query string are rarely whole seconds.
        values["since"] = usual["since"] if values["since"] is None else round(values["since"] * HOUR, 3)
        values |= self.cleaned_data["other"]
        return {name: value for name, value in values.items() if value != usual[name]}


def initial_of_query(query: QueryDict) -> dict[str, object]:
    """Return the initial values of the form that a query string names, as ``query_of_experiment`` writes it."""
    names = ("recording", "seeds", *FIELD_SETTINGS, "other")
    initial: dict[str, object] = {name: query[name] for name in names if query.get(name)}
    return initial | ({"policies": query.getlist("policies")} if "policies" in query else {})


def query_of_experiment(experiment: Experiment) -> str:
    """Return the query string with which the form shows what ``experiment`` was started with."""
    setup = {**DEFAULT.to_dict(), **experiment.setup}
    values: dict[str, object] = {
        "recording": experiment.recording_id or "",
        "policies": experiment.policies,
        "seeds": " ".join(map(str, experiment.seeds)),
        **{name: setup[name] for name in FIELD_SETTINGS},
        "since": setup["since"] / HOUR,
    }
    other = {name: value for name, value in experiment.setup.items() if name not in FIELD_SETTINGS}
    return urlencode(values | ({"other": json.dumps(other)} if other else {}), doseq=True)
