"""What every page's frame needs. Nothing is read from the database until a template asks."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.utils.functional import SimpleLazyObject
from django.utils.translation import get_language

from kschedweb.accounts.roles import Action, may
from kschedweb.build import product
from kschedweb.dashboard.bar import choosers
from kschedweb.engine.releases import RELEASES
from kschedweb.jobs.models import UNFINISHED, Job
from kschedweb.live.approvals.selectors import waiting_count
from kschedweb.policies.scope import scope_of
from kschedweb.web import navigation

if TYPE_CHECKING:
    from django.http import HttpRequest

THEMES = ("system", "light", "dark")


def frame(request: HttpRequest) -> dict[str, object]:
    """Adds the scope, the theme, the pages of the rail, what runs and waits, and what the bar lets one choose."""
    scope = scope_of(request)
    user = getattr(request, "user", None)
    role = getattr(user, "role", "")
    allowed = partial(may, role)

    def pages(group: navigation.Group) -> list[dict[str, Any]]:
        return navigation.entries(group, allowed, scope.page, scope.query)

    theme = request.COOKIES.get("theme", "system")
    return {
        "scope": scope,
        "theme": theme if theme in THEMES else "system",
        "rail": SimpleLazyObject(lambda: [(group, pages(group)) for group in navigation.RAIL]),
        "account_pages": SimpleLazyObject(lambda: pages(navigation.Group.ACCOUNT)),
        "choosers": SimpleLazyObject(lambda: choosers(scope)),
        "waiting_approvals": waiting_count,
        "running_jobs": Job.objects.filter(state__in=UNFINISHED).count,
        "language": get_language(),
        "languages": settings.LANGUAGES,
        "product": product(", ".join(RELEASES)) if role else "",
        "may_edit": may(role, Action.EDIT),
        "may_administer": may(role, Action.ADMINISTER),
        "sandbox_here": bool(settings.SANDBOX_SERVER),
    }
