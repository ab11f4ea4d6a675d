"""Pages of comparisons: the list, a new one, and one comparison."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.contrib import messages
from django.core.paginator import Paginator
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext, ngettext
from django.views.decorators.http import require_POST, require_safe

from kschedweb.accounts.permissions import require_owner, requires
from kschedweb.accounts.roles import Action, may_change
from kschedweb.playground.reports.report_file import report_response
from kschedweb.playground.runs import measures, selectors, services
from kschedweb.playground.runs.comparisons import (
    autoscaler_rows,
    listing,
    measure_rows,
    moved_pods,
    real_use,
    significance,
)
from kschedweb.playground.runs.comparisons import charts as comparison_charts
from kschedweb.playground.runs.descheduling import fight_list
from kschedweb.playground.runs.family_charts import ChartedRun, family_charts
from kschedweb.playground.runs.forms import ComparisonForm, LookForm
from kschedweb.playground.runs.link_params import carry_params
from kschedweb.playground.runs.maps import context as maps
from kschedweb.playground.runs.reports.report import comparison_report
from kschedweb.playground.runs.tables import MOVED
from kschedweb.playground.runs.views import asked_like, asked_revision, player_context
from kschedweb.playground.scenarios.services import scenario_share
from kschedweb.web.errors import ApplicationError
from kschedweb.web.exports import FORMATS, export_rows, export_table
from kschedweb.web.pages import add_errors, page_part, run_and_notify

if TYPE_CHECKING:
    from uuid import UUID

    from django.http import HttpRequest, HttpResponse
    from django.http.response import HttpResponseBase

    from kschedweb.accounts.typing import PageRequest
    from kschedweb.engine.studies.moves.repeated_cycles import Fight
    from kschedweb.playground.runs.comparisons.measure_rows import ComparedPolicy
    from kschedweb.playground.runs.models import Comparison, Run

PAGE_SIZE, MOVED_SIZE = 50, 10


@require_safe
@requires(Action.VIEW)
def show_comparisons(request: PageRequest) -> HttpResponse:
    """Show the list of comparisons on scenarios and of experiments on recorded use."""
    kind = request.GET.get("kind", "")
    page = Paginator(listing.list_keys(request.user, kind), PAGE_SIZE).get_page(request.GET.get("page"))
    context = {
        "page": page,
        "rows": listing.load_rows(request.user, page),
        "kind": kind,
    }
    return render(request, "playground/runs/comparisons.html", context)


@requires(Action.EDIT)
def new_comparison(request: PageRequest) -> HttpResponse:
    """Show the form of a new comparison, which reads as a sentence; a POST starts the comparison."""
    revision, policies_by_label = asked_revision(request), asked_like(request)
    initial = {"scenario": str(revision.pk) if revision else ""}
    form = ComparisonForm(
        request.user, request.POST or None, revision=revision, initial=initial, extra_labels=policies_by_label
    )
    status = 200
    if request.method == "POST":
        status = 400
        if form.is_valid():
            try:
                comparison = services.comparison_start(
                    user=request.user,
                    revision=form.revision,
                    policies=form.chosen,
                    seeds=form.cleaned_data["seeds"],
                    policies_by_label=policies_by_label,
                )
                # Runs with several seeds would all be equal, which the person should know.
                if len(form.cleaned_data["seeds"]) > 1 and not significance.random_inputs(form.revision.document):
                    messages.info(request, significance.seed_advice([], 1))
                return redirect("comparison", comparison.pk)
            except ApplicationError as error:
                add_errors(form, error)
                status = error.status
    context = {"form": form, "like": request.GET.get("like", "")}
    return render(request, "playground/runs/comparison_new.html", context, status=status)


@require_safe
@requires(Action.VIEW)
def show_comparison(request: PageRequest, comparison_id: UUID) -> HttpResponseBase:
    """Show a comparison: differences first, then moved pods, then node maps; with the progress of unfinished runs."""
    comparison = selectors.comparison_get(request.user, comparison_id)
    sides = measure_rows.list_sides(comparison)
    differences = list(selectors.difference_list(comparison))
    ended = measure_rows.is_ready(comparison) and all(map(selectors.is_compared, differences))
    context: dict[str, object] = {
        "comparison": comparison,
        "sides": sides,
        "blind": real_use.list_blind(comparison),
        "engines": measure_rows.list_engines(comparison.runs.all()),
        "ended": ended,
        "may_change": may_change(request.user, comparison),
        "seconds_left": measure_rows.seconds_left(comparison),
        "may_share": _may_share(request, comparison),
    }
    if request.htmx and request.htmx.target == "progress":
        answer = render(request, "playground/runs/progress.html", context)
        if ended:
            # Loads the page again, because it has charts now.
            answer["HX-Refresh"] = "true"
        return answer
    lines = measure_rows.compare_measures(sides, differences, request.GET.get("measures", ""))
    chosen = _get_chosen(request, sides)
    position, ordering = chosen.position if chosen else 0, request.GET.get("ordering", "")
    listed = moved_pods.MovedList(differences, position, _get_filters(request), ordering)
    if (form := request.GET.get("format")) in FORMATS:
        return _export_file(form, request.GET.get("of", "measures"), comparison, sides, lines, listed)
    context |= {
        "other_sides": sides[1:],
        "other_labels": ", ".join(side.label for side in sides[1:]),
        "chosen": chosen,
        **_moved_context(request, listed),
        "lines": lines,
        "measured": measure_rows.group_rows(lines),
        "same": [line for line in lines if not line.differs],
        "scaled": autoscaler_rows.scaled_rows(sides),
        "sentence": measure_rows.comparison_sentence(sides, lines, listed.first_count, listed.pods),
        "form": _filled_form(request, comparison, sides),
        "like": str(comparison.pk),
        "seeds_said": significance.seed_advice(
            significance.random_inputs(comparison.revision.document), sides[0].total if sides else 0
        ),
        "failed": [run for run in comparison.runs.all() if run.ended_at is None and selectors.is_finished(run)],
        "fighting": _find_fights(sides) if lines else [],
        **(_figures_context(request, sides, lines, chosen) if lines else {}),
    }
    return render(request, "playground/runs/comparison.html", context)


def _may_share(request: PageRequest, comparison: Comparison) -> bool:
    """Return whether the person may share the scenario, and it is not shared yet."""
    scenario = comparison.revision.scenario
    return not scenario.shared and not scenario.built_in and may_change(request.user, scenario)


def _get_chosen(request: HttpRequest, sides: list[ComparedPolicy]) -> ComparedPolicy | None:
    """Return the policy beside the reference: that of ?other=, or else the first."""
    position = request.GET.get("other", "")
    return next((side for side in sides[1:] if str(side.position) == position), sides[1] if len(sides) > 1 else None)


def _get_filters(request: HttpRequest) -> dict[str, str]:
    return {name: request.GET.get(name, "").strip() for name in ("plugin", "what", "search")}


def _filled_form(request: PageRequest, comparison: Comparison, sides: list[ComparedPolicy]) -> ComparisonForm:
    """Return the form filled with the comparison, which can be changed and run again."""
    seeds = sorted({run.seed for run in comparison.runs.all()})
    initial = {
        "scenario": str(comparison.revision_id),
        "reference": sides[0].label if sides else "",
        "policies": [side.label for side in sides[1:]],
        "seeds": " ".join(map(str, seeds)),
    }
    labels = [side.label for side in sides]
    return ComparisonForm(request.user, None, revision=comparison.revision, initial=initial, extra_labels=labels)


def _moved_context(request: HttpRequest, listed: moved_pods.MovedList) -> dict[str, object]:
    return {
        "groups": measure_rows.moved_by_plugin(listed.counts),
        "moved": listed,
        "page": Paginator(listed, MOVED_SIZE).get_page(request.GET.get("page")),
        **carry_params(request, "at", "show", "other"),
    }


def _figures_context(
    request: HttpRequest,
    sides: list[ComparedPolicy],
    lines: list[measure_rows.MeasureRow],
    chosen: ComparedPolicy | None,
) -> dict[str, object]:
    """Return each family with its chart of one seed and a strip for each measure; maps if both runs of a seed are
    done."""
    listed = [
        ChartedRun(
            side.label,
            selectors.load_outcome(side.first),
            {measure.name: measure for measure in measures.list_measures(side.first)},
        )
        for side in sides
        if side.first
    ]
    outcomes = [run.outcome for run in listed]
    look = LookForm(request.GET, maps.common_shows(outcomes), max(outcome.end for outcome in outcomes))
    strips = {line.measure.name: (line, comparison_charts.strip_chart(line, sides)) for line in lines}
    context: dict[str, object] = {
        "families": [
            (family, [strips[measure.name] for measure in family.measures if strips[measure.name][0].differs])
            for family in family_charts(listed, look.key)
        ],
    }
    reference = sides[0].first
    seed = reference.seed if reference else 0
    if reference is None or chosen is None or seed not in chosen.runs:
        return context
    both = [(sides[0], reference), (chosen, chosen.runs[seed])]
    return context | _maps_context(request, both)


def _find_fights(sides: list[ComparedPolicy]) -> list[tuple[ComparedPolicy, list[Fight]]]:
    """Return the policies under which descheduler and scheduler undo each other's work, by their first run."""
    outcomes = [(side, selectors.load_outcome(side.first)) for side in sides if side.first]
    fights_by_side = ((side, fight_list(outcome)) for side, outcome in outcomes)
    return [(side, fights) for side, fights in fights_by_side if fights]


