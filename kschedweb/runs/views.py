"""The pages of runs: the list, a new one, what came of one over its time, and each pod's decision."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import numpy as np
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.http import JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.cache import patch_cache_control
from django.views.decorators.http import require_POST, require_safe

from kschedweb.accounts.permissions import requires
from kschedweb.accounts.roles import Action
from kschedweb.clusters.views import add_errors, rights
from kschedweb.dashboard.exports import FORMATS, export
from kschedweb.errors import ApplicationError, Conflict, NotFound
from kschedweb.jobs.selectors import may_cancel
from kschedweb.playground import arithmetic, figures
from kschedweb.playground.decision import Decision
from kschedweb.playground.matrix import page_size
from kschedweb.runs import charts, frames, measures, podtable, samples, selectors, services
from kschedweb.runs.forms import LookForm, RunForm
from kschedweb.runs.links import carried
from kschedweb.runs.podtable import MoveList, PodList
from kschedweb.runs.samples import SampleList

if TYPE_CHECKING:
    from uuid import UUID

    from django.http import HttpRequest, HttpResponse
    from django.http.response import HttpResponseBase

    from kschedweb.accounts.models import User
    from kschedweb.accounts.typing import PageRequest
    from kschedweb.engine.whatif.outcome import Outcome
    from kschedweb.runs.models import Run
    from kschedweb.scenarios.models import ScenarioRevision

PAGE_SIZE, EVENTS_SHOWN, MOST_NAMES = 50, 50, 1000
KEPT_SECONDS = 86_400  # that a browser may keep the frames of a run: they never change


@require_safe
@requires(Action.VIEW)
def runs(request: PageRequest) -> HttpResponse:
    listed = selectors.run_list(request.user)
    if request.GET.get("alone"):
        listed = listed.filter(comparison=None)
    page = Paginator(listed, PAGE_SIZE).get_page(request.GET.get("page"))
    return render(request, "runs/list.html", {"page": page} | rights(request))


@requires(Action.EDIT)
def new(request: PageRequest) -> HttpResponse:
    revision = asked_revision(request)
    initial = {"scenario": str(revision.pk) if revision else "", "policy": request.GET.get("policy", "")}
    form = RunForm(request.user, request.POST or None, revision=revision, initial=initial)
    status = 200
    if request.method == "POST":
        status = 400
        if form.is_valid():
            try:
                asked = form.cleaned_data
                made = services.run_start(
                    user=request.user, revision=form.revision, policy=asked["policy"], seed=asked["seed"]
                )
                return redirect("run", made.pk)
            except ApplicationError as error:
                add_errors(form, error)
                status = error.status
    return render(request, "runs/new.html", {"form": form}, status=status)


def asked_revision(request: PageRequest) -> ScenarioRevision | None:
    """The revision of a scenario that the address names (?scenario=ID&revision=N)."""
    scenario = request.GET.get("scenario", "")
    return selectors.revision_asked(request.user, scenario, request.GET.get("revision", "")) if scenario else None


@require_safe
@requires(Action.VIEW)
def run(request: PageRequest, run_id: UUID) -> HttpResponseBase:
    """What came of a run, at the time that the address names; while it goes on, how far it is."""
    found = selectors.run_get(request.user, run_id)
    context: dict[str, Any] = {
        "run": found,
        "job": found.job,
        "ended": selectors.finished(found),
        "may_cancel": found.job is not None and may_cancel(request.user, found.job),
        "may_delete": found.comparison_id is None and selectors.finished(found) and _own(request.user, found),
    }
    if found.ended_at is None:
        return render(request, "runs/run.html", context)
    outcome = selectors.outcome(found)
    look = LookForm(request.GET, outcome.resources, outcome.end)
    pods = _pods(request, outcome, look.time)
    if (form := request.GET.get("format")) in FORMATS:
        return _export(form, request.GET.get("of", "pods"), found, outcome, pods)
    context |= _timeline(found, outcome, look) | _listed(request, outcome, pods)
    context |= {"sentence": measures.sentence(found, outcome), "measures": measures.kept(found)}
    return render(request, "runs/run.html", context)


def _own(user: User, found: Run) -> bool:
    return user.role == "admin" or (found.created_by_id == user.pk and user.role == "editor")


def _pods(request: HttpRequest, outcome: Outcome, time: float) -> PodList:
    asked = {name: request.GET.get(name, "").strip() for name in ("state", "search", "node")}
    return PodList(outcome, time, **asked)


def _timeline(found: Run, outcome: Outcome, look: LookForm) -> dict[str, Any]:
    """Where the scrubber stands, and the figures that follow it."""
    time, end = look.time, outcome.end
    shown: dict[str, Any] = {
        "end": end,
        "at": time,
        "before": max(time - end / 100, 0.0),
        "after": min(time + end / 100, end),
        "seek_fields": {"show": look.resource},
        "resource": look.resource,
        "resources": outcome.resources,
        "pending": charts.pending(outcome),
    }
    if outcome.nodes and outcome.resources:
        over = frames.frames(outcome, look.resource)
        now = frames.at(outcome, look.resource, time)
        shown["frames"] = f"{reverse('run-frames', args=[found.pk])}?{urlencode({'show': look.resource})}"
        shown["heatmap"] = charts.heatmap(over, frames.rows(over), look.resource, end)
        shown["map"] = charts.node_map(outcome.nodes, found.zones, now, counts(outcome, time), look.resource, time)
    return shown


def counts(outcome: Outcome, time: float) -> np.ndarray:
    """How many pods each node runs at ``time``."""
    placed = outcome.placed(time)
    return np.bincount(placed[placed >= 0], minlength=len(outcome.nodes))


def _listed(request: HttpRequest, outcome: Outcome, pods: PodList) -> dict[str, Any]:
    forced = MoveList(outcome, forced=True)
    by_state = pods.counts()
    return {
        "page": Paginator(pods, PAGE_SIZE).get_page(request.GET.get("page")),
        "states": [(name, podtable.STATES[name], number) for name, number in by_state.items()],
        "all_pods": len(outcome.pods),
        "forced": forced[:EVENTS_SHOWN],
        "forced_count": len(forced),
        **carried(request, "at", "show"),
    }


def _export(form: str, of: str, found: Run, outcome: Outcome, pods: PodList) -> HttpResponseBase:
    if of == "moves":
        return export(form, f"run-{found.pk}-moves", podtable.MOVE_HEAD, (row.cells() for row in MoveList(outcome)))
    if of == "samples":
        return export(
            form, f"run-{found.pk}-samples", samples.HEAD, (list(row.values()) for row in SampleList(outcome))
        )
    if of == "measures":
        return export(form, f"run-{found.pk}-measures", measures.HEAD, measures.rows(found))
    return export(form, f"run-{found.pk}-pods", podtable.HEAD, (row.cells() for row in pods))


@require_safe
@requires(Action.VIEW)
def frames_of(request: PageRequest, run_id: UUID) -> HttpResponse:
    """The frames of a run's node map, for the scrubber."""
    outcome = selectors.outcome(selectors.run_get(request.user, run_id))
    look = LookForm(request.GET, outcome.resources, outcome.end)
    if not outcome.nodes or not outcome.resources:
        raise NotFound("No node was there.")
    answer = JsonResponse(frames.frames(outcome, look.resource).to_dict())
    patch_cache_control(answer, private=True, max_age=KEPT_SECONDS)
    return answer


