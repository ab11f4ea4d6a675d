"""Pages of sweeps."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext
from django.views.decorators.http import require_POST, require_safe

from kschedweb.accounts.permissions import require_owner, requires
from kschedweb.accounts.roles import Action, may_change
from kschedweb.decisions.selectors import revision_named
from kschedweb.engine.studies.search.space import MOST_DIMENSIONS
from kschedweb.playground.runs.views import asked_revision
from kschedweb.playground.sweeps import charts, offers, results, selectors, services
from kschedweb.playground.sweeps.forms import (
    WEIGHTS,
    BaseForm,
    DimensionRow,
    SweepForm,
    dimension_rows,
    goal_choices,
    objective_choices,
    quota_rows,
    show_problems,
)
from kschedweb.playground.sweeps.results import Results, TrialRow
from kschedweb.policies.selectors import load_revision
from kschedweb.web.durations import format_duration
from kschedweb.web.errors import ApplicationError, NotFound, Unprocessable
from kschedweb.web.exports import FORMATS, export_rows
from kschedweb.web.heavy import heavy
from kschedweb.web.news import numbered_page, with_news
from kschedweb.web.pages import run_and_notify

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from uuid import UUID

    from django.http import HttpResponse
    from django.http.response import HttpResponseBase

    from kschedweb.accounts.typing import PageRequest
    from kschedweb.engine.config import Configuration
    from kschedweb.playground.scenarios.models import ScenarioRevision
    from kschedweb.playground.sweeps.models import Sweep

PAGE_SIZE, TRIALS_SHOWN = 50, 15
# Parts of the form that are not fields of Django; their problems are shown beside them.
SECTIONS = ("space", "objectives")


@require_safe
@requires(Action.VIEW)
@with_news
def list_sweeps(request: PageRequest) -> HttpResponse:
    """Show the list of sweeps."""
    page = numbered_page(request, selectors.sweep_list(request.user))
    return render(request, "playground/sweeps/list.html", {"page": page})


@heavy
@requires(Action.EDIT)
def new_sweep(request: PageRequest) -> HttpResponse:
    """Show the form of a new sweep: first scenario and policy (?scenario=&policy=), then dimensions and objectives."""
    posted = request.POST if request.method == "POST" else None
    revision = _address_revision(request) if posted is None else None
    policy = request.GET.get("policy", "") if posted is None else request.POST.get("policy", "")
    initial = {"scenario": str(revision.pk) if revision else "", "policy": policy}
    if policy and "@" not in policy:
        # The form pins the newest revision, so that a policy saved meanwhile does not change its fields.
        newest = _load_configuration(policy)
        initial["policy"] = newest[0] if newest else policy
    form = SweepForm(request.user, posted, revision=revision, initial=initial)
    status = 200
    base = _load_configuration(initial["policy"]) if policy else None
    weighed = offers.weight_offers(base[1]) if base else []
    offered = [*weighed, *(offers.argument_offers(base[1]) if base else [])]
    listed = dimension_rows(offered, posted, weights=len(weighed))
    chosen_revision = _form_revision(form, revision)
    settings = selectors.list_settings(chosen_revision) if base else {}
    quotas = quota_rows(offers.quota_offers(settings), posted)
    objectives = selectors.objective_choices(chosen_revision, settings)
    chosen = objective_choices(objectives, posted)
    sections: dict[str, list[str]] = {}
    if posted is not None:
        status = 400
        if form.is_valid():
            try:
                return redirect("sweep", _start_sweep(request, form, [*listed, *quotas], chosen).pk)
            except ApplicationError as error:
                sections = _show_errors(form, [*listed, *quotas], error)
                status = error.status
    count = len(weighed)
    context = {
        "form": form,
        "base": base[0] if base else "",
        "chooser": BaseForm(request.user, None, revision=revision, initial=initial),
        "weights": listed[:count],
        "arguments": listed[count:-2],
        # The blank rows stand last; see BLANK_ROWS.
        "other_rows": listed[-2:],
        "quotas": quotas,
        "open": any(row.used or row.errors for row in listed[count:]),
        "choices": chosen,
        "goals": goal_choices(objectives, posted),
        "varies_weights": posted is not None and f"vary-{WEIGHTS}" in posted,
        "by_hand": posted is not None and any(row.errors or f"{row.name}-use" in posted for row in [*listed, *quotas]),
        "how_open": bool(form.is_bound and set(form.errors) & {"method", "trials", "seeds", "seed", "title"}),
        "sections": sections,
    }
    return render(request, "playground/sweeps/new.html", context, status=status)


def _address_revision(request: PageRequest) -> ScenarioRevision | None:
    """Return the scenario that the address names: by its id, or by a revision's id from the first form."""
    scenario = request.GET.get("scenario", "")
    if scenario.isascii() and scenario.isdecimal():
        return BaseForm(request.user).revisions.get(scenario)
    return asked_revision(request)