def _maps_context(request: HttpRequest, both: list[tuple[ComparedPolicy, Run]]) -> dict[str, object]:
    """Return two node maps under one player."""
    mapped_runs = [maps.MappedRun(run, selectors.load_outcome(run), side.label) for side, run in both]
    outcomes = [mapped.outcome for mapped in mapped_runs]
    look = LookForm(request.GET, maps.common_shows(outcomes), max(outcome.end for outcome in outcomes))
    node_map = maps.node_map(request, mapped_runs, look.key, look.time)
    return player_context(outcomes, look, request) | {"map": node_map, "map_seed": both[0][1].seed}


def _export_file(
    form: str,
    table: str,
    comparison: Comparison,
    sides: list[ComparedPolicy],
    lines: list[measure_rows.MeasureRow],
    listed: moved_pods.MovedList,
) -> HttpResponseBase:
    """Return a table as a file: the moved pods, or every measure by policy and seed."""
    if table == "moved":
        return export_table(form, f"comparison-{comparison.pk}-moved", MOVED, listed)
    rows = (
        (*line.measure.described, side.label, seed, value, side.runs[seed].engine)
        for line in lines
        for side, values_by_seed in zip(sides, line.values, strict=True)
        for seed, value in sorted(values_by_seed.items())
    )
    return export_rows(form, f"comparison-{comparison.pk}", measures.COMPARED_HEAD, rows)


