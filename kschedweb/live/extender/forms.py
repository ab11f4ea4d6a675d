"""The form of a live scheduler's extender."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from django import forms
from django.utils.translation import gettext, gettext_noop

from kschedweb.live.extender.services import CHANGEABLE
from kschedweb.web.translating import gettext_lazy as _

if TYPE_CHECKING:
    from kschedweb.live.extender.models import Endpoint

# What a plugin does at the extension points that the extender asks, with its name.
ROLES = {
    ("filter",): gettext_noop("%(plugin)s (filters)"),
    ("score",): gettext_noop("%(plugin)s (scores)"),
    ("filter", "score"): gettext_noop("%(plugin)s (filters and scores)"),
}


class EndpointForm(forms.Form):
    plugins = forms.MultipleChoiceField(
        label=_("Plugins that decide"),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text=_("None chosen: all of the policy that kube-scheduler does not have itself."),
    )
    filters = forms.BooleanField(
        label=_("Filter"), required=False, help_text=_("Nodes that the plugins reject are left out.")
    )
    prioritizes = forms.BooleanField(
        label=_("Prioritize"), required=False, help_text=_("The plugins' weighted total, brought to 0 to 10.")
    )
    preempts = forms.BooleanField(
        label=_("Preempt"),
        required=False,
        help_text=_("Nodes that would reject the pod even without the victims are left out."),
    )
    binds = forms.BooleanField(
        label=_("Bind"), required=False, help_text=_("Pods are bound with the credentials of the cluster here.")
    )
    whole_nodes = forms.BooleanField(
        label=_("Whole nodes"),
        required=False,
        help_text=_("kube-scheduler sends node objects rather than names: slower."),
    )
    weight = forms.IntegerField(
        label=_("Weight"),
        required=False,
        min_value=1,
        max_value=1_000_000,
        help_text=_("Empty: what the plugins weigh together in the policy, so that they count as they would there."),
    )
    timeout = forms.IntegerField(
        label=_("Timeout (seconds)"),
        min_value=1,
        max_value=60,
        help_text=_("How long kube-scheduler waits for an answer."),
    )
    ignorable = forms.BooleanField(
        label=_("Ignorable"), required=False, help_text=_("Without an answer kube-scheduler decides alone.")
    )
    authority = forms.CharField(
        label=_("Certificate authority of this site"),
        required=False,
        max_length=100_000,
        widget=forms.Textarea(attrs={"rows": 4, "spellcheck": "false"}),
        help_text=_("PEM text. Empty where a public authority signed this site's certificate."),
    )

    def __init__(
        self, data: Mapping[str, Any] | None, endpoint: Endpoint, known_plugins: Mapping[str, tuple[str, ...]]
    ) -> None:
        super().__init__(data, initial={name: getattr(endpoint, name) for name in CHANGEABLE})
        choices = [(name, gettext(ROLES[points]) % {"plugin": name}) for name, points in known_plugins.items()]
        self.fields["plugins"].choices = choices  # type: ignore[attr-defined]

    @property
    def changes(self) -> dict[str, Any]:
        """Return the changes for ``services.endpoint_change``."""
        return {**self.cleaned_data, "authority": self.cleaned_data["authority"].strip()}
