"""Runs and comparisons as JSON."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers

from kschedweb.playground.runs import podtable, selectors
from kschedweb.playground.runs.comparisons import comparing, moved
from kschedweb.playground.runs.measures import kept
from kschedweb.playground.runs.models import Comparison, Run
from kschedweb.playground.runs.services import FEWEST_POLICIES, LARGEST_SEED, MOST_POLICIES, MOST_SEEDS


class AskedSerializer(serializers.Serializer[Any]):
    """On which scenario something is to be done."""

    scenario = serializers.UUIDField()
    revision = serializers.IntegerField(
        required=False,
        allow_null=True,
        default=None,
        min_value=1,
        max_value=2**31 - 1,
        help_text="Without one the newest.",
    )


class StartedSerializer(serializers.Serializer[Any]):
    """What was done on a scenario, and by whom."""

    scenario = serializers.UUIDField(source="revision.scenario_id", read_only=True)
    revision = serializers.IntegerField(source="revision.number", read_only=True, help_text="Of the scenario.")
    created_by = serializers.CharField(source="created_by.username", default=None, allow_null=True, read_only=True)


class SeedsField(serializers.ListField):
    """Seeds of a scenario, the first alone where nothing is said."""

    child = serializers.IntegerField(min_value=0, max_value=LARGEST_SEED)

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"required": False, "default": [1], "min_length": 1, **options})


class MeasureSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    label = serializers.CharField()  # type: ignore[assignment]
    unit = serializers.CharField()
    direction = serializers.CharField(help_text="`lower` or `higher` is better; `` where neither is.")
    sentence = serializers.CharField()
    value = serializers.FloatField(allow_null=True)


class RunSerializer(StartedSerializer, serializers.ModelSerializer[Run]):
    """A run; follow its job until it has ended."""

    policy = serializers.CharField(source="label", read_only=True, help_text="As `name@revision`.")
    comparison = serializers.UUIDField(source="comparison_id", read_only=True, allow_null=True)
    job = serializers.UUIDField(source="job_id", read_only=True, allow_null=True)
    state = serializers.CharField(read_only=True)

    class Meta:
        model = Run
        fields = (
            "id", "scenario", "revision", "policy", "seed", "comparison", "job", "state", "engine", "virtual_seconds",
            "seconds", "created_by", "created_at", "ended_at",
        )  # fmt: skip
        read_only_fields = fields


class RunDetailSerializer(RunSerializer):
    notes = serializers.ListField(child=serializers.CharField(), help_text="What was left out or read differently.")
    measures = serializers.SerializerMethodField()

    class Meta:
        model = Run
        fields = (*RunSerializer.Meta.fields, "notes", "measures")
        read_only_fields = fields

    @extend_schema(responses=MeasureSerializer(many=True))
    def get_measures(self, run: Run) -> list[dict[str, Any]]:
        return [dict(vars(one)) for one in kept(run)]


class RunStartSerializer(AskedSerializer):
    """What to run: under a saved policy, or under a document that is not saved."""

    policy = serializers.CharField(required=False, default="", allow_blank=True, max_length=120)
    document = serializers.CharField(
        required=False, default="", allow_blank=True, max_length=1_000_000, help_text="A KubeSchedulerConfiguration."
    )
    seed = serializers.IntegerField(required=False, default=1, min_value=0, max_value=LARGEST_SEED)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if bool(attrs["policy"]) == bool(attrs["document"]):
            raise serializers.ValidationError({"policy": "Name a saved policy, or send a document, not both."})
        return attrs


class ComparisonSerializer(StartedSerializer, serializers.ModelSerializer[Comparison]):
    """A comparison; its runs are jobs of their own."""

    engine = serializers.SerializerMethodField(
        help_text="The versions of kschedweb, and the kube-scheduler they stand for, of the runs that are done."
    )
    runs_done = serializers.SerializerMethodField()
    runs_total = serializers.SerializerMethodField()

    class Meta:
        model = Comparison
        fields = (
            "id",
            "title",
            "scenario",
            "revision",
            "engine",
            "runs_done",
            "runs_total",
            "created_by",
            "created_at",
        )
        read_only_fields = fields

    def get_engine(self, found: Comparison) -> list[str]:
        return comparing.engines(found.runs.all())

    def get_runs_done(self, found: Comparison) -> int:
        return sum(run.ended_at is not None for run in found.runs.all())

    def get_runs_total(self, found: Comparison) -> int:
        return len(found.runs.all())


PART = {"id": "pk", "policy": "label", "seed": "seed", "job": "job_id", "state": "state", "engine": "engine"}


class PartSerializer(serializers.Serializer[Any]):
    """One run of a comparison."""

    id = serializers.UUIDField()
    policy = serializers.CharField()
    seed = serializers.IntegerField()
    job = serializers.UUIDField(allow_null=True)
    state = serializers.CharField()
    engine = serializers.CharField(help_text="Empty until it is done.")


class ChangeSerializer(serializers.Serializer[Any]):
    """A measure: by policy the values of each seed, the reference first."""

    name = serializers.CharField()
    unit = serializers.CharField()
    direction = serializers.CharField()
    values = serializers.ListField(child=serializers.DictField(child=serializers.FloatField()))


class ComparisonDetailSerializer(ComparisonSerializer):
    policies = serializers.SerializerMethodField()
    runs = serializers.SerializerMethodField()
    measures = serializers.SerializerMethodField()
    sentence = serializers.SerializerMethodField()

    class Meta:
        model = Comparison
        fields = (*ComparisonSerializer.Meta.fields, "policies", "sentence", "runs", "measures")
        read_only_fields = fields

    def get_policies(self, found: Comparison) -> list[str]:
        return [side.label for side in comparing.sides(found)]

    @extend_schema(responses=PartSerializer(many=True))
    def get_runs(self, found: Comparison) -> list[dict[str, Any]]:
        return [{name: getattr(run, field) for name, field in PART.items()} for run in found.runs.all()]

    @extend_schema(responses=ChangeSerializer(many=True))
    def get_measures(self, found: Comparison) -> list[dict[str, Any]]:
        return [
            {
                "name": line.measure.name,
                "unit": line.measure.unit,
                "direction": line.measure.direction,
                "values": [{str(seed): value for seed, value in named.items()} for named in line.values],
            }
            for line in comparing.lines(comparing.sides(found), list(selectors.difference_list(found)))
        ]

    def get_sentence(self, found: Comparison) -> str:
        sides = comparing.sides(found)
        listed = moved.MovedList(list(selectors.difference_list(found)), 1, moved.ANY)
        return comparing.sentence(sides, comparing.lines(sides), listed.first_count, listed.pods)


class ComparisonStartSerializer(AskedSerializer):
    """What to compare; the first policy is the reference."""

    policies = serializers.ListField(
        child=serializers.CharField(max_length=120),
        min_length=FEWEST_POLICIES,
        max_length=MOST_POLICIES,
        help_text="As `name` or `name@revision`.",
    )
    seeds = SeedsField(max_length=MOST_SEEDS)
    title = serializers.CharField(required=False, default="", allow_blank=True, max_length=200)


class RunPodSerializer(serializers.Serializer[Any]):
    """A pod at the time that is asked for; all times are seconds in the simulation."""

    pod = serializers.CharField(source="key")
    state = serializers.ChoiceField(choices=list(podtable.STATES))
    node = serializers.CharField()
    arrived = serializers.FloatField(allow_null=True)
    bound = serializers.FloatField(allow_null=True)
    waited = serializers.FloatField(allow_null=True)
    left = serializers.FloatField(allow_null=True)
    attempts = serializers.IntegerField()
    message = serializers.CharField(help_text="What the scheduler said when a try failed last.")


class RunMoveSerializer(serializers.Serializer[Any]):
    """A pod coming to a node, or leaving it."""

    time = serializers.FloatField()
    pod = serializers.CharField()
    node = serializers.CharField()
    kind = serializers.ChoiceField(choices=list(podtable.KINDS.values()))
    text = serializers.CharField()


class RunSampleSerializer(serializers.Serializer[Any]):
    """How things stood at a time: nodes, bound pods, and waiting pods by queue."""

    time = serializers.FloatField()
    nodes = serializers.IntegerField()
    bound = serializers.IntegerField()
    active = serializers.IntegerField()
    backing_off = serializers.IntegerField()
    unschedulable = serializers.IntegerField()
    gated = serializers.IntegerField()


class MovedSerializer(serializers.Serializer[Any]):
    """A pod that goes elsewhere than under the reference, and the plugin whose score speaks most for it."""

    pod = serializers.CharField()
    what = serializers.ChoiceField(choices=list(moved.WHAT))
    before = serializers.CharField(help_text="Node under the reference, `` for none.")
    after = serializers.CharField()
    plugin = serializers.CharField()
    lead = serializers.FloatField(allow_null=True, help_text="Weighted points.")
    said = serializers.CharField(help_text="The scheduler's message, or why no plugin can be named.")
    seed = serializers.IntegerField()
    policy = serializers.CharField()


class ReportBaseSerializer(serializers.Serializer[Any]):
    """What the scenario starts from; all null for an imagined cluster."""

    snapshot = serializers.CharField(allow_null=True)
    cluster = serializers.CharField(allow_null=True)
    taken_at = serializers.DateTimeField(allow_null=True)


class ReportScenarioSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    name = serializers.CharField()
    revision = serializers.IntegerField()
    description = serializers.CharField()


class ReportRunSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    policy = serializers.CharField()
    seed = serializers.IntegerField()
    virtual_seconds = serializers.FloatField(allow_null=True)
    seconds = serializers.FloatField(allow_null=True)
    ended_at = serializers.DateTimeField(allow_null=True)
    engine = serializers.CharField(help_text="The version of kschedweb, and the kube-scheduler it stands for.")


class ReportValueSerializer(serializers.Serializer[Any]):
    policy = serializers.CharField()
    seed = serializers.IntegerField()
    value = serializers.FloatField(allow_null=True)
    text = serializers.CharField()


class ReportMeasureSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    label = serializers.CharField()  # type: ignore[assignment]
    unit = serializers.CharField()
    better = serializers.CharField()
    sentence = serializers.CharField()
    values = ReportValueSerializer(many=True)


class ReportListSerializer(serializers.Serializer[Any]):
    """A list of pods, of which the first are here."""

    name = serializers.CharField()
    total = serializers.IntegerField()
    rows = serializers.ListField(child=serializers.DictField())


class ReportDocumentSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    text = serializers.CharField()
    whole = serializers.BooleanField()


class RunReportSerializer(serializers.Serializer[Any]):
    """A run or a comparison with all that is needed to judge it."""

    kind = serializers.ChoiceField(choices=["RunReport", "ComparisonReport"])
    title = serializers.CharField()
    address = serializers.CharField()
    made_at = serializers.DateTimeField()
    scenario = ReportScenarioSerializer()
    base = ReportBaseSerializer()
    policies = serializers.ListField(child=serializers.CharField())
    seeds = serializers.ListField(child=serializers.IntegerField())
    seed_decides = serializers.ListField(child=serializers.CharField())
    engine = serializers.ListField(child=serializers.CharField())
    feature_gates = serializers.CharField()
    runs = ReportRunSerializer(many=True)
    name = serializers.CharField(required=False, help_text="Of a comparison.")
    simulated = serializers.ListField(child=serializers.CharField())
    not_simulated = serializers.ListField(child=serializers.CharField())
    notes = serializers.ListField(child=serializers.CharField())
    notes_total = serializers.IntegerField()
    measures = ReportMeasureSerializer(many=True)
    lists = ReportListSerializer(many=True)
    documents = ReportDocumentSerializer(many=True)
