# ruff: noqa: E501 (tables read better in one line an entry)
"""Kueue in the demo cluster: two cohorts, six queues, and jobs that run, wait, and have finished."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from kschedweb.clusters.demo_catalog import GPU, PENDING, POOL, tolerations_for
from kschedweb.engine.json_types import Json
from kschedweb.engine.queueing.example_queue import ExampleQueue
from kschedweb.engine.queueing.explaining.queue_state import QueueState, read_state
from kschedweb.engine.queueing.workloads.labels import API_VERSION

PRIORITIES = {"urgent": 1000, "normal": 100, "background": 0}
# Flavor -> the pool of its nodes.
FLAVORS = {"on-demand": "general", "spot": "spot", "gpu": "gpu"}
# The pod of the catalogue that waits for quota.
QUEUED_POD = next(entry for entry in PENDING if entry.why == "gated")

AddObject = Callable[..., Json]


QUEUES = (
    ExampleQueue("analytics", "analytics", "batch", {"on-demand": (24, 96), "spot": (16, 48)}, {"withinClusterQueue": "LowerPriority", "reclaimWithinCohort": "Any"}, limit=("on-demand", "borrowingLimit", 8)),
    ExampleQueue("reports", "batch", "batch", {"on-demand": (12, 48), "spot": (8, 24)}, {"reclaimWithinCohort": "LowerPriority"}, limit=("on-demand", "lendingLimit", 10)),
    ExampleQueue("staging", "staging", "batch", {"on-demand": (0, 0), "spot": (4, 12)}, {}, strategy="StrictFIFO"),
    ExampleQueue("backfill", "batch", "batch", {"on-demand": (8, 32), "spot": (8, 24)}, {"withinClusterQueue": "LowerPriority"}),
    ExampleQueue("training", "ml", "ml", {"gpu": (64, 256, 6)}, {"withinClusterQueue": "LowerPriority", "reclaimWithinCohort": "Any", "borrowWithinCohort": {"policy": "LowerPriority"}}),
    ExampleQueue("research", "data", "ml", {"gpu": (32, 128, 2)}, {}),
)  # fmt: skip


@dataclass(frozen=True)
class DemoJob:
    """A job, and how it stands."""

    queue: str
    name: str
    pods: int
    # Of each pod.
    cpu: int
    # GiB of each pod.
    memory: int
    # Minutes ago.
    created: int
    gpus: int = 0
    priority: str = "normal"
    # The flavor that it has; "" while it waits.
    flavor: str = ""
    # Minutes ago: since when it runs or ran.
    started: int = 0
    # Minutes that it ran; 0 unless it has finished.
    run_minutes: int = 0
    min_pods: int = 0
    node_selector: str = ""


JOBS = (
    DemoJob("analytics", "cube-nightly", 6, 2, 8, 190, flavor="on-demand", started=95),
    DemoJob("analytics", "sessions", 4, 3, 8, 160, flavor="on-demand", started=70),
    DemoJob("analytics", "funnel", 2, 3, 6, 120, priority="background", flavor="on-demand", started=40),
    DemoJob("analytics", "clicks", 8, 2, 4, 140, priority="urgent", flavor="spot", started=55),
    DemoJob("reports", "ledger-close", 3, 2, 6, 130, priority="urgent", flavor="on-demand", started=100),
    DemoJob("reports", "invoices", 2, 2, 4, 110, flavor="on-demand", started=60),
    DemoJob("reports", "mail-merge", 4, 1, 2, 90, flavor="spot", started=35),
    DemoJob("staging", "e2e-checkout", 4, 1, 2, 80, flavor="spot", started=30),
    DemoJob("staging", "e2e-search", 4, 1, 2, 75, flavor="spot", started=25),
    DemoJob("backfill", "reindex", 2, 2, 4, 300, priority="background", flavor="on-demand", started=240),
    DemoJob("backfill", "history-2019", 6, 1, 2, 290, priority="background", flavor="spot", started=200),
    DemoJob("training", "vision-large", 2, 16, 48, 400, gpus=2, flavor="gpu", started=380),
    DemoJob("training", "embed", 1, 8, 32, 150, gpus=1, priority="background", flavor="gpu", started=120),
    DemoJob("research", "probe-a", 1, 8, 24, 260, gpus=1, flavor="gpu", started=230),
    DemoJob("research", "probe-b", 1, 8, 24, 255, gpus=1, flavor="gpu", started=220),
    DemoJob("research", "probe-c", 1, 8, 24, 100, gpus=1, priority="background", flavor="gpu", started=90),
    DemoJob("analytics", "wide-join-prep", 4, 4, 8, 50),
    DemoJob("analytics", "churn", 2, 2, 4, 45),
    DemoJob("analytics", "attribution", 2, 3, 4, 12, priority="urgent"),
    DemoJob("analytics", "all-of-2025", 20, 4, 8, 65, priority="background"),
    DemoJob("analytics", "dashboards-refresh", 1, 1, 2, 6),
    DemoJob("analytics", "arm-build", 2, 1, 2, 33, node_selector="compute"),
    DemoJob("reports", QUEUED_POD.name, 1, 2, 1, 20, priority="urgent"),
    DemoJob("reports", "tax-run", 4, 2, 6, 42),
    DemoJob("reports", "statements", 2, 1, 2, 38, priority="background"),
    DemoJob("reports", "audit", 1, 1, 2, 16),
    DemoJob("staging", "e2e-payments", 6, 1, 2, 48),
    DemoJob("staging", "e2e-login", 1, 1, 1, 44),
    DemoJob("backfill", "history-2020", 6, 1, 2, 180, priority="background"),
    DemoJob("backfill", "history-2021", 6, 1, 2, 179, priority="background"),
    DemoJob("backfill", "reindex-products", 2, 4, 8, 170, priority="background", min_pods=1),
    DemoJob("training", "speech", 1, 8, 32, 58, gpus=1),
    DemoJob("training", "vision-xl", 4, 12, 48, 85, gpus=4),
    DemoJob("training", "tune-1", 2, 8, 16, 30, gpus=1, priority="background"),
    DemoJob("research", "probe-d", 1, 8, 24, 52, gpus=1),
    DemoJob("research", "ablation", 3, 4, 12, 28, gpus=1, min_pods=1),
    DemoJob("analytics", "cube-hourly", 4, 2, 4, 500, flavor="on-demand", started=480, run_minutes=42),
    DemoJob("analytics", "exports", 2, 2, 4, 700, flavor="on-demand", started=690, run_minutes=85),
    DemoJob("analytics", "sessions-yesterday", 4, 3, 8, 900, flavor="on-demand", started=880, run_minutes=130),
    DemoJob("reports", "payroll", 2, 2, 4, 620, flavor="on-demand", started=600, run_minutes=75),
    DemoJob("training", "vision-small", 1, 8, 32, 1500, gpus=1, flavor="gpu", started=1400, run_minutes=420),
    DemoJob("research", "probe-0", 1, 8, 24, 1300, gpus=1, flavor="gpu", started=1290, run_minutes=310),
)  # fmt: skip


def add_queues(add_object: AddObject, now: datetime) -> None:
    """Add Kueue's objects with ``add_object``, as they are at ``now``."""
    added: list[Json] = []

    def add(kind: str, name: str, namespace: str = "", **body: object) -> Json:
        added.append(add_object(API_VERSION, kind, name, namespace, **body))
        return added[-1]

    for name, value in PRIORITIES.items():
        add("WorkloadPriorityClass", name, value=value)
    for name, pool in FLAVORS.items():
        add("ResourceFlavor", name, spec={"nodeLabels": {POOL: pool}, "tolerations": tolerations_for(pool)})
    for cohort in sorted({queue.cohort for queue in QUEUES}):
        add("Cohort", cohort, spec={})
    for queue in QUEUES:
        add("ClusterQueue", queue.name, spec=queue.to_spec())
        add("LocalQueue", queue.name, queue.namespace, spec={"clusterQueue": queue.name})
    workloads = [_add_workload(add, job, now) for job in JOBS]
    _judge_waiting(read_state(added, now.timestamp()), workloads, now)


