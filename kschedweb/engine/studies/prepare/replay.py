"""Replays a recorded cluster: its nodes and pods come, change and leave at the recorded times."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import field

from kschedweb.engine.controllers.nodelifecycle import CONTROLLED
from kschedweb.engine.objects.access import Json, ObjectError, mapping, objects, string_map
from kschedweb.engine.objects.node import Node
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.simulation import (
    Event,
    NodeChanges,
    NodeFallsSilent,
    NodeJoins,
    NodeLeaves,
    NodeReports,
    PodChanges,
    PodLeaves,
)
from kschedweb.engine.state.owners import stays_at_drain
from kschedweb.engine.studies.document.document import PartError
from kschedweb.engine.studies.document.limits import MOST_EVENTS, MOST_NODES, MOST_PODS
from kschedweb.engine.studies.document.parts import ALL, ARRIVALS, Trace
from kschedweb.engine.studies.document.raw import FINISHED, unbound
from kschedweb.engine.studies.prepare.cluster import Cluster, arrival
from kschedweb.engine.studies.traces.files import Files
from kschedweb.engine.studies.traces.records import ADD, DELETE, Record, seconds
from kschedweb.engine.studies.traces.table import RowError
from kschedweb.engine.values import dataclass


@dataclass(slots=True)
class RecordedPod:
    """A recorded pod: as it arrived, when it was bound and when it left, in seconds from the beginning."""

    raw: Json
    at: float
    bound: float | None = None
    ended: float | None = None
    latest: Json = field(default_factory=dict)
    changes: list[tuple[float, Json]] = field(default_factory=list)


def replay(trace: Trace, files: Files, cluster: Cluster, place: str) -> None:
    """Add the recording ``trace`` to ``cluster``; raises PartError."""
    Replay(trace, cluster, place).play(sorted(files.records(trace), key=lambda record: record.time))


class Replay:
    """The replay of a recording. Older objects exist from the beginning. ``place`` says how pods are placed."""

    def __init__(self, trace: Trace, cluster: Cluster, place: str) -> None:
        self.trace, self.cluster, self.place = trace, cluster, place
        self.start = 0.0
        self.pods: list[RecordedPod] = []
        self._current: dict[tuple[str, str, str], RecordedPod] = {}
        self._nodes: dict[str, Json] = {}
        self._ignored = self._taken = 0
        self._joined: dict[str, float] = {}

    def play(self, records: list[Record]) -> None:
        self.start = records[0].time
        for record in records:
            at = (record.time - self.start) / self.trace.speed
            try:
                self._take(record, 0.0 if record.event == ADD and self._was_there(record.raw) else at)
            except ObjectError as problem:
                self.cluster.note(f"{self.trace.file}, line {record.line}: is left out: {problem}")
            if len(self.cluster.events) > MOST_EVENTS:
                raise PartError(f"{self.trace.file}: more than {MOST_EVENTS:,} things happen: take a shorter recording")
        if self._ignored:
            text = f"{self._ignored:,} later changes of objects other than nodes and pods are not replayed"
            self.cluster.note(f"{self.trace.file}: {text}")
        for pod in self.pods:
            self._arrive(pod)

    def _was_there(self, raw: Json) -> bool:
        """Whether the object is older than the recording."""
        try:
            return seconds(str(mapping(raw, "metadata").get("creationTimestamp")), "") < self.start
        except RowError:
            return False

    def _take(self, record: Record, at: float) -> None:
        kind, _, name = record.key
        if kind == "Node":
            self._node(record, name, at)
        elif kind == "Pod":
            self._pod(record, at)
        else:
            self._other(record, at)

    def _other(self, record: Record, at: float) -> None:
        """Other objects exist from the beginning for the scheduler; changes use the times when they came and left."""
        came, _ = self.cluster.spans.get(record.key, (0.0 if record.key in self.cluster.others else at, math.inf))
        if record.event == ADD:
            self.cluster.others.setdefault(record.key, record.raw)
            self.cluster.spans[record.key] = came, math.inf
            return
        if record.event == DELETE and record.key in self.cluster.others:
            self.cluster.spans[record.key] = came, at
        self._ignored += 1

    # Nodes.

    def _node(self, record: Record, name: str, at: float) -> None:
        old = self._nodes.get(name)
        if record.event == DELETE:
            if self._nodes.pop(name, None) is not None:
                self.cluster.events.append(NodeLeaves(at, name))
            return
        Node.read(record.raw)
        self._nodes[name] = record.raw
        if old is not None:
            self.cluster.events += changed(old, record.raw, at)
        elif name in self.cluster.nodes:
            raise ObjectError(f"there is a node {name} already")
        elif at == 0.0:
            self.cluster.nodes[name] = record.raw
        else:
            self.cluster.events.append(NodeJoins(at, record.raw))
            self._joined.setdefault(name, at)
        if len(self._nodes) > MOST_NODES:
            raise PartError(f"{self.trace.file}: there are more than {MOST_NODES:,} nodes")

    # Pods.

    def _pod(self, record: Record, at: float) -> None:
        known = self._current.get(record.key)
        if record.event == DELETE:
            if known is not None and known.ended is None:
                known.ended = at
            self._current.pop(record.key, None)
            return
        Pod.read(record.raw)
        if known is None:
            known = self._current[record.key] = RecordedPod(record.raw, at, latest=record.raw)
            self.pods.append(known)
        elif gates_or_labels(known.latest) != gates_or_labels(record.raw):
            known.changes.append((at, record.raw))
        known.latest = record.raw
        if known.bound is None and mapping(record.raw, "spec").get("nodeName"):
            known.bound = at
        if known.ended is None and mapping(record.raw, "status").get("phase") in FINISHED:
            known.ended = at
        if len(self.pods) > MOST_PODS:
            raise PartError(f"{self.trace.file}: there are more than {MOST_PODS:,} pods")

    def _arrive(self, one: RecordedPod) -> None:
        pod, came_bound = Pod.read(one.raw), one.bound == one.at
        limit = self.trace.limit
        if (one.ended is not None and one.ended <= one.at) or (limit is not None and self._taken >= limit):
            return
        if self.place == ARRIVALS and one.at == 0.0 and not came_bound:
            return
        if pod.key in self.cluster.keys:
            self.cluster.note(f"{self.trace.file}: Pod {pod.key} came again, and is taken once")
            return
        self.cluster.keys.add(pod.key)
        life = None
        if one.ended is not None and one.bound is not None and self.trace.leave:
            life = one.ended - one.bound
        keeps = came_bound and (self.place != ALL or stays_at_drain(pod)) and self._has(pod.node_name, one.at)
        self._taken += 1
        if one.ended is not None and self.trace.leave:
            self.cluster.ended[pod.key] = one.ended
        self.cluster.events.append(arrival(one.raw if keeps else unbound(one.raw), one.at, life))
        if one.ended is not None and life is None and self.trace.leave:
            self.cluster.events.append(PodLeaves(one.ended, pod.key, if_there=True))
        for at, raw in one.changes:
            self.cluster.events.append(PodChanges(at, unbound(raw), if_there=True))

    def _has(self, node: str, at: float) -> bool:
        """Whether the node exists at ``at``."""
        return node in self.cluster.nodes or self._joined.get(node, math.inf) <= at


def gates_or_labels(raw: Json) -> tuple[object, object]:
    """The fields of a pending pod that can change and matter to the scheduler."""
    return mapping(raw, "spec").get("schedulingGates"), mapping(raw, "metadata").get("labels")


def changed(old: Json, new: Json, at: float) -> Iterable[Event]:
    """The event for changes of a node that matter to scheduler and controllers; heartbeats do not."""
    name = new["metadata"]["name"]
    before, after = (string_map(mapping(raw, "metadata"), "labels", "metadata.") for raw in (old, new))
    labels: dict[str, str | None] = {key: value for key, value in after.items() if before.get(key) != value}
    labels |= {key: None for key in before.keys() - after.keys()}
    taints = tuple(_taints(new)) if _taints(old) != _taints(new) else None
    cordoned, is_cordoned = (bool(mapping(raw, "spec").get("unschedulable")) for raw in (old, new))
    amounts, now = (mapping(mapping(raw, "status"), "allocatable") for raw in (old, new))
    change = NodeChanges(
        at,
        name,
        labels=labels or None,
        taints=taints,
        unschedulable=is_cordoned if is_cordoned != cordoned else None,
        allocatable=now if now != amounts else None,
    )
    if change != NodeChanges(at, name):
        yield change
    if _ready(old) != _ready(new):
        silent = _ready(new) not in ("True", "False")
        yield NodeFallsSilent(at, name) if silent else NodeReports(at, name, ready=_ready(new) == "True")


def _taints(raw: Json) -> list[Json]:
    listed = objects(mapping(raw, "spec"), "taints", "spec.")
    return [taint for taint in listed if taint.get("key") not in CONTROLLED]


def _ready(raw: Json) -> str:
    conditions = objects(mapping(raw, "status"), "conditions", "status.")
    return next((str(one.get("status")) for one in conditions if one.get("type") == "Ready"), "True")
