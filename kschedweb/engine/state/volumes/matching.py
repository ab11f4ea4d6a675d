"""The nodes that can reach a volume, computed for all nodes at once."""

from __future__ import annotations

import numpy as np

from kschedweb.engine.objects.csi_migration import InTreeVolume
from kschedweb.engine.objects.labels import Selector
from kschedweb.engine.objects.nodeselector import NodeSelectorTerm
from kschedweb.engine.objects.storage import PersistentVolume, StorageClass
from kschedweb.engine.state.columns import Mask
from kschedweb.engine.state.nodematching import matches_any, matches_term
from kschedweb.engine.state.snapshot import Snapshot


def nodes_reaching_volume(snapshot: Snapshot, volume: PersistentVolume) -> Mask:
    """Return the mask of the nodes that the volume's node affinity allows."""
    return snapshot.cached_by_objects(
        ("volume reaches", volume.name), lambda: _match_volume_affinity(snapshot, volume.affinity)
    )


def nodes_reaching_bound_volume(snapshot: Snapshot, volume: PersistentVolume) -> Mask:
    """Return the mask of the nodes that can reach a bound volume.

    Where its in-tree plugin is migrated, the topology of the CSI driver counts.
    """
    reach, in_tree = nodes_reaching_volume(snapshot, volume), volume.in_tree
    if in_tree is None:
        return reach

    def compute_mask() -> Mask:
        return np.where(
            nodes_with_migrated_plugin(snapshot, in_tree), _match_volume_affinity(snapshot, in_tree.affinity), reach
        )

    return snapshot.cached_by_objects(("bound volume reaches", volume.name), compute_mask)


def nodes_with_migrated_plugin(snapshot: Snapshot, in_tree: InTreeVolume) -> Mask:
    """Return the mask of the nodes where the volume's in-tree plugin is migrated to its CSI driver."""
    csi_nodes, plugin = snapshot.objects.storage.csi_nodes, in_tree.migration.plugin

    def compute_mask() -> Mask:
        return np.array(
            [name in csi_nodes and plugin in csi_nodes[name].migrated for name in snapshot.names], dtype=np.bool_
        )

    return snapshot.cached_by_objects(("migrated", plugin), compute_mask)


def nodes_in_allowed_topologies(snapshot: Snapshot, storage_class: StorageClass) -> Mask:
    """Return the mask of the nodes in the allowed topologies of the class."""
    if storage_class.topologies is None:
        return np.ones(len(snapshot), dtype=np.bool_)
    return matches_any(snapshot, storage_class.topologies)


def select_nodes(snapshot: Snapshot, selector: Selector) -> Mask:
    """Return the mask of the nodes whose labels ``selector`` matches."""
    if selector.nothing or selector.is_empty:
        return np.full(len(snapshot), selector.is_empty, dtype=np.bool_)
    return matches_term(snapshot, NodeSelectorTerm(selector.requirements, ()))


def _match_volume_affinity(snapshot: Snapshot, affinity: tuple[NodeSelectorTerm, ...] | None) -> Mask:
    if affinity is None:
        return np.ones(len(snapshot), dtype=np.bool_)
    mask = np.zeros(len(snapshot), dtype=np.bool_)
    for term in affinity:
        # kube-scheduler matches a volume's affinity against labels only: conditions on fields always hold.
        if term.valid and not term.labels:
            mask |= bool(term.fields)
        else:
            mask |= matches_term(snapshot, NodeSelectorTerm(term.labels, (), term.problems))
    return mask