def _add_workload(add: Callable[..., Json], job: DemoJob, now: datetime) -> Json:
    queue = next(queue for queue in QUEUES if queue.name == job.queue)
    requests = {"cpu": str(job.cpu), "memory": f"{job.memory}Gi"} | ({GPU: str(job.gpus)} if job.gpus else {})
    spec: Json = {"containers": [{"name": "main", "resources": {"requests": requests}}], "restartPolicy": "Never"}
    if job.node_selector:
        spec["nodeSelector"] = {POOL: job.node_selector}
    if job.gpus:
        spec["tolerations"] = tolerations_for("gpu")
    pod_set: Json = {"name": "main", "count": job.pods, "template": {"spec": spec}}
    if job.min_pods:
        pod_set["minCount"] = job.min_pods
    workload = add(
        "Workload", f"job-{job.name}", queue.namespace,
        spec={
            "queueName": queue.name,
            "priority": PRIORITIES[job.priority],
            "priorityClassRef": {"group": "kueue.x-k8s.io", "kind": "WorkloadPriorityClass", "name": job.priority},
            "podSets": [pod_set],
        },
        status=_reserved_status(job, requests, now) if job.flavor else {},
    )  # fmt: skip
    metadata = workload["metadata"]
    metadata["creationTimestamp"] = _format_time(now, job.created)
    is_pod = job.name == QUEUED_POD.name
    owner = {"apiVersion": "v1", "kind": "Pod"} if is_pod else {"apiVersion": "batch/v1", "kind": "Job"}
    metadata["ownerReferences"] = [{**owner, "name": job.name, "uid": metadata["uid"], "controller": True}]
    return workload


