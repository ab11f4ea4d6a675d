"""REST: what Karpenter would do with a cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.http import Http404
from django.urls import path
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from kschedweb.accounts.roles import Action
from kschedweb.advice.autoscaling import day_comparisons, services, words
from kschedweb.advice.autoscaling.groups_serializers import GroupsRequestSerializer, GroupsSerializer
from kschedweb.advice.autoscaling.models import Question
from kschedweb.advice.autoscaling.requests import KarpenterRequest, NodeGroupsRequest
from kschedweb.decisions.selectors import snapshot_asked
from kschedweb.engine.json_types import Json
from kschedweb.engine.patience import DeadlineExceeded
from kschedweb.jobs.inquiries import question_seen
from kschedweb.playground.runs.selectors import comparison_get
from kschedweb.playground.runs.serializers import ComparisonDetailSerializer
from kschedweb.policies.karpenter import selectors as karpenters
from kschedweb.policies.selectors import DEFAULT_POLICY
from kschedweb.web.errors import ApplicationError
from kschedweb.web.rest import IdempotencyMixin, accepted_response, answered_later, validate_input

if TYPE_CHECKING:
    from uuid import UUID

    from kschedweb.accounts.typing import ApiRequest
    from kschedweb.policies.models import Revision


class AutoscalingRequestSerializer(serializers.Serializer[Any]):
    cluster = serializers.SlugField(max_length=63)
    snapshot = serializers.UUIDField(required=False, help_text="The cluster's newest without one.")
    policy = serializers.CharField(
        max_length=80,
        required=False,
        default="",
        allow_blank=True,
        help_text="A policy of kind Karpenter, `name` or `name@revision`. Without one: a NodePool without requirements "
        "and the ready instance types, whose prices are invented.",
    )
    pool = serializers.CharField(
        max_length=253,
        required=False,
        default="",
        allow_blank=True,
        help_text="The NodePool of which nodes without one count. Without one they are told as not Karpenter's.",
    )


class OfferSerializer(serializers.Serializer[Any]):
    instance_type = serializers.CharField(source="instanceType")
    zone = serializers.CharField()
    capacity_type = serializers.CharField(source="capacityType")
    price = serializers.FloatField(help_text="An hour, in the currency of the instance types.")


class LaunchSerializer(serializers.Serializer[Any]):
    """A node that Karpenter would launch: as the first of its offers, which is the cheapest of those that fit."""

    node_pool = serializers.CharField(source="nodePool")
    pods = serializers.ListField(child=serializers.CharField())
    requests = serializers.DictField(child=serializers.CharField(), help_text="Of its pods and daemons, as quantities.")
    offers = OfferSerializer(many=True)
    fitting = serializers.IntegerField(help_text="How many offers fit; the cheapest are listed.")


class UnplacedSerializer(serializers.Serializer[Any]):
    pod = serializers.CharField()
    why = serializers.CharField(help_text="In Karpenter's words.")


class ConsideredSerializer(serializers.Serializer[Any]):
    instance_type = serializers.CharField(source="instanceType")
    price = serializers.FloatField(allow_null=True, help_text="An hour, at worst.")


class AloneSerializer(serializers.Serializer[Any]):
    """The result of trying to do without just this node."""

    moves = serializers.DictField(child=serializers.ListField(child=serializers.CharField()))
    unplaced = UnplacedSerializer(many=True)
    new_nodes = serializers.IntegerField(source="newNodes")
    considered = ConsideredSerializer(many=True)
    decision = serializers.CharField(required=False)
    savings = serializers.FloatField(required=False, help_text="An hour.")
    replacement_price = serializers.FloatField(source="replacementPrice", required=False)
    replacement = serializers.SerializerMethodField()

    @extend_schema_field(serializers.ListField(child=serializers.CharField()))
    def get_replacement(self, alone: Json) -> list[str]:
        """The instance types of the node that would come in its place, the cheapest first."""
        instance_types: list[str] = alone.get("replacement", {}).get("instanceTypes", [])
        return instance_types


class AutoscalingNodeSerializer(serializers.Serializer[Any]):
    node = serializers.CharField()
    node_pool = serializers.CharField(source="nodePool", allow_blank=True)
    verdict = serializers.ChoiceField(choices=words.VERDICTS)
    why = serializers.CharField(help_text="In Karpenter's words where it has any.")
    instance_type = serializers.CharField(source="instanceType", allow_blank=True)
    zone = serializers.CharField(allow_blank=True)
    capacity_type = serializers.CharField(source="capacityType", allow_blank=True)
    price = serializers.FloatField(allow_null=True, help_text="An hour; null where it is not known.")
    pods = serializers.ListField(child=serializers.CharField())
    alone = AloneSerializer(required=False)


class CommandSerializer(serializers.Serializer[Any]):
    """The command that Karpenter would start first."""

    decision = serializers.CharField()
    reason = serializers.CharField()
    type = serializers.CharField()
    candidates = serializers.ListField(child=serializers.CharField(), help_text="The nodes that go.")
    savings = serializers.FloatField(help_text="An hour.")


class SumSerializer(serializers.Serializer[Any]):
    nodes = serializers.IntegerField()
    price = serializers.FloatField(help_text="An hour, of the nodes whose price is known.")
    unpriced = serializers.IntegerField(help_text="Nodes whose price is not known.")


class NodePoolSerializer(serializers.Serializer[Any]):
    node_pool = serializers.CharField(source="nodePool")
    weight = serializers.IntegerField()
    instance_types = serializers.ListField(source="instanceTypes", child=serializers.CharField())
    why = serializers.CharField(required=False, help_text="Why no node can come of it.")


class AutoscalingSerializer(serializers.Serializer[Any]):
    """The decisions of Karpenter."""

    answer = serializers.SerializerMethodField()
    node_pools = NodePoolSerializer(source="nodePools", many=True)
    new_nodes = LaunchSerializer(source="newNodes", many=True)
    existing = serializers.DictField(
        child=serializers.ListField(child=serializers.CharField()), help_text="Pods that wait, by the node they fit on."
    )
    helpless = serializers.SerializerMethodField()
    not_provisionable = serializers.ListField(
        source="notProvisionable", child=serializers.CharField(), help_text="Pods at which Karpenter does not look."
    )
    command = CommandSerializer(allow_null=True)
    nodes = AutoscalingNodeSerializer(many=True)
    before = SumSerializer()
    after = SumSerializer()
    invented = serializers.BooleanField(help_text="Whether the prices are those of the ready instance types.")
    notes = serializers.ListField(child=serializers.CharField())

    def get_answer(self, answer: Json) -> str:
        """One sentence."""
        return words.render_sentence(answer)

    @extend_schema_field(UnplacedSerializer(many=True))
    def get_helpless(self, answer: Json) -> list[Json]:
        """Pods that Karpenter has no node for."""
        return [{"pod": pod, "why": why} for pod, why in answer["podErrors"].items()]


class AutoscalingQuestionSerializer(serializers.ModelSerializer[Question]):
    """A question that a job answers. Until it has, both answers are null: `found` is Karpenter's, `groups`
    cluster-autoscaler's."""

    state = serializers.CharField(read_only=True)
    job = serializers.UUIDField(source="job_id", allow_null=True, read_only=True)
    found = serializers.SerializerMethodField()
    groups = serializers.SerializerMethodField()

    class Meta:
        model = Question
        fields = ("id", "state", "job", "about", "policy", "pool", "created_at", "ended_at", "found", "groups")
        read_only_fields = fields

    @extend_schema_field(AutoscalingSerializer(allow_null=True))
    def get_found(self, question: Question) -> Json | None:
        answer = None if question.groups else question.read_answer()
        return None if answer is None else dict(AutoscalingSerializer(answer).data)

    @extend_schema_field(GroupsSerializer(allow_null=True))
    def get_groups(self, question: Question) -> Json | None:
        answer = question.read_answer() if question.groups else None
        return None if answer is None else dict(GroupsSerializer(answer).data)


