"""Volumes attached to nodes by pods, counted as in kube-scheduler 1.13: by kind, each once per node.

A claim whose volume is unknown counts for every kind but CSI, because it may become any of them.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable

import numpy as np

from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import get_mapping
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.releases.classic.objects import ATTACHED, attached_sources, list_sources
from kschedweb.engine.state.cluster_objects import ClusterObjects
from kschedweb.engine.state.columns import Ints, Mask

CSI_PREFIX = "attachable-volumes-csi-"
# kube-scheduler's `ResourceNameLengthLimit`: longer names are hashed.
LONGEST = 63
NAMELESS = "PersistentVolumeClaim had no name"
# Its kind (a field of ATTACHED, or a CSI driver's resource) and its name.
Volume = tuple[str, str]


def limit_key(driver: str) -> str:
    """Return the resource in which a node reports how many volumes of a CSI driver it can attach."""
    if len(CSI_PREFIX) + len(driver) < LONGEST:
        return CSI_PREFIX + driver
    # Longer names are cut and hashed, as `GetCSIAttachLimitKey` does.
    return CSI_PREFIX + driver[:23] + hashlib.sha1(driver.encode(), usedforsecurity=False).hexdigest()[:16]


def volumes_of(pod: Pod, cluster: ClusterObjects) -> frozenset[Volume] | None:
    """Return the volumes that ``pod`` attaches when it runs; ``None`` if one of its claims has no name."""
    volumes: set[Volume] = set()
    for kind, name in list_sources(pod):
        if kind != "claim":
            volumes.add((kind, name))
        elif not name:
            return None
        else:
            volumes.update(_of_claim(cluster, pod.namespace, name))
    return frozenset(volumes)


def _of_claim(cluster: ClusterObjects, namespace: str, name: str) -> Iterable[Volume]:
    claim = cluster.storage.claims.get((namespace, name))
    raw = cluster.get("PersistentVolume", "", claim.volume) if claim is not None and claim.volume else None
    if raw is None:
        # NUL cannot stand in a volume's name, so the substitute meets no real one.
        return [(kind, f"\0{namespace}/{name}") for kind in ATTACHED]
    return _of_volume(get_mapping(raw, "spec"))


def _of_volume(spec: Json) -> Iterable[Volume]:
    yield from attached_sources(spec)
    if spec.get("csi") is not None:
        source = get_mapping(spec, "csi")
        yield limit_key(str(source.get("driver") or "")), str(source.get("volumeHandle") or "")


class AttachedVolumes:
    """Counts by node, updated as pods come and leave. Claims are resolved in ``cluster``."""

    def __init__(self, nodes: int, cluster: ClusterObjects) -> None:
        self._nodes, self._cluster = nodes, cluster
        self._users: dict[str, tuple[Pod, int, frozenset[Volume] | None]] = {}
        self._reset_counts()

    def _reset_counts(self) -> None:
        self._version = self._cluster.storage.version
        self._holders: dict[Volume, Counter[int]] = {}
        self._counts: dict[str, Ints] = {}
        self._nameless: Ints = np.zeros(self._nodes, dtype=np.int64)

    def copy(self, cluster: ClusterObjects) -> AttachedVolumes:
        """Return an independent copy over ``cluster``, a copy of the objects."""
        other = AttachedVolumes(self._nodes, cluster)
        other._users, other._version = dict(self._users), self._version
        other._holders = {volume: nodes.copy() for volume, nodes in self._holders.items()}
        other._counts = {kind: counts.copy() for kind, counts in self._counts.items()}
        other._nameless = self._nameless.copy()
        return other

    def account_pod(self, pod: Pod, node: int, sign: int) -> None:
        """Count ``pod``, which came to the node (``sign`` 1) or left it (-1)."""
        if not list_sources(pod):
            return
        if sign > 0:
            self._users[pod.key] = pod, node, volumes_of(pod, self._cluster)
            self._count_volumes(*self._users[pod.key][1:], 1)
        else:
            _, _, volumes = self._users.pop(pod.key)
            self._count_volumes(node, volumes, -1)

    def _count_volumes(self, node: int, volumes: frozenset[Volume] | None, sign: int) -> None:
        if volumes is None:
            self._nameless[node] += sign
            return
        for volume in volumes:
            nodes = self._holders.setdefault(volume, Counter())
            before = nodes[node]
            nodes[node] += sign
            if not nodes[node]:
                del nodes[node]
            if not before or before + sign == 0:
                self._get_counts(volume[0])[node] += sign

    def _get_counts(self, kind: str) -> Ints:
        if kind not in self._counts:
            self._counts[kind] = np.zeros(self._nodes, dtype=np.int64)
        return self._counts[kind]

    def _refresh_volumes(self) -> None:
        """Resolve the pods' volumes again if claims or volumes have changed."""
        if self._version != self._cluster.storage.version:
            self._reset_counts()
            for pod, node, _ in list(self._users.values()):
                self.account_pod(pod, node, 1)

    def count_by_node(self, kind: str) -> Ints:
        """Return the number of volumes of ``kind`` on each node. The array must not be changed. Shape [nodes]."""
        self._refresh_volumes()
        return self._get_counts(kind)

    def count_shared(self, volumes: Iterable[Volume]) -> Ints:
        """Return the number of ``volumes`` that each node has already. Shape [nodes]."""
        self._refresh_volumes()
        counts: Ints = np.zeros(self._nodes, dtype=np.int64)
        for volume in volumes:
            for node in self._holders.get(volume, ()):
                counts[node] += 1
        return counts

    def has_nameless_claims(self) -> Mask:
        """Return a mask of the nodes with a pod that has a claim without a name: predicates fail there.

        Shape [nodes].
        """
        return self._nameless > 0
