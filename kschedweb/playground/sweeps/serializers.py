"""Serializers of sweeps and their trials."""

from __future__ import annotations

from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from kschedweb.engine.json_types import Json
from kschedweb.playground.runs.serializers import ScenarioChoiceSerializer, SeedsField, StartedSerializer
from kschedweb.playground.runs.services import LARGEST_SEED
from kschedweb.playground.sweeps import selectors
from kschedweb.playground.sweeps.models import Method, Origin, Sweep, Trial, TrialState
from kschedweb.playground.sweeps.results import Results
from kschedweb.playground.sweeps.services import DIRECTIONS, MOST_OBJECTIVES, MOST_SEEDS, MOST_TRIALS


@extend_schema_field(OpenApiTypes.ANY)
class PlainField(serializers.JSONField):
    """A number, a string or a boolean."""


class DimensionSerializer(serializers.Serializer[Any]):
    """One field of the policy that varies: over `values`, or from `from` to `to`."""

    path = serializers.CharField(
        max_length=300, help_text="As `profiles[0].plugins.score.enabled[NodeResourcesFit].weight`."
    )
    step = serializers.FloatField(required=False)
    log = serializers.BooleanField(required=False)
    count = serializers.IntegerField(required=False, help_text="How many values a grid has.")
    values = serializers.ListField(child=PlainField(), required=False)  # type: ignore[assignment]

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        # `from` is a word of Python's own.
        return super().get_fields() | {
            "from": serializers.FloatField(required=False),
            "to": serializers.FloatField(required=False),
        }


class ObjectiveSerializer(serializers.Serializer[Any]):
    measure = serializers.CharField(max_length=120, help_text="The name of a measure of a run, or `moved`.")
    direction = serializers.ChoiceField(
        choices=DIRECTIONS, required=False, help_text="Without one the measure's own better direction."
    )


class SweepSerializer(StartedSerializer, serializers.ModelSerializer[Sweep]):
    """A sweep; follow `job` until it has ended."""

    policy = serializers.CharField(source="label", read_only=True, help_text="As `name@revision`.")
    job = serializers.UUIDField(source="job_id", read_only=True, allow_null=True)
    state = serializers.CharField(read_only=True)
    done = serializers.IntegerField(read_only=True, help_text="Trials.")
    failed = serializers.IntegerField(read_only=True)
    objectives = ObjectiveSerializer(many=True, read_only=True)
    seeds = serializers.ListField(child=serializers.IntegerField(), read_only=True, help_text="Of the scenario.")

    class Meta:
        model = Sweep
        fields = (
            "id", "title", "scenario", "revision", "policy", "method", "objectives", "planned", "done", "failed",
            "seeds", "seed", "job", "state", "engine", "created_by", "created_at",
        )  # fmt: skip
        read_only_fields = fields


class TrialSerializer(serializers.ModelSerializer[Trial]):
    """A point of the space; `values` are a measure's values, one for each seed of the sweep."""

    point = serializers.ListField(child=PlainField(), read_only=True)
    values = serializers.DictField(  # type: ignore[assignment]
        child=serializers.ListField(child=serializers.FloatField(allow_null=True)), read_only=True
    )
    state = serializers.ChoiceField(choices=TrialState.choices, read_only=True)
    origin = serializers.ChoiceField(choices=Origin.choices, read_only=True)

    class Meta:
        model = Trial
        fields = ("number", "origin", "point", "state", "attempt", "worker", "values", "seconds", "error", "ended_at")
        read_only_fields = fields


class MemberSerializer(serializers.Serializer[Any]):
    """A trial of the front: `values` are the objectives', means over the seeds."""

    trial = serializers.IntegerField()
    point = serializers.ListField(child=PlainField())
    values = serializers.ListField(child=serializers.FloatField())  # type: ignore[assignment]
    distance = serializers.FloatField(allow_null=True, help_text="From the best of every objective at once, 0 to 1.")


class ShareSerializer(serializers.Serializer[Any]):
    path = serializers.CharField()
    shares = serializers.ListField(
        child=serializers.FloatField(allow_null=True), help_text="Of each objective's variance, 0 to 1."
    )


class SweepDetailSerializer(SweepSerializer):
    space = DimensionSerializer(many=True, read_only=True)
    sentence = serializers.SerializerMethodField()
    best = serializers.SerializerMethodField(help_text="The trial nearest to the best of every objective.")
    front = serializers.SerializerMethodField()
    sensitivity = serializers.SerializerMethodField()

    class Meta:
        model = Sweep
        fields = (*SweepSerializer.Meta.fields, "space", "sentence", "best", "front", "sensitivity")
        read_only_fields = fields

    def to_representation(self, instance: Sweep) -> Json:
        self.results = Results(instance, list(selectors.trial_list(instance)))
        return super().to_representation(instance)

    def get_sentence(self, sweep: Sweep) -> str:
        return self.results.sentence()

    def get_best(self, sweep: Sweep) -> int | None:
        return self.results.best.number if self.results.best else None

    @extend_schema_field(MemberSerializer(many=True))
    def get_front(self, sweep: Sweep) -> list[Json]:
        return [
            {"trial": row.number, "point": row.trial.point, "values": row.values, "distance": row.distance}
            for row in self.results.front
        ]

    @extend_schema_field(ShareSerializer(many=True))
    def get_sensitivity(self, sweep: Sweep) -> list[Json]:
        pairs = zip(self.results.space.dimensions, self.results.shares, strict=True)
        return [{"path": dimension.path, "shares": [share.value for share in row]} for dimension, row in pairs]


class SweepStartSerializer(ScenarioChoiceSerializer):
    """The scenario and space of a sweep. A search has `trials` trials, a grid as many as it has points."""

    policy = serializers.CharField(max_length=120, help_text="As `name` or `name@revision`.")
    space = DimensionSerializer(many=True)
    objectives = ObjectiveSerializer(many=True, help_text=f"At most {MOST_OBJECTIVES}.")
    method = serializers.ChoiceField(choices=Method.choices, required=False, default=Method.TPE)
    trials = serializers.IntegerField(required=False, default=100, min_value=2, max_value=MOST_TRIALS)
    seeds = SeedsField(max_length=MOST_SEEDS)
    seed = serializers.IntegerField(required=False, default=1, min_value=0, max_value=LARGEST_SEED - MOST_TRIALS)
    title = serializers.CharField(required=False, default="", allow_blank=True, max_length=200)


class SavePolicySerializer(serializers.Serializer[Any]):
    trial = serializers.IntegerField(min_value=0, max_value=2**31 - 1)
    name = serializers.CharField(max_length=63, help_text="The base policy's, for a further revision; or a new one.")


class SavedPolicySerializer(serializers.Serializer[Any]):
    policy = serializers.CharField()
    revision = serializers.IntegerField()
