"""REST: pods that wait for approval, and deciding about them."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework import generics, serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from kschedweb.accounts.roles import Action
from kschedweb.engine.json_types import Json
from kschedweb.live.approvals import rules, selectors, services
from kschedweb.live.approvals.filters import RequestFilter
from kschedweb.live.approvals.models import ApprovalRequest, Vote, VoteVerdict
from kschedweb.live.approvals.services import LONGEST_REASON, MOST_TOGETHER, UNDO
from kschedweb.web.rest import IdempotencyMixin, validate_input

if TYPE_CHECKING:
    from uuid import UUID

    from django.db.models import QuerySet

    from kschedweb.accounts.typing import ApiRequest


class VoteSerializer(serializers.ModelSerializer[Vote]):
    """The vote of one person, with the role they had then."""

    class Meta:
        model = Vote
        fields = ("username", "role", "verdict", "reason", "at")
        read_only_fields = fields


class ApprovalCountSerializer(serializers.Serializer[Any]):
    role = serializers.CharField()
    count = serializers.IntegerField()


class ApprovalSerializer(serializers.ModelSerializer[ApprovalRequest]):
    """A pod that waits on its node until people decide; ``open`` until the scheduler has carried out what they said."""

    cluster = serializers.CharField(source="scheduler.cluster.name", read_only=True)
    scheduler = serializers.CharField(source="scheduler.scheduler_name", read_only=True)
    rules = serializers.SerializerMethodField()
    why = serializers.SerializerMethodField()
    approvals = serializers.SerializerMethodField()
    missing = serializers.SerializerMethodField()
    on_timeout = serializers.SerializerMethodField()
    votes = VoteSerializer(many=True, read_only=True)

    class Meta:
        model = ApprovalRequest
        fields: tuple[str, ...] = (
            "id",
            "cluster",
            "scheduler",
            "namespace",
            "name",
            "uid",
            "node",
            "state",
            "open",
            "reason",
            "rules",
            "why",
            "approvals",
            "missing",
            "on_timeout",
            "created_by",
            "asked_at",
            "expires_at",
            "decided_at",
            "decided_by",
            "undo_until",
            "ended_at",
            "asked_again",
            "asked_again_at",
            "reopened_at",
            "reopened_by",
            "votes",
        )
        read_only_fields = fields

    def get_rules(self, row: ApprovalRequest) -> list[str]:
        return list(row.ask.get("rules") or [])

    def get_why(self, row: ApprovalRequest) -> list[str]:
        """The rules' conditions that the pod meets, in words."""
        return list(row.ask.get("why") or [])

    @extend_schema(responses=ApprovalCountSerializer(many=True))
    def get_approvals(self, row: ApprovalRequest) -> list[Json]:
        """Return how many people of which role must approve."""
        return list(row.ask.get("approvals") or [])

    def get_missing(self, row: ApprovalRequest) -> dict[str, int]:
        """Return how many approvals are still missing, by role."""
        return rules.missing_approvals(
            row.ask, [vote.role for vote in row.votes.all() if vote.verdict == VoteVerdict.APPROVE]
        )

    def get_on_timeout(self, row: ApprovalRequest) -> str:
        """`Deny` or `Allow`: what happens when nobody decides in time."""
        return str(row.ask.get("onTimeout") or "Deny")


class ApprovalDetailSerializer(ApprovalSerializer):
    decision = serializers.DictField(read_only=True, help_text="What was decided, with the best nodes' scores.")
    ask = serializers.DictField(read_only=True, help_text="What the plugin asks, with the node's state at that time.")

    class Meta(ApprovalSerializer.Meta):
        fields = (*ApprovalSerializer.Meta.fields, "decision_id", "decision", "ask")
        read_only_fields = fields


class UndoableSerializer(serializers.Serializer[Any]):
    undo_seconds = serializers.IntegerField(
        min_value=0,
        max_value=int(UNDO.total_seconds()),
        required=False,
        default=0,
        help_text="Carry the verdict out only after so many seconds: `undo` takes it back until then.",
    )


class ApproveSerializer(UndoableSerializer):
    reason = serializers.CharField(max_length=LONGEST_REASON, required=False, allow_blank=True, default="")


class DenySerializer(UndoableSerializer):
    reason = serializers.CharField(max_length=LONGEST_REASON, help_text="The pod's event tells it.")


class DecideSerializer(UndoableSerializer):
    requests = serializers.ListField(child=serializers.UUIDField(), min_length=1, max_length=MOST_TOGETHER)
    verdict = serializers.ChoiceField(choices=VoteVerdict.choices)
    reason = serializers.CharField(max_length=LONGEST_REASON, required=False, allow_blank=True, default="")


class DecidedOneSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField(source="request_id")
    pod = serializers.CharField(allow_blank=True)
    state = serializers.CharField(allow_blank=True)
    problem = serializers.CharField(allow_blank=True, help_text="Why nothing was done; empty where it was.")


class DecidedManySerializer(serializers.Serializer[Any]):
    results = DecidedOneSerializer(many=True)


class ApprovalList(generics.ListAPIView[ApprovalRequest]):
    """Requests for approval, newest first; `?state=waiting` for those that people may decide now."""

    action_required = Action.VIEW
    in_part = ("GET",)
    serializer_class = ApprovalSerializer
    filterset_class = RequestFilter

    def get_queryset(self) -> QuerySet[ApprovalRequest]:
        return selectors.request_list()


class ApprovalDetail(APIView):
    action_required = Action.VIEW
    in_part = ("GET",)

    @extend_schema(responses=ApprovalDetailSerializer)
    def get(self, request: ApiRequest, id: UUID) -> Response:
        """One request, with the decision that it was made for."""
        return Response(ApprovalDetailSerializer(selectors.request_get(id)).data)


class Approve(IdempotencyMixin, APIView):
    action_required = Action.APPROVE
    in_part = ("POST",)

    @extend_schema(request=ApproveSerializer, responses=ApprovalSerializer)
    def post(self, request: ApiRequest, id: UUID) -> Response:
        """Approve. The pod is bound once all who are asked have; until then the state stays `waiting`."""
        return _decide_request(request, id, VoteVerdict.APPROVE, ApproveSerializer(data=request.data))


class Deny(IdempotencyMixin, APIView):
    action_required = Action.APPROVE
    in_part = ("POST",)

    @extend_schema(request=DenySerializer, responses=ApprovalSerializer)
    def post(self, request: ApiRequest, id: UUID) -> Response:
        """Deny, with a reason. One denial is enough: the pod goes back to the queue."""
        return _decide_request(request, id, VoteVerdict.DENY, DenySerializer(data=request.data))


class Reopen(IdempotencyMixin, APIView):
    action_required = Action.APPROVE
    in_part = ("POST",)

    @extend_schema(request=None, responses=ApprovalSerializer)
    def post(self, request: ApiRequest, id: UUID) -> Response:
        """Withdraw a denial: the scheduler asks again when it next tries the pod. 409 where there is none."""
        services.request_reopen(user=request.user, request_id=id)
        return Response(ApprovalSerializer(selectors.request_get(id)).data)


class Undo(IdempotencyMixin, APIView):
    action_required = Action.APPROVE
    in_part = ("POST",)

    @extend_schema(request=None, responses=ApprovalSerializer)
    def post(self, request: ApiRequest, id: UUID) -> Response:
        """Take your own verdict back, within `undo_seconds` of it. 409 once it is carried out, or was another's."""
        services.request_undo(user=request.user, request_id=id)
        return Response(ApprovalSerializer(selectors.request_get(id)).data)


class DecideMany(IdempotencyMixin, APIView):
    action_required = Action.APPROVE
    in_part = ("POST",)

    @extend_schema(request=DecideSerializer, responses=DecidedManySerializer)
    def post(self, request: ApiRequest) -> Response:
        """The same verdict on several requests, each for itself: the answer says what became of each."""
        values = validate_input(DecideSerializer, request.data)
        results = services.requests_decide(
            user=request.user,
            request_ids=values["requests"],
            verdict=values["verdict"],
            reason=values["reason"],
            undo=_read_undo(values),
        )
        return Response(DecidedManySerializer({"results": results}).data)


def _decide_request(request: ApiRequest, id: UUID, verdict: str, serializer: serializers.Serializer[Any]) -> Response:
    serializer.is_valid(raise_exception=True)
    values = serializer.validated_data
    services.request_decide(
        user=request.user, request_id=id, verdict=verdict, reason=values["reason"], undo=_read_undo(values)
    )
    return Response(ApprovalSerializer(selectors.request_get(id)).data)


def _read_undo(values: Json) -> timedelta | None:
    return timedelta(seconds=values["undo_seconds"]) if values["undo_seconds"] else None


urlpatterns = [
    path("approvals/", ApprovalList.as_view(), name="approvals"),
    path("approvals/decide/", DecideMany.as_view(), name="approvals-decide"),
    path("approvals/<uuid:id>/", ApprovalDetail.as_view(), name="approval"),
    path("approvals/<uuid:id>/approve/", Approve.as_view(), name="approval-approve"),
    path("approvals/<uuid:id>/deny/", Deny.as_view(), name="approval-deny"),
    path("approvals/<uuid:id>/undo/", Undo.as_view(), name="approval-undo"),
    path("approvals/<uuid:id>/reopen/", Reopen.as_view(), name="approval-reopen"),
]
