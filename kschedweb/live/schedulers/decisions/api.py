"""REST: what live schedulers decided, and the stream that tells of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.urls import path
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import generics, serializers
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.response import Response
from rest_framework.views import APIView

from kschedweb.accounts.roles import Action
from kschedweb.decisions import redaction
from kschedweb.engine.json_types import Json
from kschedweb.live.schedulers import selectors
from kschedweb.live.schedulers.decisions.filters import DecisionFilter
from kschedweb.live.schedulers.models import LiveDecision
from kschedweb.live.schedulers.streaming.stream import stream_events
from kschedweb.web.pages import page_part

if TYPE_CHECKING:
    from uuid import UUID

    from django.db.models import QuerySet
    from django.http import StreamingHttpResponse
    from rest_framework.request import Request

    from kschedweb.accounts.typing import ApiRequest


ENGINE_THEN = "The version of kschedweb, and the kube-scheduler it was made as; `` in rows of before that was kept."


class RankedSerializer(serializers.Serializer[Any]):
    node = serializers.CharField()
    total = serializers.IntegerField()
    scores = serializers.DictField(child=serializers.IntegerField(), help_text="Weighted, by plugin.")


class LiveDecisionSerializer(serializers.ModelSerializer[LiveDecision]):
    """One try to place a pod, and what came of it; durations and latency in seconds."""

    drawn = serializers.IntegerField(
        read_only=True,
        allow_null=True,
        help_text="Among how many nodes with the same total `node` was drawn; null where no other was as good.",
    )
    top = RankedSerializer(many=True, read_only=True, help_text="Up to five nodes, the chosen one first.")
    durations = serializers.DictField(child=serializers.FloatField(), read_only=True)
    rejected_by = serializers.ListField(child=serializers.CharField(), read_only=True)
    revision = serializers.IntegerField(source="revision.number", default=None, allow_null=True, read_only=True)
    engine = serializers.CharField(read_only=True, help_text=ENGINE_THEN)

    class Meta:
        model = LiveDecision
        fields: tuple[str, ...] = (
            "id", "at", "namespace", "name", "uid", "attempt", "result", "ended_at", "node", "nominated", "evaluated",
            "feasible", "margin", "drawn", "top", "durations", "latency", "rejected_by", "message", "epoch", "revision",
            "engine", "has_columns",
        )  # fmt: skip
        read_only_fields = fields


class LiveDecisionDetailSerializer(LiveDecisionSerializer):
    explanation = serializers.SerializerMethodField()

    class Meta(LiveDecisionSerializer.Meta):
        fields = (*LiveDecisionSerializer.Meta.fields, "explanation")
        read_only_fields = fields

    @extend_schema(responses={"type": "object", "nullable": True, "additionalProperties": True})
    def get_explanation(self, decision: LiveDecision) -> Json | None:
        """Every verdict and score, as `python -m kschedweb.engine explain` writes it; null where it is not kept."""
        kept_explanation = selectors.read_explanation(decision) if decision.has_columns else None
        return (
            redaction.redact_decision(decision.scheduler.cluster_id, kept_explanation[0].to_dict())
            if kept_explanation
            else None
        )


class LiveDecisionList(generics.ListAPIView[LiveDecision]):
    """The decisions of a live scheduler, newest first."""

    action_required = Action.VIEW
    in_part = ("GET",)
    serializer_class = LiveDecisionSerializer
    filterset_class = DecisionFilter
    queryset = LiveDecision.objects.none()

    def get_queryset(self) -> QuerySet[LiveDecision]:
        return selectors.decision_list(selectors.live_get(self.kwargs["id"]))


class LiveDecisionDetail(APIView):
    action_required = Action.VIEW
    in_part = ("GET",)

    @extend_schema(responses=LiveDecisionDetailSerializer)
    def get(self, request: ApiRequest, id: UUID, decision: UUID) -> Response:
        """One decision, with every verdict and score where they are kept."""
        row = selectors.decision_get(selectors.live_get(id), decision)
        return Response(LiveDecisionDetailSerializer(row).data)


class LiveEventSerializer(serializers.Serializer[Any]):
    """A server-sent event."""

    event = serializers.ChoiceField(choices=["status", "decision", "skipped", "deleted", "unavailable"])
    id = serializers.CharField(required=False, help_text="To go on after it: `Last-Event-ID`.")
    data = serializers.CharField(help_text="JSON: as `status` of the live scheduler, or the short form of a decision.")  # type: ignore[assignment]


class AnyKind(BaseContentNegotiation):
    """Lets a browser's EventSource ask for text/event-stream: the stream writes itself, errors are problem details."""

    def select_parser(self, request: Request, parsers: Any) -> Any:
        return parsers[0]

    def select_renderer(self, request: Request, renderers: Any, format_suffix: str | None = None) -> Any:
        return renderers[0], renderers[0].media_type


@page_part
class LiveStream(APIView):
    action_required = Action.VIEW
    in_part = ("GET",)
    content_negotiation_class = AnyKind

    @extend_schema(
        responses={(200, "text/event-stream"): LiveEventSerializer},
        parameters=[
            OpenApiParameter(
                "Last-Event-ID", str, OpenApiParameter.HEADER, description="Go on after this event; a browser sends it."
            )
        ],
    )
    def get(self, request: ApiRequest, id: UUID) -> StreamingHttpResponse:
        """Server-sent events: `status` when it changes, `decision` for each one; ends after a minute, ask again.

        `unavailable` says that the state is not known now; a `status` follows once it is. One person may have a limited
        number of streams at once: one more is answered 429.
        """
        return stream_events(request._request, selectors.live_get(id), request.headers.get("Last-Event-ID", ""))


urlpatterns = [
    path("live/<uuid:id>/decisions/", LiveDecisionList.as_view(), name="live-decisions"),
    path("live/<uuid:id>/decisions/<uuid:decision>/", LiveDecisionDetail.as_view(), name="live-decision"),
    path("live/<uuid:id>/stream/", LiveStream.as_view(), name="live-stream"),
]
