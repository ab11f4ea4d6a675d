"""The cluster as kube-scheduler 1.13 saw it: a snapshot with the amounts, zones and volumes of 1.13."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from kschedweb.engine.objects.node import BETA_REGION, BETA_ZONE, Node
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.releases.classic.attached import AttachedVolumes
from kschedweb.engine.releases.classic.objects import as_of_then, in_zones_of_then
from kschedweb.engine.state.cluster_objects import ClusterObjects
from kschedweb.engine.state.columns import LabelColumn
from kschedweb.engine.state.nodecolumns import NodeColumns
from kschedweb.engine.state.podstate import PodState
from kschedweb.engine.state.snapshot import Snapshot


def zone_key(node: Node) -> str:
    """Return region and zone by the labels of 1.13; "" if the node has neither."""
    region, zone = node.labels.get(BETA_REGION, ""), node.labels.get(BETA_ZONE, "")
    return f"{region}:\x00:{zone}" if region or zone else ""


class ClassicPodState(PodState):
    """The bound pods; ``attached`` counts the volumes that they have attached."""

    def __init__(self, columns: NodeColumns, objects: ClusterObjects) -> None:
        super().__init__(columns, objects)
        self.attached = AttachedVolumes(len(columns.nodes), objects)

    def copy(self, objects: ClusterObjects) -> Self:
        other = super().copy(objects)
        other.attached = self.attached.copy(objects)
        return other

    def _account_pod(self, pod: Pod, node: int, sign: int) -> None:
        super()._account_pod(pod, node, sign)
        self.attached.account_pod(pod, node, sign)


class ClassicSnapshot(Snapshot):
    """A snapshot that reads pods with ``as_of_then`` when they are added."""

    pod_state: ClassicPodState
    pod_state_of = ClassicPodState

    def __init__(self, nodes: Iterable[Node] = (), objects: ClusterObjects | None = None) -> None:
        node_list = list(nodes)
        super().__init__(node_list, objects)
        # Positions of the nodes in the order in which kube-scheduler learned of them: that of the given objects.
        self.listed: NDArray[np.intp] = np.array([self.index[node.name] for node in node_list], dtype=np.intp)

    @staticmethod
    def zone_of(node: Node) -> str:
        return zone_key(node)

    @staticmethod
    def of_today(raw: Any) -> Any:
        return in_zones_of_then(raw)

    @property
    def attached(self) -> AttachedVolumes:
        return self.pod_state.attached

    def add_pod(self, pod: Pod, node: int) -> None:
        super().add_pod(as_of_then(pod), node)

    def zones(self) -> LabelColumn:
        """Return the zone of each node, with its region."""
        return self.cached_by_nodes("classic zones", lambda: LabelColumn(zone_key(node) or None for node in self.nodes))
