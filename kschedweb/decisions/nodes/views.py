"""The page of a node: why it is as full as it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.http import Http404
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_safe

from kschedweb.accounts.permissions import requires
from kschedweb.accounts.roles import Action
from kschedweb.clusters.events.selectors import find_object_events
from kschedweb.decisions import services as decisions
from kschedweb.decisions.models import Question
from kschedweb.decisions.nodes import rows, services, titles
from kschedweb.decisions.nodes.charts import build_day_chart
from kschedweb.policies.scope import scope_of
from kschedweb.web.heavy import heavy
from kschedweb.web.pages import page_part

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse

    from kschedweb.accounts.typing import PageRequest
    from kschedweb.clusters.models import NodeRow, Snapshot
    from kschedweb.policies.models import Revision

# Pending pods of one group that the page names before the others are opened.
MOST_NAMES = 6


@heavy
@require_safe
@requires(Action.VIEW, in_part=True)
def show_node(request: PageRequest, node: str) -> HttpResponse:
    """Show what a node holds, why each pod is there, whether it could leave, and which pending pods are refused."""
    snapshot, revision, row = _read_address(request, node)
    at_once = services.explains_at_once(snapshot, row)
    report = services.find_report(request.user, snapshot, revision, node, places=at_once)
    if isinstance(report, Question):
        return redirect("decision-answer", report.pk)
    lines = rows.build_lines(report)
    if opened := request.GET.get("pod", ""):
        lines = [_explain_line(snapshot, revision, line) if line.key == opened else line for line in lines]
    cluster = snapshot.cluster.name
    context = {
        "snapshot": snapshot,
        "revision": revision,
        "cluster_name": cluster,
        "events": find_object_events(snapshot, "Node", node),
        "manifest_address": reverse("node-manifest", args=[cluster, node], query={"snapshot": snapshot.pk}),
        "row": row,
        "report": report,
        "title": titles.report_title(report),
        "cause": titles.report_cause(report),
        "bars": rows.build_bars(report, lines),
        "lines": lines,
        "opened": opened,
        "refused_count": sum(len(group.pods) for group in report.refused),
        "most_names": MOST_NAMES,
        "chart": None if scope_of(request).pinned else build_day_chart(snapshot.cluster, node),
        "decision_query": decisions.page_address("", snapshot, revision),
    }
    return render(request, "decisions/nodes/node.html", context)


@heavy
@require_safe
@requires(Action.VIEW, in_part=True)
@page_part
def show_place(request: PageRequest, node: str) -> HttpResponse:
    """Show the cells of the pod ?pod=, for a node whose pods were too many to explain at once."""
    snapshot, revision, _ = _read_address(request, node)
    report = services.find_report(request.user, snapshot, revision, node, places=False)
    key = request.GET.get("pod", "")
    lines = [] if isinstance(report, Question) else rows.build_lines(report)
    line = next((line for line in lines if line.key == key), None)
    if line is None:
        raise Http404("There is no such pod on this node.")
    line = _explain_line(snapshot, revision, line)
    return render(request, "decisions/nodes/place.html", {"line": line, "cluster_name": snapshot.cluster.name})


def _explain_line(snapshot: Snapshot, revision: Revision, line: rows.PodLine) -> rows.PodLine:
    return line if line.why else rows.build_line(line.pod, services.find_place(snapshot, revision, line.key))


def _read_address(request: HttpRequest, node: str) -> tuple[Snapshot, Revision, NodeRow]:
    """Return the snapshot, the policy's revision and the node of an address. Raise Http404 or NotFound."""
    scope = scope_of(request)
    scope.snapshot_asked()
    if scope.snapshot is None or scope.revision is None:
        raise Http404("There is no such cluster.")
    return scope.snapshot, scope.revision, services.get_node(scope.snapshot, node)
