"""The pages of recorded use: skew, heatmap, distribution, and requests against use."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import numpy as np
from django.core.paginator import Paginator
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext
from django.views.decorators.http import require_safe

from kschedweb.accounts.permissions import requires
from kschedweb.accounts.roles import Action
from kschedweb.clusters.scope import cluster_scope_of
from kschedweb.watermarks import tables
from kschedweb.watermarks.report_text import origin_words
from kschedweb.watermarks.selectors import Freshness, load_freshness
from kschedweb.watermarks.usage import charts, measures, selectors
from kschedweb.watermarks.usage.forms import RANGE_WORDS, UsageForm, WorkloadForm, build_query
from kschedweb.watermarks.usage.query import UsageQuery
from kschedweb.watermarks.usage.selectors import NodeUse, RecordedUse, load_use, stale_before
from kschedweb.web.exports import FORMATS, export_rows, export_table

if TYPE_CHECKING:
    from datetime import datetime

    from django.http import HttpRequest, HttpResponse
    from django.http.response import HttpResponseBase

    from kschedweb.clusters.models import Cluster, Snapshot

PAGE_SIZE = 50
# Hottest and coldest nodes in a table.
MAX_EXTREMES = 8
# Rows of the heatmap: at most this many single nodes, or else groups.
SINGLE, GROUPS = 100, 50
# Parameters that these pages and their filter form keep.
SHARED = ("cluster", "policy", "resource", "statistic", "range", "from", "to", "zone", "search")
KEPT_PARAMETERS = ("policy", "range", "ordering", "namespace")


@dataclass(frozen=True)
class Page:
    """The common state of these pages."""

    request: HttpRequest
    cluster: Cluster
    snapshot: Snapshot | None
    form: UsageForm
    query: UsageQuery
    freshness: Freshness

    @property
    def shared(self) -> str:
        """The common parameters of these pages as a query string, which always names the cluster."""
        parameters = {name: value for name in SHARED if (value := self.request.GET.get(name))}
        return urlencode({**parameters, "cluster": self.cluster.name})

    def address_of(self, name: str) -> str:
        return f"{reverse(name)}?{self.shared}"

    def pin_query(self, query: UsageQuery) -> str:
        """Return the parameters with which a link goes on showing the time that the page shows now."""
        times = {"from": f"{query.start:%Y-%m-%dT%H:%M:%SZ}", "to": f"{query.end:%Y-%m-%dT%H:%M:%SZ}"}
        return urlencode({"cluster": self.cluster.name, **times})

    def name(self, subject: str) -> str:
        """Return the name of a download."""
        return f"{self.cluster.name}-{subject}-{self.query.resource}-{self.query.statistic}"

    @cached_property
    def stale_before(self) -> datetime | None:
        """The time before which figures are stale; ``None`` for the demo's, which no source renews."""
        return stale_before(self.cluster, self.freshness.origin, timezone.now())

    def render_page(self, template: str, context: dict[str, object]) -> HttpResponse:
        use = context.get("recorded_use")
        common = {
            "form": self.form,
            "query": self.query,
            "freshness": self.freshness,
            "ranges": RANGE_WORDS,
            "shared": self.shared,
            "hidden_fields": {name: value for name in KEPT_PARAMETERS if (value := self.request.GET.get(name))},
            "stale": self.stale_before is not None and self.freshness.stale,
            "stale_before": self.stale_before,
            "pins": self.pin_query(use.query) if isinstance(use, RecordedUse) else "",
            "origin_words": origin_words(self.freshness.origin),
        }
        return render(self.request, template, common | context)


def _open_page(request: HttpRequest, form_class: type[UsageForm] = UsageForm) -> Page | HttpResponse:
    """Return the state of a page, or the page that says why there is nothing to show yet."""
    scope = cluster_scope_of(request)
    if scope.cluster is None:
        return render(request, "dashboard/no_data.html", {"noun": "usage"})
    form = form_class(request.GET)
    page = Page(
        request,
        scope.cluster,
        scope.snapshot,
        form,
        build_query(form),
        load_freshness(scope.cluster, timezone.now().timestamp()),
    )
    if page.freshness.updated is None:
        return page.render_page("watermarks/usage/no_usage.html", {})
    return page


