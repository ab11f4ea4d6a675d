"""Predicates that depend on the node object alone: its conditions, labels, taints and name."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import numpy as np

from kschedweb.engine.framework.interface import Cycle, PluginScope, Verdicts
from kschedweb.engine.framework.status import SUCCESS, Status, unschedulable
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.node import Node
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.taints import NO_EXECUTE, NO_SCHEDULE, Taint, is_tolerated
from kschedweb.engine.releases.classic import reasons
from kschedweb.engine.releases.classic.objects import get_requests
from kschedweb.engine.state.columns import Mask, Rows
from kschedweb.engine.state.nodematching import match_tolerations, matches_required
from kschedweb.engine.state.snapshot import Snapshot

PRESSURES = ("MemoryPressure", "DiskPressure", "PIDPressure")
UNSCHEDULABLE_TAINT = Taint("node.kubernetes.io/unschedulable", "", NO_SCHEDULE)


class NodePredicate:
    """A predicate that rejects the nodes of ``find_rejected``, all for the same ``reason``."""

    reason = ""

    def __init__(self, name: str, argument: Json) -> None:
        self.name = name

    def scope(self, pod: Pod) -> PluginScope:
        return PluginScope.NODE

    def filter(self, cycle: Cycle, rows: Rows) -> Verdicts:
        rejected = self.find_rejected(cycle.snapshot, cycle.pod)
        return (
            Verdicts.uniform(cycle.num_rows(rows)) if rejected is None else make_verdicts(rejected[rows], self.reason)
        )

    def find_rejected(self, snapshot: Snapshot, pod: Pod) -> Mask | None:
        """Return a mask of the nodes to reject; ``None`` if there are none."""
        raise NotImplementedError


class CheckNodeCondition(NodePredicate):
    """A predicate that rejects nodes that are not ready, out of disk, without network, or cordoned."""

    def filter(self, cycle: Cycle, rows: Rows) -> Verdicts:
        codes, statuses = _by_node(cycle.snapshot, "classic conditions", _condition_reasons)
        return Verdicts(codes[rows], statuses)


class CheckNodeUnschedulable(NodePredicate):
    """A predicate that rejects cordoned nodes, unless the pod tolerates the taint of cordoned nodes."""

    reason = reasons.UNSCHEDULABLE

    def find_rejected(self, snapshot: Snapshot, pod: Pod) -> Mask:
        return snapshot.unschedulable & (not is_tolerated(UNSCHEDULABLE_TAINT, pod.tolerations))


class HostName(NodePredicate):
    """A predicate that rejects every node but the one in the pod's spec.nodeName."""

    reason = reasons.HOST_NAME

    def find_rejected(self, snapshot: Snapshot, pod: Pod) -> Mask | None:
        if not pod.node_name:
            return None
        mask = np.ones(len(snapshot), dtype=np.bool_)
        if pod.node_name in snapshot.index:
            mask[snapshot.index[pod.node_name]] = False
        return mask


class MatchNodeSelector(NodePredicate):
    """A predicate that rejects nodes that do not match the pod's nodeSelector or required node affinity."""

    reason = reasons.SELECTOR

    def find_rejected(self, snapshot: Snapshot, pod: Pod) -> Mask | None:
        particular = pod.node_selector or pod.node_affinity.required is not None
        return ~matches_required(snapshot, pod) if particular else None


class PodToleratesNodeTaints(NodePredicate):
    """A predicate that rejects nodes with a NoSchedule or NoExecute taint that the pod does not tolerate."""

    reason = reasons.TAINTS

    def find_rejected(self, snapshot: Snapshot, pod: Pod) -> Mask | None:
        return ~match_tolerations(snapshot, pod) if any(snapshot.taint_sets()[1]) else None


class PodToleratesNodeNoExecuteTaints(NodePredicate):
    """A predicate that rejects nodes with a NoExecute taint that the pod does not tolerate."""

    reason = reasons.TAINTS

    def find_rejected(self, snapshot: Snapshot, pod: Pod) -> Mask:
        codes, sets = snapshot.taint_sets()
        kept_off = [
            any(taint.effect == NO_EXECUTE and not is_tolerated(taint, pod.tolerations) for taint in taints)
            for taints in sets
        ]
        return np.array(kept_off, dtype=np.bool_)[codes]


