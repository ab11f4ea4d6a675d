"""The pages of comparisons: the list, a new one, and one comparison."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext, ngettext
from django.views.decorators.http import require_POST, require_safe

from kschedweb.accounts.permissions import owned, requires
from kschedweb.accounts.roles import Action, may_change
from kschedweb.playground.runs import measures, selectors, services
from kschedweb.playground.runs.comparisons import autoscaled, chance, comparing, listing, moved
from kschedweb.playground.runs.comparisons import charts as comparison_charts
from kschedweb.playground.runs.descheduling import fight_list
from kschedweb.playground.runs.family_charts import ChartedRun, family_charts
from kschedweb.playground.runs.forms import ComparisonForm, LookForm
from kschedweb.playground.runs.links import carried
from kschedweb.playground.runs.maps import shown as maps
from kschedweb.playground.runs.reports.report import comparison_report
from kschedweb.playground.runs.reports.report_file import report_response
from kschedweb.playground.runs.views import asked_like, asked_revision, player
from kschedweb.playground.scenarios.services import scenario_share
from kschedweb.web.errors import ApplicationError
from kschedweb.web.exports import FORMATS, export
from kschedweb.web.pages import add_errors, done, part

if TYPE_CHECKING:
    from uuid import UUID

    from django.http import HttpRequest, HttpResponse
    from django.http.response import HttpResponseBase

    from kschedweb.accounts.typing import PageRequest
    from kschedweb.engine.studies.moves.fight import Fight
    from kschedweb.playground.runs.comparisons.comparing import ComparedPolicy
    from kschedweb.playground.runs.models import Comparison, Run

PAGE_SIZE, MOVED_SIZE = 50, 25


@require_safe
@requires(Action.VIEW)
def comparisons(request: PageRequest) -> HttpResponse:
    """What was compared, on scenarios and on recorded use."""
    kind = request.GET.get("kind", "")
    page = Paginator(listing.keys(request.user, kind), PAGE_SIZE).get_page(request.GET.get("page"))
    context = {"page": page, "rows": listing.compared(request.user, page), "kinds": listing.Kind.choices, "kind": kind}
    return render(request, "playground/runs/comparisons.html", context)


@requires(Action.EDIT)
def new(request: PageRequest) -> HttpResponse:
    """The form of a new comparison, which reads as a sentence; a POST starts it."""
    revision, kept = asked_revision(request), asked_like(request)
    initial: dict[str, Any] = {"scenario": str(revision.pk) if revision else ""}
    form = ComparisonForm(request.user, request.POST or None, revision=revision, initial=initial, kept=kept)
    status = 200
    if request.method == "POST":
        status = 400
        if form.is_valid():
            try:
                made = services.comparison_start(
                    user=request.user,
                    revision=form.revision,
                    policies=form.chosen,
                    seeds=form.cleaned_data["seeds"],
                    kept=kept,
                )
                if len(form.cleaned_data["seeds"]) > 1 and not chance.drawn(form.revision.document):
                    messages.info(request, chance.advice([], 1))
                return redirect("comparison", made.pk)
            except ApplicationError as error:
                add_errors(form, error)
                status = error.status
    context = {"form": form, "like": request.GET.get("like", "")}
    return render(request, "playground/runs/comparison_new.html", context, status=status)


@require_safe
@requires(Action.VIEW)
def comparison(request: PageRequest, comparison_id: UUID) -> HttpResponseBase:
    """A comparison: differences first, then moved pods, then node maps; with the progress of unfinished runs."""
    found = selectors.comparison_get(request.user, comparison_id)
    sides = comparing.sides(found)
    differences = list(selectors.difference_list(found))
    ended = comparing.ready(found) and all(map(selectors.compared, differences))
    context: dict[str, Any] = {
        "comparison": found,
        "sides": sides,
        "engines": comparing.engines(found.runs.all()),
        "ended": ended,
        "own": may_change(request.user, found),
        "seconds_left": comparing.seconds_left(found),
        "may_share": _may_share(request, found),
    }
    if request.htmx and request.htmx.target == "progress":
        answer = render(request, "playground/runs/progress.html", context)
        if ended:
            answer["HX-Refresh"] = "true"  # reload the page: it has charts now
        return answer
    lines = comparing.lines(sides, differences, request.GET.get("measures", ""))
    chosen = _chosen(request, sides)
    position, ordering = chosen.position if chosen else 0, request.GET.get("ordering", "")
    listed = moved.MovedList(differences, position, _asked(request), ordering)
    if (form := request.GET.get("format")) in FORMATS:
        return _export(form, request.GET.get("of", "measures"), found, sides, lines, listed)
    context |= {
        "others": sides[1:],
        "other_labels": ", ".join(side.label for side in sides[1:]),
        "chosen": chosen,
        **_moved(request, listed),
        "lines": lines,
        "measured": comparing.grouped(lines),
        "same": [line for line in lines if not line.differs],
        "scaled": autoscaled.rows(sides),
        "sentence": comparing.sentence(sides, lines, listed.first_count, listed.pods),
        "form": _sentence(request, found, sides),
        "like": str(found.pk),
        "seeds_said": chance.advice(chance.drawn(found.revision.document), sides[0].total if sides else 0),
        "failed": [run for run in found.runs.all() if run.ended_at is None and selectors.finished(run)],
        "fighting": _fighting(sides) if lines else [],
        **(_figures(request, sides, lines, chosen) if lines else {}),
    }
    return render(request, "playground/runs/comparison.html", context)


def _may_share(request: PageRequest, found: Comparison) -> bool:
    scenario = found.revision.scenario
    return not scenario.shared and not scenario.built_in and may_change(request.user, scenario)


def _chosen(request: HttpRequest, sides: list[ComparedPolicy]) -> ComparedPolicy | None:
    """The policy beside the reference: that of ?other=, else the first."""
    asked = request.GET.get("other", "")
    return next((side for side in sides[1:] if str(side.position) == asked), sides[1] if len(sides) > 1 else None)


def _asked(request: HttpRequest) -> dict[str, str]:
    return {name: request.GET.get(name, "").strip() for name in ("plugin", "what", "search")}


def _sentence(request: PageRequest, found: Comparison, sides: list[ComparedPolicy]) -> ComparisonForm:
    """The form filled with the comparison, which can be changed and run again."""
    seeds = sorted({run.seed for run in found.runs.all()})
    initial = {
        "scenario": str(found.revision_id),
        "reference": sides[0].label if sides else "",
        "policies": [side.label for side in sides[1:]],
        "seeds": " ".join(map(str, seeds)),
    }
    kept = [side.label for side in sides]
    return ComparisonForm(request.user, None, revision=found.revision, initial=initial, kept=kept)


def _moved(request: HttpRequest, listed: moved.MovedList) -> dict[str, Any]:
    return {
        "groups": comparing.groups(listed.counts),
        "moved": listed,
        "page": Paginator(listed, MOVED_SIZE).get_page(request.GET.get("page")),
        **carried(request, "at", "show", "other"),
    }


def _figures(
    request: HttpRequest, sides: list[ComparedPolicy], lines: list[comparing.MeasureRow], chosen: ComparedPolicy | None
) -> dict[str, Any]:
    """Each family with its chart of one seed and a strip for each measure; maps, if both runs of a seed are done."""
    listed = [
        ChartedRun(side.label, selectors.outcome(side.first), {one.name: one for one in measures.kept(side.first)})
        for side in sides
        if side.first
    ]
    outcomes = [one.outcome for one in listed]
    look = LookForm(request.GET, maps.common(outcomes), max(outcome.end for outcome in outcomes))
    named = {line.measure.name: (line, comparison_charts.strip(line, sides)) for line in lines}
    shown: dict[str, Any] = {
        "families": [
            (one, [named[measure.name] for measure in one.measures if named[measure.name][0].differs])
            for one in family_charts(listed, look.key)
        ],
    }
    reference = sides[0].first
    seed = reference.seed if reference else 0
    if reference is None or chosen is None or seed not in chosen.runs:
        return shown
    both = [(sides[0], reference), (chosen, chosen.runs[seed])]
    return shown | _maps(request, both)


def _fighting(sides: list[ComparedPolicy]) -> list[tuple[ComparedPolicy, list[Fight]]]:
    """Policies under which the descheduler and the scheduler undo one another, by their first run."""
    outcomes = [(side, selectors.outcome(side.first)) for side in sides if side.first]
    found = ((side, fight_list(outcome)) for side, outcome in outcomes)
    return [(side, fights) for side, fights in found if fights]


def _maps(request: HttpRequest, both: list[tuple[ComparedPolicy, Run]]) -> dict[str, Any]:
    """Two node maps under one player."""
    shown = [maps.MappedRun(run, selectors.outcome(run), side.label) for side, run in both]
    outcomes = [one.outcome for one in shown]
    look = LookForm(request.GET, maps.common(outcomes), max(outcome.end for outcome in outcomes))
    made = maps.node_map(request, shown, look.key, look.time)
    return player(outcomes, look, request) | {"map": made, "map_seed": both[0][1].seed}


def _export(
    form: str,
    of: str,
    found: Comparison,
    sides: list[ComparedPolicy],
    lines: list[comparing.MeasureRow],
    listed: moved.MovedList,
) -> HttpResponseBase:
    if of == "moved":
        return export(form, f"comparison-{found.pk}-moved", moved.HEAD, (row.cells() for row in listed))
    rows = (
        (*line.measure.described, side.label, seed, value, side.runs[seed].engine)
        for line in lines
        for side, named in zip(sides, line.values, strict=True)
        for seed, value in sorted(named.items())
    )
    return export(form, f"comparison-{found.pk}", measures.COMPARED_HEAD, rows)


@require_safe
@requires(Action.VIEW)
@part
def report(request: PageRequest, comparison_id: UUID) -> HttpResponseBase:
    """The comparison as one file (?format=html, json or csv)."""
    found = selectors.comparison_get(request.user, comparison_id)
    address = request.build_absolute_uri(reverse("comparison", args=[comparison_id]))
    return report_response(comparison_report(found, address), request.GET.get("format", "html"))


@require_POST
@requires(Action.EDIT)
def rename(request: PageRequest, comparison_id: UUID) -> HttpResponse:
    found = _mine(request, comparison_id)
    try:
        services.comparison_rename(user=request.user, comparison=found, title=request.POST.get("title", ""))
    except ApplicationError as error:
        messages.error(request, error.detail)
    return redirect("comparison", comparison_id)


@require_POST
@requires(Action.EDIT)
def share(request: PageRequest, comparison_id: UUID) -> HttpResponse:
    """Let everyone who is signed in read the scenario, and so its runs and comparisons."""
    found = selectors.comparison_get(request.user, comparison_id)
    scenario_share(scenario=found.revision.scenario, shared=True, author=request.user)
    messages.success(request, gettext("Everyone who is signed in can open this comparison under this address."))
    return redirect("comparison", comparison_id)


@require_POST
@requires(Action.EDIT)
def cancel(request: PageRequest, comparison_id: UUID) -> HttpResponse:
    count = services.comparison_cancel(user=request.user, comparison=_mine(request, comparison_id))
    cancelled = ngettext("%(count)s run cancelled.", "%(count)s runs cancelled.", count) % {"count": count}
    messages.info(request, cancelled if count else gettext("All runs had already ended."))
    return redirect("comparison", comparison_id)


@require_POST
@requires(Action.EDIT)
def delete(request: PageRequest, comparison_id: UUID) -> HttpResponse:
    found = _mine(request, comparison_id)
    said = gettext("Comparison and runs deleted.")
    gone = done(request, lambda: services.comparison_delete(user=request.user, comparison=found), said)
    return redirect("comparisons") if gone else redirect("comparison", comparison_id)


def _mine(request: PageRequest, comparison_id: UUID) -> Comparison:
    return owned(request.user, selectors.comparison_get(request.user, comparison_id), "a comparison")
