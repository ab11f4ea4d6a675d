"""The plain forms of the scenario pages; the structured editor is document_form.py."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext

from kschedweb.clusters.prices.selectors import prices_part
from kschedweb.engine.documents.marked_documents import as_yaml
from kschedweb.playground.scenarios import selectors
from kschedweb.playground.scenarios.document_form import EMPTY
from kschedweb.playground.scenarios.models import NAME_LIMIT
from kschedweb.web.translating import gettext_lazy as _

if TYPE_CHECKING:
    from kschedweb.accounts.models import User

# Prefix of a choice of `start` that names a scenario instead of a snapshot.
COPY = "copy:"


class ScenarioCreateForm(forms.Form):
    """A new scenario from a snapshot, a copy of another scenario, or an empty cluster."""

    name = forms.CharField(
        label=_("Name"), max_length=NAME_LIMIT, help_text=_("Shown in lists, such as “a zone fails at noon”.")
    )
    description = forms.CharField(
        label=_("Description"),
        max_length=500,
        required=False,
        help_text=_("The question that it answers, in a sentence."),
    )
    start = forms.ChoiceField(label=_("Start from"), help_text=_("The snapshot of that time, with your changes."))
    cordon = forms.CharField(
        label=_("Nodes to cordon at the start"),
        required=False,
        max_length=100_000,
        widget=forms.Textarea(attrs={"rows": 3, "spellcheck": "false"}),
        help_text=_("Names with spaces between. They take no new pods in the scenario; the cluster stays as it is."),
    )

    def __init__(self, *args: Any, user: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._user = user
        if not (self.data.get("cordon") or self.initial.get("cordon")):
            # Only an address with nodes to cordon needs the field; other changes are made on the next page.
            del self.fields["cordon"]
        copies = [(f"{COPY}{scenario.pk}", scenario.title) for scenario in selectors.scenario_list(user)]
        choices: list[Any] = []
        if snapshots := list(selectors.snapshot_choices().items()):
            choices.append((gettext("Clusters"), snapshots))
        choices.append((gettext("Imagined"), [(EMPTY, gettext("An empty cluster"))]))
        if copies:
            choices.append((gettext("Copies of scenarios"), copies))
        self.fields["start"].choices = choices  # type: ignore[attr-defined]

    @property
    def copied_id(self) -> str:
        """The id of the scenario to copy; "" for none."""
        start = str(self.cleaned_data["start"])
        return start.removeprefix(COPY) if start.startswith(COPY) else ""

    @property
    def text(self) -> str:
        """The first document of a scenario that is not a copy."""
        start = self.cleaned_data["start"]
        description = {"description": self.cleaned_data["description"]} if self.cleaned_data["description"] else {}
        # A node that is named twice is cordoned once; dict keeps the order.
        cordoned = list(dict.fromkeys(self.cleaned_data.get("cordon", "").split()))
        changes = {"changes": [{"cordonNodes": {"nodes": cordoned}}]} if cordoned else {}
        return as_yaml(
            {
                "apiVersion": "kschedweb/v1",
                "kind": "Scenario",
                "name": self.cleaned_data["name"],
                **description,
                "base": {"empty": True} if start == EMPTY else {"snapshot": start},
                **changes,
                **({} if start == EMPTY else prices_part(start)),
            }
        )


class ImportForm(forms.Form):
    """A file that another site exported, or a scenario as YAML or JSON."""

    file = forms.FileField(
        label=_("File"),
        required=False,
        help_text=_("An exported scenario (.json.gz), or a document of kind Scenario as YAML or JSON."),
    )
    text = forms.CharField(
        required=False,
        strip=False,
        label=_("Or paste a document"),
        widget=forms.Textarea(attrs={"rows": 10, "spellcheck": "false"}),
    )

    def clean(self) -> dict[str, object]:
        data = super().clean() or self.cleaned_data
        if data.get("file") and data.get("text", "").strip():
            self.add_error("text", gettext("Choose a file or paste a document, not both."))
        elif not self.errors and not data.get("file") and not data.get("text", "").strip():
            self.add_error("file", gettext("Choose a file, or paste a document."))
        return data

    def show_pasted(self, text: str) -> None:
        """Show a document as if it had been pasted, because browsers do not send a file again."""
        if isinstance(self.data, QueryDict):
            self.data = posted = self.data.copy()
            posted["text"] = text


class UploadForm(forms.Form):
    """A file for changes, arrivals or use."""

    file = forms.FileField(
        label=_("File"),
        help_text=_(
            "Nodes or pods as CSV, records of kube-scheduler-simulator, or the use of machines, one per "
            "line. UTF-8 text, optionally gzipped."
        ),
    )
    name = forms.CharField(
        max_length=NAME_LIMIT,
        required=False,
        label=_("Name"),
        help_text=_("The name that the document uses. Leave empty to keep the file's name."),
    )
