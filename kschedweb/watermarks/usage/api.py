"""REST: recorded use of nodes over time, its skew and distribution, and requests against use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from django.urls import path
from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import generics, serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from kschedweb.accounts.roles import Action
from kschedweb.clusters.selectors import cluster_get, snapshot_current
from kschedweb.engine.json_types import Json
from kschedweb.watermarks.figures import NODE_STATISTICS, WORDS, WORKLOAD_STATISTICS
from kschedweb.watermarks.selectors import load_freshness
from kschedweb.watermarks.usage import charts, measures, selectors
from kschedweb.watermarks.usage.forms import DEFAULT, RANGES, UsageForm, WorkloadForm, build_query
from kschedweb.web.errors import ApplicationError
from kschedweb.web.languages import in_english
from kschedweb.web.pagination import ListPagination

if TYPE_CHECKING:
    from rest_framework.request import Request

    from kschedweb.clusters.models import Cluster
    from kschedweb.watermarks.usage.query import UsageQuery


def _query_parameter(name: str, description: str, enum: Any = None, type: Any = str) -> OpenApiParameter:
    return OpenApiParameter(name, type, description=description, enum=enum, default=DEFAULT.get(name))


RESOURCE = _query_parameter("resource", "Which resource.", ["cpu", "memory"])
MEANINGS = ", ".join(f"`{key}` {in_english(WORDS[key])}" for key in NODE_STATISTICS)
STATISTIC = _query_parameter("statistic", f"Which figure: {MEANINGS}.", NODE_STATISTICS)
OF_WORKLOADS = _query_parameter("statistic", "Which figure.", WORKLOAD_STATISTICS)
SEARCH = _query_parameter("search", "A part of the name.")
TIME = (
    _query_parameter("range", "How long before now; without effect where `from` or `to` is given.", list(RANGES)),
    _query_parameter("from", "The beginning (ISO 8601, UTC where no offset is given)."),
    _query_parameter("to", "The end; now without one."),
)
ORDERING = _query_parameter(
    "ordering", "By which value, downwards with a `-` in front; unknown ones come last.",
    sorted([*selectors.ORDERS, *(f"-{name}" for name in selectors.ORDERS)]),
)  # fmt: skip


class TimedSerializer(serializers.Serializer[Any]):
    """The question, and the time over which it was answered."""

    resource = serializers.CharField()
    statistic = serializers.CharField()
    unit = serializers.CharField(help_text="`%` of allocatable; of a standard deviation `points`.")
    start = serializers.DateTimeField()
    end = serializers.DateTimeField()
    origins = serializers.ListField(child=serializers.CharField(), help_text="Where the usage data comes from.")
    resolution = serializers.IntegerField(help_text="Seconds between samples, at least.")


class SkewPointSerializer(serializers.Serializer[Any]):
    """Skew of nodes at a time; `null` where nothing is known."""

    time = serializers.DateTimeField()
    skew = serializers.FloatField(allow_null=True, help_text="Hottest less coldest node, in points.")
    standard_deviation = serializers.FloatField(allow_null=True, help_text="Of the population, in points.")
    coefficient_of_variation = serializers.FloatField(allow_null=True, help_text="Percent of the mean.")
    mean = serializers.FloatField(allow_null=True)
    hottest_node = serializers.CharField(allow_blank=True)
    hottest = serializers.FloatField(allow_null=True)
    coldest_node = serializers.CharField(allow_blank=True)
    coldest = serializers.FloatField(allow_null=True)
    nodes = serializers.IntegerField(help_text="How many have a figure.")


class SkewSerializer(TimedSerializer):
    points = SkewPointSerializer(many=True)


class NodeHistorySerializer(serializers.Serializer[Any]):
    """A node's figure at each time of `times`; `null` where there is none."""

    name = serializers.CharField()
    values = serializers.ListField(child=serializers.FloatField(allow_null=True))


class HistorySerializer(TimedSerializer):
    times = serializers.ListField(child=serializers.DateTimeField())
    next = serializers.URLField(allow_null=True)
    previous = serializers.URLField(allow_null=True)
    results = NodeHistorySerializer(many=True)


class BarSerializer(serializers.Serializer[Any]):
    """Nodes whose figure is at least `low` and less than `high` (the last bar holds its end)."""

    low = serializers.FloatField()
    high = serializers.FloatField()
    nodes = serializers.IntegerField()


