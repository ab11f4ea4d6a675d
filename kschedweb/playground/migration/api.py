"""REST views of migration: which pods would move from a classic policy to a profile."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.http import Http404
from django.urls import path
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_view
from rest_framework import generics, serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from kschedweb.accounts.roles import Action
from kschedweb.decisions.selectors import revision_asked
from kschedweb.engine.json_types import Json
from kschedweb.engine.releases.classic.comparison import RuleKind, RuleSide
from kschedweb.jobs.serializers import InquirySerializer
from kschedweb.playground.gate.selectors import missing_error, snapshot_of
from kschedweb.playground.migration import listing, selectors, sentences, services
from kschedweb.playground.migration.filters import QuestionFilter
from kschedweb.playground.migration.models import Question
from kschedweb.web.errors import ApplicationError, NotFound
from kschedweb.web.pagination import ListPagination
from kschedweb.web.rest import IdempotencyMixin, answered_later, validate_input

if TYPE_CHECKING:
    from uuid import UUID

    from django.db.models import QuerySet

    from kschedweb.accounts.typing import ApiRequest
    from kschedweb.policies.models import Revision

# The largest revision has nine digits, which every database's integer holds.
MOST_NUMBER, MOST_NAMESPACES = 10**9 - 1, 500
ORDERING = OpenApiParameter(
    "ordering",
    str,
    enum=[f"{way}{name}" for name in listing.ORDERS for way in ("", "-")],
    description="By which column; a `-` turns it round.",
)
POD_FILTERS = [
    OpenApiParameter("verdict", str, enum=[str(verdict) for verdict in listing.DIFFER], description="Only these."),
    OpenApiParameter("rule", str, description="Only those of one rule: `side:kind:name`."),
    OpenApiParameter("search", str, description="Part of `namespace/name`."),
]


class MovesPolicySerializer(serializers.Serializer[Any]):
    """A saved policy."""

    name = serializers.CharField(max_length=63)
    revision = serializers.IntegerField(
        required=False, min_value=1, max_value=MOST_NUMBER, help_text="The newest without it."
    )


class MovesSnapshotSerializer(serializers.Serializer[Any]):
    cluster = serializers.CharField(max_length=63)
    id = serializers.UUIDField(required=False, help_text="Of the cluster's snapshot; its newest without it.")


class MovesAskSerializer(serializers.Serializer[Any]):
    classic = MovesPolicySerializer(help_text="A classic policy.")
    profile = MovesPolicySerializer(
        required=False, help_text="A policy of profiles; what the classic one is converted to without it."
    )
    snapshot = MovesSnapshotSerializer()
    bound = serializers.BooleanField(
        default=False, help_text="Whether pods on nodes are asked about too, each as if it were taken off."
    )
    namespaces = serializers.ListField(
        child=serializers.CharField(max_length=63),
        default=list,
        max_length=MOST_NAMESPACES,
        help_text="Of these only; of all where none is named.",
    )
    sequence = serializers.BooleanField(default=False, help_text="Whether each that waits is placed before the next.")


class MovesRuleSerializer(serializers.Serializer[Any]):
    """A predicate or priority of the classic policy, or a plugin of the profile."""

    name = serializers.CharField(help_text="'' where none can be named.")
    side = serializers.ChoiceField(choices=[str(side) for side in RuleSide])
    kind = serializers.ChoiceField(choices=[str(kind) for kind in RuleKind])


class MovesRuleCountSerializer(MovesRuleSerializer):
    pods = serializers.IntegerField(help_text="Pods that differ by this rule.")
    moves = serializers.IntegerField(help_text="Of them those that move; the others fit only under one.")


class MovesCountsSerializer(serializers.Serializer[Any]):
    pods = serializers.IntegerField(help_text="Pods that were asked about.")
    verdicts = serializers.DictField(child=serializers.IntegerField(), help_text="Pods by verdict.")
    rules = MovesRuleCountSerializer(many=True, help_text="Those of most pods first.")


class MovesSerializer(InquirySerializer[Question]):
    """A question, and its answer once there is one."""

    classic = serializers.CharField(source="classic_label", read_only=True)
    profile = serializers.CharField(source="profile_label", read_only=True)
    namespaces = serializers.ListField(child=serializers.CharField(), read_only=True)
    notes = serializers.ListField(
        child=serializers.CharField(), read_only=True, help_text="What was left out or read differently."
    )
    counts = MovesCountsSerializer(read_only=True, allow_null=True, help_text="Null as long as there is no answer.")
    answer = serializers.SerializerMethodField(help_text="One sentence; '' as long as there is none.")

    class Meta:
        model = Question
        fields = (
            "id", "classic", "profile", "converted", "snapshot", "about", "bound", "namespaces", "sequence", "state",
            "job", "answer", "counts", "notes", "created_by", "created_at", "ended_at",
        )  # fmt: skip
        read_only_fields = fields

    def get_answer(self, question: Question) -> str:
        return sentences.answer_sentence(question.counts) if question.counts else ""


class MovesReasonSerializer(MovesRuleSerializer):
    reason = serializers.CharField(help_text="Of one that rejects, in the scheduler's words.")
    lead = serializers.IntegerField(allow_null=True, help_text="Weighted points by which it prefers its side's node.")
    share = serializers.FloatField(
        allow_null=True, help_text="0 to 1, of what lies between its side's lowest and highest total."
    )


class MovesPodSerializer(serializers.Serializer[Any]):
    """A pod that moves, or fits only under one."""

    pod = serializers.CharField()
    verdict = serializers.ChoiceField(choices=[str(verdict) for verdict in listing.DIFFER])
    bound_to = serializers.CharField(source="boundTo", help_text="Its node in the snapshot; '' for none.")
    classic = serializers.CharField(help_text="Its node under the classic policy; '' for none.")
    profile = serializers.CharField(help_text="Its node under the profile; '' for none.")
    classic_best = serializers.IntegerField(source="classicBest", help_text="How many nodes are equally good there.")
    profile_best = serializers.IntegerField(source="profileBest")
    rule = MovesReasonSerializer()


def _question_response(question: Question, request: ApiRequest) -> Response:
    """Return 201 with the answer, or 202 while a job works on it."""
    response = answered_later(request, MovesSerializer(question).data, "api:moves-answer", question.pk)
    if question.ended_at is not None:
        response.status_code = 201
        del response["Retry-After"]
    return response


class MovesList(IdempotencyMixin, generics.ListAPIView[Question]):
    """The questions of the last 90 days, newest first."""

    action_required = {"GET": Action.VIEW, "POST": Action.EDIT}
    serializer_class = MovesSerializer
    filterset_class = QuestionFilter
    queryset = Question.objects.none()

    def get_queryset(self) -> QuerySet[Question]:
        return selectors.question_list()

    @extend_schema(
        operation_id="moves_ask", request=MovesAskSerializer, responses={201: MovesSerializer, 202: MovesSerializer}
    )
    def post(self, request: ApiRequest) -> Response:
        """Find the pods that would move from a classic policy to a profile, and by which rule.

        Where the number of nodes times that of pods is at most 2,000,000, the answer comes at once (201), within 3 s;
        all else answers 202, and a job works it out.
        """
        data = validate_input(MovesAskSerializer, request.data)
        query = services.MigrationQuery(
            classic=_get_revision(data["classic"], "classic"),
            profile=_get_revision(data["profile"], "profile") if "profile" in data else None,
            snapshot=snapshot_of(data["snapshot"]["cluster"], str(data["snapshot"].get("id") or "")),
            bound=data["bound"],
            namespaces=tuple(data["namespaces"]),
            sequence=data["sequence"],
        )
        return _question_response(services.question_ask(user=request.user, query=query), request)


def _get_revision(reference: Json, path: str) -> Revision:
    try:
        return revision_asked(reference["name"], str(reference.get("revision") or ""))
    except (Http404, NotFound) as error:
        raise missing_error(f"{path}.name", error) from None


class MovesAnswer(APIView):
    action_required = Action.VIEW

    @extend_schema(operation_id="moves_answer", responses=MovesSerializer)
    def get(self, request: ApiRequest, id: UUID) -> Response:
        """One question, and its answer once there is one."""
        return Response(MovesSerializer(selectors.question_get(id)).data)


@extend_schema_view(get=extend_schema(operation_id="moves_pods", parameters=[*POD_FILTERS, ORDERING]))
class MovesPods(generics.ListAPIView[Any]):
    """The pods that move, or fit only under one; none as long as there is no answer."""

    action_required = Action.VIEW
    pagination_class = ListPagination
    serializer_class = MovesPodSerializer
    queryset = Question.objects.none()

    def get_queryset(self) -> Any:
        question = selectors.question_get(self.kwargs["id"])
        params = self.request.query_params
        ordering = params.get("ordering", "")
        if ordering and ordering.removeprefix("-") not in listing.ORDERS:
            message = f"ordering: one of {', '.join(listing.ORDERS)}, or that with a - in front."
            raise ApplicationError.at("ordering", message)
        filters = {name: params.get(name, "") for name in listing.ANY}
        return [row.raw for row in listing.MovedPods(selectors.differing_pods(question), filters, ordering)]


urlpatterns = [
    path("moves/", MovesList.as_view(), name="moves"),
    path("moves/<uuid:id>/", MovesAnswer.as_view(), name="moves-answer"),
    path("moves/<uuid:id>/pods/", MovesPods.as_view(), name="moves-pods"),
]
