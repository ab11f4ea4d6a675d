"""REST: what containers should request."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from django.urls import path
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers, status
from rest_framework.response import Response
from rest_framework.views import APIView

from kschedweb.accounts.roles import Action
from kschedweb.advice.rightsizing import exports, scenarios, selectors, sizing
from kschedweb.advice.rightsizing.forms import ORDERINGS, ExportForm, SizesForm, read_form
from kschedweb.advice.rightsizing.sizing import METHODS, VPA
from kschedweb.clusters.selectors import cluster_get, snapshot_current
from kschedweb.engine.json_types import Json
from kschedweb.web.errors import ApplicationError, NotFound

if TYPE_CHECKING:
    from kschedweb.accounts.typing import ApiRequest
    from kschedweb.clusters.models import Cluster


class SizeAmountSerializer(serializers.Serializer[Any]):
    """CPU in millicores or memory in bytes of one pod; `saved` is of all pods together."""

    requested = serializers.IntegerField()
    target = serializers.IntegerField(help_text="What is requested where there is no history.")
    lower = serializers.IntegerField()
    upper = serializers.IntegerField()
    limit = serializers.IntegerField(help_text="0: none.")
    new_limit = serializers.IntegerField(help_text="The limit that keeps its ratio to the request.")
    saved = serializers.IntegerField(help_text="Negative where more should be requested.")


class SizeSerializer(serializers.Serializer[Any]):
    """A container of a workload."""

    namespace = serializers.CharField()
    workload = serializers.CharField(help_text="namespace/Kind/name.")
    container = serializers.CharField()
    pods = serializers.IntegerField()
    sidecar = serializers.BooleanField(help_text="An init container that keeps running.")
    known = serializers.BooleanField(help_text="Whether there is history; without any nothing is recommended.")
    days = serializers.FloatField(help_text="Days of history.")
    samples = serializers.IntegerField()
    killed = serializers.IntegerField(help_text="How often it was killed for want of memory.")
    cpu = SizeAmountSerializer()
    memory = SizeAmountSerializer()
    hour = serializers.FloatField(allow_null=True, help_text="What an hour costs less; `null` without any price.")


class SizesSerializer(serializers.Serializer[Any]):
    cluster = serializers.CharField()
    updated = serializers.DateTimeField(help_text="When use was collected last.")
    method = serializers.ChoiceField(choices=METHODS)
    unit = serializers.CharField(help_text="The currency of the price table; `node-hours` where there is none.")
    hour = serializers.FloatField(allow_null=True, help_text="What all containers listed save an hour.")
    containers = SizeSerializer(many=True)


class ScenarioOfSizesSerializer(serializers.Serializer[Any]):
    """Of which workloads a scenario is made; all that have history where none is named."""

    cluster = serializers.CharField(max_length=63)
    method = serializers.ChoiceField(choices=METHODS, default=VPA)
    workloads = serializers.ListField(
        child=serializers.CharField(max_length=400), max_length=10_000, required=False, help_text="namespace/Kind/name."
    )


class PastOfSizeSerializer(serializers.Serializer[Any]):
    """The effect of new requests and limits on a container in the last seven days that were collected."""

    name = serializers.CharField(source="size.name", help_text="namespace/Kind/name/container.")
    above_request = serializers.FloatField(help_text="Hours in which the busiest pod used more CPU than the request.")
    throttled = serializers.FloatField(help_text="Hours in which it used more CPU than the limit.")
    memory_above_request = serializers.FloatField(help_text="Hours.")
    kills = serializers.IntegerField(help_text="How often its memory went above the limit.")


class MadeOfSizesSerializer(serializers.Serializer[Any]):
    scenario = serializers.UUIDField()
    revision = serializers.IntegerField()
    name = serializers.CharField()
    unit = serializers.CharField()
    hour = serializers.FloatField(allow_null=True, help_text="What the new requests save an hour.")
    past = PastOfSizeSerializer(many=True, help_text="Containers that would have had too little.")


class FileOfSizesSerializer(serializers.Serializer[Any]):
    form = serializers.CharField(help_text="kubectl, patches or vpa.")
    text = serializers.CharField(help_text="kubectl lines, or YAML documents.")


AMOUNT = ("requested", "target", "lower", "upper", "limit", "new_limit", "saved")


def _get_cluster(request: ApiRequest) -> Cluster:
    name = request.query_params.get("cluster", "")
    if not name:
        raise ApplicationError.at("cluster", "Name a cluster: ?cluster=…")
    return cluster_get(name)


CLUSTER = OpenApiParameter("cluster", str, required=True, description="The name of a cluster.")
METHOD = OpenApiParameter(
    "method", str, enum=METHODS, default=VPA, description="As the vertical pod autoscaler, or a plain percentile."
)
NARROWING = [
    OpenApiParameter("namespace", str, description="Of this namespace alone."),
    OpenApiParameter("search", str, description="What the name of workload or container contains."),
    OpenApiParameter("show", str, enum=["less", "more", "unknown"], description="Which containers."),
]


class SizesView(APIView):
    action_required = Action.VIEW
    in_part = ("GET",)

    @extend_schema(
        operation_id="right_sizing",
        parameters=[
            CLUSTER,
            METHOD,
            *NARROWING,
            OpenApiParameter("ordering", str, enum=ORDERINGS, default="-hour", description="By which value."),
        ],
        responses=SizesSerializer,
    )
    def get(self, request: ApiRequest) -> Response:
        """Requests of each container of a cluster's workloads, and better ones; the largest saving first."""
        cluster = _get_cluster(request)
        form = read_form(SizesForm, request.query_params)
        ordering = request.query_params.get("ordering", "-hour")
        if ordering not in ORDERINGS:
            raise ApplicationError.at("ordering", f"Must be one of {', '.join(ORDERINGS)}.")
        usage, rates, listed = selectors.sizes_of(cluster, form.method_asked)
        sizes = form.filter_sizes(listed, ordering)
        answer = {
            "cluster": cluster.name,
            "updated": datetime.fromtimestamp(usage.updated, UTC),
            "method": form.method_asked,
            "unit": rates.unit,
            "hour": _nan_to_none(sizing.sum_sizes(sizes).hour),
            "containers": [_size_to_json(size) for size in sizes],
        }
        return Response(answer)


