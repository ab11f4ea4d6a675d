"""The form of an experiment."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext

from kschedweb.engine.experiment import Setup
from kschedweb.engine.json_types import Json
from kschedweb.playground.experiments import selectors
from kschedweb.web import messages
from kschedweb.web.translating import gettext_lazy as _

# The engine's usual settings are the initial values.
DEFAULT = Setup()
# Seconds.
HOUR = 3600


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
        self.fields["policies"].choices = selectors.list_policies()  # type: ignore[attr-defined]

    def clean_seeds(self) -> list[int]:
        words = self.cleaned_data["seeds"].replace(",", " ").split()
        # isdecimal alone accepts digits of other scripts.
        if not all(word.isascii() and word.isdecimal() and len(word) < 10 for word in words):
            raise forms.ValidationError(gettext("Enter whole numbers, 0 or more, separated by spaces."))
        return [int(word) for word in words]

    def clean(self) -> dict[str, object]:
        cleaned = super().clean() or {}
        if cleaned.get("file") and not cleaned.get("recording_name"):
            self.add_error("recording_name", gettext("Name the recording that you upload."))
        return cleaned

    @property
    def setup(self) -> Json:
        """The settings that differ from the engine's defaults."""
        usual = DEFAULT.to_dict()
        values = {name: self.cleaned_data[name] for name in ("nodes", "used", "room", "deployments")}
        since = self.cleaned_data["since"]
        values["since"] = usual["since"] if since is None else since * HOUR
        return {name: value for name, value in values.items() if value != usual[name]}
