"""The nodes that volumes can be reached from, computed for all nodes at once."""

from __future__ import annotations

import numpy as np

from kschedweb.engine.objects.labels import Selector
from kschedweb.engine.objects.migration import InTreeVolume
from kschedweb.engine.objects.nodeselector import NodeSelectorTerm
from kschedweb.engine.objects.storage import PersistentVolume, StorageClass
from kschedweb.engine.state.columns import Mask
from kschedweb.engine.state.nodematching import matches_any, matches_term
from kschedweb.engine.state.snapshot import Snapshot


def reaches(snapshot: Snapshot, volume: PersistentVolume) -> Mask:
    """The nodes that the volume's node affinity allows."""
    return snapshot.related(("volume reaches", volume.name), lambda: _reaches(snapshot, volume.affinity))


def reaches_bound(snapshot: Snapshot, volume: PersistentVolume) -> Mask:
    """The nodes that a bound volume can be reached from, with the CSI topology where its plugin is migrated."""
    reach, in_tree = reaches(snapshot, volume), volume.in_tree
    if in_tree is None:
        return reach

    def compute() -> Mask:
        return np.where(migrated(snapshot, in_tree), _reaches(snapshot, in_tree.affinity), reach)

    return snapshot.related(("bound volume reaches", volume.name), compute)


def migrated(snapshot: Snapshot, in_tree: InTreeVolume) -> Mask:
    """The nodes where the volume's in-tree plugin is migrated to its CSI driver."""
    known, plugin = snapshot.objects.storage.csi_nodes, in_tree.migration.plugin

    def compute() -> Mask:
        return np.array([name in known and plugin in known[name].migrated for name in snapshot.names], dtype=np.bool_)

    return snapshot.related(("migrated", plugin), compute)


def allows(snapshot: Snapshot, storage_class: StorageClass) -> Mask:
    """The nodes in the allowed topologies of the class."""
    if storage_class.topologies is None:
        return np.ones(len(snapshot), dtype=np.bool_)
    return matches_any(snapshot, storage_class.topologies)


def selected(snapshot: Snapshot, selector: Selector) -> Mask:
    """The nodes whose labels ``selector`` matches."""
    if selector.nothing or selector.empty:
        return np.full(len(snapshot), selector.empty, dtype=np.bool_)
    return matches_term(snapshot, NodeSelectorTerm(selector.requirements, ()))


def _reaches(snapshot: Snapshot, affinity: tuple[NodeSelectorTerm, ...] | None) -> Mask:
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
