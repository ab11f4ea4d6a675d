"""The form of an endpoint."""

from __future__ import annotations

from django import forms

from kschedweb.live.approvals.models import Endpoint, MessageFormat, WebhookEvent, all_events
from kschedweb.web.translating import gettext_lazy as _


def event_choices() -> list[tuple[str, str]]:
    """Return the events to choose from, with label and name."""
    return [
        (str(event.value), f"{event.label} ({event.value})") for event in WebhookEvent if event != WebhookEvent.TEST
    ]


class EndpointForm(forms.Form):
    """The settings of an endpoint: its address, and the events that it gets."""

    name = forms.CharField(max_length=64, label=_("Name"))
    url = forms.CharField(
        max_length=500,
        label=_("Address"),
        widget=forms.TextInput(
            attrs={"placeholder": "https://chat.example.com/hooks/approvals", "spellcheck": "false"}
        ),
        help_text=_("Must be an address this site may connect to (KSCHEDWEB_CLUSTER_ALLOWLIST)."),
    )
    events = forms.MultipleChoiceField(
        label=_("Send when"), choices=event_choices, initial=all_events, widget=forms.CheckboxSelectMultiple
    )
    format = forms.ChoiceField(
        label=_("Form of messages"), choices=MessageFormat.choices, initial=MessageFormat.STANDARD
    )
    active = forms.BooleanField(label=_("Switched on"), required=False, initial=True)


def form_of(endpoint: Endpoint) -> EndpointForm:
    """Return the form filled with the stored settings."""
    return EndpointForm(
        initial={name: getattr(endpoint, name) for name in ("name", "url", "events", "format", "active")}
    )