def _resolve_policy(reference: str) -> Revision | None:
    """Return the NodePools that the request names, ``None`` for the ready ones."""
    try:
        return karpenters.revision_named(reference) if reference else None
    except Http404:
        raise ApplicationError.at("policy", f"There is no policy {reference}.") from None


class AutoscalingView(IdempotencyMixin, APIView):
    """The decisions of Karpenter."""

    action_required = Action.VIEW

    @extend_schema(
        operation_id="autoscaling",
        request=AutoscalingRequestSerializer,
        responses={200: AutoscalingSerializer, 202: AutoscalingQuestionSerializer},
    )
    def post(self, request: ApiRequest) -> Response:
        """Find the nodes that Karpenter would launch or take away, and why.

        200 with the answer where it is quick to find; else 202, and a job works it out. Nothing happens in the cluster.
        """
        data = validate_input(AutoscalingRequestSerializer, request.data)
        snapshot = snapshot_asked(data["cluster"], str(data.get("snapshot") or ""))
        return _respond_with_answer(
            request, KarpenterRequest(snapshot, _resolve_policy(data["policy"]), data["pool"]), AutoscalingSerializer
        )


class GroupsView(IdempotencyMixin, APIView):
    """Changes that cluster-autoscaler would make."""

    action_required = Action.VIEW

    @extend_schema(
        operation_id="autoscaling_groups",
        request=GroupsRequestSerializer,
        responses={200: GroupsSerializer, 202: AutoscalingQuestionSerializer},
    )
    def post(self, request: ApiRequest) -> Response:
        """Find the node groups that cluster-autoscaler would grow, the nodes it would remove, and why.

        200 with the answer where it is quick to find; else 202, and a job works it out. After its documentation; not
        compared with its code. Nothing happens in the cluster.
        """
        data = validate_input(GroupsRequestSerializer, request.data)
        snapshot = snapshot_asked(data["cluster"], str(data.get("snapshot") or ""))
        return _respond_with_answer(request, NodeGroupsRequest(snapshot, data["document"]), GroupsSerializer)


