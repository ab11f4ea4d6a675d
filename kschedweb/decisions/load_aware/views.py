"""The page that puts all load-aware policies side by side on the same nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlencode

from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import get_language
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from kschedweb.accounts.permissions import requires
from kschedweb.accounts.roles import Action
from kschedweb.decisions import selectors
from kschedweb.decisions.forms import ConditionsForm
from kschedweb.decisions.load_aware import figures as load_figures
from kschedweb.decisions.load_aware.answers import contest_sought
from kschedweb.decisions.load_aware.curves import AGES, EVERYTHING, Conditions, ScoreCurve, compute_curve
from kschedweb.decisions.load_aware.node_marks import use_of_contest, use_of_snapshot, usual_average
from kschedweb.decisions.load_aware.sides import ScoringSide, all_sides
from kschedweb.decisions.models import Question
from kschedweb.decisions.snapshots import at_hand, engine_snapshot
from kschedweb.policies.dialects import WITH_PROFILES
from kschedweb.policies.scope import scope_of
from kschedweb.policies.selectors import load_configuration, profiles_only
from kschedweb.web.errors import NotFound
from kschedweb.web.heavy import heavy

if TYPE_CHECKING:
    from django.http import HttpRequest

    from kschedweb.accounts.typing import PageRequest
    from kschedweb.clusters.models import Snapshot
    from kschedweb.decisions.load_aware.contest import Contest
    from kschedweb.decisions.load_aware.node_marks import NodeUse
    from kschedweb.policies.models import Revision
from kschedweb.web.durations import format_duration
from kschedweb.web.pages import page_part

PAGE_SIZE = 50
SUGGESTIONS = 20
CONDITIONS = tuple(ConditionsForm.base_fields)


@heavy
@require_safe
@requires(Action.VIEW)
@vary_on_headers("HX-Request")
def show_load_aware(request: PageRequest) -> HttpResponse:
    """Show score curves of every policy, its scores of the cluster's nodes, and its behaviour without figures.

    htmx requests the same address for the curves alone, or for the arithmetic of one cell.
    """
    revision = _get_revision(request)
    sides = _list_sides(revision)
    part = request.htmx.target if getattr(request, "htmx", False) else ""  # type: ignore[attr-defined]
    base_context = {"revision": revision, **_links_context(request)}
    if part == "curves":
        curves_context = _curves_context(request, sides, _find_use(request, revision))
        return render(request, "decisions/curves.html", {**base_context, **curves_context})
    contest, problem = _find_contest(request, revision)
    if isinstance(contest, Question):
        return redirect("decision-answer", contest.pk)
    if part == "cell":
        return render(request, "decisions/arithmetic.html", _cell_context(request, contest))
    context = {
        **base_context,
        **_curves_context(request, sides, _find_use(request, revision, contest)),
        "contest": contest,
        "pod_problem": problem,
        "choices": selectors.revisions_to_compare(WITH_PROFILES),
        "fifty": load_figures.build_fifty_chart(get_language() or ""),
        **_cell_context(request, contest),
        **_table_context(request, contest),
    }
    return render(request, "decisions/policies.html", context)


@require_safe
@requires(Action.VIEW)
@page_part
def pod_names(request: HttpRequest) -> HttpResponse:
    """List names of pods that contain ?pod=, pending ones first, for the box that chooses one."""
    snapshot = scope_of(request).snapshot
    part = request.GET.get("pod", "").strip().lower()
    names = selectors.pod_names(snapshot, part)[:SUGGESTIONS] if snapshot else []
    return render(request, "decisions/node_names.html", {"names": names})


def _get_revision(request: HttpRequest) -> Revision:
    return profiles_only(scope_of(request).revision_asked())


def _list_sides(revision: Revision) -> list[ScoringSide]:
    return all_sides(load_configuration(revision))


def _find_use(request: PageRequest, revision: Revision, contest: Contest | None = None) -> NodeUse | None:
    """Return where the nodes of the cluster are on the X axis now; None without a cluster or its figures."""
    snapshot, moving = scope_of(request).snapshot, request.GET.get("moving", EVERYTHING)
    if snapshot is None:
        return None
    if at_hand(snapshot):
        return use_of_snapshot(engine_snapshot(snapshot), moving)
    answer = contest or _find_contest(request, revision)[0]
    return None if answer is None or isinstance(answer, Question) else use_of_contest(answer, moving)


def _curves_context(request: HttpRequest, sides: list[ScoringSide], use: NodeUse | None) -> dict[str, object]:
    """Return the curves under the conditions in the address, or under the usual ones if those are invalid."""
    values = {name: request.GET[name] for name in CONDITIONS if request.GET.get(name)}
    usual = Conditions(average=usual_average(use, Conditions.lowest))
    initial = {name: getattr(usual, name) for name in CONDITIONS}
    lowest = values.get("lowest", "")
    if lowest.isascii() and lowest.isdecimal() and len(lowest) < 3:
        initial["average"] = usual_average(use, int(lowest))
    form = ConditionsForm({**initial, **values})
    conditions = form.conditions if form.is_valid() else usual
    drawn = [compute_curve(side, conditions) for side in sides]
    labelled = [(item.side.label, item) for item in drawn]
    other = selectors.profiles_named(request.GET["against"], "against") if request.GET.get("against") else None
    changed = _changed_curves(sides, other, conditions)
    return {
        "form": form,
        "conditions": conditions,
        "charts": load_figures.build_small_charts(drawn, use, other=changed),
        "table": load_figures.build_table(labelled, use, other=changed),
        "use": use,
        "drawn": drawn,
        "ages": [format_duration(age) for age in AGES],
        "against": other,
    }


def _changed_curves(
    sides: list[ScoringSide], other: Revision | None, conditions: Conditions
) -> list[tuple[str, ScoreCurve]]:
    """Return the curves of the policies whose arguments differ in ``other``."""
    if other is None:
        return []
    mine = {side.key: side.args for side in sides}
    name = f"{other.policy.name}@{other.number}"
    return [
        (f"{side.label} ({name})", compute_curve(side, conditions))
        for side in _list_sides(other)
        if side.args != mine.get(side.key)
    ]


def _find_contest(request: PageRequest, revision: Revision) -> tuple[Contest | Question | None, str]:
    """Return every side on the cluster's nodes, for the pod in the address, else the first pending one."""
    snapshot = scope_of(request).snapshot_asked()
    pod_name = request.GET.get("pod_name", "").strip()
    key = pod_name or (selectors.pod_to_begin_with(snapshot) if snapshot else "")
    if snapshot is None or not key:
        return None, ""
    try:
        return contest_sought(request.user, snapshot, revision, key), ""
    except NotFound as error:
        return None, error.detail