def _reserved_status(job: DemoJob, requests: Json, now: datetime) -> Json:
    since = _format_time(now, job.started)
    words = {
        "QuotaReserved": f"Quota reserved in ClusterQueue {job.queue}",
        "Admitted": "The workload is admitted",
    }
    conditions = [_make_condition(kind, kind, message, since) for kind, message in words.items()]
    if job.run_minutes:
        ended = _format_time(now, job.started - job.run_minutes)
        conditions.append(_make_condition("Finished", "Succeeded", "Job finished successfully", ended))
    usage = {"cpu": str(job.cpu * job.pods), "memory": f"{job.memory * job.pods}Gi"}
    if job.gpus:
        usage[GPU] = str(job.gpus * job.pods)
    assignment = {
        "name": "main",
        "count": job.pods,
        "flavors": dict.fromkeys(requests, job.flavor),
        "resourceUsage": usage,
    }
    return {
        "conditions": conditions,
        "admission": {"clusterQueue": job.queue, "podSetAssignments": [assignment]},
    }


def _make_condition(kind: str, reason: str, message: str, since: str, status: str = "True") -> Json:
    return {"type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": since}


def _judge_waiting(state: QueueState, workloads: list[Json], now: datetime) -> None:
    """Give the workloads that wait the condition that Kueue would have written when it looked at them last."""
    for job, workload in zip(JOBS, workloads, strict=True):
        if job.flavor:
            continue
        key = f"{workload['metadata']['namespace']}/{workload['metadata']['name']}"
        message = state.nominate(state.world.create_info(state.find_workload(key)), job.queue).message
        if message:
            condition = _make_condition("QuotaReserved", "Pending", message, _format_time(now, job.created), "False")
            workload["status"] = {"conditions": [condition]}


def _format_time(now: datetime, minutes: int) -> str:
    return (now - timedelta(minutes=minutes)).strftime("%Y-%m-%dT%H:%M:%SZ")
