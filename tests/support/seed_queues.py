"""Quota queues: a cohort of two, one workload that runs, and others that wait."""

from __future__ import annotations

from kschedweb.engine.json_types import Json

VERSION = "kueue.x-k8s.io/v1beta2"
# "queue/namespace/name" of a workload that waits.
WAITING = "team-a/default/waiting-0"


def make_object(kind: str, name: str, namespace: str = "", **body: object) -> Json:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": VERSION, "kind": kind, "metadata": metadata, **body}


def make_queue(name: str, cohort: str = "teams", cpu: str = "4", **spec: object) -> Json:
    quota = {"name": "any", "resources": [{"name": "cpu", "nominalQuota": cpu}]}
    groups = [{"coveredResources": ["cpu"], "flavors": [quota]}]
    body = {"cohortName": cohort, "namespaceSelector": {}, "resourceGroups": groups, **spec}
    return make_object("ClusterQueue", name, spec=body)


def make_workload(name: str, queue: str, cpu: str, *, minute: int = 0, count: int = 1, **spec: object) -> Json:
    container = {"name": "c", "resources": {"requests": {"cpu": cpu}}}
    pod_set = {"name": "main", "count": count, "template": {"spec": {"containers": [container]}}}
    workload = make_object("Workload", name, "default", spec={"queueName": queue, "podSets": [pod_set], **spec})
    workload["metadata"]["creationTimestamp"] = f"2026-01-15T11:{minute:02}:00Z"
    return workload


def give_quota(workload: Json, queue: str, cpu: str, *, minute: int = 0, finished: int | None = None) -> Json:
    """Give ``workload`` quota since a minute past twelve; with ``finished`` it has ended at that minute."""
    kinds = [("QuotaReserved", minute), ("Admitted", minute), *([("Finished", finished)] if finished else [])]
    conditions = [
        {"type": kind, "status": "True", "reason": kind, "lastTransitionTime": f"2026-01-15T12:{at:02}:00Z"}
        for kind, at in kinds
    ]
    (pod_set,) = workload["spec"]["podSets"]
    assigned = {"name": "main", "count": pod_set["count"], "flavors": {"cpu": "any"}, "resourceUsage": {"cpu": cpu}}
    admission = {"clusterQueue": queue, "podSetAssignments": [assigned]}
    return {**workload, "status": {"conditions": conditions, "admission": admission}}


def list_objects(rows: int, pod: str = "") -> list[Json]:
    """Return the objects of two queues; ``rows`` workloads wait in one of them, the first of them for ``pod``."""
    waiting = [make_workload(f"waiting-{number}", "team-a", "3", minute=number % 60) for number in range(rows)]
    waiting[0]["metadata"]["ownerReferences"] = [{"apiVersion": "v1", "kind": "Pod", "name": pod, "uid": pod}]
    preemption = {"withinClusterQueue": "LowerPriority", "reclaimWithinCohort": "Any"}
    return [
        make_object("ResourceFlavor", "any", spec={}),
        make_object("Cohort", "teams", spec={}),
        make_queue("team-a", preemption=preemption),
        make_queue("team-b"),
        *(make_object("LocalQueue", name, "default", spec={"clusterQueue": name}) for name in ("team-a", "team-b")),
        give_quota(make_workload("running", "team-b", "6"), "team-b", "6", minute=10),
        give_quota(make_workload("ended", "team-b", "2"), "team-b", "2", minute=1, finished=31),
        *waiting,
    ]
