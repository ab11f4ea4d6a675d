"""REST views of experiments and their results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework import generics, serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from kschedweb.accounts.roles import Action
from kschedweb.engine.json_types import Json
from kschedweb.playground.experiments import selectors, services
from kschedweb.playground.experiments.models import Experiment
from kschedweb.playground.experiments.services import MOST_POLICIES, MOST_SEEDS
from kschedweb.web.errors import ApplicationError
from kschedweb.web.rest import IdempotencyMixin, accepted_response, validate_input

if TYPE_CHECKING:
    from uuid import UUID

    from django.db.models import QuerySet

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


class OutcomeSerializer(ExperimentSerializer):
    series = serializers.SerializerMethodField()

    class Meta:
        model = Experiment
        fields = (*ExperimentSerializer.Meta.fields, "series")
        read_only_fields = fields

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


urlpatterns = [
    path("experiments/", ExperimentList.as_view(), name="experiments"),
    path("experiments/start/", ExperimentStart.as_view(), name="experiment-start"),
    path("experiments/<uuid:id>/", ExperimentDetail.as_view(), name="experiment"),
]
