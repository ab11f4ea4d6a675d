"""Persistent volume claims and volumes: where a pod can run because of them, and how many a node can attach."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field, replace

from kschedweb.engine.autoscaling.cluster.pods import PodView
from kschedweb.engine.autoscaling.offers.requirements import IN, Requirements, new_requirement
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.csi_migration import DRIVERS
from kschedweb.engine.objects.json_access import (
    get_integer,
    get_mapping,
    get_objects_and_paths,
    get_string,
    get_strings,
)
from kschedweb.engine.objects.node import HOSTNAME
from kschedweb.engine.objects.storage import BIND_COMPLETED, PersistentVolume
from kschedweb.engine.state.volumes import storage as state
from kschedweb.engine.values import dataclass

# Keys of claims, by CSI driver.
Attached = dict[str, set[str]]
# The CSI driver that serves volumes of the old awsElasticBlockStore kind.
EBS = "ebs.csi.aws.com"


@dataclass(frozen=True, slots=True)
class VolumeClaim:
    # The name of the bound volume, "" for none.
    volume: str
    storage_class: str
    terminating: bool
    lost: bool
    # The annotation pv.kubernetes.io/bind-completed is set.
    bound: bool


@dataclass(frozen=True, slots=True)
class Volume:
    driver: str
    terminating: bool
    # Requirements on nodes, one of which must hold; none if it is reachable from everywhere.
    alternatives: tuple[Requirements, ...]


@dataclass(frozen=True, slots=True)
class VolumeClass:
    driver: str
    # volumeBindingMode is Immediate.
    immediate: bool
    # Requirements of allowedTopologies, one of which must hold.
    alternatives: tuple[Requirements, ...]


class Unprovidable(Exception):
    """A pod whose claims keep it from being scheduled; the message is Karpenter's."""


@dataclass(slots=True)
class Storage:
    """The claims, volumes, storage classes and attach limits of a cluster."""

    # By "namespace/name".
    claims: dict[str, VolumeClaim] = field(default_factory=dict)
    volumes: dict[str, Volume] = field(default_factory=dict)
    classes: dict[str, VolumeClass] = field(default_factory=dict)
    # The most volumes of a node, by node and CSI driver.
    limits: dict[str, dict[str, int]] = field(default_factory=dict)

    def add_object(self, kind: str, raw: Json) -> None:
        """Read a storage object; raises ObjectError."""
        metadata, spec = get_mapping(raw, "metadata"), get_mapping(raw, "spec")
        name = get_string(metadata, "name", "metadata.")
        match kind:
            case "PersistentVolumeClaim":
                annotations = get_mapping(metadata, "annotations", "metadata.")
                namespace = get_string(metadata, "namespace", "metadata.") or "default"
                self.claims[f"{namespace}/{name}"] = VolumeClaim(
                    volume=get_string(spec, "volumeName", "spec."),
                    storage_class=get_string(spec, "storageClassName", "spec."),
                    terminating=metadata.get("deletionTimestamp") is not None,
                    lost=get_string(get_mapping(raw, "status"), "phase", "status.") == "Lost",
                    bound=BIND_COMPLETED in annotations,
                )
            case "PersistentVolume":
                csi = get_mapping(spec, "csi", "spec.")
                old = EBS if spec.get("awsElasticBlockStore") is not None else ""
                terminating = metadata.get("deletionTimestamp") is not None
                self.volumes[name] = Volume(
                    get_string(csi, "driver", "spec.csi.") or old, terminating, _of_volume(spec)
                )
            case "StorageClass":
                provisioner = get_string(raw, "provisioner")
                self.classes[name] = VolumeClass(
                    driver=DRIVERS.get(provisioner, provisioner),
                    immediate=get_string(raw, "volumeBindingMode") == "Immediate",
                    alternatives=_of_class(raw),
                )
            case "CSINode":
                self.limits[name] = {
                    get_string(driver, "name", at): get_integer(
                        get_mapping(driver, "allocatable", at), "count", path=f"{at}allocatable."
                    )
                    for driver, at in get_objects_and_paths(spec, "drivers", "spec.")
                    if get_mapping(driver, "allocatable", at).get("count") is not None
                }

    def with_current(self, current: state.Storage) -> Storage:
        """Return this storage with the claims and volumes of a simulated cluster as they are now."""
        claims = {
            f"{claim.namespace or 'default'}/{claim.name}": VolumeClaim(
                volume=claim.volume,
                storage_class=claim.spec_class or "",
                terminating=claim.terminating,
                lost=claim.phase == "Lost",
                bound=claim.bind_completed,
            )
            for claim in current.claims.values()
        }
        volumes = {name: self.volumes.get(name) or _to_volume(volume) for name, volume in current.volumes.items()}
        return replace(self, claims=claims, volumes=volumes)

    def find_attached(self, pods: Iterable[PodView]) -> Attached:
        """Return the claims of the pods, by CSI driver."""
        claims_by_driver: Attached = {}
        for pod in pods:
            for key, claim in self._claims_of(pod):
                if driver := self._find_driver(claim):
                    claims_by_driver.setdefault(driver, set()).add(key)
        return claims_by_driver

    def find_alternatives(self, pod: PodView) -> list[Requirements]:
        """Return requirements, one of which must hold; none if the volumes allow any node. Raises Unprovidable."""
        alternatives: list[Requirements | None] = [None]
        for _, claim in self._claims_of(pod):
            listed: tuple[Requirements, ...] = ()
            if claim.volume:
                if claim.volume not in self.volumes:
                    raise Unprovidable("getting persistent volume")
                listed = self.volumes[claim.volume].alternatives
            elif claim.storage_class:
                if claim.storage_class not in self.classes:
                    raise Unprovidable("getting storage class")
                listed = self.classes[claim.storage_class].alternatives
            if listed:
                alternatives = _cross_alternatives(alternatives, listed)
        return [alternative for alternative in alternatives if alternative is not None]

    def validate_claims(self, pod: PodView) -> None:
        """Raise Unprovidable if kube-scheduler would not place the pod because of its claims."""
        for volume in pod.volumes:
            if volume.claim is None:
                continue
            claim = self.claims.get(f"{pod.namespace}/{volume.claim}")
            if claim is None:
                raise Unprovidable("getting persistent volume claim")
            if claim.terminating:
                raise Unprovidable("persistentvolumeclaim is being deleted")
            if claim.lost:
                raise Unprovidable("persistentvolumeclaim bound to non-existent persistentvolume")
            if claim.volume:
                self._check_bound(claim)
            elif claim.storage_class not in self.classes:
                raise Unprovidable("unbound pvc must define a storage class")
            elif self.classes[claim.storage_class].immediate:
                raise Unprovidable("failed to validate pvc, pvc with immediate volume binding mode must be bound")

    def _check_bound(self, claim: VolumeClaim) -> None:
        volume = self.volumes.get(claim.volume)
        if volume is None or volume.terminating:
            raise Unprovidable("failed to validate pvc")
        if not claim.bound:
            raise Unprovidable("pvc is considered unbound because it does not contain annotation")

    def _claims_of(self, pod: PodView) -> Iterable[tuple[str, VolumeClaim]]:
        for volume in pod.volumes:
            key = f"{pod.namespace}/{volume.claim}"
            if volume.claim is not None and key in self.claims:
                yield key, self.claims[key]

    def _find_driver(self, claim: VolumeClaim) -> str:
        if claim.volume:
            volume = self.volumes.get(claim.volume)
            return "" if volume is None else volume.driver
        storage_class = self.classes.get(claim.storage_class)
        return "" if storage_class is None else storage_class.driver


