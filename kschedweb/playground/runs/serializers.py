"""Serializers of runs and comparisons."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from kschedweb.engine.json_types import Json
from kschedweb.engine.simulation.autoscaling.context import LAUNCHED, REMOVED
from kschedweb.engine.studies.measure.registry import lead_of
from kschedweb.playground.reports.serializers import GROUP
from kschedweb.playground.runs import pod_rows, selectors
from kschedweb.playground.runs.comparisons import measure_rows, moved_pods
from kschedweb.playground.runs.descheduling import FATES
from kschedweb.playground.runs.measures import list_measures
from kschedweb.playground.runs.models import Comparison, Run
from kschedweb.playground.runs.run_policies import POLICY_HELP
from kschedweb.playground.runs.services import FEWEST_POLICIES, LARGEST_SEED, MOST_POLICIES, MOST_SEEDS

LIKE = "A run or a comparison. What it was under, saved or not, can be named by its label."


class ScenarioChoiceSerializer(serializers.Serializer[Any]):
    """The scenario on which something is to be done."""

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
    """Something that was started on a scenario, and by whom."""

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
    group = GROUP
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

    @extend_schema_field(MeasureSerializer(many=True))
    def get_measures(self, run: Run) -> list[Json]:
        return [measure.to_dict() for measure in list_measures(run)]


class RunStartSerializer(ScenarioChoiceSerializer):
    """The scenario to run: under a saved policy, or under a document that is not saved."""

    policy = serializers.CharField(
        required=False,
        default="",
        allow_blank=True,
        max_length=160,
        help_text=POLICY_HELP,
    )
    document = serializers.CharField(
        required=False,
        default="",
        allow_blank=True,
        max_length=1_000_000,
        help_text="A KubeSchedulerConfiguration, or a Policy.",
    )
    seed = serializers.IntegerField(required=False, default=1, min_value=0, max_value=LARGEST_SEED)
    like = serializers.UUIDField(required=False, default=None, allow_null=True, help_text=LIKE)

    def validate(self, attrs: Json) -> Json:
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

    def get_engine(self, comparison: Comparison) -> list[str]:
        return measure_rows.list_engines(comparison.runs.all())

    def get_runs_done(self, comparison: Comparison) -> int:
        return sum(run.ended_at is not None for run in comparison.runs.all())

    def get_runs_total(self, comparison: Comparison) -> int:
        return len(comparison.runs.all())


PART = {"id": "pk", "policy": "label", "seed": "seed", "job": "job_id", "state": "state", "engine": "engine"}


class PartSerializer(serializers.Serializer[Any]):
    """One run of a comparison."""

    id = serializers.UUIDField()
    policy = serializers.CharField()
    seed = serializers.IntegerField()
    job = serializers.UUIDField(allow_null=True)
    state = serializers.CharField()
    engine = serializers.CharField(help_text="Empty until it is done.")


class PolicyChangeSerializer(serializers.Serializer[Any]):
    """Another policy's mean of a measure held against the reference, over the seeds that both have."""

    policy = serializers.CharField()
    change = serializers.FloatField(help_text="In the unit of the measure; of a percentage, in points.")
    noise_floor = serializers.FloatField(help_text="A smaller change is no difference.")
    differs = serializers.BooleanField()
    better = serializers.BooleanField(allow_null=True, help_text="Null where nothing differs or neither is better.")


class ComparedMeasureSerializer(serializers.Serializer[Any]):
    """A measure: by policy the values of each seed, the reference first."""

    name = serializers.CharField()
    group = GROUP
    like = serializers.CharField(help_text="The measure that says nearly the same and leads; itself if it leads.")
    unit = serializers.CharField()
    direction = serializers.CharField()
    values = serializers.ListField(child=serializers.DictField(child=serializers.FloatField()))
    changes = PolicyChangeSerializer(many=True, help_text="Of every policy but the reference.")


