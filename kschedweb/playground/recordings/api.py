"""REST views of recordings of connected clusters, and of scenarios made from them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.urls import path
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import generics, serializers
from rest_framework.response import Response
from rest_framework.reverse import reverse
from rest_framework.views import APIView

from kschedweb.accounts.roles import Action
from kschedweb.clusters.models import Cluster
from kschedweb.playground.recordings import from_flight_recorder, selectors, services
from kschedweb.playground.recordings.download import download_response
from kschedweb.playground.recordings.filters import RecordingFilter
from kschedweb.playground.recordings.models import Recording
from kschedweb.playground.recordings.services import MAX_SECONDS, MIN_SECONDS
from kschedweb.playground.scenarios import selectors as scenarios
from kschedweb.playground.scenarios.models import NAME_LIMIT
from kschedweb.playground.scenarios.serializers import ScenarioFileSerializer, ScenarioSerializer
from kschedweb.web.pages import page_part
from kschedweb.web.rest import IdempotencyMixin, NameField, accepted_response, validate_input

if TYPE_CHECKING:
    from uuid import UUID

    from django.db.models import QuerySet
    from django.http import StreamingHttpResponse

    from kschedweb.accounts.typing import ApiRequest


class ClusterRecordingSerializer(serializers.ModelSerializer[Recording]):
    """A recording of a cluster; `job` is the work that records it, and cancelling that keeps what there is."""

    cluster = serializers.CharField(source="cluster.name", read_only=True)
    job = serializers.UUIDField(source="job_id", read_only=True, allow_null=True)
    state = serializers.CharField(read_only=True)
    lasted = serializers.FloatField(read_only=True, help_text="Seconds of the cluster that are kept.")
    notes = serializers.ListField(child=serializers.CharField(), read_only=True)
    created_by = serializers.CharField(source="created_by.username", default=None, allow_null=True, read_only=True)

    class Meta:
        model = Recording
        fields = (
            "id",
            "cluster",
            "seconds",
            "began_at",
            "kept_at",
            "lasted",
            "records",
            "nodes",
            "pods",
            "size",
            "notes",
            "job",
            "state",
            "created_by",
            "created_at",
        )
        read_only_fields = fields
        extra_kwargs = {"size": {"help_text": "Bytes of text, before packing."}}


class RecordingStartSerializer(serializers.Serializer[Any]):
    """The cluster to record, and for how many seconds."""

    cluster = NameField(queryset=Cluster.objects)
    seconds = serializers.IntegerField(min_value=MIN_SECONDS, max_value=MAX_SECONDS)


class RecordingScenarioSerializer(serializers.Serializer[Any]):
    """The name of the scenario; "": after the cluster and the time."""

    name = serializers.CharField(required=False, default="", allow_blank=True, max_length=NAME_LIMIT)


class RecordingFileSerializer(serializers.Serializer[Any]):
    """The scenario that gets the copy."""

    scenario = serializers.UUIDField()


class RecordingList(IdempotencyMixin, generics.ListAPIView[Recording]):
    """The recordings, newest first."""

    action_required = {"GET": Action.VIEW, "POST": Action.EDIT}
    serializer_class = ClusterRecordingSerializer
    filterset_class = RecordingFilter

    def get_queryset(self) -> QuerySet[Recording]:
        return selectors.recording_list()

    @extend_schema(request=RecordingStartSerializer, responses={202: ClusterRecordingSerializer})
    def post(self, request: ApiRequest) -> Response:
        """Begin to record a connected cluster; 409 where it is not connected, or is being recorded already."""
        values = validate_input(RecordingStartSerializer, request.data)
        recording = services.recording_start(user=request.user, **values)
        return accepted_response(request, ClusterRecordingSerializer(recording).data, "api:recording", recording.pk)


class RecordingDetail(APIView):
    action_required = {"GET": Action.VIEW, "DELETE": Action.EDIT}

    @extend_schema(responses=ClusterRecordingSerializer)
    def get(self, request: ApiRequest, id: UUID) -> Response:
        """One recording."""
        return Response(ClusterRecordingSerializer(selectors.recording_get(id)).data)

    @extend_schema(responses={204: None})
    def delete(self, request: ApiRequest, id: UUID) -> Response:
        """Delete a recording; 409 while it is being made. Scenarios made of it keep their copies."""
        services.recording_delete(user=request.user, recording=selectors.recording_get(id))
        return Response(status=204)


@page_part
class RecordingRecords(APIView):
    action_required = Action.VIEW

    @extend_schema(responses={(200, "application/gzip"): OpenApiTypes.BINARY})
    def get(self, request: ApiRequest, id: UUID) -> StreamingHttpResponse:
        """The records: a `{"time", "event", "resource"}` a line, gzipped, as kube-scheduler-simulator writes them."""
        return download_response(selectors.recording_get(id))


class RecordingScenario(IdempotencyMixin, APIView):
    action_required = Action.EDIT

    @extend_schema(request=RecordingScenarioSerializer, responses={201: ScenarioSerializer})
    def post(self, request: ApiRequest, id: UUID) -> Response:
        """Make a scenario of your own that replays the recording; 409 while it is being made."""
        values = validate_input(RecordingScenarioSerializer, request.data)
        recording = selectors.recording_get(id)
        scenario = services.scenario_make(user=request.user, recording=recording, name=values["name"])
        headers = {"Location": reverse("api:scenario", args=[scenario.pk], request=request)}
        body = ScenarioSerializer(scenarios.scenario_get(request.user, scenario.pk)).data
        return Response(body, status=201, headers=headers)


class RecordingFile(IdempotencyMixin, APIView):
    action_required = Action.EDIT

    @extend_schema(request=RecordingFileSerializer, responses={201: ScenarioFileSerializer})
    def post(self, request: ApiRequest, id: UUID) -> Response:
        """Keep a copy of the recording as a file of a scenario of your own; 409 while it is being made."""
        values = validate_input(RecordingFileSerializer, request.data)
        recording = selectors.recording_get(id)
        scenario = scenarios.scenario_get(request.user, values["scenario"])
        row = services.file_give(user=request.user, recording=recording, scenario=scenario)
        headers = {"Location": reverse("api:scenario-file", [scenario.pk, row.name], request=request)}
        return Response(ScenarioFileSerializer(row).data, status=201, headers=headers)


class MomentScenarioSerializer(serializers.Serializer[Any]):
    """As of when, and what the scenario is called; "": after the cluster and the time."""

    cluster = NameField(queryset=Cluster.objects)
    at = serializers.DateTimeField()
    name = serializers.CharField(required=False, default="", allow_blank=True, max_length=NAME_LIMIT)


class RangeSerializer(serializers.Serializer[Any]):
    """The range of a cluster's flight recorder; at most a day."""

    cluster = NameField(queryset=Cluster.objects)
    since = serializers.DateTimeField()
    until = serializers.DateTimeField()


