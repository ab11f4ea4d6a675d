"""Explain workloads in the quota queues of a snapshot. The answers are cached, as snapshots never change."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from kschedweb.clusters.flight.selectors import has_recording, object_states
from kschedweb.clusters.selectors import snapshot_objects
from kschedweb.decisions.quota_queues import has_queues, read_queues
from kschedweb.decisions.snapshots import get_cache
from kschedweb.engine.queueing.explaining.explanation import WorkloadExplanation, explain_workload
from kschedweb.engine.queueing.explaining.pod_links import find_pod_workload
from kschedweb.engine.queueing.explaining.queue_state import WorkloadMissingError
from kschedweb.engine.queueing.explaining.workload_history import WorkloadStep, find_creation, list_steps
from kschedweb.queues.queries import prepare_case
from kschedweb.web.errors import ApplicationError, NotFound

if TYPE_CHECKING:
    from kschedweb.clusters.models import Snapshot
    from kschedweb.engine.json_types import Json
    from kschedweb.queues.queries import AdmissionCase, AdmissionQuery


def explain(snapshot: Snapshot, key: str, run_minutes: int | None = None) -> WorkloadExplanation:
    """Return how the workload ``key`` ("namespace/name") stands. Raises NotFound.

    ``run_minutes`` is how long jobs run, where it is not to be taken from those that have finished.
    """

    def compute() -> WorkloadExplanation:
        state = read_queues(snapshot)
        try:
            return explain_workload(state, key, run_seconds=run_minutes * 60.0 if run_minutes else None)
        except WorkloadMissingError:
            raise NotFound(f"The snapshot has no Workload {key[:320]}.") from None

    answer: WorkloadExplanation = get_cache(snapshot).answers.get(("queued workload", key, run_minutes), compute)
    return answer


def ask_admission(snapshot: Snapshot, query: AdmissionQuery) -> tuple[AdmissionCase, WorkloadExplanation]:
    """Return whether a workload would get quota, with the queues that the answer is about. Raises ApplicationError."""

    def compute() -> tuple[AdmissionCase, WorkloadExplanation]:
        case = prepare_case(read_queues(snapshot), query)
        run_seconds = query.run_minutes * 60.0 if query.run_minutes else None
        try:
            return case, explain_workload(case.state, case.key, run_seconds=run_seconds)
        except WorkloadMissingError:
            raise ApplicationError.at("workload", f"The snapshot has no Workload {case.key[:320]}.") from None

    answer: tuple[AdmissionCase, WorkloadExplanation] = get_cache(snapshot).answers.get(("admission", query), compute)
    return answer


def list_local_queues(snapshot: Snapshot) -> list[str]:
    """Return the LocalQueues of a snapshot as "namespace/name"."""
    return sorted(queue.key for queue in read_queues(snapshot).world.local_queues.values())


def list_history(snapshot: Snapshot, key: str) -> list[WorkloadStep]:
    """Return what happened to the workload ``key``: recorded states, and what the snapshot's own conditions tell."""
    raw = next((item for item in read_queues(snapshot).objects if _is_workload(item, key)), None)
    created = None if raw is None else find_creation(raw)
    if raw is None or created is None:
        return []
    last = snapshot.moment or snapshot.taken_at
    states: list[tuple[float | None, Json | None]] = []
    if has_recording(snapshot.cluster):
        first = datetime.fromtimestamp(created, UTC) - timedelta(seconds=1)
        recorded = object_states(snapshot.cluster, "Workload", key, first, last)
        states = [(state.at.timestamp(), state.raw) for state in recorded]
    return list_steps([*states, (None, raw)])


def _is_workload(raw: Json, key: str) -> bool:
    metadata = raw.get("metadata") or {}
    return raw.get("kind") == "Workload" and f"{metadata.get('namespace')}/{metadata.get('name')}" == key


def find_workload_of(snapshot: Snapshot, namespace: str, name: str) -> str:
    """Return the name of the Workload of a pod, "" if it has none."""
    if not has_queues(snapshot):
        return ""
    pod = next((raw for raw in snapshot_objects(snapshot) if _is_pod(raw, namespace, name)), None)
    workloads = (raw for raw in read_queues(snapshot).objects if raw["kind"] == "Workload")
    return find_pod_workload(workloads, pod) if pod is not None else ""


def _is_pod(raw: Json, namespace: str, name: str) -> bool:
    metadata = raw.get("metadata") or {}
    return raw.get("kind") == "Pod" and metadata.get("namespace") == namespace and metadata.get("name") == name
