"""REST: the quota queues of a cluster, why a workload waits in one, and whether another one would get in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.http import Http404
from django.urls import path
from django.utils.decorators import method_decorator
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from kschedweb.accounts.roles import Action
from kschedweb.clusters.parameters import AT, SNAPSHOT
from kschedweb.clusters.selectors import snapshot_named
from kschedweb.decisions.quota_queues import read_queues
from kschedweb.decisions.selectors import snapshot_asked
from kschedweb.engine.queueing.explaining.remedies import RemedyKind
from kschedweb.engine.queueing.explaining.workload_history import StepKind
from kschedweb.engine.queueing.preemption.preemption_journal import CandidateVerdict
from kschedweb.queues import presentation, selectors, words
from kschedweb.queues.forms import LONGEST_RUN, ForecastForm
from kschedweb.queues.queries import MOST_PODS, AdmissionQuery
from kschedweb.web.errors import ApplicationError
from kschedweb.web.heavy import heavy
from kschedweb.web.rest import validate_input

if TYPE_CHECKING:
    from kschedweb.accounts.typing import ApiRequest

# Amounts of CPU are in milli-CPU, all others in whole units; null is no limit.
_RUN_MINUTES = OpenApiParameter(
    "run_minutes", int, description="How long jobs run; without it finished workloads tell. For the forecast."
)


class QuotaBarSerializer(serializers.Serializer[Any]):
    """The quota of a node for a resource in a flavor: CPU in milli-CPU, others in units; null is no limit."""

    flavor = serializers.CharField()
    resource = serializers.CharField()
    nominal = serializers.IntegerField(allow_null=True, help_text="Its own.")
    subtree = serializers.IntegerField(allow_null=True, help_text="Its own, and what those below it lend.")
    borrowing_limit = serializers.IntegerField(allow_null=True)
    lending_limit = serializers.IntegerField(allow_null=True)
    used = serializers.IntegerField()
    borrowed = serializers.IntegerField(help_text="Used beyond `subtree`.")
    lendable = serializers.IntegerField(allow_null=True, help_text="What others may have of it, used or not.")
    available = serializers.IntegerField(allow_null=True, help_text="What it could take now.")
    potential = serializers.IntegerField(allow_null=True, help_text="What it could use if nothing else were used.")


class QuotaNodeSerializer(serializers.Serializer[Any]):
    """A cohort or a ClusterQueue."""

    name = serializers.CharField()
    kind = serializers.ChoiceField(["cohort", "queue"])
    parent = serializers.CharField(allow_blank=True, help_text="The cohort above it.")  # type: ignore[assignment]
    depth = serializers.IntegerField(help_text="0 for a root.")
    waiting = serializers.IntegerField(help_text="Workloads that wait in it and below it.")
    admitted = serializers.IntegerField(help_text="Workloads with quota in it and below it.")
    inactive = serializers.CharField(allow_blank=True, help_text="Why a ClusterQueue admits nothing.")
    weight = serializers.FloatField(help_text="For fair sharing.")
    share = serializers.FloatField(allow_null=True, help_text="Dominant resource share in thousandths; null: infinite.")
    resources = QuotaBarSerializer(many=True)


class QueuesSerializer(serializers.Serializer[Any]):
    snapshot = serializers.UUIDField()
    fair_sharing = serializers.BooleanField(help_text="Whether Kueue shares fairly, as its objects tell.")
    nodes = QuotaNodeSerializer(many=True, help_text="Each after its parent.")


class ResourceAmountSerializer(serializers.Serializer[Any]):
    resource = serializers.CharField()
    amount = serializers.IntegerField(help_text="Milli-CPU, or whole units.")


class FlavorAmountSerializer(ResourceAmountSerializer):
    flavor = serializers.CharField()
    text = serializers.CharField(help_text="With its unit.")


class WaitingWorkloadSerializer(serializers.Serializer[Any]):
    """A workload that waits."""

    workload = serializers.CharField(help_text="`namespace/name`.")
    position = serializers.IntegerField(help_text="From 1.")
    local_queue = serializers.CharField(allow_blank=True)
    priority = serializers.IntegerField()
    since = serializers.DateTimeField(allow_null=True, help_text="The time by which it queues.")
    waited_seconds = serializers.IntegerField()
    pods = serializers.IntegerField()
    requests = ResourceAmountSerializer(many=True)
    asks = serializers.CharField(help_text="The same in words.")
    message = serializers.CharField(allow_blank=True, help_text="Kueue's last word on it.")
    sticky = serializers.BooleanField(help_text="It stays first, as preemptions for it are under way.")
    backoff_until = serializers.DateTimeField(allow_null=True)


class QuotaHolderSerializer(serializers.Serializer[Any]):
    """A workload that has quota."""

    workload = serializers.CharField(help_text="`namespace/name`.")
    cluster_queue = serializers.CharField()
    local_queue = serializers.CharField(allow_blank=True)
    priority = serializers.IntegerField()
    since = serializers.DateTimeField(allow_null=True, help_text="When its quota was reserved.")
    held_seconds = serializers.IntegerField(allow_null=True)
    pods = serializers.IntegerField()
    usage = FlavorAmountSerializer(many=True)
    borrowing = serializers.BooleanField(help_text="Whether its queue borrows.")
    evicted = serializers.BooleanField(help_text="It has been evicted, and has its quota until its pods have stopped.")


class QueueSerializer(QuotaNodeSerializer):
    """A ClusterQueue, who waits in it, and who has quota of it."""

    strategy = serializers.ChoiceField(["BestEffortFIFO", "StrictFIFO"])
    within_cluster_queue = serializers.CharField()
    reclaim_within_cohort = serializers.CharField()
    borrow_within_cohort = serializers.CharField()
    stop_policy = serializers.CharField()
    local_queues = serializers.ListField(child=serializers.CharField(), help_text="`namespace/name`.")
    workloads = WaitingWorkloadSerializer(many=True, help_text="In order of their turn.")
    holders = QuotaHolderSerializer(many=True, help_text="The longest first.")


class FlavorCheckSerializer(serializers.Serializer[Any]):
    resource = serializers.CharField()
    requested = serializers.IntegerField()
    available = serializers.IntegerField()
    capacity = serializers.IntegerField(allow_null=True, help_text="The most that the queue can have.")
    missing = serializers.IntegerField()


class FlavorAttemptSerializer(serializers.Serializer[Any]):
    """The result of looking at a flavor."""

    flavor = serializers.CharField()
    mode = serializers.ChoiceField(["NoFit", "Preempt", "DeferredFit", "Fit"])
    preemption = serializers.CharField(allow_blank=True, help_text="NoCandidates, Preempt or Reclaim.")
    borrow = serializers.IntegerField(help_text="How many levels up the tree it borrows from.")
    label = serializers.CharField()  # type: ignore[assignment]
    sentences = serializers.ListField(child=serializers.CharField())
    reasons = serializers.ListField(child=serializers.CharField(), help_text="In Kueue's words.")
    checks = FlavorCheckSerializer(many=True)


class QueuedPodSetSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    count = serializers.IntegerField()
    asks = serializers.CharField()
    flavors = serializers.DictField(child=serializers.CharField(), help_text="Resource to the flavor that it gets.")
    attempts = FlavorAttemptSerializer(many=True)


class ChainStepSerializer(serializers.Serializer[Any]):
    """A node on the way from the queue to the root."""

    node = serializers.CharField()
    is_cohort = serializers.BooleanField()
    nominal = serializers.IntegerField(allow_null=True)
    subtree = serializers.IntegerField(allow_null=True)
    used = serializers.IntegerField()
    local_available = serializers.IntegerField(help_text="Left of what its lendingLimit keeps for itself.")
    borrowing_room = serializers.IntegerField(allow_null=True, help_text="What its borrowingLimit leaves.")
    available = serializers.IntegerField(allow_null=True)


class IdleQuotaSerializer(serializers.Serializer[Any]):
    node = serializers.CharField()
    amount = serializers.IntegerField()


class QuotaLimitSerializer(serializers.Serializer[Any]):
    """The place up the tree of quota where a resource is limited."""

    flavor = serializers.CharField()
    resource = serializers.CharField()
    limiting_node = serializers.CharField()
    limit = serializers.ChoiceField(["quota", "borrowingLimit"])
    sentence = serializers.CharField()
    steps = ChainStepSerializer(many=True)
    hidden = IdleQuotaSerializer(many=True, help_text="Idle quota that a lendingLimit keeps from others.")


class NeededSerializer(serializers.Serializer[Any]):
    flavor = serializers.CharField()
    resource = serializers.CharField()


class EvictionCandidateSerializer(QuotaHolderSerializer):
    """A workload that has what is needed, and the verdict on it."""

    verdict = serializers.ChoiceField([verdict.value for verdict in CandidateVerdict])
    rule = serializers.CharField(allow_blank=True, help_text="The reason of its eviction, in Kueue's word.")
    sentence = serializers.CharField()


class EvictionSearchSerializer(serializers.Serializer[Any]):
    sentence = serializers.CharField()
    is_searched = serializers.BooleanField(help_text="Whether Kueue looks for victims at all.")
    tied_cohorts = serializers.ListField(
        child=serializers.CharField(), help_text="Cohorts of equal shares: Kueue asks one of them by chance."
    )
    needed = NeededSerializer(many=True, help_text="What would have to be freed.")
    candidates = EvictionCandidateSerializer(many=True)


class QuotaChangeSerializer(serializers.Serializer[Any]):
    node = serializers.CharField()
    flavor = serializers.CharField()
    resource = serializers.CharField()
    before = serializers.IntegerField(allow_null=True)
    after = serializers.IntegerField(allow_null=True)


class RemedySerializer(serializers.Serializer[Any]):
    """A change with which the workload gets quota, as nominating it again confirmed."""

    kind = serializers.ChoiceField([kind.value for kind in RemedyKind])
    sentence = serializers.CharField()
    evicts = serializers.ListField(child=serializers.CharField(), help_text="Who has to go for it then.")
    quotas = QuotaChangeSerializer(many=True)
    before = serializers.CharField(allow_blank=True)
    after = serializers.CharField(allow_blank=True)


class QueueForecastSerializer(serializers.Serializer[Any]):
    """Forecast of when it gets quota: cycles played from now."""

    sentence = serializers.CharField()
    run_times = serializers.CharField(allow_blank=True, help_text="How long jobs are taken to run, and why.")
    is_known = serializers.BooleanField(help_text="False: nothing tells how long jobs run.")
    earliest_seconds = serializers.FloatField(allow_null=True)
    latest_seconds = serializers.FloatField(allow_null=True)
    finished = serializers.IntegerField(help_text="Workloads that finish before.")
    evicted = serializers.IntegerField(help_text="Workloads that are evicted before.")
    assumes_checks = serializers.BooleanField(help_text="Admission checks are taken as passed at once.")
    loops = serializers.ListField(
        child=serializers.CharField(), help_text="Workloads that evict each other without end meanwhile."
    )


class CycleNeighbourSerializer(serializers.Serializer[Any]):
    workload = serializers.CharField(source="key", help_text="`namespace/name`.")
    cluster_queue = serializers.CharField()
    gets_quota = serializers.BooleanField(help_text="false: it keeps what it could use, or waits for victims.")
    message = serializers.CharField(allow_blank=True)


class NextCycleSerializer(serializers.Serializer[Any]):
    """Outcome of the next cycle for a workload that fits."""

    gets_quota = serializers.BooleanField()
    message = serializers.CharField(allow_blank=True)
    before = CycleNeighbourSerializer(many=True, help_text="Those of its tree that are processed before it.")


class SmallFlavorSerializer(serializers.Serializer[Any]):
    """A flavor whose nodes do not hold all pods even when they are empty, whatever its quota."""

    flavor = serializers.CharField()
    pod_set = serializers.CharField()
    count = serializers.IntegerField()
    fitting = serializers.IntegerField(help_text="Pods that its empty nodes hold.")
    nodes = serializers.IntegerField(help_text="Nodes that belong to it.")
    excluded = serializers.DictField(
        child=serializers.IntegerField(), help_text="Other nodes: by labels, levels of the topology, or unusable."
    )
    sentence = serializers.CharField()


class WorkloadStepSerializer(serializers.Serializer[Any]):
    """A step of a workload's history."""

    at = serializers.DateTimeField()
    step = serializers.ChoiceField([kind.value for kind in StepKind])
    sentence = serializers.CharField()
    reason = serializers.CharField(allow_blank=True, help_text="Kueue's word for it.")
    message = serializers.CharField(allow_blank=True, help_text="Kueue's sentence about it.")
    flavors = serializers.ListField(child=serializers.CharField(), help_text="Of a reservation of quota.")
    recorded = serializers.BooleanField(
        help_text="Whether the flight recorder saw it. Else a condition tells of its last change alone."
    )


