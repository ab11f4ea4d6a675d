"""REST views of experiments and their results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from django.http import HttpResponse
from django.urls import path
from django.urls import reverse as page_address
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_field
from rest_framework import generics, serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from kschedweb.accounts.roles import Action
from kschedweb.engine.json_types import Json
from kschedweb.playground.experiments import selectors, services
from kschedweb.playground.experiments.models import Experiment
from kschedweb.playground.experiments.repeating import recording_file, repeat_command
from kschedweb.playground.experiments.reports import experiment_report
from kschedweb.playground.experiments.services import MOST_POLICIES, MOST_SEEDS
from kschedweb.playground.reports.report_file import FORMATS, report_response
from kschedweb.playground.reports.serializers import ReportSerializer
from kschedweb.web.errors import ApplicationError
from kschedweb.web.pages import page_part
from kschedweb.web.rest import IdempotencyMixin, accepted_response, validate_input

if TYPE_CHECKING:
    from uuid import UUID

    from django.db.models import QuerySet
    from django.http.response import HttpResponseBase

    from kschedweb.accounts.typing import ApiRequest


class ExperimentSerializer(serializers.ModelSerializer[Experiment]):
    """An experiment; follow its job until it has ended."""

    recording = serializers.CharField(
        source="recording.name", default="", read_only=True, help_text="Name of an uploaded one; `` is the made-up one."
    )
    job = serializers.UUIDField(source="job_id", read_only=True, allow_null=True)
    state = serializers.CharField(source="job.state", default="", read_only=True)
    created_by = serializers.CharField(source="created_by.username", default=None, allow_null=True, read_only=True)
    policies = serializers.ListField(child=serializers.CharField(), read_only=True)
    seeds = serializers.ListField(child=serializers.IntegerField(), read_only=True)
    setup = serializers.DictField(read_only=True)

    class Meta:
        model = Experiment
        fields = ("id", "recording", "policies", "seeds", "setup", "job", "state", "created_by", "created_at")
        read_only_fields = fields


class SeriesSerializer(serializers.Serializer[Any]):
    """One policy, means over the seeds that are done."""

    policy = serializers.CharField()
    seeds = serializers.ListField(child=serializers.IntegerField())
    measures = serializers.DictField(
        child=serializers.FloatField(), help_text="`skew` is the mean, in points, from `since` (seconds) on."
    )
    engine = serializers.ListField(
        child=serializers.CharField(), help_text="The version of kschedweb, and the kube-scheduler it ran as."
    )
    interval = serializers.FloatField(help_text="Seconds between the values of `skew`.")
    skew = serializers.ListField(child=serializers.FloatField(), help_text="Highest less lowest node, in points.")


class NeededFileSerializer(serializers.Serializer[Any]):
    """A file that the command reads."""

    name = serializers.CharField(help_text="As the command names it.")
    address = serializers.CharField(help_text="Where to download it; `` if its policy was deleted.")


class RepeatSerializer(serializers.Serializer[Any]):
    """The command that runs the experiment again, and its files."""

    command = serializers.CharField(source="text")
    files = NeededFileSerializer(many=True)


class OutcomeSerializer(ExperimentSerializer):
    series = serializers.SerializerMethodField()
    repeat = serializers.SerializerMethodField()

    class Meta:
        model = Experiment
        fields = (*ExperimentSerializer.Meta.fields, "series", "repeat")
        read_only_fields = fields

    @extend_schema_field(RepeatSerializer)
    def get_repeat(self, experiment: Experiment) -> Json:
        return dict(RepeatSerializer(repeat_command(experiment)).data)

    @extend_schema(responses=SeriesSerializer(many=True))
    def get_series(self, experiment: Experiment) -> list[Json]:
        return [
            {
                "policy": series.policy,
                "seeds": series.seeds,
                "measures": series.measures,
                "engine": series.engines,
                "interval": series.interval,
                "skew": np.round(series.skew, 2).tolist(),
            }
            for series in selectors.list_series(experiment)
        ]


class ExperimentReportRunSerializer(serializers.Serializer[Any]):
    policy = serializers.CharField()
    seed = serializers.IntegerField()
    engine = serializers.CharField()


class ExperimentReportSerializer(ReportSerializer):
    """An experiment with all that is needed to judge it and to run it again."""

    kind = serializers.ChoiceField(choices=["ExperimentReport"])
    recording = serializers.CharField(allow_null=True, help_text="Null for the made-up one.")
    setup = serializers.DictField(help_text="All values of the set-up.")
    command = serializers.CharField()
    files = NeededFileSerializer(many=True)
    runs = ExperimentReportRunSerializer(many=True)


class StartSerializer(serializers.Serializer[Any]):
    """The policies to compare."""

    recording = serializers.CharField(
        required=False, default="", allow_blank=True, max_length=63, help_text="Name of an uploaded one."
    )
    policies = serializers.ListField(
        child=serializers.CharField(max_length=120),
        min_length=1,
        max_length=MOST_POLICIES,
        help_text="Names such as `default`, `water-level` and `future`, or `policy@revision`.",
    )
    seeds = serializers.ListField(
        child=serializers.IntegerField(min_value=0, max_value=2**31 - 1), min_length=1, max_length=MOST_SEEDS
    )
    setup = serializers.DictField(required=False, default=dict, help_text="Other values of the set-up than the usual.")


class ExperimentList(generics.ListAPIView[Experiment]):
    """The experiments, newest first."""

    action_required = Action.VIEW
    serializer_class = ExperimentSerializer
    queryset = Experiment.objects.none()

    def get_queryset(self) -> QuerySet[Experiment]:
        return selectors.experiment_list()


class ExperimentStart(IdempotencyMixin, APIView):
    action_required = Action.EDIT

    @extend_schema(request=StartSerializer, responses={202: ExperimentSerializer})
    def post(self, request: ApiRequest) -> Response:
        """Start an experiment; `job` is the work that does it."""
        values = validate_input(StartSerializer, request.data)
        recording = None
        if values["recording"]:
            recording = selectors.recording_list().filter(name=values["recording"]).first()
            if recording is None:
                message = f"There is no recording named {values['recording']}."
                raise ApplicationError.at("recording", message)
        experiment = services.experiment_start(
            user=request.user,
            recording=recording,
            policies=values["policies"],
            seeds=values["seeds"],
            setup=values["setup"],
        )
        return accepted_response(request, ExperimentSerializer(experiment).data, "api:experiment", experiment.pk)


class ExperimentDetail(APIView):
    action_required = Action.VIEW

    @extend_schema(responses=OutcomeSerializer)
    def get(self, request: ApiRequest, id: UUID) -> Response:
        """One experiment with what is done of it so far."""
        return Response(OutcomeSerializer(selectors.experiment_get(id)).data)


AS = OpenApiParameter("as", str, enum=list(FORMATS), description="What file; `json` without it.")
REPORT = {
    (200, "application/json"): ExperimentReportSerializer,
    (200, "text/html"): OpenApiTypes.STR,
    (200, "text/csv"): OpenApiTypes.STR,
}


class ExperimentReport(APIView):
    action_required = Action.VIEW

    @extend_schema(parameters=[AS], responses=REPORT)
    def get(self, request: ApiRequest, id: UUID) -> HttpResponseBase:
        """An experiment as one file: what was replayed, its measures and figures. 409 until it has ended."""
        address = request.build_absolute_uri(page_address("experiment", args=[id]))
        report = experiment_report(selectors.experiment_get(id), address)
        return report_response(report, request.query_params.get("as", "json"))


@page_part
class ExperimentRecording(APIView):
    action_required = Action.VIEW

    @extend_schema(responses={(200, "application/gzip"): OpenApiTypes.BINARY})
    def get(self, request: ApiRequest, id: UUID) -> HttpResponse:
        """The recording that an experiment replays, as gzipped CSV: what the command line reads."""
        experiment = selectors.experiment_get(id)
        answer = HttpResponse(selectors.recording_bytes(experiment), content_type="application/gzip")
        answer["Content-Disposition"] = f'attachment; filename="{recording_file(experiment).name}"'
        return answer


urlpatterns = [
    path("experiments/", ExperimentList.as_view(), name="experiments"),
    path("experiments/start/", ExperimentStart.as_view(), name="experiment-start"),
    path("experiments/<uuid:id>/", ExperimentDetail.as_view(), name="experiment"),
    path("experiments/<uuid:id>/report/", ExperimentReport.as_view(), name="experiment-report"),
    path("experiments/<uuid:id>/recording/", ExperimentRecording.as_view(), name="experiment-recording"),
]
