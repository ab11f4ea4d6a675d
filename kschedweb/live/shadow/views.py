"""Shadow: how far a policy and another scheduler differ, and each pod that was judged."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from kschedweb.accounts.permissions import requires
from kschedweb.accounts.roles import Action
from kschedweb.live.schedulers.selectors import live_get, live_list, release_in_force
from kschedweb.live.shadow import charts, selectors
from kschedweb.live.shadow.filters import VerdictFilter
from kschedweb.live.shadow.tables import VERDICTS
from kschedweb.web.exports import FORMATS, export_rows
from kschedweb.web.news import growing_page, with_news
from kschedweb.web.pagination import in_pieces

if TYPE_CHECKING:
    from uuid import UUID

    from django.http.response import HttpResponseBase

    from kschedweb.accounts.typing import PageRequest

MOST_EXPORTED = 100_000


@require_safe
@requires(Action.VIEW)
def list_shadows(request: PageRequest) -> HttpResponse:
    """Show every live scheduler that judges, or did so in the last day."""
    return render(request, "live/shadow/list.html", {"shadows": selectors.list_shadows(live_list())})


@require_safe
@requires(Action.VIEW)
@with_news
def show_shadow(request: PageRequest, live_id: UUID) -> HttpResponseBase:
    live = live_get(live_id)
    span = request.GET.get("span", selectors.DEFAULT_SPAN)
    span = span if span in selectors.SPANS else selectors.DEFAULT_SPAN
    filtered = VerdictFilter(request.GET, queryset=selectors.verdict_list(live))
    if (form := request.GET.get("format")) in FORMATS:
        if request.GET.get("what") == "drift":
            rows = charts.drift_rows(selectors.compute_drift(live, span))
            return export_rows(form, f"drift-{live.scheduler_name}", list(charts.HEAD), rows)
        rows = (
            tuple(map(_plain_cell, row))
            for row in in_pieces(filtered.qs, VERDICTS.fields, MOST_EXPORTED, indexed_rows=filtered.indexed_rows)
        )
        return export_rows(form, f"shadow-{live.scheduler_name}", VERDICTS.head, rows)
    page = growing_page(request, filtered.qs, indexed_rows=filtered.indexed_rows)
    whole = selectors.compute_summary(live, span)
    # A page without verdicts polls: it reloads once a pod was judged.
    if request.htmx:
        return HttpResponse(headers={"HX-Refresh": "true"}) if whole.total else HttpResponse(status=204)
    context = {
        "live": live,
        "release": release_in_force(live),
        "span": span,
        "spans": [(name, words) for name, (_, _, words) in selectors.SPANS.items()],
        "span_words": selectors.SPANS[span][2],
        "whole": whole,
        "sentence": charts.describe_drift(whole),
        "chart": charts.drift_chart(selectors.compute_drift(live, span), whole),
        "causes": selectors.list_causes(live, span),
        "filter": filtered,
        "filtered": any(request.GET.get(name) for name in filtered.filters),
        "page": page,
    }
    return render(request, "live/shadow/shadow.html", context)


def _plain_cell(value: object) -> object:
    return " ".join(value) if isinstance(value, list) else value
