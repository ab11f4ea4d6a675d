"""The forms of the autoscaling page: the question, and filters of the nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import forms

from kschedweb.advice.autoscaling import day_comparisons, words
from kschedweb.decisions.selectors import policy_choices
from kschedweb.engine.json_types import Json
from kschedweb.policies.karpenter import selectors as karpenters
from kschedweb.policies.selectors import DEFAULT_POLICY
from kschedweb.web.translating import gettext_lazy as _

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kschedweb.accounts.models import User

ORDERS = {
    "": _("as they would go"),
    "savings": _("most saved first"),
    "price": _("dearest first"),
    "pods": _("fewest pods first"),
    "node": _("by name"),
}


class AskForm(forms.Form):
    """The question: NodePools on a snapshot; ``nodepools`` is "" for the ready ones."""

    nodepools = forms.ChoiceField(label="NodePools", required=False)
    pool = forms.CharField(
        max_length=253,
        required=False,
        label=_("Count all nodes as of NodePool"),
        help_text=_(
            "For a cluster that does not run Karpenter: its nodes count as nodes of this NodePool. Empty: only nodes "
            "with the label karpenter.sh/nodepool can go."
        ),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["nodepools"]
        assert isinstance(field, forms.ChoiceField)
        policies = karpenters.list_choices()
        selected = self.data.get("nodepools") or ""
        # An older revision in the address is a choice too, although the list has only the newest.
        older = [] if not selected or selected in dict(policies) else [(selected, selected)]
        field.choices = [("", _("Ready NodePool and instance types")), *policies, *older]


class DayForm(forms.Form):
    """The day that is played before and after a change, and the scheduler's policy."""

    day = forms.ChoiceField(
        label=_("Day"),
        help_text=_("A recording of a cluster, or a scenario. It is played twice, for as long as it lasts."),
    )
    scheduler = forms.ChoiceField(label=_("Scheduler's policy"), help_text=_("The same before and after."))
    pool = forms.CharField(
        max_length=253,
        required=False,
        label=_("Count recorded nodes as of NodePool"),
        help_text=_(
            "For a recording: nodes of no NodePool count as of this one, so that they may go. A scenario says this "
            "itself."
        ),
    )

    def __init__(self, user: User, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        policies = policy_choices()
        self.fields["day"].choices = day_comparisons.list_day_choices(user)  # type: ignore[attr-defined]
        self.fields["scheduler"].choices = policies  # type: ignore[attr-defined]
        usual = (name for name, label in policies if name.startswith(f"{DEFAULT_POLICY}@"))
        self.fields["scheduler"].initial = next(usual, None)

    @property
    def chosen_day(self) -> day_comparisons.Day:
        return day_comparisons.Day.from_value(self.cleaned_data["day"], self.cleaned_data["pool"])


class NodesForm(forms.Form):
    """The filters and the order of the nodes."""

    verdict = forms.ChoiceField(choices=[("", _("Any")), *words.VERDICT_CHOICES], required=False, label=_("Verdict"))
    why = forms.CharField(max_length=300, required=False, label=_("Reason"))
    of = forms.CharField(max_length=253, required=False, label="NodePool")
    search = forms.CharField(max_length=253, required=False, label=_("Node"))
    order = forms.ChoiceField(choices=list(ORDERS.items()), required=False, label=_("Order"))

    def filter_nodes(self, nodes: list[Json]) -> list[Json]:
        """Return the nodes that match, in order."""
        data = self.cleaned_data if self.is_valid() else {}
        matching = [node for node in nodes if _matches_filters(node, data)]
        match data.get("order"):
            case "savings":
                matching.sort(key=lambda node: -(words.get_node_savings(node) or 0.0))
            case "price":
                matching.sort(key=lambda node: -(node["price"] or 0.0))
            case "pods":
                matching.sort(key=lambda node: len(node["pods"]))
            case "node":
                matching.sort(key=lambda node: str(node["node"]))
            case _:
                matching.sort(key=lambda node: (words.VERDICTS.index(node["verdict"]), -node.get("savingsRatio", 0.0)))
        return matching


def _matches_filters(node: Json, data: Mapping[str, Any]) -> bool:
    verdict, why, pool, part = (data.get(name) or "" for name in ("verdict", "why", "of", "search"))
    return (
        (not verdict or node["verdict"] == verdict)
        and (not why or why in (words.shorten_reason(node), node["why"]))
        and (not pool or node["nodePool"] == pool)
        and part.lower() in str(node["node"]).lower()
    )
