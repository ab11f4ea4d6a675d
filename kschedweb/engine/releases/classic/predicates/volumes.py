"""Predicates about claims and attached volumes."""

from __future__ import annotations

import re
from functools import partial

import numpy as np

from kschedweb.engine.framework.interface import Cycle, PluginScope, Verdicts
from kschedweb.engine.framework.status import SUCCESS, error, unschedulable
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.csi_migration import ZONE_DELIMITER
from kschedweb.engine.objects.labels import Labels
from kschedweb.engine.objects.node import BETA_REGION, BETA_ZONE, Node
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.storage import WAIT_FOR_FIRST_CONSUMER, Claim, PersistentVolume
from kschedweb.engine.releases.classic import reasons
from kschedweb.engine.releases.classic.attached import NAMELESS, Volume, volumes_of
from kschedweb.engine.releases.classic.objects import list_sources
from kschedweb.engine.releases.classic.snapshot import ClassicSnapshot
from kschedweb.engine.state.columns import Codes, Ints, Mask, Rows
from kschedweb.engine.state.volumes.matching import nodes_reaching_volume
from kschedweb.engine.state.volumes.search import find_pod_volumes

INSTANCE_TYPE = "beta.kubernetes.io/instance-type"
# The original's `EBSNitroLimitRegex`; as there, only the first alternative is anchored.
NITRO = re.compile(r"^[cmr]5.*|t3|z1d")
# Volumes per node, as in the original: `DefaultMaxEBSVolumes`, `DefaultMaxEBSNitroVolumeLimit`, and so on.
EBS_LIMIT, NITRO_LIMIT, DISK_LIMIT, CINDER_LIMIT = 39, 25, 16, 256
ATTACHABLE = "attachable-volumes-"
FULL = unschedulable(reasons.VOLUME_COUNT)
# By predicate, the kind of volume that is counted, and the resource with the node's limit.
KINDS = {
    "MaxEBSVolumeCount": ("awsElasticBlockStore", "attachable-volumes-aws-ebs"),
    "MaxGCEPDVolumeCount": ("gcePersistentDisk", "attachable-volumes-gce-pd"),
    "MaxAzureDiskVolumeCount": ("azureDisk", "attachable-volumes-azure-disk"),
    "MaxCinderVolumeCount": ("cinder", "attachable-volumes-cinder"),
}


class VolumePredicate:
    """A predicate that passes pods without claims and counted volumes."""

    def __init__(self, name: str, argument: Json) -> None:
        self.name = name

    def scope(self, pod: Pod) -> PluginScope:
        return PluginScope.PODS if list_sources(pod) else PluginScope.NODE

    def filter(self, cycle: Cycle, rows: Rows) -> Verdicts:
        if not list_sources(cycle.pod):
            return Verdicts.uniform(cycle.num_rows(rows))
        verdicts = self.judge(_classic_snapshot(cycle), cycle.pod)
        return Verdicts(verdicts.codes[rows], verdicts.statuses)

    def judge(self, snapshot: ClassicSnapshot, pod: Pod) -> Verdicts:
        """Return the verdict on every node."""
        raise NotImplementedError


class MaxVolumeCount(VolumePredicate):
    """A predicate that rejects nodes that would exceed their limit of attached volumes of one kind."""

    def __init__(self, name: str, argument: Json) -> None:
        super().__init__(name, argument)
        self.kind, self._resource = KINDS[name]
        self._max_volumes: int | None = argument.get("max_volumes")
        self._uses_node_limits: bool = argument.get("uses_node_limits", True)  # whether nodes report their limits

    def judge(self, snapshot: ClassicSnapshot, pod: Pod) -> Verdicts:
        volumes = volumes_of(pod, snapshot.objects)
        if volumes is None:
            return Verdicts.uniform(len(snapshot), error(NAMELESS))
        new = [volume for volume in volumes if volume[0] == self.kind]
        if not new:
            return Verdicts.uniform(len(snapshot))
        count = snapshot.attached.count_by_node(self.kind) + len(new) - snapshot.attached.count_shared(new)
        return _limit_verdicts(count > self._compute_limits(snapshot), snapshot.attached.has_nameless_claims())

    def _compute_limits(self, snapshot: ClassicSnapshot) -> Ints:
        def compute() -> Ints:
            return np.array([self._compute_limit(node) for node in snapshot.nodes], dtype=np.int64)

        return snapshot.cached_by_nodes(
            ("classic volume limits", self.kind, self._max_volumes, self._uses_node_limits), compute
        )

    def _compute_limit(self, node: Node) -> int:
        if self._uses_node_limits and self._resource in node.allocatable:
            return node.allocatable[self._resource]
        if self._max_volumes is not None:
            return self._max_volumes
        if self.kind == "awsElasticBlockStore":
            nitro = self._uses_node_limits and NITRO.search(node.labels.get(INSTANCE_TYPE, ""))
            return NITRO_LIMIT if nitro else EBS_LIMIT
        return CINDER_LIMIT if self.kind == "cinder" else DISK_LIMIT


