"""What every page's frame needs. Nothing is read from the database until a template asks."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from django.utils.functional import SimpleLazyObject

from kschedweb.accounts.roles import Action, may
from kschedweb.build import product
from kschedweb.engine.releases import RELEASES
from kschedweb.jobs.models import UNFINISHED, Job
from kschedweb.live.approvals.selectors import waiting_count
from kschedweb.policies.scope import scope_of
from kschedweb.web import navigation

if TYPE_CHECKING:
    from django.http import HttpRequest

THEMES = ("system", "light", "dark")
DECIDES = ("decision", "pod-group", "pod-groups")  # pages of a cluster that is in their address, under a policy


def frame(request: HttpRequest) -> dict[str, object]:
    """Adds the scope, the theme, the pages of the rail, what runs and waits, and where the choosers lead."""
    scope = scope_of(request)
    user = getattr(request, "user", None)
    role = getattr(user, "role", "")
    allowed = partial(may, role)
    current = (request.resolver_match.url_name or "") if request.resolver_match else ""
    theme = request.COOKIES.get("theme", "system")
    return {
        "scope": scope,
        "theme": theme if theme in THEMES else "system",
        "rail": SimpleLazyObject(lambda: navigation.entries(navigation.MAIN, allowed, current, scope.query)),
        "account_pages": SimpleLazyObject(lambda: navigation.entries(navigation.ACCOUNT, allowed, current, "")),
        "playground_pages": SimpleLazyObject(lambda: navigation.entries(navigation.PLAYGROUND, allowed, current, "")),
        "waiting_approvals": waiting_count,
        "running_jobs": Job.objects.filter(state__in=UNFINISHED).count,
        "product": product(", ".join(RELEASES)) if role else "",
        "may_edit": may(role, Action.EDIT),
        "may_administer": may(role, Action.ADMINISTER),
        "path_scoped": navigation.is_scoped(current),
        "path_decides": navigation.is_scoped(current) or current in DECIDES,
    }
