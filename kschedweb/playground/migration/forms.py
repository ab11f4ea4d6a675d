"""The form of a migration question: classic policy, profile and snapshot."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import forms
from django.http import Http404

from kschedweb.clusters.models import Snapshot
from kschedweb.decisions.selectors import policy_choices, revision_named
from kschedweb.playground.migration import selectors
from kschedweb.playground.migration.sentences import CONVERSION
from kschedweb.playground.migration.services import MigrationQuery
from kschedweb.policies.dialects import CONVERTIBLE, WITH_PROFILES
from kschedweb.web.errors import NotFound
from kschedweb.web.translating import gettext_lazy as _

if TYPE_CHECKING:
    from kschedweb.policies.models import Revision

PENDING, ALL = "pending", "all"
PODS = ((PENDING, _("Pending pods")), (ALL, _("All pods, each as if unbound")))


class MovesForm(forms.Form):
    """The form takes its question from the address; missing parameters have their initial values.

    A policy without a number means its newest revision.
    """

    classic = forms.ChoiceField(label=_("Classic policy"), help_text=_("The policy in use now."))
    profile = forms.ChoiceField(label=_("Profile"), required=False, help_text=_("The policy that would replace it."))
    snapshot = forms.ChoiceField(label=_("Snapshot"), help_text=_("A cluster's snapshot."))
    pods = forms.ChoiceField(label=_("Pods"), choices=PODS, required=False, help_text=_("Which pods to compare."))
    namespaces = forms.CharField(
        label=_("Namespaces"),
        required=False,
        max_length=2000,
        help_text=_("Separated by commas. Leave empty for all."),
    )
    sequence = forms.BooleanField(
        label=_("One after the other"),
        required=False,
        help_text=_("Place each pending pod before deciding the next. Otherwise each is decided alone."),
    )

    def __init__(self, data: Any, *, snapshot: Snapshot | None) -> None:
        listed = {
            "classic": policy_choices(CONVERTIBLE),
            "profile": [("", CONVERSION.capitalize()), *policy_choices(WITH_PROFILES)],
            "snapshot": selectors.snapshot_choices(),
        }
        first = {name: choices[0][0] if choices else "" for name, choices in listed.items()}
        if snapshot is not None:
            first["snapshot"] = str(snapshot.pk)
        values = {name: data.get(name) for name in self.base_fields if name in data}
        self.has_params = bool(values)
        for name in ("classic", "profile"):
            # Choices list the newest revision of a policy first.
            newest = (value for value, _ in listed[name] if value.partition("@")[0] == values.get(name))
            values[name] = next(newest, values.get(name, first[name]))
        super().__init__(first | {"pods": PENDING} | values)
        for name, choices in listed.items():
            self.fields[name].choices = choices  # type: ignore[attr-defined]

    @property
    def query(self) -> MigrationQuery:
        """The question; raises NotFound if something was deleted in the meantime."""
        data = self.cleaned_data
        snapshot = Snapshot.objects.select_related("cluster").defer("content").filter(pk=data["snapshot"]).first()
        if snapshot is None:
            raise NotFound.at("snapshot", "This snapshot is gone: choose another one.")
        return MigrationQuery(
            classic=_get_revision("classic", data["classic"]),
            profile=_get_revision("profile", data["profile"]) if data["profile"] else None,
            snapshot=snapshot,
            bound=data["pods"] == ALL,
            namespaces=tuple(name for part in data["namespaces"].split(",") if (name := part.strip())),
            sequence=data["sequence"],
        )


def _get_revision(field: str, reference: str) -> Revision:
    try:
        return revision_named(reference)
    except Http404:
        raise NotFound.at(field, "This policy is gone: choose another one.") from None
