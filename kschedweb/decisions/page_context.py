"""The context of the decision page: the funnel, the nodes of a stage page by page, one node, one cell."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.core.paginator import Paginator
from django.urls import reverse
from django.utils.translation import gettext

from kschedweb.clusters.events.selectors import find_object_events
from kschedweb.decisions import figures
from kschedweb.decisions.matrix import order
from kschedweb.decisions.matrix.matrix import page_size
from kschedweb.web.units import format_count

if TYPE_CHECKING:
    from django.http import HttpRequest

    from kschedweb.clusters.models import Snapshot
    from kschedweb.decisions.matrix.matrix import Matrix
    from kschedweb.decisions.page_parts import NearestMiss
    from kschedweb.decisions.presentation import Presentation


def decision_context(
    request: HttpRequest, presentation: Presentation, absent: str, compared: str = ""
) -> dict[str, object]:
    """Return the headline, the columns, and the arithmetic of the cell that the address names."""
    miss = None if presentation.explanation.feasible.size or presentation.is_waiting else presentation.nearest_miss()
    node = device_node(request.GET.get("node", "").strip(), presentation, miss)
    return {
        "answer": presentation.build_headline(),
        "miss": miss,
        "devices": None if node is None else presentation.devices_on_node(node),
        **matrix_context(request, presentation, absent, compared),
        **cell_context(request, presentation),
    }


def device_node(node_name: str, presentation: Presentation, miss: NearestMiss | None) -> int | None:
    """Return the position of the node whose devices are shown: the one asked for, the chosen one, or the nearest miss.

    Returns None if there is none, or if the one asked for does not exist.
    """
    nodes = presentation.explanation.nodes
    if node_name:
        return nodes.index(node_name) if node_name in nodes else None
    if presentation.explanation.chosen is not None:
        return presentation.explanation.chosen
    return None if miss is None else nodes.index(miss.node)


def matrix_context(request: HttpRequest, matrix: Matrix, absent: str, compared: str = "") -> dict[str, object]:
    """Return funnel, chart and matrix, and every verdict on the node of the address.

    ``absent`` begins the sentence about a node that does not exist; ``compared`` names the other policy, if there is
    one. The address names a stage or a group of nodes, the column by which they are sorted, and whether columns in
    which all nodes are equal are shown too.
    """
    stage, sort = request.GET.get("stage", ""), request.GET.get("sort", "")
    group = next((candidate for candidate in matrix.groups if candidate.key == request.GET.get("verdict")), None)
    positions = matrix.list_nodes(stage, group, sort)
    page = Paginator(positions, page_size(len(positions))).get_page(request.GET.get("page"))
    scores = (
        list(range(len(matrix.explanation.scores))) if request.GET.get("columns") == "all" else matrix.shown_columns
    )
    compared = compared if matrix.other is not None else ""
    rows = matrix.rows(list(page.object_list), scores)
    scored = any(row.place for row in rows)
    heads = order.build_heads(matrix, scores, sort, compared, scored=scored)
    verdicts_told = not scored or (not scores and not all(row.place for row in rows))
    total, fits = len(matrix.explanation.nodes), len(matrix.explanation.feasible)
    context: dict[str, object] = {
        "explanation": matrix.explanation,
        "stages": matrix.build_stages(),
        "filtering": gettext("Filtering: %(total)s → %(nodes)s")
        % {"total": f"{total:,}", "nodes": format_count(fits, "nodes")},
        "stage": stage,
        "verdict": group,
        "groups": [] if stage or group else matrix.groups,
        "rejected": total - fits,
        "quiet": matrix.quiet_filters(),
        "compared": compared,
        "heads": heads,
        "verdicts_told": verdicts_told,
        "reason_span": len(scores) if scored and scores else 1,
        "folded": matrix.folded_columns(),
        "unfolded": request.GET.get("columns") == "all",
        "page": page,
        "rows": rows,
        "scored": scored,
        "chart": figures.build_score_chart(matrix),
    }
    if name := request.GET.get("node", "").strip():
        context["node"] = name
        if name in matrix.explanation.nodes:
            position = matrix.explanation.nodes.index(name)
            context |= {
                "verdicts": matrix.verdicts(position),
                "node_row": matrix.rows([position])[0],
                "winner_comparison": matrix.compare_with_winner(position),
            }
        else:
            context["node_error"] = f"{absent} {name}."
    return context


def cell_context(request: HttpRequest, presentation: Presentation) -> dict[str, object]:
    """Return the arithmetic of the cell that the address names."""
    name, plugin = request.GET.get("node", "").strip(), request.GET.get("cell", "")
    position = presentation.case.snapshot.index.get(name)
    if position is None or not plugin:
        return {}
    return {"arithmetic": presentation.compute_arithmetic(position, plugin)}


def pod_object_context(snapshot: Snapshot, key: str, uid: str = "") -> dict[str, object]:
    """Return the cluster's Events about the pod ``key`` ("namespace/name"), and the address of its YAML."""
    namespace, _, pod = key.partition("/")
    address = reverse("pod-manifest", args=[snapshot.cluster.name, namespace, pod], query={"snapshot": snapshot.pk})
    events = find_object_events(snapshot, "Pod", pod, namespace=namespace, uid=uid)
    return {"events": events, "manifest_address": address}
