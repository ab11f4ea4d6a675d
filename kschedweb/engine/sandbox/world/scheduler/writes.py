"""The requests of a stock scheduler to the API server, in kube-scheduler's words."""

from __future__ import annotations

from collections.abc import Callable

from kschedweb.engine.json_types import Json
from kschedweb.engine.live import PodRef
from kschedweb.engine.sandbox.api_objects import format_timestamp
from kschedweb.engine.sandbox.patching import MERGE, STRATEGIC
from kschedweb.engine.sandbox.requests import ApiResponse, Request
from kschedweb.engine.sandbox.world.clock import micro_time
from kschedweb.engine.values import dataclass

NORMAL, WARNING = "Normal", "Warning"
# Bytes.
LONGEST_NOTE = 1024
SCHEDULED, DISRUPTION_TARGET = "PodScheduled", "DisruptionTarget"


@dataclass(frozen=True, slots=True)
class Write:
    """A request to the API server."""

    request: Request
    # Returns what to write after the answer; ``None`` if no answer matters.
    then: Callable[[ApiResponse, float], list[Write]] | None = None


def pod_path(pod: PodRef) -> str:
    return f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}"


def claim_path(namespace: str, name: str) -> str:
    return f"/api/v1/namespaces/{namespace}/persistentvolumeclaims/{name}"


def binding_request(pod: PodRef, node: str) -> Request:
    metadata = {"namespace": pod.namespace, "name": pod.name, "uid": pod.uid}
    body = {"apiVersion": "v1", "kind": "Binding", "metadata": metadata, "target": {"kind": "Node", "name": node}}
    return Request("POST", f"{pod_path(pod)}/binding", body=body)


def merge_request(path: str, body: Json) -> Request:
    return Request("PATCH", path, body=body, content=MERGE)


def pod_status(
    pod: PodRef, raw: Json, now: float, condition: tuple[str, str, str, str] | None = None, nominated: str | None = None
) -> Request | None:
    """Set a ``condition`` (type, status, reason, message) and the nominated node; returns ``None`` if both are so.

    ``nominated`` of "" clears it, and ``None`` leaves it. ``raw`` is the pod as it was last seen.
    """
    old_status, status = raw.get("status") or {}, {}
    if condition is not None:
        kind, value, reason, message = condition
        new_condition = {"type": kind, "status": value, "reason": reason, "message": message}
        old: Json = next(
            (existing for existing in old_status.get("conditions") or () if existing.get("type") == kind), {}
        )
        if any(old.get(key) != text for key, text in new_condition.items()):
            since = old.get("lastTransitionTime") if old.get("status") == value else None
            new_condition |= {"lastProbeTime": None, "lastTransitionTime": since or format_timestamp(now)}  # type: ignore[dict-item]
            status["conditions"] = [new_condition | {"observedGeneration": raw["metadata"].get("generation")}]
    if nominated is not None and nominated != (old_status.get("nominatedNodeName") or ""):
        status["nominatedNodeName"] = nominated or None  # type: ignore[assignment]
    if not status:
        return None
    body = {"metadata": {"uid": pod.uid}, "status": status}
    return Request("PATCH", f"{pod_path(pod)}/status", body=body, content=STRATEGIC)


def deletion_request(pod: PodRef) -> Request:
    body = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": pod.uid}}
    return Request("DELETE", pod_path(pod), body=body)


def event_request(
    regarding: Json, severity: str, reason: str, action: str, note: str, now: float, *, by: str
) -> Request:
    """Return the request for an event of events.k8s.io about an object."""
    namespace = regarding.get("namespace") or "default"
    body = {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": f"{regarding['name']}.{int(now * 1e9):x}", "namespace": namespace},
        "eventTime": micro_time(now),
        "reportingController": by,
        "reportingInstance": f"{by}-sandbox",
        "type": severity,
        "reason": reason,
        "action": action,
        "note": truncate_note(note),
        "regarding": regarding,
    }
    return Request("POST", f"/apis/events.k8s.io/v1/namespaces/{namespace}/events", body=body)


def event_series_request(recorded_event: Json, count: int, now: float) -> Request:
    """Return the request that counts a repetition of ``recorded_event``."""
    metadata = recorded_event["metadata"]
    path = f"/apis/events.k8s.io/v1/namespaces/{metadata['namespace']}/events/{metadata['name']}"
    return merge_request(path, {"series": {"count": count, "lastObservedTime": micro_time(now)}})


def truncate_note(note: str) -> str:
    data = note.encode()
    return note if len(data) <= LONGEST_NOTE else data[: LONGEST_NOTE - 4].decode(errors="ignore") + " ..."
