"""The pages of experiments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe

from kschedweb.accounts.permissions import requires
from kschedweb.accounts.roles import Action, may_change
from kschedweb.jobs.models import ENDED
from kschedweb.playground.experiments import charts, selectors, services
from kschedweb.playground.experiments.forms import ExperimentForm
from kschedweb.playground.experiments.models import Experiment, Recording
from kschedweb.playground.scenarios.uploads import received
from kschedweb.web.errors import ApplicationError
from kschedweb.web.exports import FORMATS, export
from kschedweb.web.pages import add_errors

if TYPE_CHECKING:
    from uuid import UUID

    from django.http import HttpResponse
    from django.http.response import HttpResponseBase

    from kschedweb.accounts.models import User
    from kschedweb.accounts.typing import PageRequest


@requires(Action.EDIT)
def new(request: PageRequest) -> HttpResponse:
    form = ExperimentForm(request.POST or None, request.FILES or None)
    status = 200
    if request.method == "POST":
        status = 400
        if form.is_valid():
            try:
                return redirect("experiment", _start(request.user, form).pk)
            except ApplicationError as error:
                add_errors(form, error)
                status = error.status
    return render(request, "playground/experiments/new.html", {"form": form}, status=status)


def _start(user: User, form: ExperimentForm) -> Experiment:
    asked = form.cleaned_data
    recording: Recording | None = None
    if asked["file"]:
        with received(asked["file"], settings.UPLOAD_LIMIT) as content:
            recording = services.recording_add(
                user=user, name=asked["recording_name"], content=content, limit=settings.UPLOAD_LIMIT
            )
    elif asked["recording"]:
        recording = selectors.recording_list().get(pk=asked["recording"])
    return services.experiment_start(
        user=user, recording=recording, policies=asked["policies"], seeds=asked["seeds"], setup=form.setup
    )


@require_safe
@requires(Action.VIEW)
def experiment(request: PageRequest, experiment_id: UUID) -> HttpResponseBase:
    """The results, or the progress while it runs."""
    found = selectors.experiment_get(experiment_id)
    listed = selectors.series(found)
    if (form := request.GET.get("format")) in FORMATS:
        return export(form, f"experiment-{found.pk}", charts.HEAD, charts.rows(listed))
    job = found.job
    context: dict[str, Any] = {
        "experiment": found,
        "job": job,
        "ended": job is None or job.state in ENDED,
        "may_cancel": job is not None and may_change(request.user, job),
        "policies": [selectors.shown(policy) for policy in found.policies],
        "series": listed,
    }
    if listed:
        base = next((one.measures["skew"] for one in listed if one.policy == "default"), None)
        parts = [
            (selectors.shown(one.policy), _shown(one.measures), 100.0 * one.measures["skew"] / base if base else None)
            for one in sorted(listed, key=lambda one: one.measures["skew"])
        ]
        engines = [(selectors.shown(one.policy), one.engines) for one in listed if one.engines]
        context["engines"] = sorted(engines, key=lambda one: one[1])
        context |= {"measures": parts, "best": parts[0], "skew": charts.skew(listed)}
        context |= {"distribution": charts.distribution(listed)}
    return render(request, "playground/experiments/detail.html", context)


def _shown(measures: dict[str, float]) -> dict[str, float]:
    """The measures with shares in percent too."""
    return {**measures, **{f"{name}_percent": 100.0 * measures[name] for name in ("high", "short")}}
