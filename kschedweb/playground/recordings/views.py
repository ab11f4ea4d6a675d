"""The pages of recordings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib import messages
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from kschedweb.accounts.permissions import requires
from kschedweb.accounts.roles import Action, may_change
from kschedweb.clusters.flight.asof import moment_read
from kschedweb.clusters.selectors import cluster_get
from kschedweb.playground.recordings import flown, selectors, services
from kschedweb.playground.recordings.download import download_response
from kschedweb.playground.recordings.filters import RecordingFilter
from kschedweb.playground.recordings.forms import GiveForm, StartForm
from kschedweb.playground.recordings.models import Recording
from kschedweb.web.errors import ApplicationError
from kschedweb.web.news import announced, numbered_page
from kschedweb.web.pages import add_errors, done, part

if TYPE_CHECKING:
    from uuid import UUID

    from django.http import HttpResponse, StreamingHttpResponse
    from django.http.response import HttpResponseBase

    from kschedweb.accounts.typing import PageRequest


@require_http_methods(["GET", "HEAD", "POST"])
@requires(Action.VIEW)
@announced
def recordings(request: PageRequest) -> HttpResponseBase:
    """The recordings, and the form for a new one (?cluster=)."""
    if request.method == "POST":
        return _start(request)
    return _list(request, StartForm(initial={"cluster": request.GET.get("cluster")}))


@requires(Action.EDIT)
def _start(request: PageRequest) -> HttpResponse:
    form = StartForm(request.POST)
    if not form.is_valid():
        return _list(request, form, status=422)
    asked = form.cleaned_data
    try:
        made = services.recording_start(user=request.user, cluster=asked["cluster"], seconds=60 * asked["minutes"])
    except ApplicationError as error:
        add_errors(form, error)
        return _list(request, form, status=error.status)
    return redirect("recording", made.pk)


def _list(request: PageRequest, form: StartForm, status: int = 200) -> HttpResponse:
    filters = RecordingFilter(request.GET, queryset=selectors.recording_list())
    context = {
        "page": numbered_page(request, filters.qs),
        "filter": filters,
        "filtered": any(request.GET.get(name) for name in filters.filters),
        "form": form,
        "of": request.GET.get("cluster", ""),
        "can": selectors.connected().exists(),
    }
    return render(request, "playground/recordings/list.html", context, status=status)


@require_safe
@requires(Action.VIEW)
def recording(request: PageRequest, recording_id: UUID) -> HttpResponse:
    """One recording; for htmx only its progress."""
    found = selectors.recording_get(recording_id)
    if request.htmx:
        answer = render(request, "playground/recordings/progress.html", _context(request, found))
        if found.ended:
            answer["HX-Refresh"] = "true"  # reload the page: the recording has ended
        return answer
    return _page(request, found, GiveForm(request.user))


def _page(request: PageRequest, found: Recording, form: GiveForm, status: int = 200) -> HttpResponse:
    own = selectors.scenarios(request.user).exists()
    context = {**_context(request, found), "form": form, "own_scenarios": own, "owns": may_change(request.user, found)}
    return render(request, "playground/recordings/recording.html", context, status=status)


def _context(request: PageRequest, found: Recording) -> dict[str, Any]:
    stops = found.job is not None and not found.job.cancel_requested and may_change(request.user, found.job)
    return {"recording": found, "job": found.job, "may_stop": stops and not found.ended}


@require_safe
@requires(Action.VIEW)
@part
def download(request: PageRequest, recording_id: UUID) -> StreamingHttpResponse:
    return download_response(selectors.recording_get(recording_id))


@require_POST
@requires(Action.EDIT)
def moment(request: PageRequest, name: str) -> HttpResponse:
    """Make a scenario that starts from the cluster as of the moment ``at``."""
    found = cluster_get(name)
    try:
        made = flown.scenario_of_moment(user=request.user, cluster=found, at=moment_read(request.POST.get("at", "")))
    except ApplicationError as error:
        messages.error(request, error.detail)
        return redirect("cluster-flight", name)
    messages.success(
        request, gettext("Scenario %(name)s starts from that moment. Run it under any policy.") % {"name": made.name}
    )
    return redirect("scenario", made.pk)


@require_POST
@requires(Action.EDIT)
def cut(request: PageRequest, name: str) -> HttpResponse:
    """Make a recording of what the flight recorder kept from ``since`` to ``until``."""
    found, zone = cluster_get(name), request.POST.get("zone", "")
    try:
        first, last = (moment_read(request.POST.get(side, ""), zone, side) for side in ("since", "until"))
        made = flown.recording_of_range(user=request.user, cluster=found, first=first, last=last)
    except ApplicationError as error:
        messages.error(request, error.detail)
        return redirect("cluster-flight", name)
    return redirect("recording", made.pk)


@require_POST
@requires(Action.EDIT)
def scenario(request: PageRequest, recording_id: UUID) -> HttpResponse:
    """Make a scenario from the recording."""
    found = selectors.recording_get(recording_id)
    try:
        made = services.scenario_make(user=request.user, recording=found)
    except ApplicationError as error:
        messages.error(request, error.detail)
        return redirect("recording", found.pk)
    messages.success(
        request, gettext("Scenario %(name)s replays what was recorded. Run it under any policy.") % {"name": made.name}
    )
    return redirect("scenario", made.pk)


@require_POST
@requires(Action.EDIT)
def file(request: PageRequest, recording_id: UUID) -> HttpResponse:
    """Copy the recording to a file of a scenario."""
    found = selectors.recording_get(recording_id)
    form = GiveForm(request.user, request.POST)
    if not form.is_valid():
        return _page(request, found, form, status=422)
    try:
        row = services.file_give(user=request.user, recording=found, scenario=form.cleaned_data["scenario"])
    except ApplicationError as error:
        form.add_error("scenario", error.detail)
        return _page(request, found, form, status=error.status)
    messages.success(
        request,
        gettext("%(file)s is a file of %(scenario)s now: name it under arrivals.")
        % {"file": row.name, "scenario": row.scenario.name},
    )
    return redirect("scenario-files", row.scenario_id)


@require_POST
@requires(Action.EDIT)
def delete(request: PageRequest, recording_id: UUID) -> HttpResponse:
    found = selectors.recording_get(recording_id)
    said = f"The recording of {found.cluster.name} is deleted."
    gone = done(request, lambda: services.recording_delete(user=request.user, recording=found), said)
    return redirect("recordings") if gone else redirect("recording", recording_id)
