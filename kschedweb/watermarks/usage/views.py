"""The pages of recorded use: skew, heatmap, distribution, and requests against use."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any
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
from kschedweb.watermarks.selectors import Freshness, freshness
from kschedweb.watermarks.usage import charts, measures, selectors
from kschedweb.watermarks.usage.forms import RANGE_WORDS, AskedForm, WorkloadForm, asked
from kschedweb.watermarks.usage.question import UsageQuery
from kschedweb.watermarks.usage.selectors import NodeUse, Seen, seen, stale_before
from kschedweb.watermarks.words import origin_words
from kschedweb.web.exports import FORMATS, export

if TYPE_CHECKING:
    from datetime import datetime

    from django.http import HttpRequest, HttpResponse
    from django.http.response import HttpResponseBase

    from kschedweb.clusters.models import Cluster, Snapshot

PAGE_SIZE = 50
MOST = 8  # hottest and coldest nodes in a table
SINGLE, GROUPS = 100, 50  # rows of the heatmap: at most this many single nodes, or else groups
# parameters that these pages and their filter form keep
SHARED = ("cluster", "policy", "resource", "statistic", "range", "from", "to", "zone", "search")
KEPT = ("policy", "range", "ordering", "namespace")


@dataclass(frozen=True)
class Page:
    """The common state of these pages."""

    request: HttpRequest
    cluster: Cluster
    snapshot: Snapshot | None
    form: AskedForm
    asked: UsageQuery
    freshness: Freshness

    @property
    def shared(self) -> str:
        """The common parameters of these pages as a query string, which always names the cluster."""
        kept = {name: value for name in SHARED if (value := self.request.GET.get(name))}
        return urlencode({**kept, "cluster": self.cluster.name})

    def address(self, name: str) -> str:
        return f"{reverse(name)}?{self.shared}"

    def pins(self, shown: UsageQuery) -> str:
        """The parameters with which a link goes on showing the time that the page shows now."""
        times = {"from": f"{shown.start:%Y-%m-%dT%H:%M:%SZ}", "to": f"{shown.end:%Y-%m-%dT%H:%M:%SZ}"}
        return urlencode({"cluster": self.cluster.name, **times})

    def name(self, what: str) -> str:
        """The name of a download."""
        return f"{self.cluster.name}-{what}-{self.asked.resource}-{self.asked.statistic}"

    @cached_property
    def stale_before(self) -> datetime | None:
        """Figures from before this time are stale; ``None`` for the demo's, which no source renews."""
        return stale_before(self.cluster, self.freshness.origin, timezone.now())

    def render(self, template: str, context: dict[str, Any]) -> HttpResponse:
        common = {
            "form": self.form,
            "asked": self.asked,
            "freshness": self.freshness,
            "ranges": RANGE_WORDS,
            "shared": self.shared,
            "kept": {name: value for name in KEPT if (value := self.request.GET.get(name))},
            "stale": self.stale_before is not None and self.freshness.stale,
            "stale_before": self.stale_before,
            "pins": self.pins(context["seen"].asked) if "seen" in context else "",
            "origin_words": origin_words(self.freshness.origin),
        }
        return render(self.request, template, common | context)


def _page(request: HttpRequest, form_class: type[AskedForm] = AskedForm) -> Page | HttpResponse:
    """The state of a page, or the page that says why there is nothing to show yet."""
    scope = cluster_scope_of(request)
    if scope.cluster is None:
        return render(request, "dashboard/nothing.html", {"noun": "usage"})
    form = form_class(request.GET)
    found = Page(
        request, scope.cluster, scope.snapshot, form, asked(form), freshness(scope.cluster, timezone.now().timestamp())
    )
    if found.freshness.updated is None:
        return found.render("watermarks/usage/nothing.html", {})
    return found


@require_safe
@requires(Action.VIEW, in_part=True)
def skew(request: HttpRequest) -> HttpResponseBase:
    """The skew over time and now, with the hottest and coldest nodes."""
    page = _page(request)
    if not isinstance(page, Page):
        return page
    found = seen(page.cluster, page.asked, page.freshness)
    if (form := request.GET.get("format")) in FORMATS:
        rows = charts.skew_rows(found.names, found.times.tolist(), found.skew)
        return export(form, page.name("skew"), charts.SKEW_HEAD, rows)
    context: dict[str, Any] = {"seen": found, "now": None}
    if found.compared_last is not None:
        link = page.address("usage-distribution")
        hottest, coldest = measures.extremes(found.names, found.compared, found.compared_last, MOST)
        context |= {
            "chart": charts.skew_chart(found.asked, found.names, found.times.tolist(), found.skew, link),
            "now": _now(found, found.skew, found.compared_last),
            "extremes": ((gettext("Hottest nodes"), hottest), (gettext("Coldest nodes"), coldest)),
        }
    return page.render("watermarks/usage/skew.html", context)


def _now(found: Seen, skew: measures.Skew, at: int) -> dict[str, Any]:
    """The measures of one time, of the nodes that ``skew`` is of."""
    return {
        "time": charts.moment(found.times[at]),
        "points": skew.points[at],
        "deviation": skew.deviation[at],
        "variation": charts.number(skew.variation[at]),
        "mean": skew.mean[at],
        "top": skew.top[at],
        "bottom": skew.bottom[at],
        "hottest": found.names[skew.hottest[at]],
        "coldest": found.names[skew.coldest[at]],
        "known": int(skew.known[at]),
    }