@require_POST
@requires(Action.EDIT)
def delete(request: PageRequest, run_id: UUID) -> HttpResponse:
    found = selectors.run_get(request.user, run_id)
    if not _own(request.user, found):
        raise PermissionDenied("Only who started a run, or an admin, may delete it.")
    try:
        services.run_delete(user=request.user, run=found)
    except Conflict as error:
        messages.error(request, error.detail)
        return redirect("run", run_id)
    messages.success(request, "The run is deleted.")
    return redirect("runs")


@require_safe
@requires(Action.VIEW)
def decision(request: PageRequest, run_id: UUID, namespace: str, pod: str) -> HttpResponse:
    """Why the pod went where it went at its last try (or at ?attempt=), recomputed by playing the run up to it."""
    found = selectors.run_get(request.user, run_id)
    outcome = selectors.outcome(found)
    key = f"{namespace}/{pod}"
    if key not in outcome.index:
        raise NotFound(f"The run knows no pod {key[:300]}.")
    row = PodList(outcome, outcome.end).of(key)
    context: dict[str, Any] = {"run": found, "row": row, "pod_name": pod, "namespace_name": namespace}
    try:
        case, tried = selectors.decided(found, key, _attempt(request, row.attempts), row.attempts)
    except ApplicationError as error:
        return render(request, "runs/decision.html", {**context, "error": error})
    shown = Decision(case)
    if getattr(request, "htmx", False) and request.htmx.target == "cell":
        return render(request, "playground/arithmetic.html", _cell(request, shown))
    positions = shown.positions(request.GET.get("stage", ""))
    page = Paginator(positions, page_size(len(positions))).get_page(request.GET.get("page"))
    context |= {
        "time": tried.time,
        "placement": tried.placement,
        "other_choice": tried.placement.node and tried.placement.node != _chosen(shown),
        "attempt": tried.attempt,
        "attempts": row.attempts,
        "explanation": shown.explanation,
        "answer": shown.answer(),
        "miss": None if shown.explanation.feasible.size or shown.waiting else shown.nearest_miss(),
        "stages": shown.stages(),
        "stage": request.GET.get("stage", ""),
        "quiet": shown.quiet(),
        "page": page,
        "rows": shown.rows(list(page.object_list)),
        "chart": figures.scores(shown),
        "names": shown.explanation.nodes[:MOST_NAMES],
        **carried(request, "stage", "page", "attempt", name="base_query"),
        **_node(request, shown),
        **_cell(request, shown),
    }
    return render(request, "runs/decision.html", context)


def _chosen(shown: Decision) -> str:
    chosen = shown.explanation.chosen
    return "" if chosen is None else shown.explanation.nodes[chosen]


def _attempt(request: HttpRequest, attempts: int) -> int:
    """The try that is asked for, from 1; the last without one."""
    asked = request.GET.get("attempt", "")
    return int(asked) if asked.isascii() and asked.isdigit() and 1 <= int(asked[:9]) <= attempts else attempts


def _node(request: HttpRequest, shown: Decision) -> dict[str, Any]:
    name = request.GET.get("node", "").strip()
    if not name:
        return {}
    position = shown.case.snapshot.index.get(name)
    if position is None:
        return {"node": name, "node_error": f"The cluster had no node {name} then."}
    return {"node": name, "verdicts": shown.verdicts(position), "node_row": shown.rows([position])[0]}


def _cell(request: HttpRequest, shown: Decision) -> dict[str, Any]:
    name, plugin = request.GET.get("node", "").strip(), request.GET.get("cell", "")
    position = shown.case.snapshot.index.get(name)
    if position is None or not plugin:
        return {}
    return {"arithmetic": arithmetic.explain(shown, position, plugin)}
