"""The groups of pods of a cluster, and whether one of them fits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.core.paginator import Paginator
from django.shortcuts import render
from django.views.decorators.http import require_safe

from kschedweb.accounts.permissions import requires
from kschedweb.accounts.roles import Action
from kschedweb.decisions.groups import services, tables
from kschedweb.decisions.groups.words import headline
from kschedweb.decisions.views import asked
from kschedweb.policies.selectors import profiles_only
from kschedweb.web.errors import ApplicationError
from kschedweb.web.heavy import heavy

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse

PAGE_SIZE = 100  # groups, or pods of one
MOST_DOMAINS, MOST_VICTIMS = 100, 200  # on the page; REST has all


@heavy
@require_safe
@requires(Action.VIEW)
def everything(request: HttpRequest, cluster: str) -> HttpResponse:
    """All groups, each with its state."""
    snapshot, revision = asked(request, cluster)
    context = {
        "snapshot": snapshot,
        "revision": profiles_only(revision),
        "cluster_name": cluster,
        "rules": services.rules(snapshot, revision),
        "page": Paginator(services.listed(snapshot), PAGE_SIZE).get_page(request.GET.get("page")),
    }
    return render(request, "decisions/groups/list.html", context)


@heavy
@require_safe
@requires(Action.VIEW)
def one(request: HttpRequest, cluster: str, namespace: str, group: str) -> HttpResponse:
    """One group: whether it fits, where its pods go, what is in the way."""
    snapshot, revision = asked(request, cluster)
    context = {
        "snapshot": snapshot,
        "revision": profiles_only(revision),
        "cluster_name": cluster,
        "namespace_name": namespace,
        "group_name": group,
        "revisions": revision.policy.revisions.defer("document")[:8],
    }
    try:
        case = services.answer(snapshot, f"{namespace}/{group}", revision, switch=request.GET.get("gates") == "on")
    except ApplicationError as error:
        if error.status == 404:
            raise
        return render(request, "decisions/groups/failed.html", {**context, "error": error})
    members, domains = tables.members(case), tables.domains(case)
    victims = case.found.room.victims if case.found is not None and case.found.room is not None else ()
    context |= {
        "case": case,
        "standing": case.standing,
        "release": case.rules.configuration.release,
        "answer": headline(case),
        "page": Paginator(members, PAGE_SIZE).get_page(request.GET.get("page")),
        "blocking": next((row for row in members if case.found is not None and row.key == case.found.blocking), None),
        "domains": domains[:MOST_DOMAINS],
        "by_domain": len(domains) > 1 or any(one.name for one in domains),
        "domain_count": len(domains),
        "scored": any(one.score is not None for one in domains),
        "room": None if case.found is None else case.found.room,
        "victims": victims[:MOST_VICTIMS],
    }
    return render(request, "decisions/groups/group.html", context)
