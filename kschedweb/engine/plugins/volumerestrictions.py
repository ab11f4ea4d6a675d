"""VolumeRestrictions separates pods that cannot share a disk or a ReadWriteOncePod claim."""

from __future__ import annotations

import numpy as np

from kschedweb.engine.config.specs import PluginArgs, PluginSpec
from kschedweb.engine.framework.events import NODE_ADD, POD, VOLUME_CLAIM, Action, ClusterEvent, EventHint, ObjectChange
from kschedweb.engine.framework.interface import PASSED, SKIPPED, Cycle, PluginScope, PreFilterResult, Verdicts
from kschedweb.engine.framework.status import SUCCESS, error, unresolvable, unschedulable
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.storage import READ_WRITE_ONCE_POD, Claim
from kschedweb.engine.state.columns import Mask, Rows
from kschedweb.engine.state.volumes.storage import MissingClaim
from kschedweb.engine.values import dataclass

DISK = unschedulable("node(s) had no available disk")
CLAIM = unschedulable(
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod"
)
MISSING = error('cannot read "PreFilterVolumeRestrictions" from cycleState')


@dataclass(slots=True)
class PreFilterState:
    """The state that PreFilter leaves to Filter."""

    # Names of the pod's ReadWriteOncePod claims.
    claims: frozenset[str]
    # Number of other references to these claims.
    conflicts: int

    def clone(self) -> PreFilterState:
        return PreFilterState(self.claims, self.conflicts)


class VolumeRestrictions:
    name = "VolumeRestrictions"

    def __init__(self, args: PluginArgs) -> None:
        pass

    def events(self) -> list[EventHint]:
        return [
            EventHint(ClusterEvent(POD, Action.DELETE), _after_deletion),
            EventHint(NODE_ADD),
            EventHint(ClusterEvent(VOLUME_CLAIM, Action.ADD), _after_claim),
        ]

    def scope(self, pod: Pod) -> PluginScope:
        return PluginScope.CLUSTER if pod.volumes else PluginScope.NODE

    def pre_filter(self, cycle: Cycle) -> PreFilterResult:
        pod, snapshot = cycle.pod, cycle.snapshot
        try:
            used = [snapshot.objects.storage.get_claim(pod.namespace, name) for name in _claim_names(pod)]
        except MissingClaim as problem:
            return PreFilterResult(unresolvable(str(problem)))
        exclusive = frozenset(claim.name for claim in used if READ_WRITE_ONCE_POD in claim.access_modes)
        conflicts = sum(snapshot.volume_use.is_claimed(pod.namespace, name) for name in exclusive)
        if not conflicts and not any(volume.disk for volume in pod.volumes):
            return SKIPPED
        cycle.state[self.name] = PreFilterState(exclusive, conflicts)
        return PASSED

    def add_pod(self, cycle: Cycle, pod: Pod, node: int) -> None:
        self._update_with_pod(cycle, pod, 1)

    def remove_pod(self, cycle: Cycle, pod: Pod, node: int) -> None:
        self._update_with_pod(cycle, pod, -1)

    def _update_with_pod(self, cycle: Cycle, pod: Pod, sign: int) -> None:
        state: PreFilterState | None = cycle.state.get(self.name)
        # kube-scheduler compares only the claims' names, not the namespaces.
        if state is not None:
            state.conflicts += sign * sum(name in state.claims for name in _claim_names(pod))

    def depends_on(self, cycle: Cycle, pod: Pod) -> bool:
        return bool(pod.volumes)

    def filter(self, cycle: Cycle, rows: Rows) -> Verdicts:
        state: PreFilterState | None = cycle.state.get(self.name)
        codes = np.zeros(len(cycle.snapshot), dtype=np.int32)
        if state is None or state.conflicts > 0:
            codes[:] = 2
        # `Filter` checks disks before claims, so their reason overwrites the other.
        codes[_disk_conflicts(cycle)] = 1
        return Verdicts(codes[rows], (SUCCESS, DISK, MISSING if state is None else CLAIM))


def _claim_names(pod: Pod) -> list[str]:
    return [volume.claim for volume in pod.volumes if volume.claim is not None and not volume.ephemeral]


def _disk_conflicts(cycle: Cycle) -> Mask:
    mask: Mask = np.zeros(len(cycle.snapshot), dtype=np.bool_)
    for volume in cycle.pod.volumes:
        if volume.disk is not None:
            mask |= cycle.snapshot.volume_use.disk_conflicts(volume.disk)
    return mask


def _after_deletion(pod: Pod, change: ObjectChange) -> bool:
    """Queue if the deleted pod had a disk that this pod cannot share, or a claim that both use."""
    old: Pod = change.old
    if old.namespace != pod.namespace:
        return False
    mine, theirs = ([volume.disk for volume in holder.volumes if volume.disk is not None] for holder in (pod, old))
    return any(
        disk.identity == other.identity and disk.conflicts_with(other) for disk in mine for other in theirs
    ) or bool(set(_claim_names(pod)) & set(_claim_names(old)))


def _after_claim(pod: Pod, change: ObjectChange) -> bool:
    """Queue if the pod uses the new claim."""
    claim = Claim.from_json(change.new)
    return claim.namespace == pod.namespace and claim.name in _claim_names(pod)


SPEC = PluginSpec(
    "VolumeRestrictions",
    frozenset({"preFilter", "filter"}),
    "Refuses nodes where a volume may not be used a second time.",
    factory=VolumeRestrictions,
)