class QueuedWorkloadSerializer(serializers.Serializer[Any]):
    """The reason why a workload waits."""

    workload = serializers.CharField(help_text="`namespace/name`.")
    namespace = serializers.CharField()
    name = serializers.CharField()
    verdict = serializers.ChoiceField(words.VERDICTS)
    title = serializers.CharField(help_text="The answer in one sentence.")
    details = serializers.ListField(child=serializers.CharField())
    local_queue = serializers.CharField(allow_blank=True)
    cluster_queue = serializers.CharField(allow_blank=True)
    priority = serializers.IntegerField()
    created = serializers.DateTimeField(allow_null=True)
    waited_seconds = serializers.IntegerField()
    pods = serializers.IntegerField()
    asks = serializers.CharField()
    requests = ResourceAmountSerializer(many=True)
    condition = serializers.CharField(allow_blank=True, help_text="Kueue's last word on it.")
    message = serializers.CharField(allow_blank=True, help_text="What Kueue would say now.")
    position = serializers.IntegerField(allow_null=True, help_text="Its place in the queue, from 1.")
    strict = serializers.BooleanField(help_text="StrictFIFO: nobody passes the head.")
    ahead = WaitingWorkloadSerializer(many=True)
    pod_sets = QueuedPodSetSerializer(many=True)
    limits = QuotaLimitSerializer(many=True, help_text="By resource that is missing in any flavor.")
    holders = QuotaHolderSerializer(many=True, help_text="Who has what is missing.")
    evictions = EvictionSearchSerializer(allow_null=True)
    remedies = RemedySerializer(many=True)
    forecast = QueueForecastSerializer(allow_null=True)
    next_cycle = NextCycleSerializer(allow_null=True, help_text="Of one that fits at the head of its queue.")
    small_flavors = SmallFlavorSerializer(many=True)
    history = WorkloadStepSerializer(many=True, help_text="The oldest first.")
    fair_sharing = serializers.BooleanField()


