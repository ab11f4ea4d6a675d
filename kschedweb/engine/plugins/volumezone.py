"""VolumeZone rejects nodes outside the zones and regions in the labels of the pod's volumes."""

from __future__ import annotations

import numpy as np

from kschedweb.engine.config.specs import PluginArgs, PluginSpec
from kschedweb.engine.framework.events import (
    NODE,
    STORAGE_CLASS,
    VOLUME,
    VOLUME_CLAIM,
    Action,
    ClusterEvent,
    EventHint,
    ObjectChange,
)
from kschedweb.engine.framework.interface import PASSED, SKIPPED, Cycle, PluginScope, PreFilterResult, Verdicts
from kschedweb.engine.framework.status import Status, unresolvable
from kschedweb.engine.objects.csi_migration import ZONE_DELIMITER
from kschedweb.engine.objects.node import BETA_REGION, BETA_ZONE, REGION, ZONE
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.storage import WAIT_FOR_FIRST_CONSUMER, Claim, PersistentVolume, StorageClass
from kschedweb.engine.state.columns import Mask, Rows
from kschedweb.engine.state.snapshot import Snapshot
from kschedweb.engine.state.volumes.storage import MissingClaim, Storage

REJECTED = unresolvable("node(s) had no available volume zone")
# Each zone or region label with its stable name. A node without a volume's beta label is matched by the stable one.
KEYS = {BETA_ZONE: ZONE, BETA_REGION: REGION, ZONE: ZONE, REGION: REGION}
# (label, allowed values).
Topology = tuple[str, frozenset[str]]


class Unresolved(Exception):
    """The pod's volumes are unknown; ``status`` says why."""

    def __init__(self, status: Status) -> None:
        self.status = status


class VolumeZone:
    name = "VolumeZone"

    def __init__(self, args: PluginArgs) -> None:
        pass

    def events(self) -> list[EventHint]:
        return [
            EventHint(ClusterEvent(STORAGE_CLASS, Action.ADD), _after_class),
            EventHint(ClusterEvent(NODE, Action.ADD | Action.NODE_LABEL)),
            EventHint(ClusterEvent(VOLUME_CLAIM, Action.ADD | Action.UPDATE), _after_claim),
            EventHint(ClusterEvent(VOLUME, Action.ADD | Action.UPDATE), _after_volume),
        ]

    def scope(self, pod: Pod) -> PluginScope:
        return PluginScope.CLUSTER if pod.volumes else PluginScope.NODE

    def pre_filter(self, cycle: Cycle) -> PreFilterResult:
        try:
            topologies = _required_topologies(cycle)
        except Unresolved as problem:
            return PreFilterResult(problem.status)
        if not topologies:
            return SKIPPED
        cycle.state[self.name] = topologies
        return PASSED

    def depends_on(self, cycle: Cycle, pod: Pod) -> bool:
        return False

    def filter(self, cycle: Cycle, rows: Rows) -> Verdicts:
        topologies = cycle.state.get(self.name)
        if topologies is None:
            try:
                topologies = _required_topologies(cycle)
            except Unresolved as problem:
                return Verdicts.uniform(cycle.num_rows(rows), problem.status)
        outside: Mask = np.zeros(len(cycle.snapshot), dtype=np.bool_)
        for topology in topologies:
            outside |= _nodes_outside(cycle.snapshot, topology)
        return Verdicts.from_mask(outside[rows], REJECTED)


def _required_topologies(cycle: Cycle) -> list[Topology]:
    """Return the topologies that the labels of the pod's volumes require. Raises Unresolved."""
    storage = cycle.snapshot.objects.storage
    topologies = []
    for volume in cycle.pod.volumes:
        if volume.claim is None or volume.ephemeral:
            continue
        if not volume.claim:
            raise Unresolved(unresolvable("PersistentVolumeClaim had no name"))
        try:
            claim = storage.get_claim(cycle.pod.namespace, volume.claim)
        except MissingClaim as problem:
            raise Unresolved(unresolvable(str(problem))) from None
        persistent = _find_volume(storage, claim)
        if persistent is not None:
            topologies += _label_topologies(persistent)
    return topologies


def _find_volume(storage: Storage, claim: Claim) -> PersistentVolume | None:
    """Return the volume that ``claim`` names; ``None`` if it is not bound yet. Raises Unresolved."""
    if claim.volume:
        if claim.volume not in storage.volumes:
            raise Unresolved(unresolvable(f'persistentvolume "{claim.volume}" not found'))
        return storage.volumes[claim.volume]
    name = claim.storage_class
    if not name:
        raise Unresolved(unresolvable("PersistentVolumeClaim had no pv name and storageClass name"))
    if name not in storage.classes:
        raise Unresolved(unresolvable(f'storageclass.storage.k8s.io "{name}" not found'))
    mode = storage.classes[name].binding_mode
    if mode is None:
        raise Unresolved(unresolvable(f'VolumeBindingMode not set for StorageClass "{name}"'))
    if mode != WAIT_FOR_FIRST_CONSUMER:
        raise Unresolved(unresolvable("PersistentVolume had no name"))
    return None


def _label_topologies(volume: PersistentVolume) -> list[Topology]:
    """Return the volume's zones and regions. A label with an empty part is ignored."""
    topologies = []
    for key in KEYS:
        if key in volume.labels:
            values = frozenset(part.strip() for part in volume.labels[key].split(ZONE_DELIMITER))
            if "" not in values:
                topologies.append((key, values))
    return topologies


def _nodes_outside(snapshot: Snapshot, topology: Topology) -> Mask:
    """Return a mask of the nodes with some zone or region label, but none that ``topology`` allows."""
    key, values = topology
    allowed = snapshot.label_column(key).build_mask(lambda value: value in values)
    if KEYS[key] != key:
        unlabelled = ~snapshot.label_column(key).present
        # Newer nodes have the stable labels only, and older volumes the beta ones.
        allowed |= unlabelled & snapshot.label_column(KEYS[key]).build_mask(lambda value: value in values)
    return _has_zone_label(snapshot) & ~allowed


def _has_zone_label(snapshot: Snapshot) -> Mask:
    """Return a mask of the nodes with any zone or region label."""
    present: Mask = np.zeros(len(snapshot), dtype=np.bool_)
    for key in KEYS:
        present = present | snapshot.label_column(key).present
    return present


def _after_class(pod: Pod, change: ObjectChange) -> bool:
    return StorageClass.from_json(change.new).binding_mode == WAIT_FOR_FIRST_CONSUMER


def _after_claim(pod: Pod, change: ObjectChange) -> bool:
    """Queue if the pod uses the claim."""
    claim = Claim.from_json(change.new)
    return claim.namespace == pod.namespace and any(
        volume.claim == claim.name for volume in pod.volumes if not volume.ephemeral
    )


def _after_volume(pod: Pod, change: ObjectChange) -> bool:
    """Queue if the volume is new or its zones changed."""
    if change.old is None:
        return True
    return _label_topologies(PersistentVolume.from_json(change.old)) != _label_topologies(
        PersistentVolume.from_json(change.new)
    )


SPEC = PluginSpec(
    "VolumeZone",
    frozenset({"preFilter", "filter"}),
    "Refuses nodes outside the zone of the pod's volumes.",
    factory=VolumeZone,
)