class MaxCSIVolumeCount(VolumePredicate):
    """A predicate that rejects nodes that would exceed their reported limit of volumes of a CSI driver."""

    def judge(self, snapshot: ClassicSnapshot, pod: Pod) -> Verdicts:
        limited = snapshot.cached_by_nodes("classic limited", lambda: _has_limits(snapshot))
        volumes = volumes_of(pod, snapshot.objects)
        if volumes is None:
            return Verdicts(limited.astype(np.int32), (SUCCESS, error(NAMELESS)))
        kinds: dict[str, list[Volume]] = {}
        for volume in volumes:
            if volume[0].startswith(ATTACHABLE):
                kinds.setdefault(volume[0], []).append(volume)
        full = np.zeros(len(snapshot), dtype=np.bool_)
        for kind, new in kinds.items():
            count = snapshot.attached.count_by_node(kind) + len(new) - snapshot.attached.count_shared(new)
            limits = snapshot.cached_by_nodes(("classic limits", kind), partial(_reported_limits, snapshot, kind))
            full |= (limits >= 0) & (count > limits) & (snapshot.attached.count_shared(new) < len(new))
        return _limit_verdicts(
            full, snapshot.attached.has_nameless_claims() & limited if kinds else np.zeros_like(full)
        )


class NoVolumeZoneConflict(VolumePredicate):
    """A predicate that rejects nodes outside the zones and regions in the labels of the pod's volumes."""

    def __init__(self, name: str, argument: Json) -> None:
        super().__init__(name, argument)
        self._allows_delayed_binding: bool = argument.get(
            "volume_scheduling", True
        )  # whether delayed binding is supported

    def scope(self, pod: Pod) -> PluginScope:
        return PluginScope.NODE

    def judge(self, snapshot: ClassicSnapshot, pod: Pod) -> Verdicts:
        placed = snapshot.label_column(BETA_ZONE).present | snapshot.label_column(BETA_REGION).present
        codes: Codes = np.zeros(len(snapshot), dtype=np.int32)
        for kind, name in list_sources(pod):
            if kind != "claim":
                continue
            volume = self._find_volume(snapshot, pod.namespace, name)
            undecided = placed & (codes == 0)
            if isinstance(volume, str):
                codes[undecided] = 2
                return Verdicts(codes, (SUCCESS, unschedulable(reasons.ZONE_CONFLICT), error(volume)))
            if volume is not None:
                codes[undecided & _outside_zones(snapshot, volume.labels)] = 1
        return Verdicts(codes, (SUCCESS, unschedulable(reasons.ZONE_CONFLICT)))

    def _find_volume(self, snapshot: ClassicSnapshot, namespace: str, name: str) -> PersistentVolume | str | None:
        """Return the volume of a claim, ``None`` if it is found later, or the error that makes the predicate fail."""
        storage = snapshot.objects.storage
        if not name:
            return NAMELESS
        claim = storage.claims.get((namespace, name))
        if claim is None:
            return f'persistentvolumeclaim "{name}" not found'
        if claim.volume:
            return storage.volumes.get(claim.volume) or f'persistentvolume "{claim.volume}" not found'
        storage_class = storage.classes.get(claim.storage_class)
        if self._allows_delayed_binding and claim.storage_class and storage_class is not None:
            if storage_class.binding_mode is None:
                return f'VolumeBindingMode not set for StorageClass "{claim.storage_class}"'
            if storage_class.binding_mode == WAIT_FOR_FIRST_CONSUMER:
                return None
        return f'PersistentVolumeClaim is not bound: "{name}"'


