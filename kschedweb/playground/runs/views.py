"""The pages of runs: the list, a new one, a run over time, and the decision about a pod."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.core.paginator import Paginator
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from kschedweb.accounts.permissions import owned, requires
from kschedweb.accounts.roles import Action, may_change
from kschedweb.decisions.inquiring.views import kept_decision
from kschedweb.decisions.models import Question
from kschedweb.decisions.shown import cell, decided
from kschedweb.playground.runs import (
    charts,
    deciding,
    deeds,
    descheduling,
    measures,
    podtable,
    samples,
    scaling,
    selectors,
    services,
)
from kschedweb.playground.runs.comparisons import (
    chance,
)
from kschedweb.playground.runs.deeds import DeedList
from kschedweb.playground.runs.entries import NOTHING
from kschedweb.playground.runs.family_charts import ChartedRun, family_charts
from kschedweb.playground.runs.forms import LookForm, RunForm, asked_again
from kschedweb.playground.runs.links import carried
from kschedweb.playground.runs.maps import (
    frames,
    nodes,
)
from kschedweb.playground.runs.maps import (
    shown as maps,
)
from kschedweb.playground.runs.podtable import MoveList, PodList
from kschedweb.playground.runs.reports.report import run_report
from kschedweb.playground.runs.reports.report_file import report_response
from kschedweb.playground.runs.samples import SampleList
from kschedweb.web.errors import ApplicationError, NotFound
from kschedweb.web.exports import FORMATS, export
from kschedweb.web.heavy import heavy
from kschedweb.web.news import announced, numbered_page
from kschedweb.web.nodemap.nodemap import PODS
from kschedweb.web.pages import add_errors, done, part

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from uuid import UUID

    from django.http import HttpRequest, HttpResponse
    from django.http.response import HttpResponseBase

    from kschedweb.accounts.typing import PageRequest
    from kschedweb.decisions.presentation import Presentation
    from kschedweb.engine.studies.play.deciding import Decided
    from kschedweb.engine.studies.play.outcome import Outcome
    from kschedweb.playground.runs.entries import RunPolicy
    from kschedweb.playground.runs.models import Run
    from kschedweb.playground.scenarios.models import ScenarioRevision

ABSENT = "The cluster at that time had no node"
PAGE_SIZE, EVENTS_SHOWN, MOST_NAMES = 50, 50, 1000
SPEEDS = (120, 60, 20, 10, 5)  # seconds for which the player plays a whole run
KEPT_BY_PLAYER = ("show", "by", "group", "focus", "node", "find", "other", "state", "search", "ordering", "speed")


@require_safe
@requires(Action.VIEW)
@announced
def runs(request: PageRequest) -> HttpResponse:
    listed = selectors.run_list(request.user)
    if request.GET.get("alone"):
        listed = listed.filter(comparison=None)
    page = numbered_page(request, listed)
    return render(request, "playground/runs/list.html", {"page": page})


@requires(Action.EDIT)
def new(request: PageRequest) -> HttpResponse:
    revision, kept = asked_revision(request), asked_like(request)
    initial = {"scenario": str(revision.pk) if revision else "", **asked_again(request.GET.get("policy", ""))}
    others = [label for label in kept if asked_again(label) == {"policy": label}]
    form = RunForm(request.user, request.POST or None, revision=revision, initial=initial, kept=others)
    status = 200
    if request.method == "POST":
        status = 400
        if form.is_valid():
            try:
                asked = form.cleaned_data
                made = services.run_start(
                    user=request.user, revision=form.revision, policy=form.chosen, seed=asked["seed"], kept=kept
                )
                return redirect("run", made.pk)
            except ApplicationError as error:
                add_errors(form, error)
                status = error.status
    return render(request, "playground/runs/new.html", {"form": form}, status=status)


def asked_like(request: PageRequest) -> Mapping[str, RunPolicy]:
    """What the run or the comparison of the address (?like=ID) was under, by label."""
    like = request.GET.get("like", "")
    return selectors.kept_with(request.user, like) if like else NOTHING


def asked_revision(request: PageRequest) -> ScenarioRevision | None:
    """The revision of a scenario that the address names (?scenario=ID&revision=N)."""
    scenario = request.GET.get("scenario", "")
    return selectors.revision_asked(request.user, scenario, request.GET.get("revision", "")) if scenario else None


@require_safe
@requires(Action.VIEW)
def run(request: PageRequest, run_id: UUID) -> HttpResponseBase:
    """A run at the time in the address, or its progress."""
    found = selectors.run_get(request.user, run_id)
    context: dict[str, Any] = {
        "run": found,
        "job": found.job,
        "ended": selectors.finished(found),
        "may_cancel": found.job is not None and may_change(request.user, found.job),
        "may_delete": found.comparison_id is None and selectors.finished(found) and may_change(request.user, found),
    }
    if found.ended_at is None:
        context["may_again"] = context["ended"] and request.user.may(Action.EDIT)
        return render(request, "playground/runs/run.html", context)
    outcome = selectors.outcome(found)
    look = LookForm(request.GET, nodes.shows(outcome), outcome.end)
    pods = _pods(request, outcome, look.time)
    if (form := request.GET.get("format")) in FORMATS:
        return _export(form, request.GET.get("of", "pods"), found, outcome, pods)
    if request.htmx and request.htmx.target == "pods":
        part = {"at": look.time, "end": outcome.end} | _listed(request, outcome, pods)
        return render(request, "playground/runs/pods.html", context | part)
    context |= _timeline(request, found, outcome, look) | _listed(request, outcome, pods)
    kept = measures.kept(found)
    families = family_charts([ChartedRun(found.label, outcome, {one.name: one for one in kept})], look.key)
    context |= {
        "sentence": measures.sentence(found, outcome),
        "measured": [
            (of, [one for one in families if one.family.group == of.group.name]) for of in measures.by_group(kept)
        ],
        "families": families,
        "drawn": chance.drawn(found.revision.document),
    }
    return render(request, "playground/runs/run.html", context)


def _pods(request: HttpRequest, outcome: Outcome, time: float) -> PodList:
    asked = {name: request.GET.get(name, "").strip() for name in ("state", "search", "node")}
    return PodList(outcome, time, **asked, ordering=request.GET.get("ordering", ""))


def _timeline(request: HttpRequest, found: Run, outcome: Outcome, look: LookForm) -> dict[str, Any]:
    """The time of the player, and the charts that follow it."""
    shown: dict[str, Any] = player([outcome], look, request)
    if outcome.nodes:
        show = nodes.shows(outcome)[look.key]
        amount = show if show.unit else PODS  # states are not amounts
        at = frames.times(outcome.end, len(outcome.nodes))
        over = frames.Frames(at, outcome.nodes, nodes.values(outcome, amount.key, at))
        shown["heatmap"] = charts.heatmap(over, frames.rows(over), amount, outcome.end)
        shown["map"] = maps.node_map(request, [maps.MappedRun(found, outcome)], look.key, look.time)
    return shown


def player(outcomes: Sequence[Outcome], look: LookForm, request: HttpRequest) -> dict[str, Any]:
    """The context of runs/player.html."""
    steps = nodes.steps(outcomes)
    before, after = nodes.around(steps, look.time, look.end)
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


def _listed(request: HttpRequest, outcome: Outcome, pods: PodList) -> dict[str, Any]:
    forced = MoveList(outcome, forced=True)
    by_state = pods.counts()
    return {
        "page": Paginator(pods, PAGE_SIZE).get_page(request.GET.get("page")),
        "states": [(name, podtable.STATES[name], number) for name, number in by_state.items()],
        "all_pods": len(outcome.pods),
        "forced": forced[:EVENTS_SHOWN],
        "forced_count": len(forced),
        "scalings": scaling.ScalingList(outcome)[:EVENTS_SHOWN],
        "scalings_count": len(outcome.scalings.time),
        "scaled": outcome.scaled,
        "autoscaled": outcome.prices.size > 0,
        "deeds": DeedList(outcome)[:EVENTS_SHOWN],
        "deeds_count": len(outcome.deeds),
        "deeds_said": deeds.sentence(outcome),
        **(_descheduled(outcome) if outcome.rounds else {}),
        **carried(request, "at", "show", "by", "group", "focus", "find", "speed"),
    }


def _descheduled(outcome: Outcome) -> dict[str, Any]:
    return {
        "rounds_count": len(outcome.rounds),
        "fights": descheduling.fight_list(outcome),
        "evictions": descheduling.EvictionList(outcome)[:EVENTS_SHOWN],
        "evictions_count": len(outcome.evictions),
        "refused": sum(refused for _, _, refused, _ in outcome.rounds),
        "said": outcome.rounds[-1][-1],
    }


def _export(form: str, of: str, found: Run, outcome: Outcome, pods: PodList) -> HttpResponseBase:
    lists: dict[str, tuple[Sequence[str], Iterable[Any]]] = {
        "moves": (podtable.MOVE_HEAD, MoveList(outcome)),
        "scalings": (scaling.HEAD, scaling.ScalingList(outcome)),
        "deeds": (deeds.HEAD, DeedList(outcome)),
        "evictions": (descheduling.HEAD, descheduling.EvictionList(outcome)),
        "rounds": (descheduling.ROUND_HEAD, descheduling.RoundList(outcome)),
        "pods": (podtable.HEAD, pods),
    }
    if of == "samples":
        rows = (list(row.values()) for row in SampleList(outcome))
        return export(form, f"run-{found.pk}-samples", samples.HEAD, rows)
    if of == "measures":
        return export(form, f"run-{found.pk}-measures", measures.HEAD, measures.rows(found))
    name = of if of in lists else "pods"
    head, listed = lists[name]
    return export(form, f"run-{found.pk}-{name}", head, (row.cells() for row in listed))


@require_safe
@requires(Action.VIEW)
@part
def report(request: PageRequest, run_id: UUID) -> HttpResponseBase:
    """The run as one file (?format=html, json or csv)."""
    found = run_report(
        selectors.run_get(request.user, run_id), request.build_absolute_uri(reverse("run", args=[run_id]))
    )
    return report_response(found, request.GET.get("format", "html"))


@require_POST
@requires(Action.EDIT)
def delete(request: PageRequest, run_id: UUID) -> HttpResponse:
    found = owned(request.user, selectors.run_get(request.user, run_id), "a run", "delete")
    gone = done(request, lambda: services.run_delete(user=request.user, run=found), "Run deleted.")
    return redirect("runs") if gone else redirect("run", run_id)


@heavy
@require_safe
@requires(Action.VIEW)
def decision(request: PageRequest, run_id: UUID, namespace: str, pod: str) -> HttpResponse:
    """The decision about the pod at its last try (or at ?attempt=), computed again from the run."""
    found = selectors.run_get(request.user, run_id)
    outcome = selectors.outcome(found)
    key = f"{namespace}/{pod}"
    if key not in outcome.index:
        raise NotFound(f"The run has no pod {key[:300]}.")
    row = PodList(outcome, outcome.end).of(key)
    context: dict[str, Any] = {"run": found, "row": row, "pod_name": pod, "namespace_name": namespace}
    only_cell = bool(getattr(request, "htmx", False)) and request.htmx.target == "cell"

    def made(shown: Presentation, tried: Decided) -> dict[str, Any]:
        found = cell(request, shown) if only_cell else decided(request, shown, ABSENT)
        return found | {"tried": deciding.placed(tried), "classic": shown.algorithm}

    def read(question: Question, content: dict[str, Any]) -> dict[str, Any]:
        return kept_decision(request, question, content, ABSENT) | {
            name: content[name] for name in ("tried", "classic")
        }

    try:
        answer = deciding.decision_sought(request.user, found, key, _attempt(request, row.attempts), made, read)
    except ApplicationError as error:
        return render(request, "playground/runs/decision.html", {**context, "error": error})
    if isinstance(answer, Question):
        return redirect("decision-answer", answer.pk)
    if only_cell:
        return render(request, "decisions/arithmetic.html", answer)
    tried, explanation = answer["tried"], answer["explanation"]
    context |= {
        "other_choice": tried["node"] and tried["node"] != explanation.node,
        "names": explanation.nodes[:MOST_NAMES],
        **carried(request, "stage", "verdict", "sort", "columns", "page", "attempt", name="base_query"),
        **answer,
    }
    return render(request, "playground/runs/decision.html", context)


def _attempt(request: HttpRequest, attempts: int) -> int:
    """The try in the address, from 1; by default the last."""
    asked = request.GET.get("attempt", "")
    return int(asked) if asked.isascii() and asked.isdigit() and 1 <= int(asked[:9]) <= attempts else attempts