def _to_volume(volume: PersistentVolume) -> Volume:
    """Convert a volume that was created in the simulation."""
    alternatives = (
        Requirements.of_written((expression.key, expression.operator, expression.values) for expression in term.labels)
        for term in volume.affinity or ()
    )
    return Volume(volume.csi[0] if volume.csi else "", volume.terminating, tuple(alternatives))


def _cross_alternatives(
    alternatives: list[Requirements | None], more: tuple[Requirements, ...]
) -> list[Requirements | None]:
    """Combine each of ``alternatives`` with each of ``more``; keep the pairs that can hold, or all if none can."""
    pairs = [(first, two) for first in alternatives for two in more]
    compatible_pairs = [(first, two) for first, two in pairs if first is None or first.intersects(two)] or pairs
    return [Requirements.from_requirements([*(first or {}).values(), *two.values()]) for first, two in compatible_pairs]


def _of_volume(spec: Json) -> tuple[Requirements, ...]:
    affinity = get_mapping(get_mapping(spec, "nodeAffinity", "spec."), "required", "spec.nodeAffinity.")
    local = spec.get("local") is not None or spec.get("hostPath") is not None
    alternatives = []
    for term, at in get_objects_and_paths(affinity, "nodeSelectorTerms", "spec.nodeAffinity.required."):
        listed = [
            (
                get_string(expression, "key", path),
                get_string(expression, "operator", path),
                get_strings(expression, "values", path),
            )
            for expression, path in get_objects_and_paths(term, "matchExpressions", at)
        ]
        # A local volume may name its node only: Karpenter drops the host name, so that another node may replace it.
        usable = [expression for expression in listed if not local or expression[0] != HOSTNAME]
        if usable or (local and listed):
            alternatives.append(Requirements.of_written(usable))
    return tuple(alternatives)


def _of_class(raw: Json) -> tuple[Requirements, ...]:
    alternatives = []
    for term, at in get_objects_and_paths(raw, "allowedTopologies"):
        listed = [
            new_requirement(get_string(expression, "key", path), IN, get_strings(expression, "values", path))
            for expression, path in get_objects_and_paths(term, "matchLabelExpressions", at)
        ]
        if listed:
            alternatives.append(Requirements.from_requirements(listed))
    return tuple(alternatives)
