"""What the bar lets one choose on a page: cluster, namespace and policy, each only where the page depends on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.utils.translation import gettext

from kschedweb.web.navigation import Choice, choices_of
from kschedweb.web.translating import gettext_lazy as _

if TYPE_CHECKING:
    from kschedweb.policies.scope import Scope

# What another cluster has too; its nodes and pods have other names, so that filters do not stay.
ANYWHERE = frozenset({"policy", "revision", "q"})
# What does not stay, by what is chosen.
GONE = {
    Choice.NAMESPACE: frozenset({"namespace", "page"}),
    Choice.POLICY: frozenset({"policy", "revision", "page"}),
}


LABELS = {Choice.CLUSTER: _("Cluster"), Choice.NAMESPACE: _("Namespace"), Choice.POLICY: _("Policy")}


@dataclass(frozen=True)
class Chooser:
    """A choice in the bar: ``names`` to choose from, ``empty`` the label of no choice where there may be none.

    ``kept`` are the parameters of the address that stay.
    """

    choice: Choice
    names: list[str]
    chosen: str
    empty: str
    kept: list[tuple[str, str]]

    @property
    def label(self) -> str:
        return LABELS[self.choice]


def choosers(scope: Scope) -> list[Chooser]:
    """The choosers of the page that ``scope`` is about, in the order of the bar."""
    choices = choices_of(scope.page)
    found = []
    if Choice.CLUSTER in choices:
        chosen = scope.cluster.name if scope.cluster else ""
        names = [cluster.name for cluster in scope.clusters]
        found.append(_chooser(scope, Choice.CLUSTER, names, chosen, "" if chosen else gettext("None yet")))
    if Choice.NAMESPACE in choices:
        # parts/namespace.html lists the names, where they are not too many
        found.append(_chooser(scope, Choice.NAMESPACE, [], scope.namespace, gettext("All")))
    if Choice.POLICY in choices:
        chosen = scope.policy.name if scope.policy else ""
        found.append(_chooser(scope, Choice.POLICY, [policy.name for policy in scope.policies], chosen, ""))
    return found


def _chooser(scope: Scope, choice: Choice, names: list[str], chosen: str, empty: str) -> Chooser:
    asked = [(name, value) for name, values in scope.request.GET.lists() for value in values]
    if choice is Choice.CLUSTER:
        kept = [(name, value) for name, value in asked if name in ANYWHERE]
    else:
        kept = [(name, value) for name, value in asked if name not in GONE[choice]]
    return Chooser(choice, names, chosen, empty, kept)
