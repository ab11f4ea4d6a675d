"""The nodes' objects as columns, with one entry per node."""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Iterable, Mapping

import numpy as np

from kschedweb.engine.objects.node import Node
from kschedweb.engine.objects.resources import CPU, EPHEMERAL, MEMORY, is_scalar
from kschedweb.engine.state.columns import Ints, Mask, pad_rows

# Every cluster has these rows, in this order; scalar resources follow.
BASIC = (CPU, MEMORY, EPHEMERAL)


class NodeColumns:
    """The nodes of a cluster. It never changes: changed nodes make other columns."""

    def __init__(self, listed: list[Node], zone_of: Callable[[Node], str]) -> None:
        # In the order in which kube-scheduler visits them.
        self.nodes = walk_order(listed, zone_of)
        self.names = [node.name for node in self.nodes]
        # Name -> position.
        self.index = {name: position for position, name in enumerate(self.names)}
        # Image name -> (bytes, positions of the nodes that have it).
        self.images = _image_states(listed, self.index)
        scalars = sorted({name for node in self.nodes for name in node.allocatable if is_scalar(name)})
        # Resource name -> row of `allocatable`.
        self.resources = {name: row for row, name in enumerate([*BASIC, *scalars])}
        size = len(self.nodes)
        # int64[resources, nodes], in milli-CPU and whole units.
        self.allocatable: Ints = np.zeros((len(self.resources), size), dtype=np.int64)
        self.pod_limit: Ints = np.zeros(size, dtype=np.int64)
        self.unschedulable: Mask = np.zeros(size, dtype=np.bool_)
        for position, node in enumerate(self.nodes):
            self._fill_node(position, node)

    def _fill_node(self, position: int, node: Node) -> None:
        self._fill_allocatable(position, node)
        self.pod_limit[position] = node.allocatable.get("pods", 0)
        self.unschedulable[position] = node.unschedulable

    def _fill_allocatable(self, position: int, node: Node) -> None:
        for name, amount in node.allocatable.items():
            if (row := self.resources.get(name)) is not None:
                self.allocatable[row, position] = amount

    def with_resources(self, resources: dict[str, int]) -> NodeColumns:
        """Return the same nodes, with rows of zeros for the resources that they lack."""
        other = copy.copy(self)
        other.resources, other.allocatable = resources, pad_rows(self.allocatable, len(resources))
        return other

    def with_nodes(self, nodes: Collection[Node]) -> NodeColumns:
        """Return columns with ``nodes`` in place of those of the same names.

        Raise ValueError if a node changed its zone, which changes the order of all nodes.
        """
        other = self.with_resources(with_rows(self.resources, (name for node in nodes for name in node.allocatable)))
        other.pod_limit, other.unschedulable = self.pod_limit.copy(), self.unschedulable.copy()
        other.nodes = list(self.nodes)
        for node in nodes:
            position = self.index[node.name]
            if self.nodes[position].zone != node.zone:
                raise ValueError(f"Node {node.name}: is in another zone now, which changes the order of the nodes")
            other.nodes[position] = node
            other.allocatable[:, position] = 0
            other._fill_node(position, node)
        if any(node.images != self.nodes[self.index[node.name]].images for node in nodes):
            other.images = _image_states(other.nodes, self.index)
        return other

    def without_images(self) -> NodeColumns:
        """Return the same columns without any images."""
        other = copy.copy(self)
        other.images = {}
        return other

    def open_nodes(self) -> Mask:
        """Return the mask of the nodes that are ready and take any pod. Shape [nodes]."""
        return np.array([node.is_open for node in self.nodes], dtype=np.bool_)

    def with_bare_nodes(self, nodes: Mapping[int, Node]) -> NodeColumns:
        """Return columns with ``nodes`` at the given positions, without images."""
        other = self.with_resources(self.resources)
        other.nodes, other.images = list(self.nodes), {}
        for position, node in nodes.items():
            other.nodes[position] = node
            other.allocatable[:, position] = 0
            other._fill_allocatable(position, node)
        return other


def with_rows(resources: dict[str, int], names: Iterable[str]) -> dict[str, int]:
    """Return ``resources`` with a row for each scalar resource of ``names``; the argument itself if none is new."""
    added = [name for name in dict.fromkeys(names) if name not in resources and is_scalar(name)]
    return {**resources, **{name: len(resources) + row for row, name in enumerate(added)}} if added else resources


def walk_order(nodes: list[Node], zone_of: Callable[[Node], str]) -> list[Node]:
    """Return the nodes in the order of kube-scheduler's node tree: one of each zone in turn (spec 1.2).

    Zones are in order of appearance.
    """
    zones: dict[str, list[Node]] = {}
    for node in nodes:
        zones.setdefault(zone_of(node), []).append(node)
    longest = max(map(len, zones.values()), default=0)
    return [zone[turn] for turn in range(longest) for zone in zones.values() if turn < len(zone)]


def _image_states(nodes: list[Node], index: dict[str, int]) -> dict[str, tuple[int, list[int]]]:
    """Return image name -> (bytes, positions of its nodes); the first node that has it sets the size."""
    states: dict[str, tuple[int, list[int]]] = {}
    for node in nodes:
        for names, size in node.images:
            for name in names:
                rows = states.setdefault(name, (size, []))[1]
                # A node may list a name twice.
                if not rows or rows[-1] != index[node.name]:
                    rows.append(index[node.name])
    return states