@require_safe
@requires(Action.VIEW, in_part=True)
def usage_skew(request: HttpRequest) -> HttpResponseBase:
    """Show the skew over time and now, with the hottest and coldest nodes."""
    page = _open_page(request)
    if not isinstance(page, Page):
        return page
    use = load_use(page.cluster, page.query, page.freshness)
    if (form := request.GET.get("format")) in FORMATS:
        rows = charts.skew_rows(use.names, use.times.tolist(), use.skew)
        return export_rows(form, page.name("skew"), charts.SKEW_HEAD, rows)
    context: dict[str, object] = {"recorded_use": use, "now": None}
    if use.compared_last is not None:
        link = page.address_of("usage-distribution")
        hottest, coldest = measures.find_extremes(use.names, use.compared, use.compared_last, MAX_EXTREMES)
        context |= {
            "chart": charts.skew_chart(use.query, use.names, use.times.tolist(), use.skew, link),
            "now": _measures_at(use, use.skew, use.compared_last),
            "extremes": ((gettext("Hottest nodes"), hottest), (gettext("Coldest nodes"), coldest)),
        }
    return page.render_page("watermarks/usage/skew.html", context)


def _measures_at(use: RecordedUse, skew: measures.Skew, at: int) -> dict[str, object]:
    """Return the measures of one time, of the nodes that ``skew`` is about."""
    return {
        "time": charts.format_moment(use.times[at]),
        "points": skew.points[at],
        "deviation": skew.deviation[at],
        "variation": charts.round_or_none(skew.variation[at]),
        "mean": skew.mean[at],
        "top": skew.top[at],
        "bottom": skew.bottom[at],
        "hottest": use.names[skew.hottest[at]],
        "coldest": use.names[skew.coldest[at]],
        "known": int(skew.node_count[at]),
    }


@require_safe
@requires(Action.VIEW, in_part=True)
def usage_heatmap(request: HttpRequest) -> HttpResponseBase:
    """Show every node over time. Many nodes are grouped, and groups can be opened."""
    page = _open_page(request)
    if not isinstance(page, Page):
        return page
    form = request.GET.get("format")
    use = load_use(page.cluster, page.query, page.freshness)
    means = measures.compute_means(use.values)
    order = measures.order_columns(use.names, means, page.query.order == "name")
    first = min(page.query.first, max(len(order), 1))
    last = min(page.query.last or len(order), len(order))
    if form in FORMATS:
        head = ["node", *(charts.format_moment(time) for time in use.times)]
        return export_rows(form, page.name("heatmap"), head, _by_node(use, order[first - 1 : last]))
    context: dict[str, object] = {
        "recorded_use": use,
        "first": first,
        "last": last,
        "whole": last - first + 1 == len(order),
    }
    if use.last is not None:
        limit = SINGLE if last - first < SINGLE else GROUPS
        rows = measures.group_rows(use.names, use.values, order, first, last, limit)
        link = page.address_of("usage-heatmap")
        chart = charts.heatmap_chart(use.query, use.times.tolist(), rows, len(order), link)
        context |= {
            "chart": chart,
            "rows": rows,
            "has_groups": any(row.is_group for row in rows),
            "table": list(zip(chart.rows, rows, strict=True)),
            "top": _mean_of(use, means[order], order, 0),
            "bottom": _mean_of(use, means[order], order, -1) if page.query.order == "use" else None,
        }
    return page.render_page("watermarks/usage/heatmap.html", context)


def _mean_of(use: RecordedUse, means: np.ndarray, order: np.ndarray, place: int) -> tuple[str, float] | None:
    """Return name and mean of the known node at ``place`` of ``order``; ``means`` has the means."""
    positions = np.flatnonzero(~np.isnan(means))
    if not positions.size:
        return None
    return use.names[int(order[positions[place]])], float(means[positions[place]])