def _table_context(request: HttpRequest, contest: Contest | None) -> dict[str, object]:
    snapshot: Snapshot | None = scope_of(request).snapshot
    if contest is None or snapshot is None:
        return {"pod_name": request.GET.get("pod_name", "").strip()}
    sort = request.GET.get("sort", "")
    order = contest.order_nodes(sort)
    page = Paginator(order, PAGE_SIZE).get_page(request.GET.get("page"))
    return {
        "pod_name": contest.pod,
        "page": page,
        "lines": contest.node_rows(list(page.object_list)),
        "sort": sort,
        "in_force": contest.in_force,
        "snapshot": snapshot,
    }


def _cell_context(request: HttpRequest, contest: Contest | None) -> dict[str, object]:
    """Return the arithmetic of the cell that the address names."""
    name, key = request.GET.get("node", "").strip(), request.GET.get("cell", "")
    arithmetic = contest.find_arithmetic(name, key) if contest else None
    return {} if arithmetic is None else {"arithmetic": arithmetic}


def _links_context(request: HttpRequest) -> dict[str, object]:
    """Return the parameters of the address that the page's links and forms keep."""
    parameters = {name: value for name, value in request.GET.items() if value}
    cells = {name: value for name, value in parameters.items() if name not in ("node", "cell")}
    return {
        "base_query": f"{urlencode(cells)}&" if cells else "",
        "curve_fields": {name: value for name, value in parameters.items() if name not in (*CONDITIONS, "against")},
        "pod_fields": {
            name: value for name, value in cells.items() if name not in ("pod_name", "page", "cluster", "sort")
        },
    }
