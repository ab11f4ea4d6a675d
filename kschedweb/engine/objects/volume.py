"""The volumes of a pod that restrict where it can run."""

from __future__ import annotations

from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.csi_migration import InTreeVolume
from kschedweb.engine.objects.json_access import (
    get_boolean,
    get_mapping,
    get_objects_and_paths,
    get_string,
    get_strings,
)
from kschedweb.engine.values import dataclass

# The API server's default.
DEFAULT_RBD_POOL = "rbd"


@dataclass(frozen=True, slots=True)
class Disk:
    """A disk that a pod mounts directly; pods on one node share it only as ``conflicts_with`` allows."""

    identity: tuple[str, ...]
    # Of a Ceph image: two images are the same only if they have a monitor in common.
    monitors: frozenset[str] | None
    read_only: bool

    def conflicts_with(self, other: Disk) -> bool:
        """Return True if a node that mounts ``other``, of the same identity, cannot mount this one."""
        if self.read_only and other.read_only:
            return False
        return self.monitors is None or other.monitors is None or not self.monitors.isdisjoint(other.monitors)


@dataclass(frozen=True, slots=True)
class PodVolume:
    """A volume of a pod."""

    name: str
    # Name of the claim, also of an ephemeral volume; None for a volume in the pod itself.
    claim: str | None = None
    ephemeral: bool = False
    disk: Disk | None = None
    in_tree: InTreeVolume | None = None


def read_volumes(spec: Json, pod: str) -> tuple[PodVolume, ...]:
    """Read claims, ephemeral volumes and disks in the spec of the pod named ``pod``; other volumes go anywhere."""
    volumes = []
    for raw, at in get_objects_and_paths(spec, "volumes", "spec."):
        name = get_string(raw, "name", at)
        if raw.get("persistentVolumeClaim") is not None:
            source = get_mapping(raw, "persistentVolumeClaim", at)
            claim = get_string(source, "claimName", f"{at}persistentVolumeClaim.")
            volumes.append(PodVolume(name, claim))
        elif raw.get("ephemeral") is not None:
            volumes.append(PodVolume(name, f"{pod}-{name}", ephemeral=True))
        else:
            disk, in_tree = _read_disk(raw, at), InTreeVolume.of_pod_volume(raw, at)
            if disk is not None or in_tree is not None:
                volumes.append(PodVolume(name, disk=disk, in_tree=in_tree))
    return tuple(volumes)


def _read_disk(raw: Json, path: str) -> Disk | None:
    """Return the disk of a volume that pods cannot share freely, None for other volumes."""
    if raw.get("gcePersistentDisk") is not None:
        return _plain_disk(raw, "gcePersistentDisk", "pdName", path)
    if raw.get("awsElasticBlockStore") is not None:
        # Two pods never share an EBS volume, not even to read.
        source = get_mapping(raw, "awsElasticBlockStore", path)
        return Disk(
            ("awsElasticBlockStore", get_string(source, "volumeID", f"{path}awsElasticBlockStore.")), None, False
        )
    if raw.get("iscsi") is not None:
        return _plain_disk(raw, "iscsi", "iqn", path)
    if raw.get("rbd") is not None:
        source, at = get_mapping(raw, "rbd", path), f"{path}rbd."
        identity = ("rbd", get_string(source, "pool", at) or DEFAULT_RBD_POOL, get_string(source, "image", at))
        return Disk(identity, frozenset(get_strings(source, "monitors", at)), get_boolean(source, "readOnly", at))
    return None


def _plain_disk(raw: Json, field: str, identity: str, path: str) -> Disk:
    source, at = get_mapping(raw, field, path), f"{path}{field}."
    return Disk((field, get_string(source, identity, at)), None, get_boolean(source, "readOnly", at))
