"""A Workload's status in JSON, as Kueue writes it into the cluster."""

from __future__ import annotations

from datetime import UTC, datetime

from kschedweb.engine.json_types import Json
from kschedweb.engine.queueing.workloads.conditions import Condition
from kschedweb.engine.queueing.workloads.workload import PodSetAdmission, Workload


def write_status(workload: Workload) -> Json:
    """Return the status of a workload without topology, with what is empty left out."""
    status = workload.status
    raw: Json = {
        "conditions": [_write_condition(condition) for condition in status.conditions],
        "reclaimablePods": [{"name": name, "count": count} for name, count in status.reclaimable.items()],
    }
    if status.admission is not None:
        raw["admission"] = {
            "clusterQueue": status.admission.cluster_queue,
            "podSetAssignments": [_write_assignment(pod_set) for pod_set in status.admission.pod_sets],
        }
    if status.requeue_at is not None:
        raw["requeueState"] = {"count": status.requeue_count or 0, "requeueAt": format_time(status.requeue_at)}
    return {name: value for name, value in raw.items() if value}


def _write_condition(condition: Condition) -> Json:
    return {
        **condition.to_json(),
        "message": condition.message,
        "lastTransitionTime": format_time(condition.since),
        "observedGeneration": condition.observed_generation,
    }


def _write_assignment(pod_set: PodSetAdmission) -> Json:
    raw: Json = {"name": pod_set.name, "flavors": dict(pod_set.flavors), "resourceUsage": dict(pod_set.usage)}
    return raw if pod_set.count is None else {**raw, "count": pod_set.count}


def format_time(seconds: float) -> str:
    """Return seconds of the epoch as objects write a time."""
    return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
