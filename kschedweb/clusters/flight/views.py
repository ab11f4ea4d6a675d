"""The page of a flight recorder, and the choice of a moment."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlencode, urlsplit

from django.contrib import messages
from django.http import HttpResponseRedirect
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods, require_safe

from kschedweb.accounts.permissions import requires
from kschedweb.accounts.roles import Action
from kschedweb.clusters import selectors as clusters
from kschedweb.clusters.flight import selectors, services
from kschedweb.clusters.flight.forms import RecorderForm
from kschedweb.clusters.flight.rebuilding import format_moment_param, moment_read
from kschedweb.clusters.services import CONNECTED
from kschedweb.web.errors import ApplicationError
from kschedweb.web.moments import PARAMETER, MomentInput, read_moment
from kschedweb.web.pages import add_errors, page_part

if TYPE_CHECKING:
    from django.http import HttpResponse
    from django.http.response import HttpResponseBase

    from kschedweb.accounts.typing import PageRequest
    from kschedweb.clusters.models import Cluster

GAPS_SHOWN = 50


@require_http_methods(["GET", "HEAD", "POST"])
@requires(Action.VIEW)
def show_recorder(request: PageRequest, name: str) -> HttpResponseBase:
    """Show the recorder of a cluster, its gaps, and what can be made of a moment (?at=) or a range."""
    cluster = clusters.cluster_get(name)
    if request.method == "POST":
        return _set_recorder(request, cluster)
    row = selectors.recorder_of(cluster)
    return _render_page(
        request, cluster, RecorderForm(initial={"on": row.on, "days": row.days, "limit_mib": row.limit_mib})
    )


@requires(Action.EDIT)
def _set_recorder(request: PageRequest, cluster: Cluster) -> HttpResponse:
    form = RecorderForm(request.POST)
    if not form.is_valid():
        return _render_page(request, cluster, form, 422)
    try:
        row = services.recorder_set(user=request.user, cluster=cluster, **form.cleaned_data)
    except ApplicationError as error:
        add_errors(form, error)
        return _render_page(request, cluster, form, error.status)
    messages.success(request, f"The flight recorder of {cluster.name} is {'on' if row.on else 'off'}.")
    return redirect("cluster-flight", cluster.name)


def _render_page(request: PageRequest, cluster: Cluster, form: RecorderForm, status: int = 200) -> HttpResponse:
    stretches, gaps = list(selectors.list_stretches(cluster)), selectors.list_gaps(cluster)
    moment = read_moment(request.GET.get("at", ""))
    last = selectors.moment_of(stretches[-1].until) if stretches else timezone.now()
    context = {
        "cluster": cluster,
        "recorder": selectors.recorder_of(cluster),
        "connected": cluster.source in CONNECTED,
        "form": form,
        "first": selectors.moment_of(stretches[0].began) if stretches else None,
        "last": last if stretches else None,
        "gaps": gaps[-GAPS_SHOWN:][::-1],
        "gap_count": len(gaps),
        "missing": stretches[-1].missing if stretches else [],
        "stored": selectors.stored_size(cluster),
        "moment_param": format_moment_param(moment) if isinstance(moment, datetime) else "",
        "at_input": _render_input("at", moment if isinstance(moment, datetime) else last),
        "inputs": [
            ("since", gettext("From"), _render_input("since", last)),
            ("until", gettext("To"), _render_input("until", last)),
        ],
    }
    return render(request, "clusters/flight.html", context, status=status)


def _render_input(name: str, value: datetime) -> str:
    widget = MomentInput(is_end=name == "until", attrs={"required": True, "step": 1})
    return widget.render(name, value, {"id": f"f-{name}"})


@require_safe
@requires(Action.VIEW, in_part=True)
@page_part
def choose_moment(request: PageRequest, name: str) -> HttpResponse:
    """Redirect to the page ?next as of ?at, which is in the person's zone."""
    cluster, zone = clusters.cluster_get(name), request.GET.get(PARAMETER, "")
    target = request.GET.get("next", "/")
    if not url_has_allowed_host_and_scheme(target, {request.get_host()}, require_https=request.is_secure()):
        target = f"/?cluster={cluster.name}"
    try:
        at = format_moment_param(moment_read(request.GET.get("at", ""), zone))
    except ApplicationError as error:
        messages.error(request, error.detail)
        return HttpResponseRedirect(target)
    parts = urlsplit(target)
    dropped = ("at", "snapshot", "page", "news")
    parameters = [(key, value) for key, value in parse_qsl(parts.query, keep_blank_values=True) if key not in dropped]
    return HttpResponseRedirect(parts._replace(query=urlencode([*parameters, ("at", at)])).geturl())
