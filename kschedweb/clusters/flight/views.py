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
from kschedweb.clusters.flight.asof import moment_read, written
from kschedweb.clusters.flight.forms import RecorderForm
from kschedweb.clusters.services import CONNECTED
from kschedweb.web.errors import ApplicationError
from kschedweb.web.moments import PARAMETER, MomentInput, read
from kschedweb.web.pages import add_errors, part

if TYPE_CHECKING:
    from django.http import HttpResponse
    from django.http.response import HttpResponseBase

    from kschedweb.accounts.typing import PageRequest
    from kschedweb.clusters.models import Cluster

GAPS_SHOWN = 50


@require_http_methods(["GET", "HEAD", "POST"])
@requires(Action.VIEW)
def recorder(request: PageRequest, name: str) -> HttpResponseBase:
    """What is recorded of a cluster, its gaps, and what can be made of a moment (?at=) or a range."""
    found = clusters.cluster_get(name)
    if request.method == "POST":
        return _set(request, found)
    row = selectors.recorder_of(found)
    return _page(request, found, RecorderForm(initial={"on": row.on, "days": row.days, "limit_mib": row.limit_mib}))


@requires(Action.EDIT)
def _set(request: PageRequest, found: Cluster) -> HttpResponse:
    form = RecorderForm(request.POST)
    if not form.is_valid():
        return _page(request, found, form, 422)
    try:
        row = services.recorder_set(user=request.user, cluster=found, **form.cleaned_data)
    except ApplicationError as error:
        add_errors(form, error)
        return _page(request, found, form, error.status)
    messages.success(request, f"The flight recorder of {found.name} is {'on' if row.on else 'off'}.")
    return redirect("cluster-flight", found.name)


def _page(request: PageRequest, found: Cluster, form: RecorderForm, status: int = 200) -> HttpResponse:
    known, gaps = list(selectors.stretches(found)), selectors.gaps(found)
    asked = read(request.GET.get("at", ""))
    last = selectors.moment_of(known[-1].until) if known else timezone.now()
    context = {
        "cluster": found,
        "recorder": selectors.recorder_of(found),
        "connected": found.source in CONNECTED,
        "form": form,
        "first": selectors.moment_of(known[0].began) if known else None,
        "last": last if known else None,
        "gaps": gaps[-GAPS_SHOWN:][::-1],
        "gap_count": len(gaps),
        "missing": known[-1].missing if known else [],
        "stored": selectors.stored(found),
        "asked": written(asked) if isinstance(asked, datetime) else "",
        "at_input": _input("at", asked if isinstance(asked, datetime) else last),
        "inputs": [("since", gettext("From"), _input("since", last)), ("until", gettext("To"), _input("until", last))],
    }
    return render(request, "clusters/flight.html", context, status=status)


def _input(name: str, value: datetime) -> str:
    widget = MomentInput(until=name == "until", attrs={"required": True, "step": 1})
    return widget.render(name, value, {"id": f"f-{name}"})


@require_safe
@requires(Action.VIEW, in_part=True)
@part
def moment(request: PageRequest, name: str) -> HttpResponse:
    """Go to the page ?next as of ?at, which is in the person's zone."""
    found, zone = clusters.cluster_get(name), request.GET.get(PARAMETER, "")
    target = request.GET.get("next", "/")
    if not url_has_allowed_host_and_scheme(target, {request.get_host()}, require_https=request.is_secure()):
        target = f"/?cluster={found.name}"
    try:
        at = written(moment_read(request.GET.get("at", ""), zone))
    except ApplicationError as error:
        messages.error(request, error.detail)
        return HttpResponseRedirect(target)
    parts = urlsplit(target)
    gone = ("at", "snapshot", "page", "news")
    kept = [(key, value) for key, value in parse_qsl(parts.query, keep_blank_values=True) if key not in gone]
    return HttpResponseRedirect(parts._replace(query=urlencode([*kept, ("at", at)])).geturl())
