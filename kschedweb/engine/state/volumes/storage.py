"""The cluster's claims, volumes, storage classes and CSI objects."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.csi_migration import DRIVERS, UNCOUNTED_PLUGINS, InTreeVolume
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.storage import (
    Claim,
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    StorageClass,
    VolumeAttachment,
)
from kschedweb.engine.objects.volume import PodVolume

# The driver, and the driver's name for the volume.
Handle = tuple[str, str]
_READERS: dict[str, Callable[[Json], Any]] = {
    reader.__name__: reader.from_json
    for reader in (PersistentVolume, StorageClass, CSINode, CSIDriver, CSIStorageCapacity, VolumeAttachment)
} | {"PersistentVolumeClaim": Claim.from_json}


def _has_equal_fields(current: Any, read: Any) -> bool:
    """Return True if two typed objects are equal, apart from their raw form."""
    return current is not None and all(getattr(current, name) == getattr(read, name) for name in read.__slots__)


class VolumeError(ValueError):
    """A pod's volume cannot be resolved; the text is kube-scheduler's."""


class MissingClaim(VolumeError):
    """A volume's claim does not exist; the text names it."""


class SavedVolumes(NamedTuple):
    """The claims and volumes of a storage at one time."""

    claims: dict[tuple[str, str], Claim]
    volumes: dict[str, PersistentVolume]


