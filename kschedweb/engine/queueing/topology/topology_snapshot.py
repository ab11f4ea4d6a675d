"""The topology of a flavor's nodes as a tree of domains, with what is free in its leaves (`tas_flavor_snapshot.go`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kschedweb.engine.queueing.gates import FeatureGates
from kschedweb.engine.queueing.quota.amounts import Requests, clamp, divide_amount
from kschedweb.engine.queueing.quota.objects import ResourceFlavor, Topology, TopologyNode
from kschedweb.engine.queueing.topology.topology_assignments import HOSTNAME, DomainValues, domain_id
from kschedweb.engine.queueing.workloads.workload import TopologyRequest
from kschedweb.engine.queueing.workloads.workload_info import DomainUsage

MAX_PODS = 2**31 - 1


class TopologyDomain:
    """A topology domain: a block, a rack, a node.

    How many pods and slices fit is filled in by a placement, and then cut to what is placed.
    """

    __slots__ = (
        "capacity", "children", "id", "leaders", "node", "parent", "pods", "pods_with_leader", "slices",
        "slices_with_leader", "used", "values",
    )  # fmt: skip

    def __init__(self, identity: str, values: DomainValues) -> None:
        self.id = identity
        # Values of the levels from the highest down to its own.
        self.values = values
        self.parent: TopologyDomain | None = None
        self.children: list[TopologyDomain] = []
        # Of leaves: what their nodes have apart from pods outside of topology-aware scheduling, what workloads use,
        # and the node if each leaf is one.
        self.capacity: Requests = {}
        self.used: Requests = {}
        self.node: TopologyNode | None = None
        self.clear()

    def clear(self) -> None:
        self.pods = self.slices = self.pods_with_leader = self.slices_with_leader = self.leaders = 0

    def clear_leader(self) -> None:
        """Make it, and all below it, unable to take the leader."""
        self.pods_with_leader = self.slices_with_leader = self.leaders = 0
        for child in self.children:
            child.clear_leader()

    def clear_counts(self) -> None:
        """Make it, and all below it, unable to take anything."""
        self.clear()
        for child in self.children:
            child.clear_counts()

    def copy_shallow(self) -> TopologyDomain:
        """Return a copy with counts of its own."""
        copied = TopologyDomain(self.id, self.values)
        for name in TopologyDomain.__slots__:
            setattr(copied, name, getattr(self, name))
        return copied

    def copy_tree(self, parent: TopologyDomain | None = None) -> TopologyDomain:
        """Return a copy of it and all below it."""
        copied = self.copy_shallow()
        copied.parent = parent
        copied.children = [child.copy_tree(copied) for child in self.children]
        return copied

    def ancestor(self, steps: int) -> TopologyDomain:
        domain = self
        for _ in range(steps):
            assert domain.parent is not None
            domain = domain.parent
        return domain

    def free(self, *, when_empty: bool) -> Requests:
        """Return what is left of a leaf; ``when_empty`` as if no workload ran."""
        if when_empty:
            return dict(self.capacity)
        return subtract_requests(self.capacity, self.used)


class TopologySnapshot:
    """The domains of a flavor's nodes."""

    def __init__(
        self, topology: Topology, flavor: ResourceFlavor, nodes: Iterable[TopologyNode], gates: FeatureGates
    ) -> None:
        self.name = topology.name
        self.levels = topology.levels
        self.tolerations = flavor.tolerations
        self.gates = gates
        self.ends_in_hostname = bool(self.levels) and self.levels[-1] == HOSTNAME
        self.leaves: dict[str, TopologyDomain] = {}
        # By level: id -> domain.
        self.domains: list[dict[str, TopologyDomain]] = [{} for _ in self.levels]
        self._leaf_by_node: dict[str, TopologyDomain] = {}
        for node in sorted(nodes, key=lambda node: node.name):
            if matches_flavor(node, flavor, self.levels):
                self._add_node(node)
        for leaf in self.leaves.values():
            self.domains[len(self.levels) - 1][leaf.id] = leaf
            self._connect(leaf)

    def _add_node(self, node: TopologyNode) -> None:
        values = tuple(node.labels.get(level, "") for level in self.levels)
        # Names of nodes are unique, so that they alone name the leaves.
        identity = values[-1] if self.ends_in_hostname else domain_id(values)
        if identity not in self.leaves:
            self.leaves[identity] = TopologyDomain(identity, values)
            if self.ends_in_hostname:
                self.leaves[identity].node = node
        leaf = self.leaves[identity]
        for name, amount in node.allocatable.items():
            leaf.capacity[name] = clamp(leaf.capacity.get(name, 0) + amount)
        self._leaf_by_node[node.name] = leaf

    def _connect(self, domain: TopologyDomain) -> None:
        """Make the domains above ``domain``, as far as they are not there."""
        values = domain.values[:-1]
        if not values:
            return
        siblings = self.domains[len(values) - 1]
        identity = domain_id(values)
        if identity not in siblings:
            siblings[identity] = TopologyDomain(identity, values)
            self._connect(siblings[identity])
        domain.parent = siblings[identity]
        siblings[identity].children.append(domain)

    @property
    def roots(self) -> Iterable[TopologyDomain]:
        return self.domains[0].values() if self.domains else ()

    def every_domain(self) -> Iterator[TopologyDomain]:
        for domains in self.domains:
            yield from domains.values()

    def count_usage(self, identity: str, requests: Requests, sign: int) -> None:
        """Count what workloads use of a leaf; one without usable nodes is passed over."""
        leaf = self.leaves.get(identity)
        if leaf is not None:
            for name, amount in requests.items():
                leaf.used[name] = clamp(leaf.used.get(name, 0) + sign * amount)

    def take_capacity(self, node: str, requests: Requests) -> None:
        """Take off what other pods use of a node."""
        leaf = self._leaf_by_node.get(node)
        if leaf is not None:
            leaf.capacity = subtract_requests(leaf.capacity, requests)

    def has_room(self, usages: Iterable[DomainUsage]) -> bool:
        """Return True if each of ``usages`` fits its domain by itself (`Fits`)."""
        for usage in usages:
            leaf = self.leaves.get(domain_id(usage.values))
            if leaf is None or count_fitting(usage.pod_requests, leaf.free(when_empty=False))[0] < usage.count:
                return False
        return True

    def level_index(self, level: str) -> int | None:
        return self.levels.index(level) if level in self.levels else None

    def requested_level(self, request: TopologyRequest | None) -> str | None:
        """Return the level that is asked for (`levelKey`)."""
        if request is None:
            return None
        if request.required is not None or request.preferred is not None:
            return request.required if request.required is not None else request.preferred
        if request.is_slices_only:
            return self.levels[0]
        return self.levels[-1] if request.unconstrained else None

    def slice_level(self, request: TopologyRequest | None) -> str:
        return request.layers[0].topology if request is not None and request.layers else self.levels[-1]

    def has_level(self, request: TopologyRequest | None) -> bool:
        """Return True if it has every level of which ``request`` speaks (`HasLevel`)."""
        level = self.requested_level(request)
        if level is None or request is None:
            return False
        names = (level, self.slice_level(request), *(layer.topology for layer in request.layers))
        return all(name in self.levels for name in names)


def matches_flavor(node: TopologyNode, flavor: ResourceFlavor, levels: Iterable[str]) -> bool:
    """Return True if ``node`` is one of the flavor's, with a place in the topology (`NodeMatchesFlavor`)."""
    if any(node.labels.get(key, "") != value for key, value in flavor.node_labels.items()):
        return False
    return all(level in node.labels for level in levels)


def subtract_requests(requests: Requests, other: Requests) -> Requests:
    remaining = dict(requests)
    for name, amount in other.items():
        remaining[name] = clamp(remaining.get(name, 0) - amount)
    return remaining


def count_fitting(requests: Requests, capacity: Requests) -> tuple[int, str]:
    """Return how many pods fit, and the resource that limits them, the first in the alphabet of equals."""
    fitting, limiting = None, ""
    for name, amount in requests.items():
        room = divide_amount(capacity.get(name, 0), amount) if amount else MAX_PODS
        count = max(0, min(room, MAX_PODS))
        if fitting is None or count < fitting or (count == fitting and name < limiting):
            fitting, limiting = count, name
    return fitting or 0, limiting
