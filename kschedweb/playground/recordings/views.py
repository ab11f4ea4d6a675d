"""Pages of recordings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.contrib import messages
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from kschedweb.accounts.permissions import requires
from kschedweb.accounts.roles import Action, may_change
from kschedweb.clusters.flight.rebuilding import moment_read
from kschedweb.clusters.selectors import cluster_get
from kschedweb.playground.recordings import from_flight_recorder, selectors, services
from kschedweb.playground.recordings.download import download_response
from kschedweb.playground.recordings.filters import RecordingFilter
from kschedweb.playground.recordings.forms import GiveForm, StartForm
from kschedweb.playground.recordings.models import Recording
from kschedweb.web.errors import ApplicationError
from kschedweb.web.news import numbered_page, with_news
from kschedweb.web.pages import add_errors, page_part, run_and_notify

if TYPE_CHECKING:
    from uuid import UUID

    from django.http import HttpResponse, StreamingHttpResponse
    from django.http.response import HttpResponseBase

    from kschedweb.accounts.typing import PageRequest


@require_http_methods(["GET", "HEAD", "POST"])
@requires(Action.VIEW)
@with_news
def show_recordings(request: PageRequest) -> HttpResponseBase:
    """Show the recordings, and the form for a new one (?cluster=)."""
    if request.method == "POST":
        return _start_recording(request)
    return _render_list(request, StartForm(initial={"cluster": request.GET.get("cluster")}))


@requires(Action.EDIT)
def _start_recording(request: PageRequest) -> HttpResponse:
    form = StartForm(request.POST)
    if not form.is_valid():
        return _render_list(request, form, status=422)
    values = form.cleaned_data
    try:
        recording = services.recording_start(
            user=request.user, cluster=values["cluster"], seconds=60 * values["minutes"]
        )
    except ApplicationError as error:
        add_errors(form, error)
        return _render_list(request, form, status=error.status)
    return redirect("recording", recording.pk)


def _render_list(request: PageRequest, form: StartForm, status: int = 200) -> HttpResponse:
    filters = RecordingFilter(request.GET, queryset=selectors.recording_list())
    context = {
        "page": numbered_page(request, filters.qs),
        "filter": filters,
        "filtered": any(request.GET.get(name) for name in filters.filters),
        "form": form,
        "cluster_name": request.GET.get("cluster", ""),
        "can": selectors.list_recordable().exists(),
    }
    return render(request, "playground/recordings/list.html", context, status=status)


@require_safe
@requires(Action.VIEW)
def show_recording(request: PageRequest, recording_id: UUID) -> HttpResponse:
    """Show a recording; for htmx only its progress."""
    recording = selectors.recording_get(recording_id)
    if request.htmx:
        answer = render(request, "playground/recordings/progress.html", _recording_context(request, recording))
        if recording.ended:
            # Loads the page again, because the recording has ended.
            answer["HX-Refresh"] = "true"
        return answer
    return _render_recording(request, recording, GiveForm(request.user))


def _render_recording(request: PageRequest, recording: Recording, form: GiveForm, status: int = 200) -> HttpResponse:
    has_scenarios = selectors.list_own_scenarios(request.user).exists()
    context = {
        **_recording_context(request, recording),
        "form": form,
        "own_scenarios": has_scenarios,
        "owns": may_change(request.user, recording),
    }
    return render(request, "playground/recordings/recording.html", context, status=status)


def _recording_context(request: PageRequest, recording: Recording) -> dict[str, object]:
    stops = recording.job is not None and not recording.job.cancel_requested and may_change(request.user, recording.job)
    return {"recording": recording, "job": recording.job, "may_stop": stops and not recording.ended}


@require_safe
@requires(Action.VIEW)
@page_part
def download_recording(request: PageRequest, recording_id: UUID) -> StreamingHttpResponse:
    return download_response(selectors.recording_get(recording_id))


@require_POST
@requires(Action.EDIT)
def make_moment_scenario(request: PageRequest, name: str) -> HttpResponse:
    """Create a scenario that starts from the cluster as of the moment ``at``."""
    cluster = cluster_get(name)
    try:
        scenario = from_flight_recorder.scenario_of_moment(
            user=request.user, cluster=cluster, at=moment_read(request.POST.get("at", ""))
        )
    except ApplicationError as error:
        messages.error(request, error.detail)
        return redirect("cluster-flight", name)
    messages.success(
        request,
        gettext("Scenario %(name)s starts from that moment. Run it under any policy.") % {"name": scenario.name},
    )
    return redirect("scenario", scenario.pk)


@require_POST
@requires(Action.EDIT)
def cut_recording(request: PageRequest, name: str) -> HttpResponse:
    """Create a recording of what the flight recorder kept from ``since`` to ``until``."""
    cluster, zone = cluster_get(name), request.POST.get("zone", "")
    try:
        first, last = (moment_read(request.POST.get(side, ""), zone, side) for side in ("since", "until"))
        recording = from_flight_recorder.recording_of_range(user=request.user, cluster=cluster, first=first, last=last)
    except ApplicationError as error:
        messages.error(request, error.detail)
        return redirect("cluster-flight", name)
    return redirect("recording", recording.pk)


@require_POST
@requires(Action.EDIT)
def make_scenario(request: PageRequest, recording_id: UUID) -> HttpResponse:
    """Create a scenario from the recording."""
    recording = selectors.recording_get(recording_id)
    try:
        scenario = services.scenario_make(user=request.user, recording=recording)
    except ApplicationError as error:
        messages.error(request, error.detail)
        return redirect("recording", recording.pk)
    messages.success(
        request,
        gettext("Scenario %(name)s replays what was recorded. Run it under any policy.") % {"name": scenario.name},
    )
    return redirect("scenario", scenario.pk)


@require_POST
@requires(Action.EDIT)
def give_file(request: PageRequest, recording_id: UUID) -> HttpResponse:
    """Copy the recording to a file of a scenario."""
    recording = selectors.recording_get(recording_id)
    form = GiveForm(request.user, request.POST)
    if not form.is_valid():
        return _render_recording(request, recording, form, status=422)
    try:
        row = services.file_give(user=request.user, recording=recording, scenario=form.cleaned_data["scenario"])
    except ApplicationError as error:
        form.add_error("scenario", error.detail)
        return _render_recording(request, recording, form, status=error.status)
    messages.success(
        request,
        gettext("%(file)s is a file of %(scenario)s now: name it under arrivals.")
        % {"file": row.name, "scenario": row.scenario.name},
    )
    return redirect("scenario-files", row.scenario_id)


@require_POST
@requires(Action.EDIT)
def delete_recording(request: PageRequest, recording_id: UUID) -> HttpResponse:
    recording = selectors.recording_get(recording_id)
    message = f"The recording of {recording.cluster.name} is deleted."
    deleted = run_and_notify(
        request, lambda: services.recording_delete(user=request.user, recording=recording), message
    )
    return redirect("recordings") if deleted else redirect("recording", recording_id)