class Storage:
    """Typed storage objects by name; claims and capacities by (namespace, name)."""

    def __init__(self) -> None:
        self.claims: dict[tuple[str, str], Claim] = {}
        self.volumes: dict[str, PersistentVolume] = {}
        self.classes: dict[str, StorageClass] = {}
        self.csi_nodes: dict[str, CSINode] = {}
        self.drivers: dict[str, CSIDriver] = {}
        self.capacities: dict[tuple[str, str], CSIStorageCapacity] = {}
        self.attachments: dict[str, VolumeAttachment] = {}
        # Counts changes from outside, by `add_object` and `remove_object`.
        self.version = 0
        self._claims_made = 0
        # True if a copy has the same dicts of claims and volumes: they are copied before the next change.
        self._shared = False

    def copy(self) -> Storage:
        """Return a copy with independent claims and volumes."""
        other = object.__new__(Storage)
        other.__dict__.update(self.__dict__)
        self._shared = other._shared = True
        return other

    def save_volumes(self) -> SavedVolumes:
        """Return the present claims and volumes, for ``restore_volumes``."""
        self._shared = True
        return SavedVolumes(self.claims, self.volumes)

    def restore_volumes(self, saved: SavedVolumes) -> bool:
        """Undo all changes of claims and volumes since they were ``saved``; return True if there were any."""
        if self.claims is saved.claims:
            return False
        self.claims, self.volumes = saved
        self._shared = True
        return True

    def put_object(self, changed: Claim | PersistentVolume) -> None:
        """Add ``changed``, or replace the object of the same name."""
        self._unshare()
        if isinstance(changed, Claim):
            self.claims[changed.key] = changed
        else:
            self.volumes[changed.name] = changed

    def drop_object(self, removed: Claim | PersistentVolume) -> None:
        """Remove the object of the same name as ``removed``, as a controller does."""
        self._unshare()
        if isinstance(removed, Claim):
            self.claims.pop(removed.key, None)
        else:
            self.volumes.pop(removed.name, None)

    def count_claim(self) -> int:
        """Return the number of the next claim made here, from which its uid is made."""
        self._claims_made += 1
        return self._claims_made

    def get_current(self, earlier: Claim | PersistentVolume) -> Claim | PersistentVolume | None:
        """Return the current object with the name of ``earlier``."""
        return self.claims.get(earlier.key) if isinstance(earlier, Claim) else self.volumes.get(earlier.name)

    def add_object(self, kind: str, namespace: str, name: str, raw: Json) -> bool:
        """Add ``raw`` if it is of a storage kind; return True if that changes anything.

        Raise ObjectError if it cannot be read.
        """
        if kind not in _READERS:
            return False
        read = _READERS[kind](raw)
        objects, key = self._table_and_key(kind, namespace, name)
        changed = not _has_equal_fields(objects.get(key), read)
        if changed:
            self.version += 1
            objects[key] = read
        return changed

    def remove_object(self, kind: str, namespace: str, name: str) -> bool:
        """Remove an object if it is of a storage kind; return True if that changes anything."""
        if kind not in _READERS:
            return False
        objects, key = self._table_and_key(kind, namespace, name)
        self.version += 1
        return objects.pop(key, None) is not None

    def _table_and_key(self, kind: str, namespace: str, name: str) -> tuple[dict[Any, Any], Any]:
        """Return the dict for objects of a storage kind, made writable, and the object's key in it."""
        self._unshare()
        tables: dict[str, tuple[dict[Any, Any], Any]] = {
            "PersistentVolumeClaim": (self.claims, (namespace, name)),
            "PersistentVolume": (self.volumes, name),
            "StorageClass": (self.classes, name),
            "CSINode": (self.csi_nodes, name),
            "CSIDriver": (self.drivers, name),
            "CSIStorageCapacity": (self.capacities, (namespace, name)),
            "VolumeAttachment": (self.attachments, name),
        }
        return tables[kind]

    def _unshare(self) -> None:
        if self._shared:
            self.claims, self.volumes, self._shared = self.claims.copy(), self.volumes.copy(), False

    def get_claim(self, namespace: str, name: str) -> Claim:
        """Return the claim; raise MissingClaim with the API server's words if there is none."""
        try:
            return self.claims[namespace, name]
        except KeyError:
            raise MissingClaim(f'persistentvolumeclaim "{name}" not found') from None

    def get_handle(self, pod: Pod, volume: PodVolume) -> Handle | None:
        """Return the handle under which ``volume`` counts against a node's limits; ``None`` if it does not count.

        A volume that is not provisioned yet counts for the driver of its class, under the claim's name. Raise
        VolumeError.
        """
        if volume.claim is None:
            return _in_tree_handle(volume) if volume.in_tree is not None else None
        if not volume.claim:
            raise VolumeError("PersistentVolumeClaim had no name")
        claim = self.get_claim(pod.namespace, volume.claim)
        if volume.ephemeral:
            check_owner(pod, claim)
        persistent = self.volumes.get(claim.volume) if claim.volume else None
        handle = self._future_handle(claim) if persistent is None else _bound_handle(persistent)
        return handle if handle is not None and all(handle) else None

    def _future_handle(self, claim: Claim) -> Handle | None:
        storage_class = self.classes.get(claim.storage_class)
        if storage_class is None or storage_class.provisioner in UNCOUNTED_PLUGINS:
            return None
        provisioner = storage_class.provisioner
        return DRIVERS.get(provisioner, provisioner), f"\0{claim.namespace}/{claim.name}"


def check_owner(pod: Pod, claim: Claim) -> None:
    """Raise VolumeError unless ``claim`` was made for an ephemeral volume of ``pod``."""
    if claim.controller_uid != pod.uid:
        owned, owner = f"{claim.namespace}/{claim.name}", pod.key
        raise VolumeError(f"PVC {owned} was not created for pod {owner} (pod is not owner)")


def _bound_handle(volume: PersistentVolume) -> Handle | None:
    if volume.csi is not None:
        return volume.csi
    if volume.in_tree is None or volume.in_tree.error:
        return None
    return _migrated_handle(volume.in_tree)


def _in_tree_handle(volume: PodVolume) -> Handle:
    assert volume.in_tree is not None
    if volume.in_tree.error:
        raise VolumeError(f"converting volume({volume.name}) from inline to csi: {volume.in_tree.error}")
    return _migrated_handle(volume.in_tree)


def _migrated_handle(in_tree: InTreeVolume) -> Handle:
    return in_tree.migration.driver, in_tree.handle