class RecordingMoment(IdempotencyMixin, APIView):
    action_required = Action.EDIT

    @extend_schema(request=MomentScenarioSerializer, responses={201: ScenarioSerializer})
    def post(self, request: ApiRequest) -> Response:
        """Make a scenario that starts from a cluster as of a moment; 404 where its flight recorder does not know it."""
        scenario = from_flight_recorder.scenario_of_moment(
            user=request.user, **validate_input(MomentScenarioSerializer, request.data)
        )
        headers = {"Location": reverse("api:scenario", args=[scenario.pk], request=request)}
        body = ScenarioSerializer(scenarios.scenario_get(request.user, scenario.pk)).data
        return Response(body, status=201, headers=headers)


class RecordingRange(IdempotencyMixin, APIView):
    action_required = Action.EDIT

    @extend_schema(request=RangeSerializer, responses={201: ClusterRecordingSerializer})
    def post(self, request: ApiRequest) -> Response:
        """Make a recording of what a flight recorder kept in a range; 404 where it does not know all of it."""
        values = validate_input(RangeSerializer, request.data)
        recording = from_flight_recorder.recording_of_range(
            user=request.user, cluster=values["cluster"], first=values["since"], last=values["until"]
        )
        headers = {"Location": reverse("api:recording", args=[recording.pk], request=request)}
        return Response(ClusterRecordingSerializer(recording).data, status=201, headers=headers)


_DETAIL_PATH = "recordings/<uuid:id>/"
urlpatterns = [
    path("recordings/of-moment/", RecordingMoment.as_view(), name="recording-moment"),
    path("recordings/of-range/", RecordingRange.as_view(), name="recording-range"),
    path("recordings/", RecordingList.as_view(), name="recordings"),
    path(_DETAIL_PATH, RecordingDetail.as_view(), name="recording"),
    path(f"{_DETAIL_PATH}records/", RecordingRecords.as_view(), name="recording-records"),
    path(f"{_DETAIL_PATH}scenario/", RecordingScenario.as_view(), name="recording-scenario"),
    path(f"{_DETAIL_PATH}file/", RecordingFile.as_view(), name="recording-file"),
]