class AdmissionRequestSerializer(serializers.Serializer[Any]):
    """A workload in one of three ways, and other quotas."""

    manifest = serializers.CharField(
        max_length=32_000,
        default="",
        allow_blank=True,
        help_text="YAML or JSON of a Job, CronJob, JobSet, Pod, StatefulSet or Workload that is not submitted yet.",
    )
    requests = serializers.DictField(
        child=serializers.CharField(max_length=30),
        default=dict,
        help_text="Instead of a manifest, of each pod: such as `{cpu: 500m, nvidia.com/gpu: '1'}`.",
    )
    pods = serializers.IntegerField(min_value=1, max_value=MOST_PODS, default=1, help_text="With `requests`.")
    priority = serializers.IntegerField(
        min_value=-(2**31), max_value=2**31 - 1, default=0, help_text="With `requests`."
    )
    workload = serializers.CharField(
        max_length=320, default="", allow_blank=True, help_text="`namespace/name` of a Workload that is there."
    )
    queue = serializers.CharField(
        max_length=317,
        default="",
        allow_blank=True,
        help_text="`namespace/name` of the LocalQueue; without it the manifest's own.",
    )
    settings = serializers.DictField(
        child=serializers.CharField(max_length=100),
        default=dict,
        help_text="Settings of queues by their paths, such as `{team-b/on-demand/cpu/nominal: '60'}`.",
    )
    run_minutes = serializers.IntegerField(
        min_value=1, max_value=LONGEST_RUN, allow_null=True, default=None, help_text="How long jobs run."
    )


