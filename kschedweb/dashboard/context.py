"""The context of every page's frame. Nothing is read from the database until a template asks for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from django.conf import settings
from django.urls import reverse
from django.utils.functional import SimpleLazyObject
from django.utils.translation import get_language, gettext

from kschedweb.accounts.reach import as_looker
from kschedweb.accounts.roles import Action
from kschedweb.build import describe_product
from kschedweb.clusters.connecting.addresses import CLUSTERS
from kschedweb.jobs.models import UNFINISHED, Job
from kschedweb.live.approvals.selectors import waiting_count
from kschedweb.policies.scope import scope_of
from kschedweb.web.navigation import RAIL, BarChoice, RailGroup, Visit, choices_of, list_entries
from kschedweb.web.translating import gettext_lazy as _

if TYPE_CHECKING:
    from django.http import HttpRequest

    from kschedweb.policies.scope import PolicyScope

THEMES = ("system", "light", "dark")
# Parameters that apply to another cluster too. Its nodes and pods have other names, so filters are dropped.
ANYWHERE = frozenset({"policy", "revision", "q"})
# Parameters that are dropped, by what is chosen.
DROPPED_PARAMETERS = {
    BarChoice.NAMESPACE: frozenset({"namespace", "page"}),
    BarChoice.POLICY: frozenset({"policy", "revision", "page"}),
}
# The overview of all clusters has an address of its own, and is chosen with the clusters.
FLEET_PAGE, ALL_CLUSTERS = "fleet", "*"
BAR_LABELS = {BarChoice.CLUSTER: _("Cluster"), BarChoice.NAMESPACE: _("Namespace"), BarChoice.POLICY: _("Policy")}


def frame(request: HttpRequest) -> dict[str, object]:
    """Return the scope, the theme, the pages of the rail, what runs and waits, and the choosers of the bar."""
    scope = scope_of(request)
    user: Any = getattr(request, "user", None)
    role = getattr(user, "role", "")

    def is_allowed(action: str) -> bool:
        return bool(role) and (user.everywhere(action) if action == Action.ADMINISTER else user.may(action))

    def may(action: str) -> bool:
        """Return whether the user may do ``action`` in the page's cluster; without one, in all clusters."""
        reach = user.reach(action) if role else None
        return bool(role) and (reach is None or bool(scope.cluster and scope.cluster.pk in reach.clusters))

    def count_waiting() -> int:
        """Count the waiting pods that the user may view, even on a page that shows whole clusters."""
        with as_looker(lambda: user.reach(Action.VIEW) if role else None):
            return waiting_count()

    visit = cast("Visit", SimpleLazyObject(lambda: make_visit(scope, is_allowed)))
    theme = request.COOKIES.get("theme", "system")
    return {
        "scope": scope,
        "theme": theme if theme in THEMES else "system",
        "visit": visit,
        "rail": SimpleLazyObject(lambda: [(group, list_entries(group, visit)) for group in RAIL]),
        "gear": SimpleLazyObject(lambda: list_entries(RailGroup.SETTINGS, visit)),
        "account_pages": SimpleLazyObject(lambda: list_entries(RailGroup.ACCOUNT, visit)),
        "choosers": SimpleLazyObject(lambda: list_choosers(scope)),
        "waiting_approvals": count_waiting,
        "running_jobs": Job.objects.filter(state__in=UNFINISHED).count,
        "language": get_language(),
        "languages": settings.LANGUAGES,
        "product": describe_product() if role else "",
        "may_edit": SimpleLazyObject(lambda: may(Action.EDIT)),
        "allowlist_editable": CLUSTERS.editable,
        "may_administer": SimpleLazyObject(lambda: may(Action.ADMINISTER)),
        "sandbox_here": bool(settings.SANDBOX_SERVER),
    }


def make_visit(scope: PolicyScope, may: Callable[[str], bool]) -> Visit:
    """Return the visit of the page of ``scope`` by somebody who ``may`` do an action."""
    cluster = scope.cluster.name if scope.cluster else ""
    return Visit(may, scope.page, scope.request.GET.dict(), cluster, scope.query)


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
    # The page that shows the choice.
    address: str
    # The value that chooses all clusters; "" where a page shows one only.
    all_value: str = ""

    @property
    def label(self) -> str:
        return BAR_LABELS[self.choice]


def list_choosers(scope: PolicyScope) -> list[Chooser]:
    """Return the choosers of the page of ``scope``, in the order of the bar."""
    choices = choices_of(scope.page)
    choosers = []
    if scope.page == FLEET_PAGE:
        names = [cluster.name for cluster in scope.clusters]
        choosers.append(Chooser(BarChoice.CLUSTER, names, ALL_CLUSTERS, "", [], reverse("overview"), ALL_CLUSTERS))
    elif BarChoice.CLUSTER in choices:
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
    all_value = ALL_CLUSTERS if choice is BarChoice.CLUSTER and scope.page == "overview" else ""
    return Chooser(choice, names, chosen, empty, remaining, scope.request.path, all_value)