def _respond_with_answer(
    request: ApiRequest,
    autoscaling_request: KarpenterRequest | NodeGroupsRequest,
    serializer_class: type[serializers.Serializer[Any]],
) -> Response:
    """Return the answer, or where it will be."""
    try:
        return Response(serializer_class(services.answer_at_once(autoscaling_request=autoscaling_request)).data)
    except DeadlineExceeded:
        question = services.question_ask(user=request.user, autoscaling_request=autoscaling_request)
    body = AutoscalingQuestionSerializer(question).data
    return answered_later(request, body, "api:autoscaling-answer", question.pk)


class ChangeRequestSerializer(serializers.Serializer[Any]):
    """Changed NodePools, and the day that is played with them: a `scenario` or a `recording`."""

    policy = serializers.CharField(
        max_length=80,
        required=False,
        default="",
        allow_blank=True,
        help_text="The NodePools before the change, `name` or `name@revision`. Without one: the ready ones.",
    )
    document = serializers.CharField(help_text="The changed NodePools: a document of kind Karpenter, as YAML or JSON.")
    scenario = serializers.UUIDField(required=False)
    recording = serializers.UUIDField(required=False)
    scheduler = serializers.CharField(
        max_length=80, required=False, default=DEFAULT_POLICY, help_text="The scheduler's policy, before and after."
    )
    pool = serializers.CharField(
        max_length=253,
        required=False,
        default="",
        allow_blank=True,
        help_text="For a recording: the NodePool of which nodes without one count.",
    )

    def validate(self, attrs: Json) -> Json:
        if ("scenario" in attrs) == ("recording" in attrs):
            raise serializers.ValidationError({"scenario": "Name a scenario or a recording, and not both."})
        return attrs


class ChangeView(IdempotencyMixin, APIView):
    """Other NodePools over a day."""

    action_required = Action.EDIT

    @extend_schema(
        operation_id="autoscaling_change",
        request=ChangeRequestSerializer,
        responses={202: ComparisonDetailSerializer},
    )
    def post(self, request: ApiRequest) -> Response:
        """Play a day under NodePools as they were and as they are changed; follow the comparison until it has ended.

        The changed NodePools are kept with the comparison alone.
        """
        data = validate_input(ChangeRequestSerializer, request.data)
        kind = day_comparisons.SCENARIO if "scenario" in data else day_comparisons.RECORDING
        comparison = day_comparisons.change_compare(
            user=request.user,
            base=_resolve_policy(data["policy"]),
            document=data["document"],
            day=day_comparisons.Day(kind, str(data[kind]), data["pool"]),
            policy=data["scheduler"],
            path=kind,
        )
        body = ComparisonDetailSerializer(comparison_get(request.user, comparison.pk)).data
        return accepted_response(request, body, "api:comparison", comparison.pk)


class AutoscalingAnswerView(APIView):
    """A question that a job answers."""

    action_required = Action.VIEW

    @extend_schema(operation_id="autoscaling_answer", responses=AutoscalingQuestionSerializer)
    def get(self, request: ApiRequest, id: UUID) -> Response:
        """Return its progress, and its answer once there is one."""
        return Response(AutoscalingQuestionSerializer(question_seen(Question, id)).data)


urlpatterns = [
    path("autoscaling/", AutoscalingView.as_view(), name="autoscaling"),
    path("autoscaling/groups/", GroupsView.as_view(), name="autoscaling-groups"),
    path("autoscaling/change/", ChangeView.as_view(), name="autoscaling-change"),
    path("autoscaling/<uuid:id>/", AutoscalingAnswerView.as_view(), name="autoscaling-answer"),
]
