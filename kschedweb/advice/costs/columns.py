"""A snapshot's nodes and the pods on them as columns, for their costs. Cached, since a snapshot never changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from kschedweb.accounts.reach import unrestricted
from kschedweb.clusters.selectors import node_rows, pod_rows, workload_named
from kschedweb.engine.objects.resources import CPU, MEMORY
from kschedweb.engine.pricing.price_table import CAPACITY_TYPE, INSTANCE_TYPE, Labels
from kschedweb.engine.state.columns import Codes, Floats
from kschedweb.web.lru import LRU

if TYPE_CHECKING:
    from kschedweb.clusters.models import Snapshot

ENDED = ("Succeeded", "Failed")
# Labels that name the pool of a node; the first that a node has counts.
POOLS = (
    "karpenter.sh/nodepool",
    "eks.amazonaws.com/nodegroup",
    "cloud.google.com/gke-nodepool",
    "kubernetes.azure.com/agentpool",
    "node.example.com/pool",
)


@dataclass(frozen=True)
class NodeColumns:
    """The nodes of a snapshot. CPU is in millicores, memory in bytes."""

    names: list[str]
    labels: list[Labels]
    types: list[str]
    allocatable: Mapping[str, Floats]
    # By the rows of nodes.
    requested: Mapping[str, Floats]

    @cached_property
    def pools(self) -> list[str]:
        """Return the pool of each node, "" if no label names it."""
        return [next((node_labels[key] for key in POOLS if key in node_labels), "") for node_labels in self.labels]

    @property
    def kinds(self) -> list[str]:
        """Return instance type and capacity type of each node, such as "m6i.large, spot"."""
        both = (
            (kind, node_labels.get(CAPACITY_TYPE, ""))
            for kind, node_labels in zip(self.types, self.labels, strict=True)
        )
        return [", ".join(filter(None, pair)) for pair in both]


@dataclass(frozen=True)
class PodColumns:
    """The pods on nodes that have not ended."""

    # Position of the node.
    node: Codes
    # Distinct names, and for each pod the position of its own among them; the same for workloads.
    namespaces: list[str]
    namespace: Codes
    workloads: list[str]
    workload: Codes
    requests: Mapping[str, Floats]


_nodes: LRU[NodeColumns] = LRU(8)
_pods: LRU[PodColumns] = LRU(4)


def nodes_of(snapshot: Snapshot) -> NodeColumns:
    """Return the nodes of ``snapshot`` by name."""
    return _nodes.get(snapshot.pk, lambda: _read_nodes(snapshot))


def pods_of(snapshot: Snapshot) -> PodColumns:
    """Return the pods of ``snapshot`` on its nodes."""
    # The cached columns serve all users; a bill merges the lines that a user may not view.
    with unrestricted():
        return _pods.get(snapshot.pk, lambda: _read_pods(snapshot, nodes_of(snapshot)))


def _read_nodes(snapshot: Snapshot) -> NodeColumns:
    columns = ("cpu_allocatable", "memory_allocatable", "cpu_requested", "memory_requested")
    rows = list(node_rows(snapshot).values_list("name", "labels", "instance_type", *columns))
    # Snapshots from before labels were stored have only the instance type.
    labels = [{INSTANCE_TYPE: kind} if row_labels is None else row_labels for _, row_labels, kind, *_ in rows]
    amounts = np.array([row[3:] for row in rows], dtype=np.float64).reshape(len(rows), 4).T
    return NodeColumns(
        [row[0] for row in rows],
        labels,
        [row[2] for row in rows],
        {CPU: amounts[0], MEMORY: amounts[1]},
        {CPU: amounts[2], MEMORY: amounts[3]},
    )


def _read_pods(snapshot: Snapshot, nodes: NodeColumns) -> PodColumns:
    places = {name: place for place, name in enumerate(nodes.names)}
    rows = pod_rows(snapshot).exclude(node="").exclude(phase__in=ENDED).order_by()
    columns = ("node", "namespace", "name", "owner", "cpu_request", "memory_request")
    bound_rows = [row for row in rows.values_list(*columns) if row[0] in places]
    namespaces, namespace = _encode_names([row[1] for row in bound_rows])
    workloads, workload = _encode_names([f"{row[1]}/{workload_named(row[3]) or f'Pod/{row[2]}'}" for row in bound_rows])
    amounts = np.array([row[4:] for row in bound_rows], dtype=np.float64).reshape(len(bound_rows), 2).T
    return PodColumns(
        np.array([places[row[0]] for row in bound_rows], dtype=np.int32),
        namespaces,
        namespace,
        workloads,
        workload,
        {CPU: amounts[0], MEMORY: amounts[1]},
    )


def _encode_names(values: Sequence[str]) -> tuple[list[str], Codes]:
    """Return the distinct values in order of appearance, and the position of each value among them."""
    code_by_name: dict[str, int] = {}
    codes = [code_by_name.setdefault(value, len(code_by_name)) for value in values]
    return list(code_by_name), np.array(codes, dtype=np.int32)
