"""The context of every page's frame. Nothing is read from the database until a template asks for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.utils.functional import SimpleLazyObject
from django.utils.translation import get_language

from kschedweb.accounts.reach import as_looker
from kschedweb.accounts.roles import Action
from kschedweb.build import describe_product
from kschedweb.dashboard.bar import list_choosers
from kschedweb.jobs.models import UNFINISHED, Job
from kschedweb.live.approvals.selectors import waiting_count
from kschedweb.policies.scope import scope_of
from kschedweb.web import navigation

if TYPE_CHECKING:
    from django.http import HttpRequest

THEMES = ("system", "light", "dark")


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

    def list_pages(group: navigation.RailGroup) -> list[dict[str, object]]:
        return navigation.list_entries(group, is_allowed, scope.page, scope.query)

    theme = request.COOKIES.get("theme", "system")
    return {
        "scope": scope,
        "theme": theme if theme in THEMES else "system",
        "rail": SimpleLazyObject(lambda: [(group, list_pages(group)) for group in navigation.RAIL]),
        "account_pages": SimpleLazyObject(lambda: list_pages(navigation.RailGroup.ACCOUNT)),
        "choosers": SimpleLazyObject(lambda: list_choosers(scope)),
        "waiting_approvals": count_waiting,
        "running_jobs": Job.objects.filter(state__in=UNFINISHED).count,
        "language": get_language(),
        "languages": settings.LANGUAGES,
        "product": describe_product() if role else "",
        "may_edit": SimpleLazyObject(lambda: may(Action.EDIT)),
        "may_administer": SimpleLazyObject(lambda: may(Action.ADMINISTER)),
        "sandbox_here": bool(settings.SANDBOX_SERVER),
    }
