"""REST serializers of plans of moves."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from kschedweb.advice.moves.serializers import StandingSerializer
from kschedweb.advice.plans.models import Question
from kschedweb.engine.json_types import Json
from kschedweb.jobs.serializers import InquirySerializer
from kschedweb.playground.capacity.base_serializers import CapacityTargetSerializer

NAMES = serializers.ListField


@extend_schema_field({"type": "object", "additionalProperties": True})
class ObjectiveField(serializers.JSONField):
    pass


class PlanRequestSerializer(CapacityTargetSerializer):
    objective = ObjectiveField(
        help_text="Exactly one of skew, nodes, money and fragmentation, with price and mostMoves: docs/planner.md."
    )


class PlannedMoveSerializer(serializers.Serializer[Any]):
    pod = serializers.CharField()
    to = serializers.CharField(help_text="Where the scheduler puts the pod in its place.")
    reason = serializers.CharField()
    gain = serializers.FloatField(help_text="In units of the objective.")
    budget = serializers.CharField(required=False, help_text="The disruption budget that the eviction uses up.")

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        """Add ``from``, which is no name in Python."""
        return {**super().get_fields(), "from": serializers.CharField(help_text="The node that it leaves.")}


class PlanBoundSerializer(serializers.Serializer[Any]):
    moves = serializers.IntegerField(help_text="No plan comes to the same with fewer.")
    value = serializers.FloatField(allow_null=True, help_text="None brings the objective further; null: not known.")


class StopSerializer(serializers.Serializer[Any]):
    kind = serializers.CharField(help_text="What ended the search; `time`: this is the best plan so far.")
    text = serializers.CharField()


class PlanStandingsSerializer(serializers.Serializer[Any]):
    before = StandingSerializer()
    after = StandingSerializer()


class StayingSerializer(serializers.Serializer[Any]):
    """The nodes that are there, and those that stay once the freed ones are gone."""

    nodes = serializers.IntegerField()
    cost = serializers.FloatField(allow_null=True, help_text="An hour of these nodes; null without any price.")
    unpriced = serializers.FloatField(help_text="How many of them have no price.")


class PlanStayingSerializer(serializers.Serializer[Any]):
    before = StayingSerializer()
    after = StayingSerializer()


class PlanSerializer(serializers.Serializer[Any]):
    answer = serializers.CharField(help_text="In one sentence.")
    least = serializers.CharField(help_text="The bound, in one sentence.")
    objective = serializers.CharField()
    unit = serializers.CharField(help_text="Of `before`, `after`, `target` and gains.")
    before = serializers.FloatField()
    after = serializers.FloatField()
    target = serializers.FloatField(allow_null=True)
    reached = serializers.BooleanField()
    moves = serializers.IntegerField()
    price = serializers.FloatField()
    cordons = NAMES(child=serializers.CharField(), help_text="Nodes to cordon first.")
    uncordons = NAMES(child=serializers.CharField(), help_text="Those of them to open again at the end.")
    waves = NAMES(child=PlannedMoveSerializer(many=True))
    bound = PlanBoundSerializer()
    stopped = StopSerializer()
    stays = serializers.DictField(child=serializers.IntegerField(), help_text="How many pods stay, by why.")
    freed = serializers.IntegerField(help_text="Nodes that could go, with those that are empty already.")
    standing = PlanStandingsSerializer()
    staying = PlanStayingSerializer(
        required=False, help_text="What is saved is the difference. Plans of before this was kept lack it."
    )
    currency = serializers.CharField(help_text="Of costs; '' without prices.")
    evictions = NAMES(child=serializers.DictField(), help_text="An Eviction of policy/v1 for each move, with its wave.")
    kubectl = NAMES(child=serializers.CharField(), help_text="The same as lines of a shell.")


class PlanQuestionSerializer(InquirySerializer[Question]):
    """A plan of moves; `plan` is there once it is worked out."""

    asked = ObjectiveField(read_only=True)
    plan = serializers.SerializerMethodField()

    class Meta:
        model = Question
        fields = (
            "id", "about", "policy", "engine", "asked", "state", "job", "error", "plan", "created_by", "created_at",
            "ended_at",
        )  # fmt: skip
        read_only_fields = fields

    @extend_schema_field(PlanSerializer(allow_null=True))
    def get_plan(self, question: Question) -> Json | None:
        return question.read_answer()


class PlanTrialSerializer(serializers.Serializer[Any]):
    scenario = serializers.UUIDField()
    run = serializers.UUIDField()
