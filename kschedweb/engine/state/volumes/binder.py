"""Changes of a pod's claims when it gets a node: volumes are assumed or provisioned, and bound."""

from __future__ import annotations

from dataclasses import replace

from kschedweb.engine.objects.csi_migration import DRIVERS, UNCOUNTED_PLUGINS
from kschedweb.engine.objects.labels import Requirement
from kschedweb.engine.objects.nodeselector import NodeSelectorTerm
from kschedweb.engine.objects.storage import Claim, PersistentVolume
from kschedweb.engine.state.snapshot import Snapshot

BOUND = "Bound"
# A claim and its volume; None if one is provisioned.
VolumeChoice = tuple[Claim, PersistentVolume | None]
# An object before and after.
Assumed = tuple[Claim | PersistentVolume, Claim | PersistentVolume]


def assume_pod_volumes(snapshot: Snapshot, choices: list[VolumeChoice], node: str) -> list[Assumed]:
    """Mark the volumes as taken, and write the selected node to claims that are provisioned."""
    assumed: list[Assumed] = []
    for claim, volume in choices:
        if volume is None:
            assumed.append((claim, replace(claim, selected_node=node)))
        else:
            assumed.append((volume, replace(volume, claim=(*claim.key, claim.uid))))
        snapshot.objects.storage.put_object(assumed[-1][1])
    return assumed


def revert_assumed_pod_volumes(snapshot: Snapshot, assumed: list[Assumed]) -> None:
    """Undo ``assume_pod_volumes``, except for objects that changed since."""
    storage = snapshot.objects.storage
    for before, after in assumed:
        if storage.get_current(after) is after:
            storage.put_object(before)


def bind_pod_volumes(snapshot: Snapshot, choices: list[VolumeChoice], node: str) -> None:
    """Bind each claim to its volume, as the volume controller and the provisioners do."""
    position, keys = snapshot.index[node], {claim.key for claim, _ in choices}
    # The volumes of these pods count under other names once they are bound.
    users = [
        pod
        for pod in snapshot.pods.pods_on(position)
        if any((pod.namespace, volume.claim) in keys for volume in pod.volumes)
    ]
    for pod in users:
        snapshot.volume_use.account_pod(pod, position, -1)
    for claim, existing in choices:
        volume = _provision_volume(snapshot, claim, node) if existing is None else existing
        snapshot.objects.storage.put_object(replace(volume, claim=(*claim.key, claim.uid), phase=BOUND))
        snapshot.objects.storage.put_object(replace(claim, volume=volume.name, bind_completed=True, phase=BOUND))
    for pod in users:
        snapshot.volume_use.account_pod(pod, position, 1)


def _provision_volume(snapshot: Snapshot, claim: Claim, node: str) -> PersistentVolume:
    """Return the volume that a provisioner makes for ``claim``, with the topology of ``node`` for its driver."""
    storage = snapshot.objects.storage
    provisioner = storage.classes[claim.storage_class].provisioner
    driver = DRIVERS.get(provisioner, provisioner)
    csi_node = storage.csi_nodes.get(node)
    labels = snapshot.nodes[snapshot.index[node]].labels
    keys = csi_node.topology.get(driver, ()) if csi_node is not None else ()
    segment = tuple(Requirement(key, "In", (labels[key],)) for key in keys if key in labels)
    name = f"pvc-{claim.uid or f'{claim.namespace}-{claim.name}'}"
    return PersistentVolume(
        name=name,
        labels={},
        storage_class=claim.storage_class,
        spec_class=claim.spec_class or "",
        capacity=claim.request or 0,
        mode=claim.mode,
        access_modes=claim.access_modes,
        attributes_class=claim.attributes_class,
        phase=BOUND,
        terminating=False,
        claim=None,
        affinity=(NodeSelectorTerm(segment, ()),) if segment else None,
        csi=None if provisioner in UNCOUNTED_PLUGINS else (driver, name),
        in_tree=None,
    )