def _show_errors(form: SweepForm, listed: Sequence[DimensionRow], error: ApplicationError) -> dict[str, list[str]]:
    """Show problems at their dimension or field and return those of the sections ``space`` and ``objectives``."""
    remaining, sections = show_problems(listed, error.errors), dict[str, list[str]]()
    for item in remaining:
        section = item["path"].partition("[")[0]
        if section == "space" and not any(row.used for row in listed):
            sections["space"] = [
                gettext("Tick what varies: from 1 to %(most)s weights, arguments, quotas or other fields.")
                % {"most": MOST_DIMENSIONS}
            ]
        elif section in SECTIONS:
            sections.setdefault(section, []).append(item["message"])
        else:
            form.add_error(item["path"] if item["path"] in form.fields else None, item["message"])
    if sections or any(row.errors for row in listed):
        form.add_error(None, gettext("Nothing was started: see the fields marked below."))
    if not form.errors:
        form.add_error(None, error.detail)
    return sections


def _load_configuration(policy: str) -> tuple[str, Configuration] | None:
    """Return the name of a policy's revision and its configuration; ``None`` if there is no such policy."""
    try:
        revision = revision_named(policy)
    except (Http404, NotFound, Unprocessable):
        return None
    return f"{revision.policy.name}@{revision.number}", load_revision(revision)


def _form_revision(form: SweepForm, revision: Any) -> Any:
    """Return the revision that the form is about, from the address or from the posted field."""
    if revision is not None:
        return revision
    return form.revisions.get(str(form.data.get("scenario", ""))) if form.is_bound else None


def _start_sweep(request: PageRequest, form: SweepForm, listed: Any, chosen: Any) -> Sweep:
    """Start the sweep of a valid form."""
    values = form.cleaned_data
    return services.sweep_start(
        user=request.user,
        revision=form.revision,
        policy=values["policy"],
        space=[row.to_dimension() for row in listed if row.used],
        objectives=[
            {"measure": choice.objective.name, "direction": choice.direction} for choice in chosen if choice.chosen
        ],
        method=values["method"],
        # Zero stands for an empty field; services reports what is wrong with it.
        trials=values["trials"] or 0,
        seeds=values["seeds"],
        seed=values["seed"] or 0,
        title=values["title"],
    )


@require_safe
@requires(Action.VIEW)
def show_sweep(request: PageRequest, sweep_id: UUID) -> HttpResponseBase:
    """Show the results of a sweep, and its progress while it runs."""
    sweep = selectors.sweep_get(request.user, sweep_id)
    ended = selectors.is_finished(sweep)
    context: dict[str, object] = {
        "sweep": sweep,
        "ended": ended,
        "may_change": may_change(request.user, sweep),
        "time_left": _estimate_left(sweep),
    }
    # The page polls its progress, which is the only part that changes.
    if request.htmx and request.htmx.target == "progress":
        answer = render(request, "playground/sweeps/progress.html", context)
        if ended:
            # Loads the page again, because it has charts now.
            answer["HX-Refresh"] = "true"
        return answer
    sweep_results = Results(sweep, list(selectors.trial_list(sweep)))
    if (form := request.GET.get("format")) in FORMATS:
        return export_rows(
            form, f"sweep-{sweep.pk}", results.export_head(sweep_results), results.export_rows(sweep_results)
        )
    context |= _charts_context(sweep_results, request.GET.get("axes", ""))
    page = Paginator(sweep_results.list_rows(request.GET.get("ordering", "")), TRIALS_SHOWN).get_page(
        request.GET.get("page")
    )
    context |= {
        "results": sweep_results,
        "page": page,
        "entries": [_trial_entry(sweep_results, row) for row in page.object_list],
        "save_trial": _trial_to_save(request, sweep_results),
        "failed": [trial for trial in sweep_results.trials if trial.state == "failed"],
        "workers": sorted({trial.worker.partition(" ")[0] for trial in sweep_results.trials if trial.ended_at} - {""}),
        "save_as": sweep.policy.policy.name if sweep.policy else "",
        "save_name": f"{sweep.label.partition('@')[0][:50]}-tuned",
    }
    return render(request, "playground/sweeps/sweep.html", context)


def _trial_entry(sweep_results: Results, row: TrialRow) -> dict[str, object]:
    """Return a trial as a row of the table."""
    values = list(zip(sweep_results.format_values(row), sweep_results.against_base(row), strict=True))
    return {"row": row, "values": values, "settings": sweep_results.list_settings(row)}


