"""Predicates that depend on the node object alone: its conditions, labels, taints and name."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import numpy as np

from kschedweb.engine.framework.interface import Cycle, Scope, Verdicts
from kschedweb.engine.framework.status import SUCCESS, Status, unschedulable
from kschedweb.engine.objects.access import Json
from kschedweb.engine.objects.node import Node
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.taints import NO_EXECUTE, NO_SCHEDULE, Taint, tolerated
from kschedweb.engine.releases.classic import words
from kschedweb.engine.releases.classic.objects import asked
from kschedweb.engine.state.columns import Mask, Rows
from kschedweb.engine.state.nodematching import matches_required, tolerates
from kschedweb.engine.state.snapshot import Snapshot

PRESSURES = ("MemoryPressure", "DiskPressure", "PIDPressure")
UNSCHEDULABLE_TAINT = Taint("node.kubernetes.io/unschedulable", "", NO_SCHEDULE)


class NodePredicate:
    """A predicate that rejects the nodes of ``rejects``, all for the same ``reason``."""

    reason = ""

    def __init__(self, name: str, argument: Json) -> None:
        self.name = name

    def scope(self, pod: Pod) -> Scope:
        return Scope.NODE

    def filter(self, cycle: Cycle, rows: Rows) -> Verdicts:
        rejected = self.rejects(cycle.snapshot, cycle.pod)
        return Verdicts.uniform(cycle.size(rows)) if rejected is None else verdicts(rejected[rows], self.reason)

    def rejects(self, snapshot: Snapshot, pod: Pod) -> Mask | None:
        """The nodes to reject; ``None`` if there are none."""
        raise NotImplementedError


class CheckNodeCondition(NodePredicate):
    """Rejects nodes that are not ready, out of disk, without network, or cordoned."""

    def filter(self, cycle: Cycle, rows: Rows) -> Verdicts:
        codes, statuses = _by_node(cycle.snapshot, "classic conditions", _troubles)
        return Verdicts(codes[rows], statuses)


class CheckNodeUnschedulable(NodePredicate):
    """Rejects cordoned nodes, unless the pod tolerates the taint of cordoned nodes."""

    reason = words.UNSCHEDULABLE

    def rejects(self, snapshot: Snapshot, pod: Pod) -> Mask:
        return snapshot.unschedulable & (not tolerated(UNSCHEDULABLE_TAINT, pod.tolerations))


class HostName(NodePredicate):
    """Rejects every node but the one in the pod's spec.nodeName."""

    reason = words.HOST_NAME

    def rejects(self, snapshot: Snapshot, pod: Pod) -> Mask | None:
        if not pod.node_name:
            return None
        mask = np.ones(len(snapshot), dtype=np.bool_)
        if pod.node_name in snapshot.index:
            mask[snapshot.index[pod.node_name]] = False
        return mask


class MatchNodeSelector(NodePredicate):
    """Rejects nodes that do not match the pod's nodeSelector or required node affinity."""

    reason = words.SELECTOR

    def rejects(self, snapshot: Snapshot, pod: Pod) -> Mask | None:
        particular = pod.node_selector or pod.node_affinity.required is not None
        return ~matches_required(snapshot, pod) if particular else None


class PodToleratesNodeTaints(NodePredicate):
    """Rejects nodes with a NoSchedule or NoExecute taint that the pod does not tolerate."""

    reason = words.TAINTS

    def rejects(self, snapshot: Snapshot, pod: Pod) -> Mask | None:
        return ~tolerates(snapshot, pod) if any(snapshot.taint_sets()[1]) else None


class PodToleratesNodeNoExecuteTaints(NodePredicate):
    """Rejects nodes with a NoExecute taint that the pod does not tolerate."""

    reason = words.TAINTS

    def rejects(self, snapshot: Snapshot, pod: Pod) -> Mask:
        codes, sets = snapshot.taint_sets()
        kept_off = [
            any(taint.effect == NO_EXECUTE and not tolerated(taint, pod.tolerations) for taint in taints)
            for taints in sets
        ]
        return np.array(kept_off, dtype=np.bool_)[codes]


