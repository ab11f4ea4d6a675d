"""Pages of experiments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.conf import settings
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.http import require_POST, require_safe

from kschedweb import __version__
from kschedweb.accounts.permissions import require_owner, requires
from kschedweb.accounts.roles import Action, may_change
from kschedweb.playground.experiments import charts, selectors, services, tables
from kschedweb.playground.experiments.forms import ExperimentForm, initial_of_query, query_of_experiment
from kschedweb.playground.experiments.models import Experiment, Recording
from kschedweb.playground.experiments.repeating import repeat_command
from kschedweb.playground.experiments.reports import experiment_report
from kschedweb.playground.reports.report_file import report_response
from kschedweb.playground.scenarios.uploads import receive_file
from kschedweb.web.errors import ApplicationError
from kschedweb.web.exports import FORMATS, export_rows
from kschedweb.web.pages import page_part, run_and_notify

if TYPE_CHECKING:
    from uuid import UUID

    from django.http import HttpResponse
    from django.http.response import HttpResponseBase

    from kschedweb.accounts.models import User
    from kschedweb.accounts.typing import PageRequest


@requires(Action.EDIT)
def new_experiment(request: PageRequest) -> HttpResponse:
    """Show the form of a new experiment, filled with what the address names; a POST starts it."""
    form = ExperimentForm(request.POST or None, request.FILES or None, initial=initial_of_query(request.GET))
    status = 200
    if request.method == "POST":
        status = 400
        if form.is_valid():
            try:
                return redirect("experiment", _start_experiment(request.user, form).pk)
            except ApplicationError as error:
                form.add_service_errors(error)
                status = error.status
    return render(request, "playground/experiments/new.html", {"form": form}, status=status)


def _start_experiment(user: User, form: ExperimentForm) -> Experiment:
    """Store an uploaded recording, and start the experiment of a valid form."""
    values = form.cleaned_data
    recording: Recording | None = None
    if values["file"]:
        with receive_file(values["file"], settings.UPLOAD_LIMIT) as content:
            recording = services.recording_add(
                user=user, name=values["recording_name"], content=content, limit=settings.UPLOAD_LIMIT
            )
    elif values["recording"]:
        recording = selectors.recording_list().get(pk=values["recording"])
    return services.experiment_start(
        user=user, recording=recording, policies=values["policies"], seeds=values["seeds"], setup=form.setup
    )


@require_safe
@requires(Action.VIEW)
def show_experiment(request: PageRequest, experiment_id: UUID) -> HttpResponseBase:
    """Show the results, and the progress while it runs."""
    experiment = selectors.experiment_get(experiment_id)
    listed = selectors.list_series(experiment)
    if (form := request.GET.get("format")) in FORMATS:
        return export_rows(form, f"experiment-{experiment.pk}", charts.HEAD, charts.series_rows(listed))
    job = experiment.job
    context: dict[str, object] = {
        "experiment": experiment,
        "job": job,
        "ended": experiment.has_ended,
        "may_delete": may_change(request.user, experiment),
        "may_cancel": job is not None and may_change(request.user, job),
        "policies": [selectors.policy_label(policy) for policy in experiment.policies],
        "series": listed,
        "again": query_of_experiment(experiment),
        "repeat": repeat_command(experiment),
        "version": __version__,
    }
    if listed:
        # Skew is also shown in percent of that under kube-scheduler's defaults.
        base = next((series.measures["skew"] for series in listed if series.policy == "default"), None)
        parts = [
            (
                selectors.policy_label(series.policy),
                _add_percentages(series.measures),
                100.0 * series.measures["skew"] / base if base else None,
            )
            for series in sorted(listed, key=lambda series: series.measures["skew"])
        ]
        engines = [(selectors.policy_label(series.policy), series.engines) for series in listed if series.engines]
        context["engines"] = sorted(engines, key=lambda pair: pair[1])
        context |= {
            "policies_table": tables.POLICIES,
            "measures": parts,
            "best": parts[0],
            "skew": charts.skew_chart(listed),
        }
        context |= {"distribution": charts.distribution_chart(listed)}
    return render(request, "playground/experiments/detail.html", context)


@require_safe
@requires(Action.VIEW)
@page_part
def download_report(request: PageRequest, experiment_id: UUID) -> HttpResponseBase:
    """Return the experiment as one file (?format=html, json or csv)."""
    address = request.build_absolute_uri(reverse("experiment", args=[experiment_id]))
    report = experiment_report(selectors.experiment_get(experiment_id), address)
    return report_response(report, request.GET.get("format", "html"))


@require_POST
@requires(Action.EDIT)
def delete_experiment(request: PageRequest, experiment_id: UUID) -> HttpResponse:
    experiment = require_owner(request.user, selectors.experiment_get(experiment_id), "an experiment")
    message = gettext("Experiment deleted.")
    deleted = run_and_notify(
        request, lambda: services.experiment_delete(user=request.user, experiment=experiment), message
    )
    return redirect(f"{reverse('comparisons')}?kind=experiment") if deleted else redirect("experiment", experiment_id)


def _add_percentages(measures: dict[str, float]) -> dict[str, float]:
    """Return the measures with shares in percent, too."""
    return {**measures, **{f"{name}_percent": 100.0 * measures[name] for name in ("high", "short")}}
