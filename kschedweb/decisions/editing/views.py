"""The view of an edited policy's effect on the pods of a cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.shortcuts import render
from django.views.decorators.http import require_POST

from kschedweb.accounts.permissions import requires
from kschedweb.accounts.roles import Action
from kschedweb.decisions.editing.effect import POD_LIMIT, effect
from kschedweb.decisions.inquiring.deciding import effect_ask
from kschedweb.decisions.inquiring.views import progress
from kschedweb.decisions.kinds import decider
from kschedweb.decisions.services import at_hand
from kschedweb.policies import selectors
from kschedweb.policies.scope import scope_of
from kschedweb.policies.views import posted
from kschedweb.web.heavy import heavy

if TYPE_CHECKING:
    from django.http import HttpResponse

    from kschedweb.accounts.typing import PageRequest


@heavy
@require_POST
@requires(Action.VIEW)
def policy_effect(request: PageRequest, name: str) -> HttpResponse:
    """The part of the page that says how many pending pods of the chosen cluster would change node, for htmx.

    With ``all`` a job asks all of them.
    """
    found = selectors.policy_get(name)
    scope = scope_of(request)
    saved = selectors.revision_get(found)
    shown = posted(request, saved)
    context: dict[str, Any] = {"policy": found, "cluster": scope.cluster, "limit": POD_LIMIT, "saved": saved}
    context["snapshot"] = snapshot = scope.snapshot
    if snapshot and shown.runs:
        if "all" in request.POST:
            about: dict[str, Any] = {"snapshot": snapshot, "revision": saved}
            question = effect_ask(user=request.user, **about, document=shown.document, process=shown.process)
            return render(request, "decisions/inquiring/begun.html", progress(request, question))
        if at_hand(snapshot, saved):
            context["effect"] = effect(snapshot, selectors.runs(saved), shown.runs, decides=decider(saved))
        context["more"] = "effect" not in context or context["effect"].asked < context["effect"].pods
    return render(request, "policies/_effect.html", context)
