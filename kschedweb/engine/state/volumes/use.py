"""The volumes that bound pods use, updated as pods come and leave."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping
from typing import NamedTuple, TypeVar

import numpy as np

from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.volume import Disk
from kschedweb.engine.state.columns import Ints, Mask
from kschedweb.engine.state.volumes.storage import Handle, MissingClaim, Storage, VolumeError

Counted = TypeVar("Counted", bound=Hashable)


class VolumeUser(NamedTuple):
    """A bound pod with volumes."""

    pod: Pod
    # Position of its node.
    node: int
    # Its attached volumes, as far as they are known.
    handles: set[Handle]
    # The error if a volume cannot be resolved, else empty.
    error: str


class VolumeUse:
    """Claims, disks and attached volumes of the bound pods. Nodes are positions."""

    def __init__(self, index: Mapping[str, int], storage: Storage) -> None:
        # Node name -> position.
        self._index = index
        self._storage = storage
        # (namespace, name) -> pods that use the claim.
        self._claims: Counter[tuple[str, str]] = Counter()
        # Identity of a disk -> (node, disk) -> pods.
        self._disks: dict[tuple[str, ...], Counter[tuple[int, Disk]]] = {}
        # Handle -> node -> pods.
        self._volumes: dict[Handle, Counter[int]] = {}
        # Node -> key of a pod -> error.
        self._errors: dict[int, dict[str, str]] = {}
        # Driver -> attached volumes by node, int64[nodes].
        self._counts: dict[str, Ints] = {}
        self._attached: frozenset[tuple[Handle, int]] | None = None
        # By the pod's key.
        self._users: dict[str, VolumeUser] = {}
        self._version = storage.version

    def copy(self, storage: Storage) -> VolumeUse:
        """Return an independent copy over ``storage``, a copy of this one's storage."""
        other = VolumeUse(self._index, storage)
        other._claims = self._claims.copy()
        other._disks = {identity: users.copy() for identity, users in self._disks.items()}
        other._volumes = {handle: nodes.copy() for handle, nodes in self._volumes.items()}
        other._errors = {node: dict(errors) for node, errors in self._errors.items()}
        other._counts = {driver: counts.copy() for driver, counts in self._counts.items()}
        other._attached = self._attached
        other._users, other._version = dict(self._users), self._version
        return other

    def account_pod(self, pod: Pod, node: int, sign: int) -> None:
        """Count ``pod``, which came to the node (``sign`` 1) or left it (-1)."""
        for volume in pod.volumes:
            if volume.claim is not None and not volume.ephemeral:
                _add_to_counter(self._claims, (pod.namespace, volume.claim), sign)
            if volume.disk is not None:
                _add_to_counter(self._disks.setdefault(volume.disk.identity, Counter()), (node, volume.disk), sign)
        if sign > 0:
            user = self._users[pod.key] = VolumeUser(pod, node, *self._resolve_volumes(pod))
        else:
            user = self._users.pop(pod.key)
        self._attach_volumes(user, sign)

    def _attach_volumes(self, user: VolumeUser, sign: int) -> None:
        if user.error and sign > 0:
            self._errors.setdefault(user.node, {})[user.pod.key] = user.error
        elif user.error:
            self._errors[user.node].pop(user.pod.key)
        for handle in user.handles:
            self._count_handle(handle, user.node, sign)

    def resolve_again(self) -> None:
        """Resolve the volumes of all pods again at the next read, as claims were restored."""
        self._version = -1

    def _resolve_if_changed(self) -> None:
        """Resolve the pods' volumes again if claims, volumes or classes have changed."""
        if self._version == self._storage.version:
            return
        self._version = self._storage.version
        self._volumes, self._errors, self._counts, self._attached = {}, {}, {}, None
        for user in list(self._users.values()):
            resolved = self._users[user.pod.key] = VolumeUser(user.pod, user.node, *self._resolve_volumes(user.pod))
            self._attach_volumes(resolved, 1)

    def _resolve_volumes(self, pod: Pod) -> tuple[set[Handle], str]:
        """Return the pod's attached volumes, and the first error, which rejects volumes on its node."""
        handles: set[Handle] = set()
        for volume in pod.volumes:
            try:
                handle = self._storage.get_handle(pod, volume)
            except MissingClaim:
                continue
            except VolumeError as error:
                return handles, str(error)
            if handle is not None:
                handles.add(handle)
        return handles, ""

    def _count_handle(self, handle: Handle, node: int, sign: int) -> None:
        nodes = self._volumes.setdefault(handle, Counter())
        before = node in nodes
        _add_to_counter(nodes, node, sign)
        # A volume counts once on a node, whether pods use it, an attachment exists, or both.
        if before != (node in nodes) and (handle, node) not in self._list_attachments():
            self._attached_to(handle[0])[node] += sign

    def _list_attachments(self) -> frozenset[tuple[Handle, int]]:
        """Return the cluster's VolumeAttachments as (handle, node), whether a pod uses the volume or not."""
        if self._attached is None:
            attachments = set()
            for attachment in self._storage.attachments.values():
                volume = self._storage.volumes.get(attachment.volume or "")
                node = self._index.get(attachment.node)
                if attachment.attacher and volume is not None and volume.csi is not None and node is not None:
                    attachments.add(((attachment.attacher, volume.csi[1]), node))
            self._attached = frozenset(attachments)
            for (driver, _), node in self._attached:
                self._attached_to(driver)[node] += 1
        return self._attached

    def attached_counts(self, driver: str) -> Ints:
        """Return the number of volumes of ``driver`` attached to each node. Shape [nodes]."""
        self._resolve_if_changed()
        return self._attached_to(driver)

    def _attached_to(self, driver: str) -> Ints:
        self._list_attachments()
        if driver not in self._counts:
            self._counts[driver] = np.zeros(len(self._index), dtype=np.int64)
        return self._counts[driver]

    def nodes_using(self, handle: Handle) -> list[int]:
        """Return the nodes on which a pod uses the volume."""
        self._resolve_if_changed()
        return list(self._volumes.get(handle, ()))

    def errors_by_node(self) -> dict[int, str]:
        """Return the nodes with a pod whose volumes cannot be resolved, each with the error."""
        self._resolve_if_changed()
        return {node: next(iter(errors.values())) for node, errors in self._errors.items() if errors}

    def is_claimed(self, namespace: str, name: str) -> bool:
        """Return True if a bound pod uses the claim."""
        return (namespace, name) in self._claims

    def disk_conflicts(self, disk: Disk) -> Mask:
        """Return the mask of the nodes where a pod mounts ``disk`` in a conflicting way. Shape [nodes]."""
        mask = np.zeros(len(self._index), dtype=np.bool_)
        for node, other in self._disks.get(disk.identity, ()):
            if disk.conflicts_with(other):
                mask[node] = True
        return mask


def _add_to_counter(counter: Counter[Counted], key: Counted, sign: int) -> None:
    counter[key] += sign
    if not counter[key]:
        del counter[key]
