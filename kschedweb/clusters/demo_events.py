"""The Events of the demo cluster: the words of its scheduler, autoscalers, Kueue and node controller."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from kschedweb.clusters.demo_catalog import CORDONED, NOT_READY
from kschedweb.engine.json_types import Json

# Uids are made of these, so that the demo's Events have the same ones each time.
_IDS = uuid.UUID("5d1a7a4e-3f0b-4f0e-9a55-6f6b7365764d")
# Minutes between two tries of kube-scheduler for a pod that no event helps.
_RETRY_MINUTES = 5
# Minutes that Events live in most clusters.
_KEPT_MINUTES = 60
# Pod -> why cluster-autoscaler would add no node for it: it has a node group for each pool.
_NOT_SCALED_UP = {
    "cube-builder": "6 Insufficient cpu",
    "graph-loader": "6 Insufficient memory",
    "trainer-large": "1 max node group size reached, 5 Insufficient nvidia.com/gpu",
    "frankfurt-probe": "6 node(s) didn't match Pod's node affinity/selector",
    "nvme-import": "6 node(s) didn't match Pod's node affinity/selector",
    "vacuum-job": "1 node(s) had untolerated taint(s), 5 node(s) didn't match Pod's node affinity/selector",
}
# Pod -> the node that Karpenter expects it on.
_NOMINATED = {"notebook": "gpu-a-2", "spark-driver": "compute-a-1"}


@dataclass(frozen=True)
class DemoEvent:
    """An Event about an object, from and to so many minutes before the demo's time."""

    item: Json
    source: str
    reason: str
    message: str
    first: int
    last: int
    count: int = 1
    type: str = "Normal"


def list_events(objects: list[Json], now: datetime) -> list[Json]:
    """Return the Events about ``objects`` as they are at ``now``. Equal objects have equal Events."""
    events = sorted(_events_about(objects, now), key=lambda event: -event.last)
    return [_to_object(event, number, now) for number, event in enumerate(events)]


def _events_about(objects: list[Json], now: datetime) -> Iterator[DemoEvent]:
    pods = [item for item in objects if item["kind"] == "Pod"]
    nodes = {item["metadata"]["name"]: item for item in objects if item["kind"] == "Node"}
    waiting = [pod for pod in pods if "nodeName" not in pod["spec"]]
    yield from _waiting_pods(waiting, now)
    yield from _nominated_pods(waiting, nodes)
    yield from _nodes(nodes, pods)
    yield from _workloads([item for item in objects if item["kind"] == "Workload"], now)


def _waiting_pods(pods: Iterable[Json], now: datetime) -> Iterator[DemoEvent]:
    for number, pod in enumerate(pods):
        condition = _condition(pod, "PodScheduled")
        if condition.get("reason") != "Unschedulable":
            continue
        age = _minutes_since(pod["metadata"]["creationTimestamp"], now)
        last = min(age, 1 + number % _RETRY_MINUTES)
        count = 1 + max(age - last, 0) // _RETRY_MINUTES
        yield DemoEvent(
            pod, "default-scheduler", "FailedScheduling", condition["message"], age, last, count, type="Warning"
        )
        if reason := _NOT_SCALED_UP.get(pod["metadata"]["name"]):
            message = f"pod didn't trigger scale-up: {reason}"
            yield DemoEvent(pod, "cluster-autoscaler", "NotTriggerScaleUp", message, age, last, count)


def _nominated_pods(pods: Iterable[Json], nodes: dict[str, Json]) -> Iterator[DemoEvent]:
    for pod in pods:
        if node := _NOMINATED.get(pod["metadata"]["name"]):
            yield DemoEvent(pod, "karpenter", "Nominated", f"Pod should schedule on: node/{node}", 1, 1)
            message = "Node is nominated for a pending pod"
            yield DemoEvent(nodes[node], "karpenter", "DisruptionBlocked", message, 1, 1)


def _nodes(nodes: dict[str, Json], pods: Iterable[Json]) -> Iterator[DemoEvent]:
    status = f"Node {NOT_READY} status is now: NodeNotReady"
    yield DemoEvent(nodes[NOT_READY], "node-controller", "NodeNotReady", status, 38, 38)
    for pod in pods:
        if pod["spec"].get("nodeName") == NOT_READY:
            yield DemoEvent(pod, "node-controller", "NodeNotReady", "Node is not ready", 38, 38, type="Warning")
    for name in CORDONED:
        status = f"Node {name} status is now: NodeNotSchedulable"
        yield DemoEvent(nodes[name], "kubelet", "NodeNotSchedulable", status, 52, 52)
    for name in ("general-a-1", "gpu-a-1"):
        yield DemoEvent(nodes[name], "karpenter", "Unconsolidatable", "Can't replace with a cheaper node", 47, 17, 3)


def _workloads(workloads: Iterable[Json], now: datetime) -> Iterator[DemoEvent]:
    for number, workload in enumerate(workloads):
        quota = _condition(workload, "QuotaReserved")
        if not quota:
            continue
        since = _minutes_since(quota["lastTransitionTime"], now)
        if quota["status"] == "False":
            last = min(since, 1 + number % 7)
            message, count = quota["message"], 1 + max(since - last, 0) // 2
            yield DemoEvent(workload, "kueue-admission", "Pending", message, since, last, count, type="Warning")
        elif since <= _KEPT_MINUTES:
            queue = workload["status"]["admission"]["clusterQueue"]
            waited = (_minutes_since(workload["metadata"]["creationTimestamp"], now) - since) * 60
            reserved = f"Quota reserved in ClusterQueue {queue}, wait time since queued was {waited}s"
            admitted = f"Admitted by ClusterQueue {queue}, wait time since reservation was 0s"
            yield DemoEvent(workload, "kueue-admission", "QuotaReserved", reserved, since, since)
            yield DemoEvent(workload, "kueue-admission", "Admitted", admitted, since, since)


def _to_object(event: DemoEvent, number: int, now: datetime) -> Json:
    metadata = event.item["metadata"]
    namespace = {"namespace": metadata["namespace"]} if metadata.get("namespace") else {}
    first, last = (_format_time(now, minutes) for minutes in (event.first, event.last))
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {
            "name": f"{metadata['name']}.{number:016x}",
            "namespace": metadata.get("namespace", "default"),
            "uid": str(uuid.uuid5(_IDS, f"{number} {metadata['uid']} {event.reason}")),
            "creationTimestamp": first,
        },
        "involvedObject": {
            "apiVersion": event.item["apiVersion"],
            "kind": event.item["kind"],
            "name": metadata["name"],
            "uid": metadata["uid"],
            **namespace,
        },
        "type": event.type,
        "reason": event.reason,
        "message": event.message,
        "source": {"component": event.source},
        "firstTimestamp": first,
        "lastTimestamp": last,
        "count": event.count,
    }


def _condition(item: Json, kind: str) -> Json:
    conditions = (item.get("status") or {}).get("conditions") or []
    return next((condition for condition in conditions if condition["type"] == kind), {})


def _minutes_since(text: str, now: datetime) -> int:
    return int((now - datetime.fromisoformat(text)).total_seconds()) // 60


def _format_time(now: datetime, minutes: int) -> str:
    return (now - timedelta(minutes=minutes)).strftime("%Y-%m-%dT%H:%M:%SZ")
