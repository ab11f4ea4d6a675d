"""The pages about a cluster's costs: its bill, and the editor of its price table."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlencode

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.http import require_GET, require_http_methods, require_POST, require_safe

from kschedweb.accounts.permissions import requires
from kschedweb.accounts.roles import Action
from kschedweb.advice.costs import billing, charts, editor, node_maps, selectors, tables, words
from kschedweb.advice.costs.columns import nodes_of
from kschedweb.advice.costs.examples import build_example_table
from kschedweb.advice.costs.forms import ExpectedForm, read_upload
from kschedweb.clusters.prices import services
from kschedweb.clusters.prices.selectors import sheet_get, table_in, table_of
from kschedweb.clusters.scope import cluster_scope_of
from kschedweb.clusters.selectors import cluster_get, snapshot_current
from kschedweb.policies.download import yaml_response
from kschedweb.policies.revisions.views import line_diff, schema_response
from kschedweb.web.errors import ApplicationError, PreconditionFailed
from kschedweb.web.exports import FORMATS, export_table
from kschedweb.web.messages import translate_unit
from kschedweb.web.nodemap.nodemap import MapChoice
from kschedweb.web.pages import page_part

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse
    from django.http.response import HttpResponseBase

    from kschedweb.accounts.typing import PageRequest
    from kschedweb.advice.costs.editor import PricesEditor
    from kschedweb.clusters.models import Cluster
    from kschedweb.clusters.prices.models import PriceSheet

PAGE_SIZE = 50
OTHER_UNIT = "node-hours"


@require_safe
@requires(Action.VIEW, in_part=True)
def show_costs(request: HttpRequest) -> HttpResponseBase:
    """Show the bill of the snapshot, by nodes, namespaces or workloads."""
    scope = cluster_scope_of(request)
    snapshot = scope.snapshot_asked()
    if snapshot is None or scope.cluster is None:
        return render(request, "dashboard/no_data.html", {"noun": "costs"})
    table = table_of(scope.cluster)
    counted = table if request.GET.get("unit") != OTHER_UNIT else None
    bill = selectors.bill_of(snapshot, counted, snapshot.taken_at.timestamp() if scope.pinned else None)
    by = request.GET.get("by", "type")
    by = by if by in words.GROUPS else "type"
    lines = billing.sort_lines(bill.lines_by(by), request.GET.get("ordering", ""))
    of_nodes, shown_unit = by in words.OF_NODES, translate_unit(bill.unit)
    listing = tables.NODES if of_nodes else tables.PODS
    if (form := request.GET.get("format")) in FORMATS:
        return export_table(form, f"{scope.cluster.name}-cost-by-{by}", listing.with_constant("unit", bill.unit), lines)
    context = {
        "bill": bill,
        "unit": shown_unit,
        "has_table": table is not None,
        "title": words.render_heading(bill, scope.cluster.name),
        "map": node_maps.map_costs(snapshot, bill, MapChoice.from_address(request.GET)),
        "by": by,
        "groups": words.GROUPS,
        "of_nodes": of_nodes,
        "listing": listing,
        "chart": charts.build_cost_chart(lines, shown_unit, of_nodes=of_nodes),
        "page": Paginator(lines, PAGE_SIZE).get_page(request.GET.get("page")),
        "shared": urlencode({"cluster": scope.cluster.name}),
        "other_unit": OTHER_UNIT,
    }
    return render(request, "advice/costs/costs.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@requires(Action.VIEW)
def edit_prices(request: PageRequest) -> HttpResponseBase:
    """Show the price table as form and YAML. Each button is a POST, so the page works without JavaScript."""
    cluster = cluster_scope_of(request).cluster
    if cluster is None:
        return render(request, "dashboard/no_data.html", {"noun": "prices"})
    if request.method == "POST":
        return _handle_post(request, cluster)
    sheet = sheet_get(cluster)
    prices_editor = editor.FORM.open_editor(sheet.text or editor.NEW)
    return render(request, "advice/costs/prices.html", _editor_context(request, cluster, sheet, prices_editor))


@requires(Action.EDIT)
def _handle_post(request: PageRequest, cluster: Cluster) -> HttpResponse:
    expected = ExpectedForm(request.POST).expected_version(sheet_get(cluster).version)
    if "delete" in request.POST:
        return _delete_prices(request, cluster, expected)
    prices_editor = editor.FORM.read_posted(request.POST.dict())
    if "save" in request.POST:
        return _save_prices(request, cluster, prices_editor, expected)
    context: dict[str, object] = {"expected": expected}
    status = 200
    if "example" in request.POST and (snapshot := snapshot_current(cluster)):
        prices_editor = editor.FORM.open_editor(build_example_table(nodes_of(snapshot)))
    elif "add" in request.POST:
        kind, _, capacity = request.POST["add"].partition(" ")
        prices_editor = editor.with_row(prices_editor.document, kind, capacity)
    elif "upload" in request.POST:
        try:
            prices_editor = editor.FORM.open_editor(read_upload(request.FILES.get("file")))
        except ApplicationError as error:
            context["file_error"], status = error.detail, error.status
    return _editor_page(request, cluster, prices_editor, context, status)


def _save_prices(request: PageRequest, cluster: Cluster, prices_editor: PricesEditor, expected: int) -> HttpResponse:
    """Save the document. If it is refused, show it with the reason, so that nothing is lost."""
    try:
        saved = services.prices_save(user=request.user, cluster=cluster, text=prices_editor.document, expected=expected)
    except PreconditionFailed as error:
        sheet = sheet_get(cluster)
        context: dict[str, object] = {"conflict": error, "expected": sheet.version}
        context |= line_diff(sheet.text, prices_editor.document, f"version {sheet.version}", "yours")
        return _editor_page(request, cluster, prices_editor, context, error.status)
    except ApplicationError as error:
        return _editor_page(request, cluster, prices_editor, {"refused": error, "expected": expected}, error.status)
    message = gettext("Saved as version %(number)s.") % {"number": saved.version}
    messages.success(request, message if saved.version > expected else gettext("Nothing changed."))
    return redirect(_prices_url(cluster))


def _editor_page(
    request: PageRequest, cluster: Cluster, prices_editor: PricesEditor, context: dict[str, object], status: int
) -> HttpResponse:
    page = _editor_context(request, cluster, sheet_get(cluster), prices_editor) | context
    return render(request, "advice/costs/prices.html", page, status=status)


def _delete_prices(request: PageRequest, cluster: Cluster, expected: int) -> HttpResponse:
    try:
        services.prices_delete(user=request.user, cluster=cluster, expected=expected)
    except ApplicationError as error:
        messages.error(request, error.detail)
    else:
        messages.success(
            request,
            gettext("The prices of %(cluster)s are deleted. Costs are in node-hours now.") % {"cluster": cluster.name},
        )
    return redirect(_prices_url(cluster))


@require_POST
@requires(Action.EDIT)
@page_part
def prices_preview(request: PageRequest, cluster: str) -> HttpResponse:
    """Render parts of the editor after a change of form or YAML, for htmx."""
    selected_cluster = cluster_get(cluster)
    prices_editor = editor.FORM.read_posted(request.POST.dict())
    return render(
        request,
        "advice/costs/_preview.html",
        _editor_context(request, selected_cluster, sheet_get(selected_cluster), prices_editor),
    )


@require_GET
@requires(Action.VIEW)
@page_part
def prices_schema(request: HttpRequest) -> HttpResponse:
    return schema_response(editor.json_schema())


@require_safe
@requires(Action.VIEW)
@page_part
def prices_download(request: HttpRequest, cluster: str) -> HttpResponse:
    """Return the table as it was saved."""
    sheet = sheet_get(cluster_get(cluster))
    if not sheet.text:
        raise Http404(f"Cluster {cluster} has no price table.")
    return yaml_response(sheet.text, f"{cluster}-prices")


def _editor_context(
    request: PageRequest, cluster: Cluster, sheet: PriceSheet, prices_editor: PricesEditor
) -> dict[str, object]:
    snapshot = snapshot_current(cluster)
    table = prices_editor.checked.table or table_in(sheet)
    lacking = selectors.list_unpriced(snapshot, table) if snapshot else []
    return {
        "cluster": cluster,
        "sheet": sheet,
        "editor": prices_editor,
        "expected": sheet.version,
        "may_change": request.user.may(Action.EDIT),
        "lacking": lacking,
        "unpriced_nodes": sum(group.count for group in lacking),
        "nodes": len(nodes_of(snapshot).names) if snapshot else 0,
        "shared": urlencode({"cluster": cluster.name}),
    }


def _prices_url(cluster: Cluster) -> str:
    return reverse("costs-prices", query={"cluster": cluster.name})