def _by_node(use: RecordedUse, order: np.ndarray) -> Iterator[Sequence[object]]:
    for column in order.tolist():
        yield [use.names[column], *charts.round_values(use.values[:, column], 2)]


@require_safe
@requires(Action.VIEW, in_part=True)
def usage_distribution(request: HttpRequest) -> HttpResponseBase:
    """Show the distribution of nodes at one time."""
    page = _open_page(request)
    if not isinstance(page, Page):
        return page
    use = load_use(page.cluster, page.query, page.freshness)
    at = use.find_nearest(page.query.at)
    now = use.values[at] if at is not None else np.empty(0)
    if (form := request.GET.get("format")) in FORMATS:
        clock = charts.format_moment(use.times[at]) if at is not None else ""
        rows = ((name, value, clock) for name, value in zip(use.names, charts.round_values(now, 2), strict=False))
        return export_rows(form, page.name("distribution"), ("node", "value", "time"), rows)
    context: dict[str, object] = {"recorded_use": use, "times": []}
    spread = measures.compute_distribution(now)
    if spread is not None and at is not None:
        context |= {
            "chart": charts.distribution_chart(use.query, spread),
            "spread": spread,
            "quantiles": dict(zip((f"p{share}" for share in measures.SHARES), spread.quantiles.tolist(), strict=True)),
            "now": _measures_at(use, measures.compute_skew(use.values), at),
            "before": _neighbour_time(use, at, -1),
            "after": _neighbour_time(use, at, 1),
        }
    return page.render_page("watermarks/usage/distribution.html", context)


def _neighbour_time(use: RecordedUse, at: int, step: int) -> str:
    """Return the neighbouring time with figures, for an address; "" at the end."""
    positions = np.flatnonzero(use.has_figures)
    place = int(np.searchsorted(positions, at)) + step
    return charts.format_moment(use.times[positions[place]]).replace(" ", "T") if 0 <= place < len(positions) else ""


@require_safe
@requires(Action.VIEW, in_part=True)
def usage_nodes(request: HttpRequest) -> HttpResponseBase:
    """Show requests and use of each node."""
    return _render_uses(request, "nodes")


@require_safe
@requires(Action.VIEW, in_part=True)
def usage_workloads(request: HttpRequest) -> HttpResponseBase:
    """Show requests and use of each workload."""
    return _render_uses(request, "workloads")


def _render_uses(request: HttpRequest, noun: str) -> HttpResponseBase:
    page = _open_page(request, UsageForm if noun == "nodes" else WorkloadForm)
    if not isinstance(page, Page):
        return page
    if page.snapshot is None:
        return render(request, "dashboard/no_data.html", {"noun": noun})
    uses = selectors.node_uses(page.snapshot, page.query) if noun == "nodes" else _workload_uses(page, page.snapshot)
    ordering = request.GET.get("ordering", "")
    listing = tables.NODES if noun == "nodes" else tables.WORKLOADS
    uses = selectors.sort_uses(uses, ordering if ordering.lstrip("-") in selectors.ORDERS else "-unused")
    if (form := request.GET.get("format")) in FORMATS:
        return export_table(form, page.name(f"requests-{noun}"), listing, uses)
    chart = charts.nodes_chart if noun == "nodes" else charts.workloads_chart
    context = {
        "noun": noun,
        "listing": listing,
        "page": Paginator(uses, PAGE_SIZE).get_page(request.GET.get("page")),
        "total": selectors.compute_total(uses),
        "chart": chart(page.query, uses),
    }
    return page.render_page("watermarks/usage/requests_and_use.html", context)


def _workload_uses(page: Page, snapshot: Snapshot) -> list[NodeUse]:
    namespace = page.request.GET.get("namespace", "").strip()
    uses = selectors.workload_uses(snapshot, page.query)
    return [use for use in uses if not namespace or use.parts[0] == namespace]
