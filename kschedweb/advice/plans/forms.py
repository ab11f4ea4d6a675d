"""The form of the page Plan moves: an objective, field by field."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django import forms

from kschedweb.engine.json_types import Json
from kschedweb.web.pages import add_errors
from kschedweb.web.translating import gettext_lazy as _

if TYPE_CHECKING:
    from kschedweb.web.errors import ApplicationError

SKEW, NODES, MONEY, FRAGMENTS = "skew", "nodes", "money", "fragmentation"
# Fields of each objective, by the keys of its document.
KEYS = {
    SKEW: {"atMost": "skew_at_most", "resource": "resource"},
    NODES: {"atLeast": "at_least"},
    MONEY: {"hours": "hours"},
    FRAGMENTS: {"resource": "device", "size": "size", "atMost": "fragments_at_most"},
}
LIMITS = {"price": "price", "mostMoves": "most_moves"}


class PlanForm(forms.Form):
    """The objective and the price of a move. The objective's document reports what is wrong with it."""

    objective = forms.ChoiceField(
        label=_("Objective"),
        choices=[
            (NODES, _("Fewer nodes")),
            (MONEY, _("Less money")),
            (SKEW, _("More even use")),
            (FRAGMENTS, _("Whole devices free")),
        ],
        initial=NODES,
        widget=forms.RadioSelect,
    )
    at_least = forms.IntegerField(
        label=_("Nodes to free"), required=False, help_text=_("Leave empty for as many as possible.")
    )
    hours = forms.FloatField(label=_("Hours to count the saving for"), required=False, initial=24)
    skew_at_most = forms.FloatField(
        label=_("Highest skew"),
        required=False,
        initial=20,
        help_text=_("Points between the fullest and the emptiest node."),
    )
    resource = forms.ChoiceField(
        label=_("Resource"),
        required=False,
        choices=[("cpu", "CPU"), ("memory", _("memory"))],
    )
    device = forms.CharField(
        label=_("Device"),
        required=False,
        max_length=317,
        initial="nvidia.com/gpu",
        help_text=_("The resource that pods request."),
    )
    size = forms.IntegerField(
        label=_("Devices that a pod needs"),
        required=False,
        initial=4,
        help_text=_("Free devices on nodes with fewer are fragments."),
    )
    fragments_at_most = forms.IntegerField(label=_("Most fragments"), required=False, initial=0)
    price = forms.FloatField(
        label=_("Smallest gain worth a move"),
        required=False,
        initial=0,
        help_text=_("Moves that gain less are left out. In points, nodes, money or devices."),
    )
    most_moves = forms.IntegerField(label=_("Most moves"), required=False, help_text=_("Leave empty for any number."))

    @property
    def groups(self) -> list[tuple[str, list[forms.BoundField]]]:
        """The fields of each objective, of which the page shows the chosen one's."""
        return [(kind, [self[name] for name in names.values()]) for kind, names in KEYS.items()]

    @property
    def limits(self) -> list[forms.BoundField]:
        """The fields of every objective."""
        return [self[name] for name in LIMITS.values()]

    @property
    def has_limits(self) -> bool:
        """True if a limit is set, or wrong."""
        return any(field.errors or field.value() not in (None, "", 0, "0") for field in self.limits)

    @property
    def objective_document(self) -> Json:
        """Return the objective as a document."""
        data = self.cleaned_data
        kind = data["objective"]
        criteria = {key: data[name] for key, name in KEYS[kind].items() if data[name] not in (None, "")}
        return {kind: criteria, **{key: data[name] for key, name in LIMITS.items() if data[name] is not None}}

    def add_objective_errors(self, error: ApplicationError) -> None:
        """Show the problems of the objective's document at the fields that it is made of."""
        for item in error.errors:
            message = item["message"]
            item |= {"path": field_of(item["path"]), "message": f"{message[:1].upper()}{message[1:].rstrip('.')}."}
        add_errors(self, error)


def field_of(path: str) -> str:
    """Return the field for ``objective.skew.atMost``, ``objective.money`` or ``objective.price``."""
    kind, _, key = path.removeprefix("objective.").partition(".")
    if kind in LIMITS:
        return LIMITS[kind]
    return KEYS[kind].get(key, "objective") if kind in KEYS else path


def initial_of(document: Json) -> dict[str, object]:
    """Return the fields with which ``document`` is asked again."""
    kind = next((name for name in KEYS if name in document), NODES)
    values = document.get(kind) or {}
    criteria = {name: values[key] for key, name in KEYS[kind].items() if key in values}
    return {"objective": kind, **criteria, **{name: document[key] for key, name in LIMITS.items() if key in document}}