class DistributionSerializer(TimedSerializer):
    time = serializers.DateTimeField(allow_null=True)
    nodes = serializers.IntegerField(help_text="How many have a figure.")
    mean = serializers.FloatField(allow_null=True)
    standard_deviation = serializers.FloatField(allow_null=True)
    quantiles = serializers.DictField(
        child=serializers.FloatField(), help_text="By the percent of the nodes that lie at or below."
    )
    bars = BarSerializer(many=True)


class UseSerializer(serializers.Serializer[Any]):
    """Requests and use; CPU in millicores, memory in bytes."""

    name = serializers.CharField(help_text="A node, or a workload as `namespace/Kind/name`.")
    zone = serializers.CharField(allow_blank=True)
    pods = serializers.IntegerField()
    allocatable = serializers.FloatField(help_text="Of a node; 0 for a workload.")
    requested = serializers.FloatField()
    used = serializers.SerializerMethodField()
    ratio = serializers.SerializerMethodField(help_text="Requested / used.")
    unused = serializers.SerializerMethodField(help_text="Requested less used.")
    updated = serializers.DateTimeField(source="moment", allow_null=True)

    def get_used(self, use: selectors.NodeUse) -> float | None:
        return charts.round_or_none(use.used, 3)

    def get_ratio(self, use: selectors.NodeUse) -> float | None:
        return charts.round_or_none(use.ratio, 4) if np.isfinite(use.ratio) else None

    def get_unused(self, use: selectors.NodeUse) -> float | None:
        return charts.round_or_none(use.unused, 3)


def _parse_query(request: Request, form_class: type[UsageForm] = UsageForm) -> UsageQuery:
    form = form_class(request.query_params)
    question = build_query(form)
    if form.errors:
        errors = [{"path": name, "message": " ".join(map(str, messages))} for name, messages in form.errors.items()]
        raise ApplicationError("The filter is not valid.", errors=errors)  # type: ignore[arg-type]
    return question


def _format_iso(seconds: float) -> str:
    return f"{charts.format_moment(seconds).replace(' ', 'T')}:{int(seconds % 60):02d}Z"


def _load_use(request: Request, name: str) -> tuple[Cluster, selectors.RecordedUse]:
    cluster = cluster_get(name)
    question = _parse_query(request)
    return cluster, selectors.load_use(cluster, question, load_freshness(cluster, timezone.now().timestamp()))


def _timed_body(use: selectors.RecordedUse) -> Json:
    question = use.query
    return {
        "resource": question.resource,
        "statistic": question.statistic,
        "unit": question.unit,
        "start": question.start,
        "end": question.end,
        "origins": use.origins,
        "resolution": use.resolution,
    }


class SkewView(APIView):
    action_required = Action.VIEW
    in_part = ("GET",)

    @extend_schema(
        operation_id="watermarks_skew", responses=SkewSerializer, parameters=[RESOURCE, STATISTIC, SEARCH, *TIME]
    )
    def get(self, request: Request, name: str) -> Response:
        """Return the skew of a cluster's nodes over time."""
        _, use = _load_use(request, name)
        rows = charts.skew_rows(use.names, use.times.tolist(), use.skew)
        points = [dict(zip(charts.SKEW_HEAD, row, strict=True)) for row in rows]
        for point, time in zip(points, use.times.tolist(), strict=True):
            point["time"] = _format_iso(time)
        return Response({**SkewSerializer({**_timed_body(use), "points": []}).data, "points": points})


class HistoryView(APIView):
    action_required = Action.VIEW
    in_part = ("GET",)

    @extend_schema(
        operation_id="watermarks_history",
        responses=HistorySerializer,
        parameters=[
            RESOURCE, STATISTIC, SEARCH, *TIME, _query_parameter("order", "Which nodes come first.", ["use", "name"]),
            OpenApiParameter("limit", {"type": "integer", "minimum": 1, "maximum": 500, "default": 50}),
            OpenApiParameter("cursor", str, description="Where the page begins; taken from `next` or `previous`."),
        ],
    )  # fmt: skip
    def get(self, request: Request, name: str) -> Response:
        """Use of a cluster's nodes over time, a page of nodes at a time."""
        _, use = _load_use(request, name)
        order = measures.order_columns(use.names, measures.compute_means(use.values), use.query.order == "name")
        pages = ListPagination()
        columns = pages.paginate_queryset(order.tolist(), request)
        results = [
            {"name": use.names[column], "values": charts.round_values(use.values[:, column], 3)} for column in columns
        ]
        links = {"next": pages.following, "previous": pages.preceding}
        times = [_format_iso(time) for time in use.times.tolist()]
        plain = HistorySerializer({**_timed_body(use), **links, "times": [], "results": []}).data
        return Response({**plain, "times": times, "results": results})