@require_safe
@requires(Action.VIEW)
@page_part
def download_report(request: PageRequest, comparison_id: UUID) -> HttpResponseBase:
    """Return the comparison as one file (?format=html, json or csv)."""
    comparison = selectors.comparison_get(request.user, comparison_id)
    address = request.build_absolute_uri(reverse("comparison", args=[comparison_id]))
    return report_response(comparison_report(comparison, address), request.GET.get("format", "html"))


@require_POST
@requires(Action.EDIT)
def rename_comparison(request: PageRequest, comparison_id: UUID) -> HttpResponse:
    comparison = _owned_comparison(request, comparison_id)
    try:
        services.comparison_rename(user=request.user, comparison=comparison, title=request.POST.get("title", ""))
    except ApplicationError as error:
        messages.error(request, error.detail)
    return redirect("comparison", comparison_id)


@require_POST
@requires(Action.EDIT)
def share_comparison(request: PageRequest, comparison_id: UUID) -> HttpResponse:
    """Let everyone who is signed in read the scenario, and so its runs and comparisons."""
    comparison = selectors.comparison_get(request.user, comparison_id)
    scenario_share(scenario=comparison.revision.scenario, shared=True, author=request.user)
    text = gettext("Everyone who is signed in can open this comparison under this address.")
    if request.user.everywhere(Action.ADMINISTER):
        text = format_html('{} <a href="{}">{}</a>', text, reverse("people"), gettext("Add a person"))
    messages.success(request, text)
    return redirect("comparison", comparison_id)


@require_POST
@requires(Action.EDIT)
def cancel_comparison(request: PageRequest, comparison_id: UUID) -> HttpResponse:
    count = services.comparison_cancel(user=request.user, comparison=_owned_comparison(request, comparison_id))
    cancelled = ngettext("%(count)s run cancelled.", "%(count)s runs cancelled.", count) % {"count": count}
    messages.info(request, cancelled if count else gettext("All runs had already ended."))
    return redirect("comparison", comparison_id)


@require_POST
@requires(Action.EDIT)
def delete_comparison(request: PageRequest, comparison_id: UUID) -> HttpResponse:
    comparison = _owned_comparison(request, comparison_id)
    message = gettext("Comparison and runs deleted.")
    deleted = run_and_notify(
        request, lambda: services.comparison_delete(user=request.user, comparison=comparison), message
    )
    return redirect("comparisons") if deleted else redirect("comparison", comparison_id)


def _owned_comparison(request: PageRequest, comparison_id: UUID) -> Comparison:
    return require_owner(request.user, selectors.comparison_get(request.user, comparison_id), "a comparison")
