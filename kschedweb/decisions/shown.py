"""Context of the decision page: the funnel, the nodes of a stage page by page, one node, one cell."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.core.paginator import Paginator
from django.utils.translation import gettext

from kschedweb.decisions import figures
from kschedweb.decisions.matrix import order
from kschedweb.decisions.matrix.matrix import page_size
from kschedweb.web.units import counted

if TYPE_CHECKING:
    from django.http import HttpRequest

    from kschedweb.decisions.matrix.matrix import Matrix
    from kschedweb.decisions.parts import Miss
    from kschedweb.decisions.presentation import Presentation


def decided(request: HttpRequest, found: Presentation, absent: str, compared: str = "") -> dict[str, Any]:
    """The headline, the columns, and the arithmetic of the cell that the address names."""
    miss = None if found.explanation.feasible.size or found.waiting else found.nearest_miss()
    node = device_node(request.GET.get("node", "").strip(), found, miss)
    return {
        "answer": found.answer(),
        "miss": miss,
        "devices": None if node is None else found.devices(node),
        **columns(request, found, absent, compared),
        **cell(request, found),
    }


def device_node(asked: str, found: Presentation, miss: Miss | None) -> int | None:
    """The position of the node whose devices are shown: the one asked for, else the chosen one, else the nearest miss.

    ``None`` where there is none, or the one asked for does not exist.
    """
    nodes = found.explanation.nodes
    if asked:
        return nodes.index(asked) if asked in nodes else None
    if found.explanation.chosen is not None:
        return found.explanation.chosen
    return None if miss is None else nodes.index(miss.node)


def columns(request: HttpRequest, found: Matrix, absent: str, compared: str = "") -> dict[str, Any]:
    """Funnel, chart and matrix, and every verdict on the node of the address.

    ``absent`` begins the sentence about a node that does not exist; ``compared`` names the other policy, if there is
    one. The address names a stage or a group of nodes, the column by which they are sorted, and whether columns in
    which all nodes are equal are shown too.
    """
    stage, sort = request.GET.get("stage", ""), request.GET.get("sort", "")
    group = next((one for one in found.groups if one.key == request.GET.get("verdict")), None)
    positions = found.listing(stage, group, sort)
    page = Paginator(positions, page_size(len(positions))).get_page(request.GET.get("page"))
    scores = list(range(len(found.explanation.scores))) if request.GET.get("columns") == "all" else found.shown
    compared = compared if found.other is not None else ""
    rows = found.rows(list(page.object_list), scores)
    scored = any(row.place for row in rows)
    heads = order.heads(found, scores, sort, compared, scored=scored)
    verdicts_told = not scored or (not scores and not all(row.place for row in rows))
    total, fits = len(found.explanation.nodes), len(found.explanation.feasible)
    context: dict[str, Any] = {
        "explanation": found.explanation,
        "stages": found.stages(),
        "filtering": gettext("Filtering: %(total)s → %(nodes)s")
        % {"total": f"{total:,}", "nodes": counted(fits, "nodes")},
        "stage": stage,
        "verdict": group,
        "groups": [] if stage or group else found.groups,
        "rejected": total - fits,
        "quiet": found.quiet(),
        "compared": compared,
        "heads": heads,
        "verdicts_told": verdicts_told,
        "reason_span": len(scores) if scored and scores else 1,
        "folded": found.folded(),
        "unfolded": request.GET.get("columns") == "all",
        "page": page,
        "rows": rows,
        "scored": scored,
        "chart": figures.scores(found),
    }
    if name := request.GET.get("node", "").strip():
        context["node"] = name
        if name in found.explanation.nodes:
            position = found.explanation.nodes.index(name)
            context |= {
                "verdicts": found.verdicts(position),
                "node_row": found.rows([position])[0],
                "beside": found.against(position),
            }
        else:
            context["node_error"] = f"{absent} {name}."
    return context


def cell(request: HttpRequest, found: Presentation) -> dict[str, Any]:
    """The arithmetic of the cell that the address names."""
    name, plugin = request.GET.get("node", "").strip(), request.GET.get("cell", "")
    position = found.case.snapshot.index.get(name)
    if position is None or not plugin:
        return {}
    return {"arithmetic": found.worked(position, plugin)}