class ComparisonDetailSerializer(ComparisonSerializer):
    policies = serializers.SerializerMethodField()
    runs = serializers.SerializerMethodField()
    measures = serializers.SerializerMethodField()
    sentence = serializers.SerializerMethodField()

    class Meta:
        model = Comparison
        fields = (*ComparisonSerializer.Meta.fields, "policies", "sentence", "runs", "measures")
        read_only_fields = fields

    def get_policies(self, comparison: Comparison) -> list[str]:
        return [side.label for side in measure_rows.list_sides(comparison)]

    @extend_schema_field(PartSerializer(many=True))
    def get_runs(self, comparison: Comparison) -> list[Json]:
        return [{name: getattr(run, field) for name, field in PART.items()} for run in comparison.runs.all()]

    @extend_schema_field(ComparedMeasureSerializer(many=True))
    def get_measures(self, comparison: Comparison) -> list[Json]:
        sides = measure_rows.list_sides(comparison)
        return [
            {
                "name": line.measure.name,
                "group": line.measure.group.name,
                "like": lead_of(line.measure.name),
                "unit": line.measure.unit,
                "direction": line.measure.direction,
                "values": [
                    {str(seed): value for seed, value in values_by_seed.items()} for values_by_seed in line.values
                ],
                "changes": [
                    {
                        "policy": side.label,
                        "change": change.measure_change.change,
                        "noise_floor": change.measure_change.floor,
                        "differs": change.differs,
                        "better": change.better,
                    }
                    for side, change in zip(sides[1:], line.changes, strict=True)
                ],
            }
            for line in measure_rows.compare_measures(sides, list(selectors.difference_list(comparison)))
        ]

    def get_sentence(self, comparison: Comparison) -> str:
        sides = measure_rows.list_sides(comparison)
        listed = moved_pods.MovedList(list(selectors.difference_list(comparison)), 1, moved_pods.ANY)
        return measure_rows.comparison_sentence(
            sides, measure_rows.compare_measures(sides), listed.first_count, listed.pods
        )


class ComparisonStartSerializer(ScenarioChoiceSerializer):
    """The policies to compare; the first one is the reference."""

    policies = serializers.ListField(
        child=serializers.CharField(max_length=160),
        min_length=FEWEST_POLICIES,
        max_length=MOST_POLICIES,
        help_text=POLICY_HELP,
    )
    seeds = SeedsField(max_length=MOST_SEEDS)
    title = serializers.CharField(required=False, default="", allow_blank=True, max_length=200)
    like = serializers.UUIDField(required=False, default=None, allow_null=True, help_text=LIKE)


class RunPodSerializer(serializers.Serializer[Any]):
    """A pod at the time that is asked for; all times are seconds in the simulation."""

    pod = serializers.CharField(source="key")
    state = serializers.ChoiceField(choices=list(pod_rows.STATES))
    node = serializers.CharField()
    arrived = serializers.FloatField(allow_null=True)
    bound = serializers.FloatField(allow_null=True)
    waited = serializers.FloatField(allow_null=True)
    left = serializers.FloatField(source="departed", allow_null=True)
    attempts = serializers.IntegerField()
    message = serializers.CharField(
        help_text="What the scheduler said when a try failed last, or the kubelet of a pod that failed."
    )


class RunDecisionSerializer(serializers.Serializer[Any]):
    """A try of a pod in a run: what the run made of it, and every verdict and score on all nodes of then."""

    run = serializers.UUIDField()
    policy = serializers.CharField(help_text="As the run names it.")
    pod = serializers.CharField()
    attempt = serializers.IntegerField()
    attempts = serializers.IntegerField()
    time = serializers.FloatField(help_text="Seconds in the simulation.")
    node = serializers.CharField(allow_blank=True, help_text="Where the run put it; '' for nowhere.")
    nominated = serializers.CharField(allow_blank=True, help_text="The node on which room is made for it.")
    victims = serializers.ListField(child=serializers.CharField(), help_text="Pods that have to go from there.")
    evaluated = serializers.IntegerField(help_text="Nodes that the run looked at; the decision looks at all.")
    feasible = serializers.IntegerField(help_text="Nodes that it found.")
    decision = serializers.DictField(
        child=serializers.JSONField(), help_text="Verdicts and scores, with the keys of a pod's decision in a cluster."
    )


