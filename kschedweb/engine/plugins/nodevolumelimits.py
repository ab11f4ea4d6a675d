"""NodeVolumeLimits rejects nodes whose CSI drivers cannot attach as many volumes as the pod needs."""

from __future__ import annotations

from functools import partial

import numpy as np

from kschedweb.engine.config.specs import PluginArgs, PluginSpec
from kschedweb.engine.framework.events import (
    ATTACHMENT,
    CSI_NODE,
    POD,
    VOLUME_CLAIM,
    Action,
    ClusterEvent,
    EventHint,
    ObjectChange,
    has_place,
)
from kschedweb.engine.framework.interface import PASSED, SKIPPED, Cycle, PluginScope, PreFilterResult, Verdicts
from kschedweb.engine.framework.status import SUCCESS, Status, error, unresolvable, unschedulable
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.storage import Claim, CSINode, VolumeAttachment
from kschedweb.engine.state.columns import Codes, Ints, Mask, Rows
from kschedweb.engine.state.snapshot import Snapshot
from kschedweb.engine.state.volumes.storage import Handle, MissingClaim, VolumeError

EXCEEDED = unschedulable("node(s) exceed max volume count")
NO_LIMIT = -1


class NodeVolumeLimits:
    name = "NodeVolumeLimits"

    def __init__(self, args: PluginArgs, drivers_needed: bool = True) -> None:
        """Take the flag of the release.

        ``drivers_needed``: a node without a driver that asks for its presence is rejected.
        """
        self.drivers_needed = drivers_needed

    def events(self) -> list[EventHint]:
        return [
            EventHint(ClusterEvent(CSI_NODE, Action.ADD)),
            EventHint(ClusterEvent(CSI_NODE, Action.UPDATE), _after_csi_node),
            EventHint(ClusterEvent(POD, Action.DELETE), _after_deletion),
            EventHint(ClusterEvent(VOLUME_CLAIM, Action.ADD), _after_claim),
            EventHint(ClusterEvent(ATTACHMENT, Action.DELETE), _after_detachment),
        ]

    def scope(self, pod: Pod) -> PluginScope:
        return PluginScope.CLUSTER if pod.volumes else PluginScope.NODE

    def pre_filter(self, cycle: Cycle) -> PreFilterResult:
        counted = any(volume.claim is not None or volume.in_tree is not None for volume in cycle.pod.volumes)
        return PASSED if counted else SKIPPED

    def depends_on(self, cycle: Cycle, pod: Pod) -> bool:
        return bool(pod.volumes)

    def filter(self, cycle: Cycle, rows: Rows) -> Verdicts:
        snapshot, pod = cycle.snapshot, cycle.pod
        has_csi_node = _has_csi_node(snapshot)
        statuses: list[Status] = [SUCCESS, EXCEEDED]
        codes = np.zeros(len(snapshot), dtype=np.int32)
        # In-tree volumes count only on nodes with a CSINode.
        for nodes, in_tree in ((has_csi_node, True), (~has_csi_node, False)):
            handles, problem = _collect_handles(snapshot, pod, in_tree)
            if problem is not None:
                codes[nodes] = len(statuses)
                statuses.append(problem)
            elif handles:
                if in_tree:
                    _check_limits(snapshot, handles, codes, statuses)
                for driver in sorted({driver for driver, _ in handles}) if self.drivers_needed else ():
                    codes[nodes & _lacks_driver(snapshot, driver)] = len(statuses)
                    statuses.append(unschedulable(f"{driver} CSI driver is not installed on the node"))
        return Verdicts(codes[rows], statuses)


def _collect_handles(snapshot: Snapshot, pod: Pod, in_tree: bool) -> tuple[set[Handle], Status | None]:
    """Return the pod's volumes that count against limits, or the status that says why they are unknown."""
    handles = set()
    for volume in pod.volumes:
        if volume.in_tree is not None and not in_tree:
            continue
        try:
            handle = snapshot.objects.storage.get_handle(pod, volume)
        except MissingClaim as problem:
            return set(), unresolvable(f"looking up PVC {pod.namespace}/{volume.claim}: {problem}")
        except VolumeError as problem:
            return set(), error(str(problem))
        if handle is not None:
            handles.add(handle)
    return handles, None


