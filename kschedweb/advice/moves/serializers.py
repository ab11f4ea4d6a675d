"""REST serializers of moves."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from kschedweb.advice.moves import answers
from kschedweb.advice.moves.models import Question
from kschedweb.advice.moves.requests import LONGEST_EVERY, MOST_ROUNDS
from kschedweb.engine.json_types import Json
from kschedweb.engine.studies.measure.spec import Population
from kschedweb.engine.studies.moves.repeated_cycles import ROUND_INTERVAL, ROUNDS
from kschedweb.jobs.serializers import InquirySerializer
from kschedweb.playground.capacity.base_serializers import CapacityTargetSerializer

NAMES = serializers.ListField


class DeschedulingRequestSerializer(CapacityTargetSerializer):
    descheduler = serializers.CharField(
        max_length=63, default="", allow_blank=True, help_text="Name of a policy that holds a DeschedulerPolicy."
    )
    descheduler_revision = serializers.IntegerField(
        required=False, min_value=1, max_value=10**9 - 1, help_text="Of that policy; the newest without one."
    )
    document = serializers.CharField(
        max_length=1_000_000, default="", allow_blank=True, help_text="A DeschedulerPolicy that is not saved, instead."
    )
    rounds = serializers.IntegerField(
        min_value=1, max_value=MOST_ROUNDS, default=ROUNDS, help_text="Cycles, until one evicts nothing."
    )
    minutes = serializers.IntegerField(
        min_value=1, max_value=LONGEST_EVERY, default=int(ROUND_INTERVAL // 60), help_text="From one cycle to the next."
    )


class MovesTrialSerializer(serializers.Serializer[Any]):
    """The scenario that was made, and its run."""

    scenario = serializers.UUIDField()
    run = serializers.UUIDField()


class LandingSerializer(serializers.Serializer[Any]):
    """The landing of one evicted pod."""

    pod = serializers.CharField()
    workload = serializers.CharField(help_text="namespace/Kind/name; the pod itself without a controller.")
    node = serializers.CharField(help_text="The node that it leaves.")
    plugin = serializers.CharField(help_text="The plugin of the descheduler that evicts it.")
    profile = serializers.CharField()
    fate = serializers.ChoiceField(
        list(answers.FATES),
        help_text="`lands` on another node, `returns` to the same, `unfit`: no node takes it, `gone`: not replaced.",
    )
    target = serializers.CharField(help_text="The node of its replacement; '' without one.")
    message = serializers.CharField(help_text="Why there is none; of `unfit` in the scheduler's words.")


class SpreadSerializer(serializers.Serializer[Any]):
    """Spread of nodes, in points of percent of their allocatable."""

    skew = serializers.FloatField(help_text="The fullest less the emptiest.")
    deviation = serializers.FloatField(help_text="Standard deviation.")


class StandingSerializer(serializers.Serializer[Any]):
    requests = serializers.DictField(child=SpreadSerializer(), help_text=f"By resource, over {Population.NODES}.")
    use = serializers.DictField(
        child=SpreadSerializer(), help_text=f"Real use by resource, where it is known, over {Population.OPEN_NODES}."
    )
    nodes = serializers.IntegerField(help_text="Nodes with pods beside those of DaemonSets.")
    cost = serializers.FloatField(allow_null=True, help_text="Of these nodes an hour; null without prices.")
    unpriced = serializers.FloatField(help_text="How many of them have no price.")


class BudgetLeftSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    before = serializers.IntegerField(help_text="Disruptions that the budget allowed before.")
    left = serializers.IntegerField(help_text="… and still allows.")


class DisturbedSerializer(serializers.Serializer[Any]):
    workload = serializers.CharField()
    pods = serializers.IntegerField()
    evicted = serializers.IntegerField()
    unfit = serializers.IntegerField()


class RefusedSerializer(serializers.Serializer[Any]):
    pod = serializers.CharField(help_text="'' where a limit ends the cycle.")
    message = serializers.CharField(help_text="In the words of the descheduler.")


class NodeClassSerializer(serializers.Serializer[Any]):
    plugin = serializers.CharField()
    node = serializers.CharField()
    category = serializers.CharField()


class RoundSerializer(serializers.Serializer[Any]):
    evicted = serializers.IntegerField()
    returned = serializers.IntegerField()
    unfit = serializers.IntegerField()
    again = serializers.IntegerField(help_text="Pods that an earlier cycle had evicted already.")
    after = StandingSerializer()


class FightSerializer(serializers.Serializer[Any]):
    plugin = serializers.CharField(help_text="The plugin of the descheduler.")
    scorer = serializers.CharField(help_text="The score plugin that brings the pods back; '' where no score decides.")
    pods = NAMES(child=serializers.CharField())
    workloads = NAMES(child=serializers.CharField())
    times = serializers.IntegerField(help_text="How often the most evicted of them was evicted.")
    sentence = serializers.CharField()


class FoundDeschedulingSerializer(serializers.Serializer[Any]):
    answer = serializers.CharField(help_text="In one sentence.")
    skipped = serializers.CharField(help_text="Why there was no cycle; '' if there was one.")
    evicted = serializers.IntegerField()
    counts = serializers.DictField(child=serializers.IntegerField(), help_text="Evicted pods by fate.")
    landings = LandingSerializer(many=True, help_text="In the order of the evictions.")
    before = StandingSerializer()
    after = StandingSerializer()
    currency = serializers.CharField(help_text="Of `cost`; '' without prices.")
    emptied = NAMES(child=serializers.CharField(), help_text="Nodes that lose all work.")
    filled = NAMES(child=serializers.CharField(), help_text="Nodes that had no work and get some.")
    budgets = BudgetLeftSerializer(many=True)
    disturbed = DisturbedSerializer(many=True, help_text="Workloads, those first that lose most pods.")
    refused = RefusedSerializer(many=True)
    classes = NodeClassSerializer(many=True, help_text="How plugins of utilization class nodes.")
    notes = NAMES(child=serializers.CharField())
    plugin_errors = NAMES(child=serializers.CharField())
    rounds = RoundSerializer(many=True)
    every = serializers.FloatField(help_text="Seconds from one cycle to the next.")
    settled = serializers.BooleanField(help_text="Whether the last cycle evicted nothing.")
    fights = FightSerializer(many=True, help_text="Pods that are evicted again and again.")


class DeschedulingSerializer(FoundDeschedulingSerializer):
    snapshot = serializers.UUIDField()
    policy = serializers.CharField()
    revision = serializers.IntegerField()
    descheduler = serializers.CharField(help_text="Which policy of the descheduler.")


class DeschedulingQuestionSerializer(InquirySerializer[Question]):
    """A dry run that a job works out; `moves` is there once it is answered."""

    moves = serializers.SerializerMethodField()

    class Meta:
        model = Question
        fields = (
            "id", "about", "policy", "engine", "state", "job", "error", "moves", "created_by", "created_at", "ended_at",
        )  # fmt: skip
        read_only_fields = fields

    @extend_schema_field(FoundDeschedulingSerializer(allow_null=True))
    def get_moves(self, question: Question) -> Json | None:
        return question.read_answer()