class CheckVolumeBinding(VolumePredicate):
    """A predicate that rejects nodes that cannot reach the pod's bound volumes, or where other claims find no
    volume.
    """

    def __init__(self, name: str, argument: Json) -> None:
        super().__init__(name, argument)
        self._enabled: bool = argument.get("volume_scheduling", True)

    def scope(self, pod: Pod) -> PluginScope:
        return PluginScope.NODE

    def judge(self, snapshot: ClassicSnapshot, pod: Pod) -> Verdicts:
        claims = [name for kind, name in list_sources(pod) if kind == "claim"] if self._enabled else []
        if not claims:
            return Verdicts.uniform(len(snapshot))
        sorted_out = _split_claims(snapshot, pod.namespace, claims)
        if isinstance(sorted_out, str):
            return Verdicts.uniform(len(snapshot), error(sorted_out))
        bound, waiting = sorted_out
        unreachable, missing = _find_unreachable(snapshot, bound)
        conflict, none = unschedulable(reasons.VOLUME_AFFINITY), unschedulable(reasons.NO_VOLUMES)
        both = unschedulable(reasons.VOLUME_AFFINITY, reasons.NO_VOLUMES)
        statuses = [SUCCESS, conflict, none, both]
        codes = unreachable.astype(np.int32)
        if waiting:
            result = find_pod_volumes(snapshot, waiting)
            codes += 2 * (result.no_volume | result.no_space)
            if result.error:
                codes[result.failed] = len(statuses)
                statuses.append(error(result.error))
        if missing:  # not checked on nodes that cannot reach another volume
            codes[~unreachable] = len(statuses)
            statuses.append(error(missing))
        return Verdicts(codes, statuses)


def _classic_snapshot(cycle: Cycle) -> ClassicSnapshot:
    assert isinstance(cycle.snapshot, ClassicSnapshot)
    return cycle.snapshot


def _limit_verdicts(full: Mask, failing: Mask) -> Verdicts:
    codes = full.astype(np.int32)
    if not failing.any():
        return Verdicts(codes, (SUCCESS, FULL))
    codes[failing] = 2
    return Verdicts(codes, (SUCCESS, FULL, error(NAMELESS)))


def _has_limits(snapshot: ClassicSnapshot) -> Mask:
    """Return a mask of the nodes that report a limit of volumes."""
    has_limit = [any(name.startswith(ATTACHABLE) for name in node.allocatable) for node in snapshot.nodes]
    return np.array(has_limit, dtype=np.bool_)


def _reported_limits(snapshot: ClassicSnapshot, resource: str) -> Ints:
    """Return the limit that each node reports for ``resource``; -1 if it reports none."""
    return np.array([node.allocatable.get(resource, -1) for node in snapshot.nodes], dtype=np.int64)


def _outside_zones(snapshot: ClassicSnapshot, labels: Labels) -> Mask:
    """Return a mask of the nodes whose zone or region is not one of a volume with ``labels``."""
    mask = np.zeros(len(snapshot), dtype=np.bool_)
    for key in (BETA_ZONE, BETA_REGION):
        if key in labels:
            values = [part.strip() for part in labels[key].split(ZONE_DELIMITER)]
            if all(values):  # a list with an empty part is ignored
                mask |= ~snapshot.label_column(key).match_values(values)
    return mask


def _split_claims(snapshot: ClassicSnapshot, namespace: str, names: list[str]) -> tuple[list[Claim], list[Claim]] | str:
    """Return the bound claims and those with delayed binding, or the error that makes the predicate fail."""
    storage = snapshot.objects.storage
    bound, waiting, at_once = [], [], False
    for name in names:
        claim = storage.claims.get((namespace, name))
        if claim is None:
            key = f"{namespace}/{name}"
            return f'error getting PVC "{key}": could not find v1.PersistentVolumeClaim "{key}"'
        storage_class = storage.classes.get(claim.storage_class) if claim.storage_class else None
        if claim.is_bound:
            bound.append(claim)
        elif claim.selected_node is not None or storage_class is None:
            at_once = True
        elif storage_class.binding_mode is None:
            return f'VolumeBindingMode not set for StorageClass "{claim.storage_class}"'
        elif storage_class.binding_mode == WAIT_FOR_FIRST_CONSUMER and not claim.volume:
            waiting.append(claim)
        else:
            at_once = True
    return "pod has unbound immediate PersistentVolumeClaims" if at_once else (bound, waiting)


def _find_unreachable(snapshot: ClassicSnapshot, bound: list[Claim]) -> tuple[Mask, str]:
    """Return a mask of the nodes that cannot reach a bound volume, and the error on all other nodes, if there is
    one.
    """
    mask = np.zeros(len(snapshot), dtype=np.bool_)
    for claim in bound:
        volume = snapshot.objects.storage.volumes.get(claim.volume)
        if volume is None:
            return mask, f'could not find v1.PersistentVolume "{claim.volume}"'
        mask |= ~nodes_reaching_volume(snapshot, volume)
    return mask, ""
