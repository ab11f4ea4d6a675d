"""Claims and volumes: where a pod can go because of them, and how many a node can attach."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field, replace

from kschedweb.engine.autoscaling.cluster.pods import PodView
from kschedweb.engine.autoscaling.offers.requirements import IN, Requirements, requirement
from kschedweb.engine.objects.access import Json, each, integer, mapping, text, texts
from kschedweb.engine.objects.migration import DRIVERS
from kschedweb.engine.objects.node import HOSTNAME
from kschedweb.engine.objects.storage import BIND_COMPLETED, PersistentVolume
from kschedweb.engine.state.volumes import storage as state
from kschedweb.engine.values import dataclass

Attached = dict[str, set[str]]
"""The claims by CSI driver."""
EBS = "ebs.csi.aws.com"


@dataclass(frozen=True, slots=True)
class Claim:
    volume: str
    storage_class: str
    terminating: bool
    lost: bool
    bound: bool


@dataclass(frozen=True, slots=True)
class Volume:
    driver: str
    terminating: bool
    alternatives: tuple[Requirements, ...]


@dataclass(frozen=True, slots=True)
class Class:
    driver: str
    immediate: bool
    alternatives: tuple[Requirements, ...]


class Unprovidable(Exception):
    """A pod whose claims keep it from being scheduled; the text says why, in Karpenter's words."""


@dataclass(slots=True)
class Storage:
    """The claims ("namespace/name"), volumes, classes and limits of a cluster."""

    claims: dict[str, Claim] = field(default_factory=dict)
    volumes: dict[str, Volume] = field(default_factory=dict)
    classes: dict[str, Class] = field(default_factory=dict)
    limits: dict[str, dict[str, int]] = field(default_factory=dict)  # node to CSI driver to volumes

    def take(self, kind: str, raw: Json) -> None:
        """Read an object of storage; raises ObjectError."""
        metadata, spec = mapping(raw, "metadata"), mapping(raw, "spec")
        name = text(metadata, "name", "metadata.")
        match kind:
            case "PersistentVolumeClaim":
                annotations = mapping(metadata, "annotations", "metadata.")
                namespace = text(metadata, "namespace", "metadata.") or "default"
                self.claims[f"{namespace}/{name}"] = Claim(
                    volume=text(spec, "volumeName", "spec."),
                    storage_class=text(spec, "storageClassName", "spec."),
                    terminating=metadata.get("deletionTimestamp") is not None,
                    lost=text(mapping(raw, "status"), "phase", "status.") == "Lost",
                    bound=BIND_COMPLETED in annotations,
                )
            case "PersistentVolume":
                csi = mapping(spec, "csi", "spec.")
                old = EBS if spec.get("awsElasticBlockStore") is not None else ""
                terminating = metadata.get("deletionTimestamp") is not None
                self.volumes[name] = Volume(text(csi, "driver", "spec.csi.") or old, terminating, _of_volume(spec))
            case "StorageClass":
                provisioner = text(raw, "provisioner")
                self.classes[name] = Class(
                    driver=DRIVERS.get(provisioner, provisioner),
                    immediate=text(raw, "volumeBindingMode") == "Immediate",
                    alternatives=_of_class(raw),
                )
            case "CSINode":
                self.limits[name] = {
                    text(one, "name", at): integer(mapping(one, "allocatable", at), "count", path=f"{at}allocatable.")
                    for one, at in each(spec, "drivers", "spec.")
                    if mapping(one, "allocatable", at).get("count") is not None
                }

    def follow(self, current: state.Storage) -> Storage:
        """Return this storage with the claims and volumes of a simulated cluster as they are now."""
        claims = {
            f"{claim.namespace or 'default'}/{claim.name}": Claim(
                volume=claim.volume,
                storage_class=claim.spec_class or "",
                terminating=claim.terminating,
                lost=claim.phase == "Lost",
                bound=claim.bind_completed,
            )
            for claim in current.claims.values()
        }
        volumes = {name: self.volumes.get(name) or _provisioned(volume) for name, volume in current.volumes.items()}
        return replace(self, claims=claims, volumes=volumes)

    def attached(self, pods: Iterable[PodView]) -> Attached:
        """What the pods have attached, by driver."""
        found: Attached = {}
        for pod in pods:
            for key, claim in self._of(pod):
                if driver := self._driver(claim):
                    found.setdefault(driver, set()).add(key)
        return found

    def alternatives(self, pod: PodView) -> list[Requirements]:
        """Requirements of which one must hold; none where volumes go anywhere. Raises Unprovidable."""
        found: list[Requirements | None] = [None]
        for _, claim in self._of(pod):
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
                found = _crossed(found, listed)
        return [one for one in found if one is not None]

    def check(self, pod: PodView) -> None:
        """Raises Unprovidable where kube-scheduler would not place the pod for its claims."""
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

    def _check_bound(self, claim: Claim) -> None:
        volume = self.volumes.get(claim.volume)
        if volume is None or volume.terminating:
            raise Unprovidable("failed to validate pvc")
        if not claim.bound:
            raise Unprovidable("pvc is considered unbound because it does not contain annotation")

    def _of(self, pod: PodView) -> Iterable[tuple[str, Claim]]:
        for volume in pod.volumes:
            key = f"{pod.namespace}/{volume.claim}"
            if volume.claim is not None and key in self.claims:
                yield key, self.claims[key]

    def _driver(self, claim: Claim) -> str:
        if claim.volume:
            found = self.volumes.get(claim.volume)
            return "" if found is None else found.driver
        known = self.classes.get(claim.storage_class)
        return "" if known is None else known.driver


def _provisioned(volume: PersistentVolume) -> Volume:
    """A volume that was made in the simulation."""
    alternatives = (
        Requirements.of_written((one.key, one.operator, one.values) for one in term.labels)
        for term in volume.affinity or ()
    )
    return Volume(volume.csi[0] if volume.csi else "", volume.terminating, tuple(alternatives))


def _crossed(found: list[Requirements | None], more: tuple[Requirements, ...]) -> list[Requirements | None]:
    """Each of ``found`` with each of ``more``, those that can be met; all where none can."""
    pairs = [(one, two) for one in found for two in more]
    kept = [(one, two) for one, two in pairs if one is None or one.intersects(two)] or pairs
    return [Requirements.of([*(one or {}).values(), *two.values()]) for one, two in kept]


def _of_volume(spec: Json) -> tuple[Requirements, ...]:
    affinity = mapping(mapping(spec, "nodeAffinity", "spec."), "required", "spec.nodeAffinity.")
    local = spec.get("local") is not None or spec.get("hostPath") is not None
    found = []
    for term, at in each(affinity, "nodeSelectorTerms", "spec.nodeAffinity.required."):
        listed = [
            (text(one, "key", path), text(one, "operator", path), texts(one, "values", path))
            for one, path in each(term, "matchExpressions", at)
        ]
        kept = [one for one in listed if not local or one[0] != HOSTNAME]
        if kept or (local and listed):
            found.append(Requirements.of_written(kept))
    return tuple(found)


def _of_class(raw: Json) -> tuple[Requirements, ...]:
    found = []
    for term, at in each(raw, "allowedTopologies"):
        listed = [
            requirement(text(one, "key", path), IN, texts(one, "values", path))
            for one, path in each(term, "matchLabelExpressions", at)
        ]
        if listed:
            found.append(Requirements.of(listed))
    return tuple(found)
