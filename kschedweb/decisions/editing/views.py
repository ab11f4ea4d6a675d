"""The view of an edited policy's effect on the pods of a cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.shortcuts import render
from django.views.decorators.http import require_POST

from kschedweb.accounts.permissions import requires
from kschedweb.accounts.roles import Action
from kschedweb.decisions.editing.effect import POD_LIMIT, effect
from kschedweb.decisions.kinds import decider
from kschedweb.policies import selectors
from kschedweb.policies.scope import scope_of
from kschedweb.policies.views import posted

if TYPE_CHECKING:
    from django.http import HttpResponse

    from kschedweb.accounts.typing import PageRequest


@require_POST
@requires(Action.VIEW)
def policy_effect(request: PageRequest, name: str) -> HttpResponse:
    """The part of the page that says how many pending pods of the chosen cluster would change node, for htmx."""
    found = selectors.policy_get(name)
    scope = scope_of(request)
    saved = selectors.revision_get(found)
    shown = posted(request, saved)
    context: dict[str, Any] = {"policy": found, "cluster": scope.cluster, "limit": POD_LIMIT, "saved": saved}
    if scope.snapshot and shown.runs:
        context["effect"] = effect(scope.snapshot, selectors.runs(saved), shown.runs, decides=decider(saved))
    context["snapshot"] = scope.snapshot
    return render(request, "policies/_effect.html", context)
