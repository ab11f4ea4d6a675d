"""Pages of runs: the list, a new one, a run over time, and the decision about a pod."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.core.paginator import Paginator
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from kschedweb.accounts.permissions import require_owner, requires
from kschedweb.accounts.roles import Action, may_change
from kschedweb.decisions.inquiring.views import kept_decision
from kschedweb.decisions.models import Question
from kschedweb.decisions.page_context import cell_context, decision_context
from kschedweb.engine.json_types import Json
from kschedweb.playground.reports.report_file import report_response
from kschedweb.playground.runs import (
    autoscaler_rows,
    charts,
    descheduling,
    measures,
    pod_decisions,
    pod_rows,
    queues,
    samples,
    scaling,
    selectors,
    services,
)
from kschedweb.playground.runs.comparisons import (
    significance,
)
from kschedweb.playground.runs.family_charts import ChartedRun, family_charts
from kschedweb.playground.runs.forms import LookForm, RunForm, asked_again
from kschedweb.playground.runs.link_params import carry_params
from kschedweb.playground.runs.maps import (
    context as maps,
)
from kschedweb.playground.runs.maps import (
    frames,
    nodes,
)
from kschedweb.playground.runs.pod_rows import MoveList, PodList
from kschedweb.playground.runs.reports.report import run_report
from kschedweb.playground.runs.run_policies import NOTHING
from kschedweb.playground.runs.samples import SampleList
from kschedweb.web.errors import ApplicationError, NotFound
from kschedweb.web.exports import FORMATS, export_rows, export_table
from kschedweb.web.heavy import heavy
from kschedweb.web.news import numbered_page, with_news
from kschedweb.web.nodemap.nodemap import PODS
from kschedweb.web.pages import add_errors, page_part, run_and_notify

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from uuid import UUID

    from django.http import HttpRequest, HttpResponse
    from django.http.response import HttpResponseBase

    from kschedweb.accounts.typing import PageRequest
    from kschedweb.decisions.presentation import Presentation
    from kschedweb.engine.studies.play.explained_tries import ExplainedTry
    from kschedweb.engine.studies.play.outcome import RunOutcome
    from kschedweb.playground.runs.models import Run
    from kschedweb.playground.runs.run_policies import RunPolicy
    from kschedweb.playground.scenarios.models import ScenarioRevision

ABSENT = "The cluster at that time had no node"
# Names of nodes are choices of a datalist.
PAGE_SIZE, EVENTS_SHOWN, MOST_NAMES = 50, 50, 1000
# What actors did; an actor adds its own.
SECTIONS = (
    queues.SECTION,
    queues.QUOTA_SECTION,
    scaling.SECTION,
    autoscaler_rows.SECTION,
    descheduling.SECTION,
)
SECTION_FILES = {name: file for section in SECTIONS for name, file in section.list_files().items()}
# Seconds in which the player plays a whole run.
SPEEDS = (120, 60, 20, 10, 5)
# Parameters of the address that the player's form keeps.
KEPT_BY_PLAYER = ("show", "by", "group", "focus", "node", "find", "other", "state", "search", "ordering", "speed")


@require_safe
@requires(Action.VIEW)
@with_news
def list_runs(request: PageRequest) -> HttpResponse:
    listed = selectors.run_list(request.user)
    if request.GET.get("alone"):
        listed = listed.filter(comparison=None)
    page = numbered_page(request, listed)
    return render(request, "playground/runs/list.html", {"page": page})


@requires(Action.EDIT)
def new_run(request: PageRequest) -> HttpResponse:
    """Show the form of a new run; a POST starts it."""
    revision, policies_by_label = asked_revision(request), asked_like(request)
    initial = {"scenario": str(revision.pk) if revision else "", **asked_again(request.GET.get("policy", ""))}
    unsaved_labels = [label for label in policies_by_label if asked_again(label) == {"policy": label}]
    form = RunForm(request.user, request.POST or None, revision=revision, initial=initial, extra_labels=unsaved_labels)
    status = 200
    if request.method == "POST":
        status = 400
        if form.is_valid():
            try:
                values = form.cleaned_data
                run = services.run_start(
                    user=request.user,
                    revision=form.revision,
                    policy=form.chosen,
                    seed=values["seed"],
                    policies_by_label=policies_by_label,
                )
                return redirect("run", run.pk)
            except ApplicationError as error:
                add_errors(form, error)
                status = error.status
    return render(request, "playground/runs/new.html", {"form": form}, status=status)


def asked_like(request: PageRequest) -> Mapping[str, RunPolicy]:
    """Return the policies of the run or comparison in the address (?like=ID), by label."""
    like = request.GET.get("like", "")
    return selectors.kept_with(request.user, like) if like else NOTHING


def asked_revision(request: PageRequest) -> ScenarioRevision | None:
    """Return the revision of a scenario that the address names (?scenario=ID&revision=N)."""
    scenario = request.GET.get("scenario", "")
    return selectors.revision_asked(request.user, scenario, request.GET.get("revision", "")) if scenario else None


@require_safe
@requires(Action.VIEW)
def show_run(request: PageRequest, run_id: UUID) -> HttpResponseBase:
    """Show a run at the time in the address, or its progress."""
    run = selectors.run_get(request.user, run_id)
    context: dict[str, object] = {
        "run": run,
        "job": run.job,
        "ended": selectors.is_finished(run),
        "may_cancel": run.job is not None and may_change(request.user, run.job),
        "may_delete": run.comparison_id is None and selectors.is_finished(run) and may_change(request.user, run),
    }
    if run.ended_at is None:
        context["may_again"] = context["ended"] and request.user.may(Action.EDIT)
        return render(request, "playground/runs/run.html", context)
    outcome = selectors.load_outcome(run)
    look = LookForm(request.GET, nodes.list_shows(outcome), outcome.end)
    pods = _pod_list(request, outcome, look.time)
    if (form := request.GET.get("format")) in FORMATS:
        return _export_file(form, request.GET.get("of", "pods"), run, outcome, pods)
    if request.htmx and request.htmx.target == "pods":
        part = {"at": look.time, "end": outcome.end} | _lists_context(request, outcome, pods)
        return render(request, "playground/runs/pods.html", context | part)
    context |= _timeline_context(request, run, outcome, look) | _lists_context(request, outcome, pods)
    run_measures = measures.list_measures(run)
    families = family_charts(
        [ChartedRun(run.label, outcome, {measure.name: measure for measure in run_measures})], look.key
    )
    context |= {
        "sentence": measures.run_sentence(run, outcome),
        "measured": [
            (group, [family for family in families if family.family.group == group.group.name])
            for group in measures.by_group(run_measures)
        ],
        "families": families,
        "drawn": significance.random_inputs(run.revision.document),
    }
    return render(request, "playground/runs/run.html", context)


def _pod_list(request: HttpRequest, outcome: RunOutcome, time: float) -> PodList:
    filters = {name: request.GET.get(name, "").strip() for name in ("state", "search", "node")}
    return PodList(outcome, time, **filters, ordering=request.GET.get("ordering", ""))


def _timeline_context(request: HttpRequest, run: Run, outcome: RunOutcome, look: LookForm) -> dict[str, object]:
    """Return the time of the player, and the charts that follow it."""
    context: dict[str, object] = player_context([outcome], look, request)
    if outcome.nodes:
        show = nodes.list_shows(outcome)[look.key]
        # States are not amounts, so a heatmap of them shows the number of pods.
        amount = show if show.unit else PODS
        at = frames.frame_times(outcome.end, len(outcome.nodes))
        over = frames.Frames(at, outcome.nodes, nodes.map_values(outcome, amount.key, at))
        context["heatmap"] = charts.heatmap_chart(over, frames.heatmap_rows(over), amount, outcome.end)
        context["map"] = maps.node_map(request, [maps.MappedRun(run, outcome)], look.key, look.time)
    return context


def player_context(outcomes: Sequence[RunOutcome], look: LookForm, request: HttpRequest) -> dict[str, object]:
    """Return the context of runs/player.html."""
    steps = nodes.player_steps(outcomes)
    before, after = nodes.neighbour_steps(steps, look.time, look.end)
    speed = request.GET.get("speed", "")
    return {
        "end": look.end,
        "at": look.time,
        "before": before,
        "after": after,
        "steps": steps,
        "speeds": SPEEDS,
        "speed": int(speed) if speed in map(str, SPEEDS) else SPEEDS[2],
        "seek_fields": {name: request.GET[name] for name in KEPT_BY_PLAYER if request.GET.get(name)},
    }


def _lists_context(request: HttpRequest, outcome: RunOutcome, pods: PodList) -> dict[str, object]:
    """Return the context of the lists of a run: pods, departures, scalings, and those of autoscaler and descheduler."""
    forced = MoveList(outcome, forced=True)
    by_state = pods.count_states()
    return {
        "page": Paginator(pods, PAGE_SIZE).get_page(request.GET.get("page")),
        "states": [(name, pod_rows.STATES[name], number) for name, number in by_state.items()],
        "all_pods": len(outcome.pods),
        "pods_table": pod_rows.PODS,
        "forced": forced[:EVENTS_SHOWN],
        "moves_table": pod_rows.MOVES,
        "forced_count": len(forced),
        "sections": [section.show(outcome) for section in SECTIONS if section.is_there(outcome)],
        **carry_params(request, "at", "show", "by", "group", "focus", "find", "speed"),
    }


def _export_file(form: str, table: str, run: Run, outcome: RunOutcome, pods: PodList) -> HttpResponseBase:
    """Return one of the lists of a run as a file."""
    name = f"run-{run.pk}-{table}"
    if table == "samples":
        return export_rows(form, name, samples.HEAD, (list(row.values()) for row in SampleList(outcome)))
    if table == "measures":
        return export_rows(form, name, measures.HEAD, measures.measure_rows(run))
    if table == pod_rows.MOVES.name:
        return export_table(form, name, pod_rows.MOVES, MoveList(outcome))
    if table in SECTION_FILES:
        row_table, rows = SECTION_FILES[table]
        return export_table(form, name, row_table, rows(outcome))
    return export_table(form, f"run-{run.pk}-pods", pod_rows.PODS, pods)


@require_safe
@requires(Action.VIEW)
@page_part
def download_report(request: PageRequest, run_id: UUID) -> HttpResponseBase:
    """Return the run as one file (?format=html, json or csv)."""
    report = run_report(
        selectors.run_get(request.user, run_id), request.build_absolute_uri(reverse("run", args=[run_id]))
    )
    return report_response(report, request.GET.get("format", "html"))


@require_POST
@requires(Action.EDIT)
def delete_run(request: PageRequest, run_id: UUID) -> HttpResponse:
    run = require_owner(request.user, selectors.run_get(request.user, run_id), "a run", "delete")
    deleted = run_and_notify(request, lambda: services.run_delete(user=request.user, run=run), "Run deleted.")
    return redirect("runs") if deleted else redirect("run", run_id)


@heavy
@require_safe
@requires(Action.VIEW)
def show_decision(request: PageRequest, run_id: UUID, namespace: str, pod: str) -> HttpResponse:
    """Show the decision about the pod at its last try (or at ?attempt=), computed again from the run."""
    run = selectors.run_get(request.user, run_id)
    outcome = selectors.load_outcome(run)
    key = f"{namespace}/{pod}"
    if key not in outcome.index:
        raise NotFound(f"The run has no pod {key[:300]}.")
    row = PodList(outcome, outcome.end).find_pod(key)
    context: dict[str, object] = {"run": run, "row": row, "pod_name": pod, "namespace_name": namespace}
    only_cell = bool(getattr(request, "htmx", False)) and request.htmx.target == "cell"

    def build_context(presentation: Presentation, replayed: ExplainedTry) -> dict[str, Any]:
        page_context = (
            cell_context(request, presentation) if only_cell else decision_context(request, presentation, ABSENT)
        )
        return page_context | {"placement": pod_decisions.placement_json(replayed), "classic": presentation.algorithm}

    def read_kept(question: Question, content: Json) -> dict[str, Any]:
        page_context = kept_decision(request, question, content, ABSENT)
        return page_context | {"placement": content["tried"], "classic": content["classic"]}

    try:
        answer = pod_decisions.decision_sought(
            request.user, run, key, _get_attempt(request, row.attempts), build_context, read_kept
        )
    except ApplicationError as error:
        return render(request, "playground/runs/decision.html", {**context, "error": error})
    if isinstance(answer, Question):
        return redirect("decision-answer", answer.pk)
    if only_cell:
        return render(request, "decisions/arithmetic.html", answer)
    placement, explanation = answer["placement"], answer["explanation"]
    context |= {
        # The run looked at a sample of nodes and broke ties at random, so a decision over all nodes may differ.
        "other_choice": placement["node"] and placement["node"] != explanation.node,
        "names": explanation.nodes[:MOST_NAMES],
        **carry_params(request, "stage", "verdict", "sort", "columns", "page", "attempt", name="base_query"),
        **answer,
    }
    return render(request, "playground/runs/decision.html", context)


def _get_attempt(request: HttpRequest, attempts: int) -> int:
    """Return the try in the address, from 1; by default the last."""
    attempt = request.GET.get("attempt", "")
    return int(attempt) if attempt.isascii() and attempt.isdigit() and 1 <= int(attempt[:9]) <= attempts else attempts