class RunMoveSerializer(serializers.Serializer[Any]):
    """A pod coming to a node, or leaving it; `terminating`: it had to go, and its node is silent."""

    time = serializers.FloatField()
    pod = serializers.CharField()
    node = serializers.CharField()
    kind = serializers.ChoiceField(choices=[*pod_rows.KINDS.values(), pod_rows.TERMINATING])
    text = serializers.CharField()


class RunScalingSerializer(serializers.Serializer[Any]):
    """A workload that asks for another number of pods."""

    time = serializers.FloatField()
    workload = serializers.CharField()
    before = serializers.IntegerField()
    after = serializers.IntegerField()
    reason = serializers.CharField()


class RunDeedSerializer(serializers.Serializer[Any]):
    """A node that the autoscaler asked for, or deleted."""

    time = serializers.FloatField()
    what = serializers.ChoiceField(source="action", choices=(LAUNCHED, REMOVED))
    node = serializers.CharField()
    text = serializers.CharField(help_text="As what it was asked for, or why it was deleted.")


class RunEvictionSerializer(serializers.Serializer[Any]):
    """A pod that the descheduler evicted, and what became of the one in its place."""

    time = serializers.FloatField(help_text="Seconds in the simulation.")
    round = serializers.IntegerField(help_text="From 1.")
    pod = serializers.CharField()
    workload = serializers.CharField(help_text="As `namespace/Kind/name`; the pod itself without a controller.")
    node = serializers.CharField(allow_blank=True, help_text="From where; `` for a pod that waited.")
    plugin = serializers.CharField()
    profile = serializers.CharField(allow_blank=True)
    fate = serializers.ChoiceField(
        choices=list(FATES),
        help_text="`lands` on another node, `returns` to the one that it left, `unfit`: gets no node, `gone`: nobody "
        "makes another one.",
    )
    target = serializers.CharField(allow_blank=True, help_text="The node of the one in its place.")


class RunRoundSerializer(serializers.Serializer[Any]):
    """A round of the descheduler."""

    round = serializers.IntegerField(help_text="From 1.")
    time = serializers.FloatField(help_text="Seconds in the simulation.")
    evicted = serializers.IntegerField()
    refused = serializers.IntegerField(help_text="Evictions that a limit or a budget refused.")
    said = serializers.CharField(allow_blank=True, help_text="Why plugins did nothing.")


class RunFightSerializer(serializers.Serializer[Any]):
    """Pods that one plugin of the descheduler evicts again and again."""

    plugin = serializers.CharField()
    scorer = serializers.CharField(
        allow_blank=True, help_text="The score plugin that brings them back; `` where they fit on no other node."
    )
    pods = serializers.ListField(child=serializers.CharField())
    workloads = serializers.ListField(child=serializers.CharField())
    times = serializers.IntegerField(help_text="How often the most evicted of them was evicted.")
    sentence = serializers.CharField()


class RunDeschedulerSerializer(serializers.Serializer[Any]):
    """The rounds and fights of the descheduler in a run; empty without one."""

    rounds = RunRoundSerializer(many=True)
    fights = RunFightSerializer(many=True)


class RunWaitSerializer(serializers.Serializer[Any]):
    """The jobs of a quota queue and priority."""

    queue = serializers.CharField(allow_blank=True, help_text="The ClusterQueue; `` if its LocalQueue is not there.")
    priority = serializers.IntegerField()
    jobs = serializers.IntegerField()
    median = serializers.FloatField(allow_null=True, help_text="Seconds until a job had quota.")
    p99 = serializers.FloatField(allow_null=True, help_text="Seconds, 99th percentile.")
    waiting = serializers.IntegerField(help_text="Jobs without quota at the end.")
    unplaced = serializers.IntegerField(help_text="Jobs with quota at the end while not all pods have nodes.")
    evictions = serializers.IntegerField()


