"""Rows of the node and pod lists, computed once when a snapshot is stored."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NotRequired, TypedDict

from django.utils.dateparse import parse_datetime
from django.utils.timezone import is_aware

from kschedweb.engine import Snapshot as EngineSnapshot
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects import Node, ObjectError, Pod, describe_object
from kschedweb.engine.objects.node import BETA_REGION, BETA_ZONE, REGION, ZONE
from kschedweb.engine.state.snapshot import FINISHED, ON_UNKNOWN_NODE

# The current label, and the one that it replaced.
INSTANCE_TYPE = ("node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type")
# Resources with columns of their own; all others are "extended".
BASIC = frozenset({"cpu", "memory", "ephemeral-storage", "pods"})
# The largest BigIntegerField: a quantity can be larger.
LARGEST = 2**63 - 1
# Problems that a snapshot keeps.
MOST_PROBLEMS = 500


class Problem(TypedDict):
    """An object of a snapshot that is left out or doubtful."""

    # "Kind namespace/name".
    object: str
    reason: str
    # True if the object is left out; it is kept otherwise.
    left_out: NotRequired[bool]


def snapshot_problem(subject: str, reason: str, *, left_out: bool) -> Problem:
    problem: Problem = {"object": subject[:320], "reason": reason[:500]}
    if left_out:
        problem["left_out"] = True
    return problem


@dataclass(frozen=True)
class SnapshotRows:
    """The rows of a snapshot's objects."""

    # Columns of NodeRow.
    nodes: list[Json]
    pods: list[Pod]
    # Problems with objects that the engine cannot read.
    problems: list[Problem]

    @property
    def pending(self) -> int:
        return sum(map(is_pending, self.pods))


def rows_of(objects: list[Json]) -> SnapshotRows:
    """Return ``objects`` as rows: the columns of NodeRow, without the snapshot."""
    engine = EngineSnapshot.from_objects(objects)
    problems = [
        *(
            snapshot_problem(str(subject), reason, left_out=not reason.startswith(ON_UNKNOWN_NODE))
            for subject, reason in engine.problems
        ),
        *(snapshot_problem(str(subject), reason, left_out=False) for subject, reason in engine.doubts),
    ]
    pods = {pod.key: pod for pod in (*engine.pending, *(pod for pod in engine.pods.pods if pod is not None))}
    bound = Counter(pod.node_name for pod in pods.values())
    nodes = [node_row(engine, node, bound[node.name]) for node in engine.nodes]
    # Pods that no scheduler looks at, such as finished ones, are listed as well.
    for raw in objects:
        if raw.get("kind") == "Pod" and pod_key(raw) not in pods:
            try:
                pod = Pod.from_json(raw)
            except ObjectError:
                continue
            pods[pod.key] = pod
    return SnapshotRows(nodes, list(pods.values()), problems[:MOST_PROBLEMS])


def is_pending(pod: Pod) -> bool:
    return not pod.node_name and _phase_of(pod) not in FINISHED


def _phase_of(pod: Pod) -> str:
    phase = (pod.raw.get("status") or {}).get("phase")
    return phase if isinstance(phase, str) else ""


def pod_key(raw: Json) -> str:
    metadata = raw.get("metadata") or {}
    return f"{metadata.get('namespace') or 'default'}/{metadata.get('name')}"


def node_row(engine: EngineSnapshot, node: Node, pods: int) -> Json:
    """Return the columns of ``node``'s NodeRow, without the snapshot."""
    row = engine.index[node.name]
    requested = {name: int(engine.requested[column, row]) for name, column in engine.resources.items()}
    cpu, memory = node.allocatable.get("cpu", 0), node.allocatable.get("memory", 0)
    labels = node.labels
    return dict(
        name=node.name[:253],
        zone=labels.get(ZONE, labels.get(BETA_ZONE, ""))[:253],
        region=labels.get(REGION, labels.get(BETA_REGION, ""))[:253],
        instance_type=next((labels[key] for key in INSTANCE_TYPE if key in labels), "")[:253],
        ready=node.is_ready,
        unschedulable=node.unschedulable,
        taints=[taint_text(taint) for taint in (node.raw.get("spec") or {}).get("taints") or []],
        cpu_allocatable=_clamp(cpu),
        cpu_requested=_clamp(requested.get("cpu", 0)),
        memory_allocatable=_clamp(memory),
        memory_requested=_clamp(requested.get("memory", 0)),
        pods_allocatable=_clamp(node.allocatable.get("pods", 0)),
        pods_bound=pods,
        cpu_share=_share_of(requested.get("cpu", 0), cpu),
        memory_share=_share_of(requested.get("memory", 0), memory),
        extended={
            name: [_clamp(requested.get(name, 0)), _clamp(amount)]
            for name, amount in node.allocatable.items()
            if name not in BASIC and (amount or requested.get(name))
        },
        labels=dict(labels),
    )


def pod_row(pod: Pod) -> Json:
    """Return the columns of ``pod``'s PodRow, without the snapshot."""
    metadata, status = pod.raw.get("metadata") or {}, pod.raw.get("status") or {}
    return dict(
        namespace=pod.namespace[:63],
        name=pod.name[:253],
        uid=pod.uid[:253],
        node=pod.node_name[:253],
        pending=is_pending(pod),
        phase=_phase_of(pod)[:16],
        gated=bool(pod.gates) and not pod.node_name,
        scheduler_name=pod.scheduler_name[:253],
        priority=max(-(2**31), min(pod.priority, 2**31 - 1)),
        owner=f"{pod.controller[1]}/{pod.controller[2]}"[:320] if pod.controller else "",
        pod_group=pod.scheduling_group.partition("/")[2][:253],
        cpu_request=_clamp(pod.requests.get("cpu", 0)),
        memory_request=_clamp(pod.requests.get("memory", 0)),
        created_at=parse_time(metadata.get("creationTimestamp")),
        message=_pending_message(status) if not pod.node_name else "",
    )


def object_problem(raw: Json) -> Problem | None:
    """Return why the engine cannot read ``raw``, a Node or a Pod; ``None`` if it can."""
    try:
        if raw["kind"] == "Node":
            Node.from_json(raw)
        elif raw["kind"] == "Pod":
            Pod.from_json(raw)
    except ObjectError as error:
        return {"object": describe_object(raw), "reason": str(error)}
    return None


def taint_text(taint: Json) -> str:
    """Return ``key=value:Effect``, as kubectl writes it."""
    value = f"={taint['value']}" if taint.get("value") else ""
    return f"{taint.get('key', '')}{value}:{taint.get('effect', '')}"


def _find_condition(status: Json, kind: str) -> Json:
    conditions = status.get("conditions")
    entries = (entry for entry in conditions if isinstance(entry, dict)) if isinstance(conditions, list) else ()
    return next((entry for entry in entries if entry.get("type") == kind), {})


def _pending_message(status: Json) -> str:
    condition = _find_condition(status, "PodScheduled")
    message = condition.get("message") if condition.get("status") == "False" else ""
    return message[:4000] if isinstance(message, str) else ""


def parse_time(value: Any) -> datetime | None:
    """Return a time of a Kubernetes object; ``None`` for none, or for any other text."""
    try:
        moment = parse_datetime(value) if isinstance(value, str) else None
    except ValueError:
        return None
    return moment if moment and is_aware(moment) else None


def _share_of(requested: int, allocatable: int) -> int:
    return min(requested * 1000 // allocatable, 2**31 - 1) if allocatable > 0 else 0


def _clamp(amount: int) -> int:
    return max(-LARGEST, min(int(amount), LARGEST))
