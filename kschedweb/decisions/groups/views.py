"""The groups of pods of a cluster, and whether one of them fits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from django.core.paginator import Paginator
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe

from kschedweb.accounts.permissions import requires
from kschedweb.accounts.roles import Action
from kschedweb.decisions.groups import asking, services
from kschedweb.decisions.models import Question
from kschedweb.decisions.views import asked
from kschedweb.policies.scope import scope_of
from kschedweb.policies.selectors import profiles_only
from kschedweb.web.errors import ApplicationError
from kschedweb.web.heavy import heavy

if TYPE_CHECKING:
    from django.http import HttpResponse

    from kschedweb.accounts.typing import PageRequest

PAGE_SIZE = 100  # groups, or pods of one


@heavy
@require_safe
@requires(Action.VIEW, in_part=True)
def everything(request: PageRequest, cluster: str) -> HttpResponse:
    """All groups, each with its state."""
    snapshot, revision = asked(request, cluster)
    found = asking.listed(request.user, snapshot)
    if isinstance(found, Question):
        return redirect("decision-answer", found.pk)
    context = {
        "snapshot": snapshot,
        "revision": profiles_only(revision),
        "cluster_name": cluster,
        "rules": services.rules(snapshot, revision),
        "page": Paginator(found, PAGE_SIZE).get_page(request.GET.get("page")),
    }
    return render(request, "decisions/groups/list.html", context)


@heavy
@require_safe
@requires(Action.VIEW, in_part=True)
def one(request: PageRequest, cluster: str, namespace: str, group: str) -> HttpResponse:
    """One group: whether it fits, where its pods go, what is in the way."""
    snapshot, chosen = asked(request, cluster)
    scheduler, waits = services.responsible(snapshot, f"{namespace}/{group}", profiles_only(chosen))
    revision = (scheduler and scheduler.revision) or chosen
    scope_of(request).revision = revision
    context: dict[str, Any] = {
        "snapshot": snapshot,
        "revision": revision,
        "chosen": chosen,
        "scheduler": scheduler,
        "waits": waits,
        "cluster_name": cluster,
        "namespace_name": namespace,
        "group_name": group,
        "revisions": revision.policy.revisions.defer("document")[:8],
    }
    try:
        switch = request.GET.get("gates") == "on"
        named = {"policy": revision.policy.name, "revision": revision.number, "snapshot": snapshot.pk}
        context["json_query"] = urlencode(named | ({"gates": "on"} if switch else {}))
        found = asking.page(request.user, snapshot, revision, f"{namespace}/{group}", switch=switch)
    except ApplicationError as error:
        if error.status == 404:
            raise
        return render(request, "decisions/groups/failed.html", {**context, "error": error})
    if isinstance(found, Question):
        return redirect("decision-answer", found.pk)
    page = Paginator(found.members, PAGE_SIZE).get_page(request.GET.get("page"))
    context |= {"shown": found, "answer": found.answer, "page": page}
    return render(request, "decisions/groups/group.html", context)