class AdmissionSerializer(QueuedWorkloadSerializer):
    """The answer about a workload as if it were there."""

    replaces = serializers.CharField(
        allow_blank=True, help_text="`namespace/name` of the Workload of the same job that is there already."
    )


@method_decorator(heavy, name="dispatch")
class QueuesView(APIView):
    """Cohorts and ClusterQueues of a snapshot with their quota, as Kueue 0.19 counts it."""

    action_required = Action.VIEW

    @extend_schema(operation_id="queues_list", responses=QueuesSerializer, parameters=[SNAPSHOT, AT])
    def get(self, request: ApiRequest, name: str) -> Response:
        snapshot = snapshot_asked(name, snapshot_named(request.query_params))
        state = read_queues(snapshot)
        body = {
            "snapshot": snapshot.pk,
            "fair_sharing": state.uses_fair_sharing,
            "nodes": presentation.describe_trees(state),
        }
        return Response(QueuesSerializer(body).data)


@method_decorator(heavy, name="dispatch")
class QueueView(APIView):
    """A ClusterQueue: its quota, who waits in which order, and who has quota of it."""

    action_required = Action.VIEW

    @extend_schema(operation_id="queue", responses=QueueSerializer, parameters=[SNAPSHOT, AT])
    def get(self, request: ApiRequest, name: str, queue: str) -> Response:
        snapshot = snapshot_asked(name, snapshot_named(request.query_params))
        described = presentation.describe_queue_page(read_queues(snapshot), queue)
        if described is None:
            raise Http404(f"Cluster {name} has no ClusterQueue {queue[:253]}.")
        return Response(QueueSerializer(described).data)