@require_safe
@requires(Action.VIEW, in_part=True)
def heatmap(request: HttpRequest) -> HttpResponseBase:
    """Every node over time; many nodes are grouped, and groups can be opened."""
    page = _page(request)
    if not isinstance(page, Page):
        return page
    form = request.GET.get("format")
    found = seen(page.cluster, page.asked, page.freshness)
    means = measures.means(found.values)
    order = measures.ordered(found.names, means, page.asked.order == "name")
    first = min(page.asked.first, max(len(order), 1))
    last = min(page.asked.last or len(order), len(order))
    if form in FORMATS:
        head = ["node", *(charts.moment(time) for time in found.times)]
        return export(form, page.name("heatmap"), head, _by_node(found, order[first - 1 : last]))
    context: dict[str, Any] = {"seen": found, "first": first, "last": last, "whole": last - first + 1 == len(order)}
    if found.last is not None:
        most = SINGLE if last - first < SINGLE else GROUPS
        rows = measures.lines(found.names, found.values, order, first, last, most)
        link = page.address("usage-heatmap")
        chart = charts.heatmap_chart(found.asked, found.times.tolist(), rows, len(order), link)
        context |= {
            "chart": chart,
            "rows": rows,
            "table": list(zip(chart.rows, rows, strict=True)),
            "top": _mean_of(found, means[order], order, 0),
            "bottom": _mean_of(found, means[order], order, -1) if page.asked.order == "use" else None,
        }
    return page.render("watermarks/usage/heatmap.html", context)


def _mean_of(found: Seen, means: np.ndarray, order: np.ndarray, place: int) -> tuple[str, float] | None:
    """Name and mean of the known node at ``place`` of ``order``; ``means`` has the means."""
    known = np.flatnonzero(~np.isnan(means))
    if not known.size:
        return None
    return found.names[int(order[known[place]])], float(means[known[place]])


def _by_node(found: Seen, order: np.ndarray) -> Iterator[Sequence[object]]:
    for column in order.tolist():
        yield [found.names[column], *charts.numbers(found.values[:, column], 2)]


@require_safe
@requires(Action.VIEW, in_part=True)
def distribution(request: HttpRequest) -> HttpResponseBase:
    """The distribution of nodes at one time."""
    page = _page(request)
    if not isinstance(page, Page):
        return page
    found = seen(page.cluster, page.asked, page.freshness)
    at = found.nearest(page.asked.at)
    now = found.values[at] if at is not None else np.empty(0)
    if (form := request.GET.get("format")) in FORMATS:
        clock = charts.moment(found.times[at]) if at is not None else ""
        rows = ((name, value, clock) for name, value in zip(found.names, charts.numbers(now, 2), strict=False))
        return export(form, page.name("distribution"), ("node", "value", "time"), rows)
    context: dict[str, Any] = {"seen": found, "times": []}
    spread = measures.distribution(now)
    if spread is not None and at is not None:
        context |= {
            "chart": charts.distribution_chart(found.asked, spread),
            "spread": spread,
            "quantiles": dict(zip((f"p{share}" for share in measures.SHARES), spread.quantiles.tolist(), strict=True)),
            "now": _now(found, measures.skew(found.values), at),
            "before": _step(found, at, -1),
            "after": _step(found, at, 1),
        }
    return page.render("watermarks/usage/distribution.html", context)


def _step(found: Seen, at: int, step: int) -> str:
    """The neighbouring time with figures for an address; "" at the end."""
    known = np.flatnonzero(found.known)
    place = int(np.searchsorted(known, at)) + step
    return charts.moment(found.times[known[place]]).replace(" ", "T") if 0 <= place < len(known) else ""


USE_HEAD = ("name", "zone", "pods", "allocatable", "requested", "used", "ratio", "unused", "updated")


@require_safe
@requires(Action.VIEW, in_part=True)
def nodes(request: HttpRequest) -> HttpResponseBase:
    """Requests and use of each node."""
    return _uses(request, "nodes")


@require_safe
@requires(Action.VIEW, in_part=True)
def workloads(request: HttpRequest) -> HttpResponseBase:
    """Requests and use of each workload."""
    return _uses(request, "workloads")


def _uses(request: HttpRequest, what: str) -> HttpResponseBase:
    page = _page(request, AskedForm if what == "nodes" else WorkloadForm)
    if not isinstance(page, Page):
        return page
    if page.snapshot is None:
        return render(request, "dashboard/nothing.html", {"noun": what})
    found = selectors.node_uses(page.snapshot, page.asked) if what == "nodes" else _workloads(page, page.snapshot)
    ordering = request.GET.get("ordering", "")
    found = selectors.arranged(found, ordering if ordering.lstrip("-") in selectors.ORDERS else "-unused")
    if (form := request.GET.get("format")) in FORMATS:
        return export(form, page.name(f"requests-{what}"), USE_HEAD, map(_line, found))
    chart = charts.nodes_chart if what == "nodes" else charts.workloads_chart
    context = {
        "what": what,
        "listing": f"usage-{what}",
        "page": Paginator(found, PAGE_SIZE).get_page(request.GET.get("page")),
        "total": selectors.total(found),
        "chart": chart(page.asked, found),
    }
    return page.render("watermarks/usage/uses.html", context)


def _workloads(page: Page, snapshot: Snapshot) -> list[NodeUse]:
    namespace = page.request.GET.get("namespace", "").strip()
    found = selectors.workload_uses(snapshot, page.asked)
    return [use for use in found if not namespace or use.parts[0] == namespace]


def _line(use: NodeUse) -> list[object]:
    """A row with the columns of USE_HEAD; CPU in millicores, memory in bytes."""
    return [
        use.name,
        use.zone,
        use.pods,
        use.allocatable,
        use.requested,
        charts.number(use.used, 0),
        charts.number(use.ratio, 2) if np.isfinite(use.ratio) else None,
        charts.number(use.unused, 0),
        use.moment.isoformat() if use.moment else None,
    ]