class CheckNodeLabelPresence(NodePredicate):
    """``labelsPresence``: rejects nodes that lack one of ``labels``, or have one where ``presence`` is false."""

    reason = words.LABEL_PRESENCE

    def __init__(self, name: str, argument: Json) -> None:
        super().__init__(name, argument)
        self.labels, self.presence = argument.get("labels") or [], bool(argument.get("presence"))

    def rejects(self, snapshot: Snapshot, pod: Pod) -> Mask:
        mask = np.zeros(len(snapshot), dtype=np.bool_)
        for label in self.labels:
            mask |= snapshot.label(label).present != self.presence
        return mask


class Pressure(NodePredicate):
    """Rejects nodes whose kubelet reports pressure."""

    condition = ""

    def rejects(self, snapshot: Snapshot, pod: Pod) -> Mask | None:
        kinds: dict[str, Mask] = snapshot.memo("classic pressures", lambda: _pressures(snapshot))
        return kinds.get(self.condition)


class CheckNodeMemoryPressure(Pressure):
    """Rejects nodes under memory pressure for pods without requests and limits of CPU and memory."""

    condition, reason = "MemoryPressure", words.MEMORY_PRESSURE

    def rejects(self, snapshot: Snapshot, pod: Pod) -> Mask | None:
        return super().rejects(snapshot, pod) if asked(pod).best_effort else None


class CheckNodeDiskPressure(Pressure):
    """Rejects nodes under disk pressure."""

    condition, reason = "DiskPressure", words.DISK_PRESSURE


class CheckNodePIDPressure(Pressure):
    """Rejects nodes under PID pressure."""

    condition, reason = "PIDPressure", words.PID_PRESSURE


def verdicts(rejected: Mask, reason: str) -> Verdicts:
    """Verdicts that reject the nodes ``rejected`` for one reason; fast if there are none."""
    return Verdicts.where(rejected, unschedulable(reason)) if rejected.any() else Verdicts.uniform(len(rejected))


def _by_node(snapshot: Snapshot, key: Hashable, reasons: Callable[[Node], tuple[str, ...]]) -> tuple[Any, list[Status]]:
    """Codes int32[nodes] and the statuses that they index, cached with the nodes."""

    def compute() -> tuple[Any, list[Status]]:
        known: dict[tuple[str, ...], int] = {(): 0}
        codes = np.array([known.setdefault(reasons(node), len(known)) for node in snapshot.nodes], dtype=np.int32)
        return codes, [unschedulable(*found) if found else SUCCESS for found in known]

    return snapshot.memo(key, compute)


def _conditions(node: Node) -> list[Json]:
    return (node.raw.get("status") or {}).get("conditions") or []  # checked when the node was read


def _pressures(snapshot: Snapshot) -> dict[str, Mask]:
    """The nodes under each kind of pressure; of several conditions of a kind, the last counts."""
    found = {kind: np.zeros(len(snapshot), dtype=np.bool_) for kind in PRESSURES}
    for position, node in enumerate(snapshot.nodes):
        for condition in _conditions(node):
            if (kind := condition.get("type")) in found:
                found[kind][position] = condition.get("status") == "True"
    return {kind: mask for kind, mask in found.items() if mask.any()}


def _troubles(node: Node) -> tuple[str, ...]:
    found = []
    for condition in _conditions(node):
        kind, status = condition.get("type"), condition.get("status")
        if kind == "Ready" and status != "True":
            found.append(words.NOT_READY)
        elif kind == "OutOfDisk" and status != "False":
            found.append(words.OUT_OF_DISK)
        elif kind == "NetworkUnavailable" and status != "False":
            found.append(words.NO_NETWORK)
    return (*found, words.UNSCHEDULABLE) if node.unschedulable else tuple(found)