class DistributionView(APIView):
    action_required = Action.VIEW
    in_part = ("GET",)

    @extend_schema(
        operation_id="watermarks_distribution",
        responses=DistributionSerializer,
        parameters=[RESOURCE, STATISTIC, SEARCH, *TIME, _query_parameter("at", "The time; the newest without one.")],
    )
    def get(self, request: Request, name: str) -> Response:
        """Return how the nodes of a cluster are spread at a time."""
        _, use = _load_use(request, name)
        at = use.find_nearest(use.query.at)
        spread = measures.compute_distribution(use.values[at]) if at is not None else None
        answer: Json = {"time": None, "nodes": 0, "mean": None, "standard_deviation": None}
        answer |= {"quantiles": {}, "bars": []}
        if spread is not None and at is not None:
            edges = spread.edges.tolist()
            answer = {
                "time": _format_iso(use.times[at]),
                "nodes": spread.node_count,
                "mean": spread.mean,
                "standard_deviation": spread.deviation,
                "quantiles": {
                    str(share): value for share, value in zip(measures.SHARES, spread.quantiles.tolist(), strict=True)
                },
                "bars": [
                    {"low": low, "high": high, "nodes": count}
                    for low, high, count in zip(edges, edges[1:], spread.counts.tolist(), strict=False)
                ],
            }
        plain = DistributionSerializer({**_timed_body(use), **answer, "time": None}).data
        return Response({**plain, "time": answer["time"]})


class _UseList(generics.ListAPIView[Any]):
    action_required = Action.VIEW
    in_part = ("GET",)
    serializer_class = UseSerializer
    pagination_class = ListPagination
    filter_backends = ()

    def sort_uses(self, uses: list[selectors.NodeUse]) -> list[selectors.NodeUse]:
        ordering = self.request.query_params.get("ordering") or "-unused"
        if ordering.removeprefix("-") not in selectors.ORDERS:
            message = f"Choose one of {', '.join(selectors.ORDERS)}, with a - in front for downwards."
            raise ApplicationError.at("ordering", message)
        return selectors.sort_uses(uses, ordering)


class NodeUseList(_UseList):
    """Requests on each node of a cluster, against its use by the newest figures."""

    def get_queryset(self) -> Any:
        cluster = cluster_get(self.kwargs["name"])
        question = _parse_query(self.request)
        snapshot = snapshot_current(cluster)
        return self.sort_uses(selectors.node_uses(snapshot, question) if snapshot else [])

    @extend_schema(operation_id="watermarks_nodes", parameters=[RESOURCE, STATISTIC, SEARCH, ORDERING])
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """Requests on each node of a cluster, against its use by the newest figures."""
        return super().get(request, *args, **kwargs)


class WorkloadUseList(_UseList):
    """Requests of each workload of a cluster, against its use by the newest figures."""

    def get_queryset(self) -> Any:
        cluster = cluster_get(self.kwargs["name"])
        question = _parse_query(self.request, WorkloadForm)
        snapshot = snapshot_current(cluster)
        return self.sort_uses(selectors.workload_uses(snapshot, question) if snapshot else [])

    @extend_schema(operation_id="watermarks_workloads", parameters=[RESOURCE, OF_WORKLOADS, SEARCH, ORDERING])
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """Requests of each workload of a cluster, against its use by the newest figures."""
        return super().get(request, *args, **kwargs)


urlpatterns = [
    path("clusters/<slug:name>/watermarks/history/", HistoryView.as_view(), name="watermark-history"),
    path("clusters/<slug:name>/watermarks/skew/", SkewView.as_view(), name="watermark-skew"),
    path("clusters/<slug:name>/watermarks/distribution/", DistributionView.as_view(), name="watermark-distribution"),
    path("clusters/<slug:name>/watermarks/nodes/", NodeUseList.as_view(), name="watermark-nodes"),
    path("clusters/<slug:name>/watermarks/workloads/", WorkloadUseList.as_view(), name="watermark-workloads"),
]