@method_decorator(heavy, name="dispatch")
class QueuedWorkloadView(APIView):
    """Explain why a workload waits, whom it would evict, what would let it in, and when it gets quota."""

    action_required = Action.VIEW

    @extend_schema(
        operation_id="queued_workload",
        responses=QueuedWorkloadSerializer,
        parameters=[SNAPSHOT, AT, _RUN_MINUTES],
    )
    def get(self, request: ApiRequest, name: str, namespace: str, workload: str) -> Response:
        snapshot = snapshot_asked(name, snapshot_named(request.query_params))
        form = ForecastForm(request.query_params)
        if not form.is_valid():
            raise ApplicationError.at("run_minutes", " ".join(map(str, form.errors["run_minutes"])))
        answer = selectors.explain(snapshot, f"{namespace}/{workload}", form.cleaned_data["run_minutes"])
        steps = selectors.list_history(snapshot, f"{namespace}/{workload}")
        described = presentation.describe_workload(answer, read_queues(snapshot), steps)
        return Response(QueuedWorkloadSerializer(described).data)


@method_decorator(heavy, name="dispatch")
class AdmissionView(APIView):
    """The question whether a workload would get quota."""

    action_required = Action.VIEW

    @extend_schema(
        operation_id="admission",
        request=AdmissionRequestSerializer,
        responses=AdmissionSerializer,
        parameters=[SNAPSHOT, AT],
    )
    def post(self, request: ApiRequest, name: str) -> Response:
        """Tell whether a workload would get quota that is not submitted yet, or with other quotas; nothing is created.

        400 with the words of the API server and of Kueue's webhooks where they would refuse the manifest.
        """
        snapshot = snapshot_asked(name, snapshot_named(request.query_params))
        data = validate_input(AdmissionRequestSerializer, request.data)
        settings = ", ".join(f"{path}={value}" for path, value in data["settings"].items())
        query = AdmissionQuery(**data | {"requests": tuple(data["requests"].items()), "settings": settings})
        case, answer = selectors.ask_admission(snapshot, query)
        described = presentation.describe_workload(answer, case.state)
        return Response(AdmissionSerializer(described | {"replaces": case.replaced}).data)


urlpatterns = [
    path("clusters/<slug:name>/admission/", AdmissionView.as_view(), name="admission"),
    path("clusters/<slug:name>/queues/", QueuesView.as_view(), name="queues"),
    path("clusters/<slug:name>/queues/<str:queue>/", QueueView.as_view(), name="queue"),
    path(
        "clusters/<slug:name>/workloads/<str:namespace>/<str:workload>/",
        QueuedWorkloadView.as_view(),
        name="queued-workload",
    ),
]
