"""REST: what a shadow thinks of where another scheduler put pods, one by one and over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.urls import path
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import generics, serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from kschedweb.accounts.roles import Action
from kschedweb.live.schedulers.decisions.api import ENGINE_THEN
from kschedweb.live.schedulers.selectors import live_get, release_in_force
from kschedweb.live.shadow import selectors
from kschedweb.live.shadow.filters import VerdictFilter
from kschedweb.live.shadow.models import ShadowVerdict
from kschedweb.web.errors import ApplicationError

if TYPE_CHECKING:
    from uuid import UUID

    from django.db.models import QuerySet
    from rest_framework.request import Request

SPAN = OpenApiParameter(
    "span", str, enum=list(selectors.SPANS), default=selectors.DEFAULT_SPAN, description="How long before now."
)


class ShadowVerdictSerializer(serializers.ModelSerializer[ShadowVerdict]):
    """One pod of another scheduler, judged as of just before it was placed; differences in points of the total."""

    node = serializers.CharField(read_only=True, help_text="Where the other scheduler put it; `` where it found none.")
    said = serializers.CharField(read_only=True, help_text="What it said where it found none.")
    best = serializers.ListField(child=serializers.CharField(), read_only=True, help_text="At most five of the best.")
    ties = serializers.IntegerField(read_only=True, help_text="How many nodes share the highest total.")
    differences = serializers.DictField(child=serializers.IntegerField(), read_only=True, help_text="By plugin.")
    revision = serializers.IntegerField(source="revision.number", default=None, allow_null=True, read_only=True)
    engine = serializers.CharField(read_only=True, help_text=ENGINE_THEN)

    class Meta:
        model = ShadowVerdict
        fields = (
            "id", "at", "namespace", "name", "uid", "verdict", "node", "said", "best", "ties", "feasible", "rank",
            "difference", "plugin", "differences", "message", "late", "revision", "engine",
        )  # fmt: skip
        read_only_fields = fields


class VerdictList(generics.ListAPIView[ShadowVerdict]):
    """The verdicts of a live scheduler, newest first."""

    action_required = Action.VIEW
    serializer_class = ShadowVerdictSerializer
    filterset_class = VerdictFilter
    queryset = ShadowVerdict.objects.none()

    def get_queryset(self) -> QuerySet[ShadowVerdict]:
        if getattr(self, "swagger_fake_view", False):
            return self.queryset
        return selectors.verdict_list(live_get(self.kwargs["live_id"]))


class MeasuresSerializer(serializers.Serializer[Any]):
    start = serializers.DateTimeField()
    pods = serializers.IntegerField(source="total")
    agree = serializers.FloatField(allow_null=True, help_text="Percent of the pods.")
    counts = serializers.DictField(child=serializers.IntegerField(), help_text="Pods by verdict.")
    mean = serializers.FloatField(allow_null=True, help_text="Points below the best, where their node passes.")
    most = serializers.IntegerField(allow_null=True)


class CauseSerializer(serializers.Serializer[Any]):
    plugin = serializers.CharField(allow_blank=True)
    verdict = serializers.CharField()
    pods = serializers.IntegerField()
    mean = serializers.FloatField(allow_null=True)


class DriftSerializer(serializers.Serializer[Any]):
    """Distance between a policy and another scheduler."""

    span = serializers.CharField()
    engine = serializers.CharField(help_text="The version of kschedweb, and the kube-scheduler it judges as now.")
    whole = MeasuresSerializer()
    steps = MeasuresSerializer(many=True, help_text="By minute, hour or day, those in which a pod was judged.")
    causes = CauseSerializer(many=True)


class DriftView(APIView):
    action_required = Action.VIEW

    @extend_schema(operation_id="live_shadow_drift", responses=DriftSerializer, parameters=[SPAN])
    def get(self, request: Request, live_id: UUID) -> Response:
        """Return how often the policy agrees, by how much it differs, and by which plugin."""
        live = live_get(live_id)
        span = request.query_params.get("span") or selectors.DEFAULT_SPAN
        if span not in selectors.SPANS:
            message = f"Choose one of {', '.join(selectors.SPANS)}."
            raise ApplicationError.at("span", message)
        answer = {
            "span": span,
            "engine": release_in_force(live).engine,
            "whole": selectors.compute_summary(live, span),
            "steps": selectors.compute_drift(live, span),
            "causes": selectors.list_causes(live, span),
        }
        return Response(DriftSerializer(answer).data)


urlpatterns = [
    path("live/<uuid:live_id>/shadow/", VerdictList.as_view(), name="live-shadow"),
    path("live/<uuid:live_id>/shadow/drift/", DriftView.as_view(), name="live-shadow-drift"),
]
