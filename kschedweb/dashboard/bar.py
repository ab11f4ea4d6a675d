"""The choosers in the bar of a page: cluster, namespace and policy, each only if the page depends on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.utils.translation import gettext

from kschedweb.web.navigation import BarChoice, choices_of
from kschedweb.web.translating import gettext_lazy as _

if TYPE_CHECKING:
    from kschedweb.policies.scope import PolicyScope

# Parameters that apply to another cluster too. Its nodes and pods have other names, so filters are dropped.
ANYWHERE = frozenset({"policy", "revision", "q"})
# Parameters that are dropped, by what is chosen.
DROPPED_PARAMETERS = {
    BarChoice.NAMESPACE: frozenset({"namespace", "page"}),
    BarChoice.POLICY: frozenset({"policy", "revision", "page"}),
}


LABELS = {BarChoice.CLUSTER: _("Cluster"), BarChoice.NAMESPACE: _("Namespace"), BarChoice.POLICY: _("Policy")}


@dataclass(frozen=True)
class Chooser:
    """A choice in the bar."""

    choice: BarChoice
    # Names to choose from.
    names: list[str]
    chosen: str
    # The label of no choice, "" if one must be chosen.
    empty: str
    # Parameters of the address that stay.
    preserved_parameters: list[tuple[str, str]]

    @property
    def label(self) -> str:
        return LABELS[self.choice]


def list_choosers(scope: PolicyScope) -> list[Chooser]:
    """Return the choosers of the page of ``scope``, in the order of the bar."""
    choices = choices_of(scope.page)
    choosers = []
    if BarChoice.CLUSTER in choices:
        chosen = scope.cluster.name if scope.cluster else ""
        names = [cluster.name for cluster in scope.clusters]
        choosers.append(_make_chooser(scope, BarChoice.CLUSTER, names, chosen, "" if chosen else gettext("None yet")))
    if BarChoice.NAMESPACE in choices:
        # parts/namespace.html lists the names if there are not too many.
        choosers.append(_make_chooser(scope, BarChoice.NAMESPACE, [], scope.namespace, gettext("All")))
    if BarChoice.POLICY in choices:
        chosen = scope.policy.name if scope.policy else ""
        choosers.append(_make_chooser(scope, BarChoice.POLICY, [policy.name for policy in scope.policies], chosen, ""))
    return choosers


def _make_chooser(scope: PolicyScope, choice: BarChoice, names: list[str], chosen: str, empty: str) -> Chooser:
    parameters = [(name, value) for name, values in scope.request.GET.lists() for value in values]
    if choice is BarChoice.CLUSTER:
        remaining = [(name, value) for name, value in parameters if name in ANYWHERE]
    else:
        remaining = [(name, value) for name, value in parameters if name not in DROPPED_PARAMETERS[choice]]
    return Chooser(choice, names, chosen, empty, remaining)