def _check_limits(snapshot: Snapshot, handles: set[Handle], codes: Codes, statuses: list[Status]) -> None:
    """Set the codes of the nodes whose limit would be exceeded, and of those whose use is unknown."""
    for driver in {driver for driver, _ in handles}:
        limits = _driver_limits(snapshot, driver)
        new = np.zeros(len(snapshot), dtype=np.int64)
        for handle in handles:
            if handle[0] == driver:
                new += 1
                # A volume that is attached to the node already takes no further slot.
                new[snapshot.volume_use.nodes_using(handle)] -= 1
        attached = snapshot.volume_use.attached_counts(driver)
        # A pod that brings no new volume passes even on a node that is above its limit.
        codes[(limits != NO_LIMIT) & (new > 0) & (attached + new > limits)] = 1
    limited = _has_limits(snapshot)
    for node, problem in snapshot.volume_use.errors_by_node().items():
        if limited[node]:
            codes[node] = len(statuses)
            statuses.append(error(problem))


def _has_csi_node(snapshot: Snapshot) -> Mask:
    csi_nodes = snapshot.objects.storage.csi_nodes
    return snapshot.cached_by_objects(
        "has CSINode", lambda: np.array([name in csi_nodes for name in snapshot.names], dtype=np.bool_)
    )


def _lacks_driver(snapshot: Snapshot, driver: str) -> Mask:
    """Return a mask of the nodes without the driver ``driver``; empty if the driver does not ask pods to wait for
    it.
    """
    storage = snapshot.objects.storage
    csi_driver = storage.drivers.get(driver)
    if csi_driver is None or not csi_driver.needed_on_node:
        return np.zeros(len(snapshot), dtype=np.bool_)

    def compute() -> Mask:
        nodes = (storage.csi_nodes.get(name) for name in snapshot.names)
        return np.array([node is None or driver not in node.topology for node in nodes], dtype=np.bool_)

    return snapshot.cached_by_objects(("lacks driver", driver), compute)


def _has_limits(snapshot: Snapshot) -> Mask:
    """Return a mask of the nodes that have a limit for some driver."""
    csi_nodes = snapshot.objects.storage.csi_nodes

    def compute() -> Mask:
        return np.array([name in csi_nodes and bool(csi_nodes[name].limits) for name in snapshot.names], dtype=np.bool_)

    return snapshot.cached_by_objects("has volume limits", compute)


def _driver_limits(snapshot: Snapshot, driver: str) -> Ints:
    """Return the number of volumes of ``driver`` that each node can attach. Shape [nodes]."""

    def compute() -> Ints:
        limits = np.full(len(snapshot), NO_LIMIT, dtype=np.int64)
        for name, node in snapshot.objects.storage.csi_nodes.items():
            if (row := snapshot.index.get(name)) is not None and driver in node.limits:
                limits[row] = node.limits[driver]
        return limits

    return snapshot.cached_by_objects(("volume limits", driver), compute)


def _after_csi_node(pod: Pod, change: ObjectChange) -> bool:
    """Queue if a driver can attach more volumes to the node."""
    old, new = CSINode.from_json(change.old), CSINode.from_json(change.new)
    return any(limit > old.limits.get(driver, 0) for driver, limit in new.limits.items())


def _after_deletion(pod: Pod, change: ObjectChange) -> bool:
    """Queue if the deleted pod had volumes that count against limits."""
    return has_place(change.old) and any(
        volume.claim is not None or volume.in_tree is not None for volume in change.old.volumes
    )


def _after_claim(pod: Pod, change: ObjectChange) -> bool:
    """Queue if the pod uses the new claim."""
    claim = Claim.from_json(change.new)
    return claim.namespace == pod.namespace and any(volume.claim == claim.name for volume in pod.volumes)


def _after_detachment(pod: Pod, change: ObjectChange) -> bool:
    """Queue if the detached volume may be of the driver of one of the pod's volumes."""
    driver = VolumeAttachment.from_json(change.old).attacher
    return any(
        volume.claim is not None
        if volume.in_tree is None
        else bool(volume.in_tree.error) or volume.in_tree.migration.driver == driver
        for volume in pod.volumes
        if not volume.ephemeral
    )


SPEC = PluginSpec(
    "NodeVolumeLimits",
    frozenset({"preFilter", "filter"}),
    "Refuses nodes that can attach no further volume of a CSI driver.",
    factory=NodeVolumeLimits,
    variant=lambda release: {
        "factory": partial(NodeVolumeLimits, drivers_needed=release.is_enabled("VolumeLimitScaling"))
    },
)
