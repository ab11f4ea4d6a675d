"""The pages over many clusters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.core.paginator import Paginator
from django.db import transaction
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods, require_safe

from kschedweb.accounts.permissions import require_action, requires
from kschedweb.accounts.roles import Action
from kschedweb.engine.json_types import Json
from kschedweb.fleet import selectors, services, summaries, tasks
from kschedweb.fleet.filters import ORDERINGS, FleetFilter
from kschedweb.fleet.forms import TrialForm
from kschedweb.fleet.node_maps import map_fleet
from kschedweb.fleet.searches import FEWEST_LETTERS, node_hit, pod_hit
from kschedweb.fleet.tables import FLEET
from kschedweb.jobs.waiting import render_waiting
from kschedweb.web.errors import ApplicationError
from kschedweb.web.exports import FORMATS, export_table
from kschedweb.web.news import numbered_page, with_news
from kschedweb.web.nodemap.nodemap import MapChoice
from kschedweb.web.pages import add_errors

if TYPE_CHECKING:
    from django.http import HttpResponse
    from django.http.response import HttpResponseBase

    from kschedweb.accounts.typing import PageRequest

PAGE_SIZE = 50
# Reasons that are shown.
REASONS = 8


@require_safe
@requires(Action.VIEW)
def show_fleet(request: PageRequest) -> HttpResponseBase:
    """Show every cluster in a line: pending pods and why, requests, balance, and cost."""
    summaries.mark_viewed()
    filters = FleetFilter(request.GET, queryset=selectors.fleet_list())
    ordering = request.GET.get("ordering", selectors.ORDER)
    ordering = ordering if ordering in ORDERINGS else selectors.ORDER
    lines = selectors.list_lines(filters.qs, reason=request.GET.get("reason", ""), ordering=ordering)
    if (form := request.GET.get("format")) in FORMATS:
        return export_table(form, "fleet", FLEET, lines)
    totals = selectors.compute_totals(lines)
    if totals.unknown or totals.stale:
        transaction.on_commit(lambda: tasks.catch_up.delay(asked=True))
    page = Paginator(lines, PAGE_SIZE).get_page(request.GET.get("page"))
    context = {
        "filter": filters,
        "address": request.get_full_path(),
        # While summaries are computed, the page asks for the part below the map alone.
        "map": None if request.htmx else map_fleet(page.object_list, MapChoice.from_address(request.GET)),
        "reason": request.GET.get("reason", ""),
        "totals": totals,
        "reasons": selectors.count_reasons(lines)[:REASONS],
        "releases": selectors.count_releases(lines),
        "page": page,
    }
    return render(request, "fleet/fleet.html", context)


@require_safe
@requires(Action.VIEW)
def search_clusters(request: PageRequest) -> HttpResponse:
    """Search pods and nodes of all clusters by name."""
    words = " ".join(request.GET.get("q", "").replace("\0", "").split())[:100]
    kind = "nodes" if request.GET.get("kind") == "nodes" else "pods"
    context: dict[str, object] = {"words": words, "kind": kind, "fewest": FEWEST_LETTERS}
    if len(words) >= FEWEST_LETTERS:
        rows: Any = selectors.nodes_everywhere(words) if kind == "nodes" else selectors.pods_everywhere(words)
        page = Paginator(rows, PAGE_SIZE).get_page(request.GET.get("page"))
        context |= {"page": page, "hits": list(map(node_hit if kind == "nodes" else pod_hit, page))}
    return render(request, "fleet/search.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@requires(Action.VIEW)
@with_news
def list_trials(request: PageRequest) -> HttpResponse:
    """Show the form of a trial on many clusters, and earlier trials."""
    if request.method == "POST":
        require_action(request.user, Action.EDIT, refusal=gettext("An editor may try a policy on many clusters."))
    names = [cluster.name for cluster in selectors.choose_clusters(())]
    initial: dict[str, object] = {name: request.GET[name] for name in ("policy", "instead") if name in request.GET}
    initial |= {"clusters": chosen} if (chosen := request.GET.getlist("clusters")) else {}
    form = TrialForm(names, request.POST or None, initial)
    if request.method == "POST" and form.is_valid():
        try:
            return redirect("fleet-trial", services.trial_start(user=request.user, question=form.question).pk)
        except ApplicationError as error:
            add_errors(form, error)
    context = {"form": form, "names": names, "page": numbered_page(request, selectors.trial_list())}
    return render(request, "fleet/trials.html", context, status=400 if form.errors else 200)


@require_safe
@requires(Action.VIEW)
def show_trial(request: PageRequest, trial_id: UUID) -> HttpResponseBase:
    """Show what a policy does to each cluster so far. While the job works, the page polls."""
    trial = selectors.trial_get(trial_id)
    context: dict[str, object] = {
        "trial": trial,
        "better": sum(_count_gained(answer) > 0 for answer in trial.answers),
        "worse": sum(_count_gained(answer) < 0 for answer in trial.answers),
        "failed": sum("error" in answer for answer in trial.answers),
    }
    address = reverse("fleet-trial", args=[trial.pk])
    return render_waiting(request, trial, template="fleet/trial.html", address=address, more=context)


def _count_gained(answer: Json) -> int:
    """Return how many more pods get a node under the tried policy."""
    placed = answer.get("pending", {"current": 0, "changed": 0})
    return int(placed["changed"]) - int(placed["current"])
