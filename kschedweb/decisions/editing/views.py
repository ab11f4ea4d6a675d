"""The view of an edited policy's effect on the pods of a cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.shortcuts import render
from django.views.decorators.http import require_POST

from kschedweb.accounts.permissions import requires
from kschedweb.accounts.roles import Action
from kschedweb.decisions.deciders import get_decider
from kschedweb.decisions.editing.effect import POD_LIMIT, compute_effect
from kschedweb.decisions.inquiring.decision_questions import effect_ask
from kschedweb.decisions.inquiring.views import progress_context
from kschedweb.decisions.services import at_hand
from kschedweb.policies import selectors
from kschedweb.policies.scope import scope_of
from kschedweb.policies.views import read_posted
from kschedweb.web.heavy import heavy

if TYPE_CHECKING:
    from django.http import HttpResponse

    from kschedweb.accounts.typing import PageRequest


@heavy
@require_POST
@requires(Action.VIEW)
def policy_effect(request: PageRequest, name: str) -> HttpResponse:
    """Show how many pending pods of the chosen cluster would change node, as a part for htmx.

    With ``all`` a job compares all of them.
    """
    policy = selectors.policy_get(name)
    scope = scope_of(request)
    saved = selectors.revision_get(policy)
    editor = read_posted(request, saved)
    context: dict[str, object] = {"policy": policy, "cluster": scope.cluster, "limit": POD_LIMIT, "saved": saved}
    context["snapshot"] = snapshot = scope.snapshot
    if snapshot and editor.runs:
        if "all" in request.POST:
            arguments: dict[str, Any] = {"snapshot": snapshot, "revision": saved}
            question = effect_ask(user=request.user, **arguments, document=editor.document, process=editor.process)
            return render(request, "decisions/inquiring/effect_pending.html", progress_context(request, question))
        effect = None
        if at_hand(snapshot, saved):
            context["effect"] = effect = compute_effect(
                snapshot, selectors.load_revision(saved), editor.runs, decider=get_decider(saved)
            )
        context["more"] = effect is None or effect.asked < effect.pods
    return render(request, "policies/_effect.html", context)