class ScenarioOfSizesView(APIView):
    action_required = Action.EDIT

    @extend_schema(
        operation_id="right_sizing_scenario",
        request=ScenarioOfSizesSerializer,
        responses={201: MadeOfSizesSerializer},
    )
    def post(self, request: ApiRequest) -> Response:
        """Make a scenario in which workloads request what is recommended."""
        serializer = ScenarioOfSizesSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        cluster = cluster_get(serializer.validated_data["cluster"])
        snapshot = snapshot_current(cluster)
        if snapshot is None:
            raise NotFound(f"Cluster {cluster.name} has not been read yet: refresh it first.")
        form = read_form(SizesForm, {"method": serializer.validated_data["method"]})
        usage, rates, listed = selectors.sizes_of(cluster, form.method_asked)
        chosen = form.filter_sizes(listed, workloads=serializer.validated_data.get("workloads", ()))
        sizes = [size for size in chosen if size.changes]
        revision = scenarios.scenario_make(user=request.user, snapshot=snapshot, listed=sizes)
        pasts = selectors.past_of(cluster, sizes, usage.updated)
        answer = {
            "scenario": revision.scenario_id,
            "revision": revision.number,
            "name": revision.scenario.name,
            "unit": rates.unit,
            "hour": _nan_to_none(sizing.sum_sizes(sizes).hour),
            "past": [past for past in pasts if past.above_request or past.memory_above_request or past.is_harmed],
        }
        return Response(MadeOfSizesSerializer(answer).data, status=status.HTTP_201_CREATED)


class FileOfSizesView(APIView):
    action_required = Action.VIEW
    in_part = ("GET",)

    @extend_schema(
        operation_id="right_sizing_export",
        parameters=[
            CLUSTER,
            METHOD,
            *NARROWING,
            OpenApiParameter("form", str, enum=exports.FORMS, default=exports.KUBECTL, description="Which file."),
            OpenApiParameter(
                "mode", str, enum=exports.MODES, default=exports.MODES[0], description="Of `vpa`: the updateMode."
            ),
        ],
        responses=FileOfSizesSerializer,
    )
    def get(self, request: ApiRequest) -> Response:
        """The recommendations as lines for kubectl, as patches, or as VerticalPodAutoscalers. Nothing is applied."""
        cluster = _get_cluster(request)
        form = read_form(ExportForm, request.query_params)
        _, _, listed = selectors.sizes_of(cluster, form.method_asked)
        kind, mode = form.file
        return Response({"form": kind, "text": exports.text_of(form.filter_sizes(listed), kind, mode)})


def _size_to_json(size: sizing.ContainerSize) -> Json:
    names = ("namespace", "workload", "container", "pods", "sidecar")
    history = {"known": size.has_history, "days": size.days, "samples": size.samples, "killed": size.killed}
    amounts = {
        resource: {name: getattr(amount, name) for name in AMOUNT}
        for resource, amount in (("cpu", size.cpu), ("memory", size.memory))
    }
    return {name: getattr(size, name) for name in names} | history | amounts | {"hour": _nan_to_none(size.hour)}


def _nan_to_none(value: float) -> float | None:
    return value if value == value else None


urlpatterns = [
    path("right-sizing/", SizesView.as_view(), name="right-sizing"),
    path("right-sizing/scenario/", ScenarioOfSizesView.as_view(), name="right-sizing-scenario"),
    path("right-sizing/export/", FileOfSizesView.as_view(), name="right-sizing-export"),
]
