"""Replay a recorded cluster: its nodes and pods come, change and leave at the recorded times."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import field

from kschedweb.engine.controllers.nodelifecycle import CONTROLLED
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import ObjectError, get_mapping, get_objects, get_string_map
from kschedweb.engine.objects.node import Node
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.simulation import (
    NodeChanges,
    NodeFallsSilent,
    NodeJoins,
    NodeLeaves,
    NodeReports,
    PodChanges,
    PodLeaves,
    SimulationEvent,
)
from kschedweb.engine.state.owners import stays_at_drain
from kschedweb.engine.studies.document.document import PartError
from kschedweb.engine.studies.document.limits import MOST_EVENTS, MOST_NODES, MOST_PODS
from kschedweb.engine.studies.document.parts import ALL, ARRIVALS, Trace
from kschedweb.engine.studies.document.raw_pods import FINISHED, unbind_pod
from kschedweb.engine.studies.prepare.cluster import ScenarioCluster, create_arrival
from kschedweb.engine.studies.traces.files import Files
from kschedweb.engine.studies.traces.records import ADD, DELETE, Record, parse_seconds
from kschedweb.engine.studies.traces.table import RowError
from kschedweb.engine.values import dataclass


@dataclass(slots=True)
class RecordedPod:
    """A recorded pod. Times are in seconds from the beginning."""

    # The pod as it was first recorded.
    raw: Json
    # When it arrived.
    at: float
    # When it was bound; None: never.
    bound: float | None = None
    # When it finished or was deleted; None: not during the recording.
    ended: float | None = None
    # The pod as it was last recorded.
    latest: Json = field(default_factory=dict)
    # Times of changes that matter to the scheduler, with the changed pod.
    changes: list[tuple[float, Json]] = field(default_factory=list)


def replay_trace(trace: Trace, files: Files, cluster: ScenarioCluster, place: str) -> None:
    """Add the recording ``trace`` to ``cluster``; raise PartError."""
    ClusterReplay(trace, cluster, place).play_records(sorted(files.read_records(trace), key=lambda record: record.time))


class ClusterReplay:
    """Replay a recording, whose older objects exist from time 0. ``place`` says which pods are placed anew."""

    def __init__(self, trace: Trace, cluster: ScenarioCluster, place: str) -> None:
        self.trace, self.cluster, self.place = trace, cluster, place
        # Time of the first record, in seconds of the epoch.
        self.start = 0.0
        self.pods: list[RecordedPod] = []
        # Pods that exist at the current record, by key; a pod may come again after it was deleted.
        self._current: dict[tuple[str, str, str], RecordedPod] = {}
        # Nodes at the current record, by name.
        self._nodes: dict[str, Json] = {}
        self._ignored = self._taken = 0
        # Seconds at which nodes join after time 0, by name.
        self._joined: dict[str, float] = {}

    def play_records(self, records: list[Record]) -> None:
        self.start = records[0].time
        for record in records:
            at = (record.time - self.start) / self.trace.speed
            try:
                self._take_record(record, 0.0 if record.event == ADD and self._was_there(record.raw) else at)
            except ObjectError as problem:
                self.cluster.add_note(f"{self.trace.file}, line {record.line}: is left out: {problem}")
            if len(self.cluster.events) > MOST_EVENTS:
                raise PartError(f"{self.trace.file}: more than {MOST_EVENTS:,} things happen: take a shorter recording")
        if self._ignored:
            text = f"{self._ignored:,} later changes of objects other than nodes and pods are not replayed"
            self.cluster.add_note(f"{self.trace.file}: {text}")
        for pod in self.pods:
            self._add_arrival(pod)

    def _was_there(self, raw: Json) -> bool:
        """Return whether the object is older than the recording."""
        try:
            return parse_seconds(str(get_mapping(raw, "metadata").get("creationTimestamp")), "") < self.start
        except RowError:
            return False

    def _take_record(self, record: Record, at: float) -> None:
        kind, _, name = record.key
        if kind == "Node":
            self._take_node(record, name, at)
        elif kind == "Pod":
            self._take_pod(record, at)
        else:
            self._take_other(record, at)

    def _take_other(self, record: Record, at: float) -> None:
        """Add an object other than nodes and pods, which the scheduler sees from time 0 on.

        Changes heed the times when it came and left.
        """
        since, _ = self.cluster.lifetimes.get(record.key, (0.0 if record.key in self.cluster.others else at, math.inf))
        if record.event == ADD:
            self.cluster.others.setdefault(record.key, record.raw)
            self.cluster.lifetimes[record.key] = since, math.inf
            return
        if record.event == DELETE and record.key in self.cluster.others:
            self.cluster.lifetimes[record.key] = since, at
        self._ignored += 1

    # Nodes.

    def _take_node(self, record: Record, name: str, at: float) -> None:
        old = self._nodes.get(name)
        if record.event == DELETE:
            if self._nodes.pop(name, None) is not None:
                self.cluster.events.append(NodeLeaves(at, name))
            return
        Node.from_json(record.raw)
        self._nodes[name] = record.raw
        if old is not None:
            self.cluster.events += node_changes(old, record.raw, at)
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

    def _take_pod(self, record: Record, at: float) -> None:
        recorded = self._current.get(record.key)
        if record.event == DELETE:
            if recorded is not None and recorded.ended is None:
                recorded.ended = at
            self._current.pop(record.key, None)
            return
        Pod.from_json(record.raw)
        if recorded is None:
            recorded = self._current[record.key] = RecordedPod(record.raw, at, latest=record.raw)
            self.pods.append(recorded)
        elif gates_or_labels(recorded.latest) != gates_or_labels(record.raw):
            recorded.changes.append((at, record.raw))
        recorded.latest = record.raw
        if recorded.bound is None and get_mapping(record.raw, "spec").get("nodeName"):
            recorded.bound = at
        if recorded.ended is None and get_mapping(record.raw, "status").get("phase") in FINISHED:
            recorded.ended = at
        if len(self.pods) > MOST_PODS:
            raise PartError(f"{self.trace.file}: there are more than {MOST_PODS:,} pods")

    def _add_arrival(self, recorded: RecordedPod) -> None:
        pod, came_bound = Pod.from_json(recorded.raw), recorded.bound == recorded.at
        limit = self.trace.limit
        if (recorded.ended is not None and recorded.ended <= recorded.at) or (
            limit is not None and self._taken >= limit
        ):
            return
        if self.place == ARRIVALS and recorded.at == 0.0 and not came_bound:
            return
        if pod.key in self.cluster.pod_keys:
            self.cluster.add_note(f"{self.trace.file}: Pod {pod.key} came again, and is taken once")
            return
        self.cluster.pod_keys.add(pod.key)
        # A replayed pod runs as long as it ran after it was bound, wherever and whenever it is bound now.
        life = None
        if recorded.ended is not None and recorded.bound is not None and self.trace.leave:
            life = recorded.ended - recorded.bound
        keeps = came_bound and (self.place != ALL or stays_at_drain(pod)) and self._has_node(pod.node_name, recorded.at)
        self._taken += 1
        if recorded.ended is not None and self.trace.leave:
            self.cluster.recorded_ends[pod.key] = recorded.ended
        self.cluster.events.append(
            create_arrival(recorded.raw if keeps else unbind_pod(recorded.raw), recorded.at, life)
        )
        if recorded.ended is not None and life is None and self.trace.leave:
            self.cluster.events.append(PodLeaves(recorded.ended, pod.key, if_there=True))
        for at, raw in recorded.changes:
            self.cluster.events.append(PodChanges(at, unbind_pod(raw), if_there=True))

    def _has_node(self, node: str, at: float) -> bool:
        """Return whether the node exists at ``at``."""
        return node in self.cluster.nodes or self._joined.get(node, math.inf) <= at


def gates_or_labels(raw: Json) -> tuple[object, object]:
    """Return the fields of a pending pod that can change and that the scheduler reads."""
    return get_mapping(raw, "spec").get("schedulingGates"), get_mapping(raw, "metadata").get("labels")


def node_changes(old: Json, new: Json, at: float) -> Iterable[SimulationEvent]:
    """Yield events for changes of a node that scheduler or controllers react to; heartbeats give none."""
    name = new["metadata"]["name"]
    before, after = (get_string_map(get_mapping(raw, "metadata"), "labels", "metadata.") for raw in (old, new))
    labels: dict[str, str | None] = {key: value for key, value in after.items() if before.get(key) != value}
    labels |= {key: None for key in before.keys() - after.keys()}
    # Taints of conditions are left out, because the simulated controller sets them from the node's reports.
    taints = tuple(_user_taints(new)) if _user_taints(old) != _user_taints(new) else None
    cordoned, is_cordoned = (bool(get_mapping(raw, "spec").get("unschedulable")) for raw in (old, new))
    amounts, now = (get_mapping(get_mapping(raw, "status"), "allocatable") for raw in (old, new))
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
    if _ready_status(old) != _ready_status(new):
        silent = _ready_status(new) not in ("True", "False")
        yield NodeFallsSilent(at, name) if silent else NodeReports(at, name, ready=_ready_status(new) == "True")


def _user_taints(raw: Json) -> list[Json]:
    listed = get_objects(get_mapping(raw, "spec"), "taints", "spec.")
    return [taint for taint in listed if taint.get("key") not in CONTROLLED]


def _ready_status(raw: Json) -> str:
    conditions = get_objects(get_mapping(raw, "status"), "conditions", "status.")
    return next((str(condition.get("status")) for condition in conditions if condition.get("type") == "Ready"), "True")