class RunQuotaSerializer(serializers.Serializer[Any]):
    """A quota over a run, in milli-CPU or whole units."""

    queue = serializers.CharField()
    cohort = serializers.CharField(allow_blank=True)
    flavor = serializers.CharField()
    resource = serializers.CharField()
    nominal = serializers.IntegerField(allow_null=True, help_text="null for unlimited.")
    used = serializers.FloatField(help_text="Mean over time.")
    borrowed = serializers.FloatField(help_text="Mean over time.")
    lent = serializers.FloatField(help_text="Mean over time; what others borrow is taken evenly out of idle quota.")
    most_used = serializers.IntegerField()


class LoopEvictionSerializer(serializers.Serializer[Any]):
    preemptor = serializers.CharField(help_text="`namespace/name` of a Workload.")
    victim = serializers.CharField(help_text="`namespace/name` of a Workload.")
    reason = serializers.CharField(help_text="Kueue's reason.")
    count = serializers.IntegerField()


class PreemptionLoopSerializer(serializers.Serializer[Any]):
    """Jobs that evict each other again and again, while none gets anywhere."""

    sentence = serializers.CharField()
    count = serializers.IntegerField(help_text="How often it went round.")
    first_seconds = serializers.FloatField(help_text="Of its first eviction.")
    last_seconds = serializers.FloatField(help_text="Of its last eviction.")
    evictions = LoopEvictionSerializer(many=True)


class RunQueuesSerializer(serializers.Serializer[Any]):
    """Quota queues in a run."""

    waits = RunWaitSerializer(many=True)
    quotas = RunQuotaSerializer(many=True)
    evictions = serializers.DictField(child=serializers.IntegerField(), help_text="Number by Kueue's reason.")
    loops = PreemptionLoopSerializer(many=True, help_text="The most frequent first.")


class RunJobSerializer(serializers.Serializer[Any]):
    """A job in a quota queue. Times are seconds in the simulation."""

    job = serializers.CharField(help_text="Its Workload as `namespace/name`.")
    queue = serializers.CharField(allow_blank=True)
    priority = serializers.IntegerField()
    pods = serializers.IntegerField()
    queued = serializers.FloatField()
    quota = serializers.FloatField(allow_null=True, help_text="When it had quota for the first time.")
    wait = serializers.FloatField(allow_null=True, help_text="Seconds until then.")
    placed = serializers.FloatField(
        allow_null=True, help_text="When all its pods had nodes, after it had quota for the last time."
    )
    ended = serializers.FloatField(allow_null=True)
    evictions = serializers.IntegerField()
    reason = serializers.CharField(allow_blank=True, help_text="Why it lost its quota last, in Kueue's word.")
    flavors = serializers.CharField(allow_blank=True)


class RunSampleSerializer(serializers.Serializer[Any]):
    """Sample of a run at a time: nodes, bound pods, and waiting pods by queue.

    `unknown` of the bound pods are on silent nodes.
    """

    time = serializers.FloatField()
    nodes = serializers.IntegerField()
    bound = serializers.IntegerField()
    active = serializers.IntegerField()
    backing_off = serializers.IntegerField()
    unschedulable = serializers.IntegerField()
    gated = serializers.IntegerField()
    unknown = serializers.IntegerField()


class MovedSerializer(serializers.Serializer[Any]):
    """A pod that goes elsewhere than under the reference, and the plugin whose score speaks most for it."""

    pod = serializers.CharField()
    what = serializers.ChoiceField(source="change", choices=list(moved_pods.CHANGE_KINDS))
    before = serializers.CharField(help_text="Node under the reference, `` for none.")
    after = serializers.CharField()
    plugin = serializers.CharField()
    lead = serializers.FloatField(allow_null=True, help_text="Weighted points.")
    said = serializers.CharField(source="message", help_text="The scheduler's message, or why no plugin can be named.")
    seed = serializers.IntegerField()
    policy = serializers.CharField()
    before_pod = serializers.CharField(help_text="Who had its place last under the reference: it, or a replacement.")
    after_pod = serializers.CharField(help_text="Who had its place last under the policy.")