class CheckNodeLabelPresence(NodePredicate):
    """A predicate with ``labelsPresence``: it rejects nodes that lack a label, or have one if ``presence`` is false."""

    reason = reasons.LABEL_PRESENCE

    def __init__(self, name: str, argument: Json) -> None:
        super().__init__(name, argument)
        self.labels, self.presence = argument.get("labels") or [], bool(argument.get("presence"))

    def find_rejected(self, snapshot: Snapshot, pod: Pod) -> Mask:
        mask = np.zeros(len(snapshot), dtype=np.bool_)
        for label in self.labels:
            mask |= snapshot.label_column(label).present != self.presence
        return mask


class Pressure(NodePredicate):
    """A predicate that rejects nodes whose kubelet reports pressure."""

    condition = ""

    def find_rejected(self, snapshot: Snapshot, pod: Pod) -> Mask | None:
        kinds: dict[str, Mask] = snapshot.cached_by_nodes("classic pressures", lambda: _find_pressures(snapshot))
        return kinds.get(self.condition)


class CheckNodeMemoryPressure(Pressure):
    """A predicate that rejects nodes under memory pressure for pods without requests and limits of CPU and memory."""

    condition, reason = "MemoryPressure", reasons.MEMORY_PRESSURE

    def find_rejected(self, snapshot: Snapshot, pod: Pod) -> Mask | None:
        return super().find_rejected(snapshot, pod) if get_requests(pod).best_effort else None


class CheckNodeDiskPressure(Pressure):
    """A predicate that rejects nodes under disk pressure."""

    condition, reason = "DiskPressure", reasons.DISK_PRESSURE


class CheckNodePIDPressure(Pressure):
    """A predicate that rejects nodes under PID pressure."""

    condition, reason = "PIDPressure", reasons.PID_PRESSURE


def make_verdicts(rejected: Mask, reason: str) -> Verdicts:
    """Return verdicts that reject the nodes ``rejected`` for one reason; fast if there are none."""
    return Verdicts.from_mask(rejected, unschedulable(reason)) if rejected.any() else Verdicts.uniform(len(rejected))


def _by_node(snapshot: Snapshot, key: Hashable, reasons: Callable[[Node], tuple[str, ...]]) -> tuple[Any, list[Status]]:
    """Return codes int32[nodes] and the statuses that they index, cached with the nodes."""

    def compute() -> tuple[Any, list[Status]]:
        index: dict[tuple[str, ...], int] = {(): 0}
        codes = np.array([index.setdefault(reasons(node), len(index)) for node in snapshot.nodes], dtype=np.int32)
        return codes, [unschedulable(*texts) if texts else SUCCESS for texts in index]

    return snapshot.cached_by_nodes(key, compute)


def _list_conditions(node: Node) -> list[Json]:
    return (node.raw.get("status") or {}).get("conditions") or []  # checked when the node was read


def _find_pressures(snapshot: Snapshot) -> dict[str, Mask]:
    """Return a mask of the nodes under each kind of pressure. Of several conditions of a kind, the last counts."""
    masks = {kind: np.zeros(len(snapshot), dtype=np.bool_) for kind in PRESSURES}
    for position, node in enumerate(snapshot.nodes):
        for condition in _list_conditions(node):
            if (kind := condition.get("type")) in masks:
                masks[kind][position] = condition.get("status") == "True"
    return {kind: mask for kind, mask in masks.items() if mask.any()}


def _condition_reasons(node: Node) -> tuple[str, ...]:
    failed = []
    for condition in _list_conditions(node):
        kind, status = condition.get("type"), condition.get("status")
        if kind == "Ready" and status != "True":
            failed.append(reasons.NOT_READY)
        elif kind == "OutOfDisk" and status != "False":
            failed.append(reasons.OUT_OF_DISK)
        elif kind == "NetworkUnavailable" and status != "False":
            failed.append(reasons.NO_NETWORK)
    return (*failed, reasons.UNSCHEDULABLE) if node.unschedulable else tuple(failed)