def _trial_to_save(request: PageRequest, sweep_results: Results) -> int:
    """Return the number of the trial to save: that of ?trial=, or else the best one."""
    number = request.GET.get("trial", "")
    # isdecimal alone accepts digits of other scripts; five digits are enough for MOST_TRIALS.
    if number.isascii() and number.isdecimal() and len(number) < 6:
        return int(number)
    return sweep_results.best.number if sweep_results.best else 0


def _charts_context(sweep_results: Results, axes: str) -> dict[str, object]:
    """Return the charts of the page; nothing before the first trial is done."""
    if not sweep_results.rows:
        return {}
    count = len(sweep_results.measures)
    pairs = [(f"{first}-{second}", first, second) for first, second in combinations(range(count), 2)]
    name, first, second = next((pair for pair in pairs if pair[0] == axes), pairs[0] if pairs else ("", 0, 0))
    labels = [measure.label for measure in sweep_results.measures]
    titles = [(key, f"{labels[a]} and {labels[b][:1].lower()}{labels[b][1:]}") for key, a, b in pairs]
    return {
        "pareto": charts.pareto_chart(sweep_results, first, second) if pairs else charts.history_chart(sweep_results),
        "axes": name,
        "pairs": titles if len(pairs) > 1 else [],
        "sensitivity": charts.sensitivity_chart(sweep_results),
        "curves": [(curve, charts.curve_charts(sweep_results, curve)) for curve in sweep_results.curves],
    }


def _estimate_left(sweep: Sweep) -> str:
    """Return the estimated time left; "" if it is unknown."""
    job = sweep.job
    if job is None or job.state != "running" or job.started_at is None:
        return ""
    # Only trials since the job's last start count, so that a pause does not stretch the estimate.
    finished = sweep.trials.filter(ended_at__gte=job.started_at).count()
    open_count = sweep.planned - sweep.done - sweep.failed  # type: ignore[attr-defined]
    # Fewer trials say too little about their mean duration.
    if finished < 3 or open_count <= 0:
        return ""
    return format_duration((timezone.now() - job.started_at).total_seconds() / finished * open_count)


def _apply_change(request: PageRequest, sweep_id: UUID, change: Callable[..., object], message: str) -> bool:
    """Call ``change`` and show a message with the result; return whether it succeeded."""
    sweep = require_owner(request.user, selectors.sweep_get(request.user, sweep_id), "a sweep")
    return run_and_notify(request, lambda: change(user=request.user, sweep=sweep), message)


@require_POST
@requires(Action.EDIT)
def cancel_sweep(request: PageRequest, sweep_id: UUID) -> HttpResponse:
    _apply_change(request, sweep_id, services.sweep_cancel, "Sweep cancelled. Finished trials are kept.")
    return redirect("sweep", sweep_id)


@require_POST
@requires(Action.EDIT)
def resume_sweep(request: PageRequest, sweep_id: UUID) -> HttpResponse:
    _apply_change(request, sweep_id, services.sweep_resume, "Sweep resumed.")
    return redirect("sweep", sweep_id)


@require_POST
@requires(Action.EDIT)
def delete_sweep(request: PageRequest, sweep_id: UUID) -> HttpResponse:
    deleted = _apply_change(request, sweep_id, services.sweep_delete, "Sweep and trials deleted.")
    return redirect("sweeps") if deleted else redirect("sweep", sweep_id)


@require_POST
@requires(Action.EDIT)
def save_policy(request: PageRequest, sweep_id: UUID) -> HttpResponse:
    """Save a trial as a policy."""
    sweep = selectors.sweep_get(request.user, sweep_id)
    number = request.POST.get("trial", "")
    if not (number.isascii() and number.isdecimal() and len(number) < 6):
        messages.error(request, gettext("Choose a trial by its number."))
        return redirect("sweep", sweep_id)
    address = request.build_absolute_uri(reverse("sweep", args=[sweep.pk]))
    try:
        revision = services.sweep_policy_save(
            user=request.user,
            sweep=sweep,
            number=int(number),
            name=request.POST.get("name", "").strip(),
            # The comment of a revision must have room for the summary before the address.
            address=address if len(address) < 200 else "",
        )
    except ApplicationError as error:
        problems = "; ".join(item["message"] for item in error.errors)
        messages.error(request, f"{error.detail} {problems}" if problems and problems != error.detail else error.detail)
        return redirect("sweep", sweep_id)
    messages.success(
        request,
        gettext("Trial %(trial)s saved as revision %(revision)s of %(policy)s.")
        % {"trial": number, "revision": revision.number, "policy": revision.policy.name},
    )
    return redirect("policy", revision.policy.name)
