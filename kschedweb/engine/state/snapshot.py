"""The cluster as columns: one row a node, in the order in which the scheduler walks them."""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from kschedweb.engine.objects.access import Json, ObjectError, reference, text
from kschedweb.engine.objects.node import Node
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.resources import CPU, EPHEMERAL, MEMORY, is_scalar
from kschedweb.engine.objects.taints import Taint
from kschedweb.engine.state.cluster import ClusterObjects
from kschedweb.engine.state.columns import Floats, Ints, LabelColumn, Mask, grown
from kschedweb.engine.state.devices.claims import ClaimUse
from kschedweb.engine.state.pods import PodTable
from kschedweb.engine.state.volumes.use import VolumeUse
from kschedweb.engine.state.watermarks.annotations import annotated
from kschedweb.engine.state.watermarks.recent import Estimate, RecentPods
from kschedweb.engine.state.watermarks.table import Watermarks

Result = TypeVar("Result")
BASIC = (CPU, MEMORY, EPHEMERAL)
FINISHED = frozenset({"Succeeded", "Failed"})


class Snapshot:
    """Nodes, bound pods and everything else that decisions read.

    ``allocatable`` and ``requested`` are int64[resources, nodes] in milli-CPU and whole units, ``resources`` names
    their rows; ``nonzero`` is int64[2, nodes] (milli-CPU, bytes) with defaults for what is not asked for;
    ``pod_limit`` and ``pod_count`` are int64[nodes]. Nodes do not change after construction; ``add_pod`` and
    ``remove_pod`` update rows in place, and ``copy`` gives a snapshot that can change on its own. ``now`` is the time
    of decisions in seconds of the epoch, for plugins that weigh the age of ``watermarks``; no other clock is read.
    """

    def __init__(self, nodes: Iterable[Node] = (), objects: ClusterObjects | None = None) -> None:
        listed = list(nodes)
        self.nodes = self._ordered(listed)
        self.names = [node.name for node in self.nodes]
        self.index = {name: position for position, name in enumerate(self.names)}
        self.images = _image_states(listed, self.index)
        self.objects = ClusterObjects() if objects is None else objects
        self.pending: list[Pod] = []
        self.problems: list[tuple[str, str]] = []
        self.doubts: list[tuple[str, str]] = []
        self.pods = PodTable(len(self.nodes))
        self.ports: dict[tuple[str, int], dict[str, Ints]] = {}
        self.volume_use = VolumeUse(self.index, self.objects.storage)
        self.resource_claims = ClaimUse(self.objects.devices)
        self.bare = False  # whether nodes are seen without their pods
        self.now = 0.0
        self._watermarks: Watermarks | None = None
        self._placed: dict[str, float] = {}  # when pods were placed that were not on their nodes from the beginning
        self._recent: dict[Hashable, RecentPods] = {}
        self._derived: dict[Hashable, Any] = {}
        self._memo: dict[Hashable, Any] = {}
        self._related: dict[Hashable, Any] = {}
        self._related_to = self.objects.version
        self._fill_columns()

    def _ordered(self, listed: list[Node]) -> list[Node]:
        return walk_order(listed, lambda node: node.zone)

    def _fill_columns(self) -> None:
        scalars = sorted({name for node in self.nodes for name in node.allocatable if is_scalar(name)})
        self.resources = {name: row for row, name in enumerate([*BASIC, *scalars])}
        size = len(self.nodes)
        self.allocatable: Ints = np.zeros((len(self.resources), size), dtype=np.int64)
        self.pod_limit: Ints = np.zeros(size, dtype=np.int64)
        for position, node in enumerate(self.nodes):
            for name, amount in node.allocatable.items():
                if (row := self.resources.get(name)) is not None:
                    self.allocatable[row, position] = amount
            self.pod_limit[position] = node.allocatable.get("pods", 0)
        self.unschedulable: Mask = np.array([node.unschedulable for node in self.nodes], dtype=np.bool_)
        self.requested: Ints = np.zeros_like(self.allocatable)
        self.nonzero: Ints = np.zeros((2, size), dtype=np.int64)
        self.pod_count: Ints = np.zeros(size, dtype=np.int64)

    @classmethod
    def from_objects(cls, objects: Iterable[Any], *, keep_finished: bool = False) -> Self:
        """A snapshot of raw Kubernetes objects of any kinds.

        What cannot be understood is left out and listed in ``problems`` as (object, reason). Pods that have
        finished are left out, as the scheduler's informer leaves them out, unless ``keep_finished``. ``watermarks``
        are those of the objects' annotations; ``doubts`` lists, in the form of ``problems``, what is wrong with them.
        """
        problems: list[tuple[str, str]] = []
        nodes: dict[str, Node] = {}
        pods: dict[str, Pod] = {}
        others: list[Json] = []
        for raw in objects:
            try:
                kind = raw.get("kind") if isinstance(raw, dict) else None
                if kind == "Node":
                    node = Node.read(raw)
                    nodes[node.name] = node
                elif kind == "Pod":
                    pod = Pod.read(raw)
                    if keep_finished or text(raw.get("status") or {}, "phase", "status.") not in FINISHED:
                        pods[pod.key] = pod
                elif isinstance(raw, dict):
                    others.append(raw)
                else:
                    raise ObjectError("is not a Kubernetes object")
            except ObjectError as error:
                problems.append((reference(raw), str(error)))
        snapshot = cls(nodes.values())
        snapshot.problems = problems
        snapshot._keep(others)
        for pod in pods.values():
            if not pod.node_name:
                snapshot.pending.append(pod)
            elif pod.node_name in snapshot.index:
                snapshot.add_pod(pod, snapshot.index[pod.node_name])
            else:
                problems.append((f"Pod {pod.key}", f"is bound to node {pod.node_name}, which is not among the objects"))
        found = annotated(snapshot.nodes, snapshot.objects)
        snapshot.watermarks, snapshot.doubts = found.watermarks, found.problems
        return snapshot

    def _keep(self, others: list[Json]) -> None:
        for raw in others:
            try:
                self.objects.add(raw)
            except ObjectError as error:
                self.problems.append((reference(raw), str(error)))

    def __len__(self) -> int:
        return len(self.nodes)

    def copy(self) -> Self:
        """A snapshot whose pods and claims can change without these changing; everything else is shared."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other.pending, other.pods = list(self.pending), self.pods.copy()
        other.requested, other.nonzero = self.requested.copy(), self.nonzero.copy()
        other.pod_count = self.pod_count.copy()
        other.ports = {port: {ip: counts.copy() for ip, counts in ips.items()} for port, ips in self.ports.items()}
        other.objects = self.objects.copy()
        other.volume_use = self.volume_use.copy(other.objects.storage)
        other.resource_claims = self.resource_claims.copy()
        other._placed, other._recent = dict(self._placed), {}
        return other

    def with_nodes(self, changed: Collection[Node]) -> Snapshot:
        """The same cluster with ``changed`` in place of the nodes of the same names, which must be in the same zones.

        The pods are handed over: this snapshot is not to be used any more.
        """
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other.nodes, other._memo, other._derived, other._recent = list(self.nodes), {}, {}, {}
        other._related = {}
        other.allocatable, other.pod_limit = self.allocatable.copy(), self.pod_limit.copy()
        other.unschedulable = self.unschedulable.copy()
        for node in changed:
            position = self.index[node.name]
            if self.nodes[position].zone != node.zone:
                raise ValueError(f"Node {node.name}: is in another zone now, which changes the order of the nodes")
            other.nodes[position] = node
            other._fill_node(position, node)
        if any(node.images != self.nodes[self.index[node.name]].images for node in changed):
            other.images = _image_states(other.nodes, self.index)
        return other

    def follow(self, last: Snapshot) -> None:
        """This snapshot goes on from ``last``: it knows when pods were placed that are still here."""
        self._placed = {key: time for key, time in last._placed.items() if key in self.pods.slots}
        self.now = last.now

    def refresh_node(self, node: Node) -> None:
        """``node`` is the newer object of a node, of which nothing is kept that changed."""
        self.nodes[self.index[node.name]] = node

    def _fill_node(self, position: int, node: Node) -> None:
        rows = {name: self._row(name) for name in node.allocatable}
        self.allocatable[:, position] = 0
        for name, row in rows.items():
            if row is not None:
                self.allocatable[row, position] = node.allocatable[name]
        self.pod_limit[position] = node.allocatable.get("pods", 0)
        self.unschedulable[position] = node.unschedulable

    def without(self, key: str) -> tuple[Snapshot, Pod]:
        """A copy from which a bound pod is gone, and the pod as if it were not bound; KeyError where it is not."""
        other = self.copy()
        return other, other.remove_pod(key).on("")

    def pod(self, key: str) -> Pod:
        """The pod ``namespace/name``, bound or pending; raises KeyError where there is none."""
        if (slot := self.pods.slots.get(key)) is not None and (pod := self.pods.pods[slot]) is not None:
            return pod
        for pod in self.pending:
            if pod.key == key:
                return pod
        raise KeyError(key)

    def add_pod(self, pod: Pod, node: int) -> None:
        """Put ``pod`` on the node at position ``node``."""
        self.pods.add(pod, node)
        self._account(pod, node, 1)

    def place_pod(self, pod: Pod, node: str) -> None:
        """Put ``pod``, which is scheduled now, on the node called ``node``."""
        self._placed[pod.key] = self.now
        self.add_pod(pod.on(node), self.index[node])

    def remove_pod(self, key: str) -> Pod:
        """Take a bound pod off its node; raises KeyError where it is not bound."""
        pod, node = self.pods.remove(key)
        self._placed.pop(key, None)
        self._account(pod, node, -1)
        return pod

    @contextmanager
    def lifted(self, key: str) -> Iterator[None]:
        """Meanwhile the pod ``namespace/name`` is off its node."""
        node, placed = int(self.pods.node[self.pods.slots[key]]), self._placed.get(key)
        pod = self.remove_pod(key)
        try:
            yield
        finally:
            self.add_pod(pod, node)
            if placed is not None:
                self._placed[key] = placed

    @property
    def watermarks(self) -> Watermarks | None:
        """What nodes and workloads really use, in the order of the nodes; ``None`` where nobody knows."""
        return self._watermarks

    @watermarks.setter
    def watermarks(self, known: Watermarks | None) -> None:
        self._watermarks = None if known is None else known.aligned(self.names)
        self._recent, self._derived = {}, {}

    def derived(self, key: Hashable, compute: Callable[[], Result]) -> Result:
        """``compute()``, kept under ``key``; only for what depends on nodes and watermarks, never on pods or time."""
        return _kept(self._derived, key, compute)

    def scheduled_at(self, pod: Pod) -> float:
        """When a bound pod got its node, in seconds of the epoch; NaN where nothing says so."""
        placed = self._placed.get(pod.key)
        return pod.scheduled if placed is None else placed

    def recent(self, key: Hashable, width: int, estimate: Estimate) -> Floats:
        """What pods add that the watermarks do not show yet, summed up by node: float64[width, nodes], not to be kept.

        ``estimate(pod, node, time)`` says what a bound pod adds, scheduled at ``time`` (NaN: not known). ``key`` stands
        for everything that the estimate depends on beside pods and watermarks.
        """
        return _kept(self._recent, key, lambda: RecentPods(self, width, estimate)).sums()

    def _account(self, pod: Pod, node: int, sign: int) -> None:
        for name, amount in pod.occupied.items():
            if (row := self._row(name)) is not None:
                self.requested[row, node] += sign * amount
        cpu, memory = pod.occupied_nonzero
        self.nonzero[0, node] += sign * cpu
        self.nonzero[1, node] += sign * memory
        self.pod_count[node] += sign
        self._set_ports(pod, node, taken=sign > 0)
        if pod.volumes:
            self.volume_use.account(pod, node, sign)

    def _set_ports(self, pod: Pod, node: int, *, taken: bool) -> None:
        # As in kube-scheduler a port is taken or not: of two pods that share it, the first to leave frees it.
        for ip, protocol, port in pod.host_ports:
            ips = self.ports.setdefault((protocol, port), {})
            if ip not in ips:
                ips[ip] = np.zeros(len(self.nodes), dtype=np.int64)
            ips[ip][node] = taken

    def hold_ports(self, node: int) -> None:
        """Take the host ports of all pods on the node at position ``node``, after another one left that was tried."""
        for pod in self.pods.on(node):
            self._set_ports(pod, node, taken=True)

    def _row(self, name: str) -> int | None:
        row = self.resources.get(name)
        if row is None and is_scalar(name):
            # The dictionary may be shared with a copy, whose arrays stay as they were.
            self.resources = {**self.resources, name: len(self.resources)}
            row = self.resources[name]
            self.allocatable = grown(self.allocatable, len(self.resources))
            self.requested = grown(self.requested, len(self.resources))
        return row

    def amounts(self, array: Ints, name: str) -> Ints:
        """The row of ``array`` for resource ``name``, zeros where no node has it. Shape [nodes]."""
        row = self.resources.get(name)
        return array[row] if row is not None else np.zeros(len(self.nodes), dtype=np.int64)

    def room(self, node: int) -> Hashable:
        """Equal for nodes with the same allocatable resources, of which the same is taken, by as many pods."""
        return (
            self.allocatable[:, node].tobytes(),
            self.requested[:, node].tobytes(),
            self.nonzero[:, node].tobytes(),
            int(self.pod_limit[node]),
            int(self.pod_count[node]),
        )

    def emptied(self, nodes: Mapping[int, Node]) -> Snapshot:
        """A snapshot to score in: the nodes at these positions are the given ones, with nothing on them.

        So kube-scheduler sees nodes that an extender returned whole; their pods still count for topologies.
        """
        other = copy.copy(self)
        rows = list(nodes)
        other.nodes = [nodes.get(position, node) for position, node in enumerate(self.nodes)]
        other._memo, other._derived, other.images, other.bare, other._recent = {}, {}, {}, True, {}
        other._related = {}
        other.allocatable, other.requested = self.allocatable.copy(), self.requested.copy()
        other.nonzero, other.pod_count = self.nonzero.copy(), self.pod_count.copy()
        other.requested[:, rows] = other.nonzero[:, rows] = other.pod_count[rows] = 0
        for position, node in nodes.items():
            for name, row in self.resources.items():
                other.allocatable[row, position] = node.allocatable.get(name, 0)
        return other

    def memo(self, key: Hashable, compute: Callable[[], Result]) -> Result:
        """``compute()``, kept under ``key``; only for what depends on nodes alone."""
        return _kept(self._memo, key, compute)

    def related(self, key: Hashable, compute: Callable[[], Result]) -> Result:
        """``compute()``, kept under ``key``; for what depends on nodes, storage and budgets, never on pods."""
        if self._related_to != self.objects.version:
            self._related, self._related_to = {}, self.objects.version
        return _kept(self._related, key, compute)

    def label(self, key: str) -> LabelColumn:
        """The nodes' values of label ``key``."""
        return self.memo(("label", key), lambda: LabelColumn(node.labels.get(key) for node in self.nodes))

    def taint_sets(self) -> tuple[NDArray[np.intp], list[tuple[Taint, ...]]]:
        """Codes intp[nodes] and the distinct taint lists they index."""

        def compute() -> tuple[NDArray[np.intp], list[tuple[Taint, ...]]]:
            known: dict[tuple[Taint, ...], int] = {}
            codes = np.array([known.setdefault(node.taints, len(known)) for node in self.nodes], dtype=np.intp)
            return codes, list(known)

        return self.memo("taint sets", compute)


def _kept(store: dict[Hashable, Any], key: Hashable, compute: Callable[[], Result]) -> Result:
    if key not in store:
        store[key] = compute()
    result: Result = store[key]
    return result


def walk_order(nodes: list[Node], zone_of: Callable[[Node], str]) -> list[Node]:
    """Zones in order of appearance, one node of each in turn (specification 1.2)."""
    zones: dict[str, list[Node]] = {}
    for node in nodes:
        zones.setdefault(zone_of(node), []).append(node)
    longest = max(map(len, zones.values()), default=0)
    return [zone[turn] for turn in range(longest) for zone in zones.values() if turn < len(zone)]


def _image_states(nodes: list[Node], index: dict[str, int]) -> dict[str, tuple[int, list[int]]]:
    """Image name -> (bytes, positions of the nodes that have it); the first node to name an image sets its size."""
    states: dict[str, tuple[int, list[int]]] = {}
    for node in nodes:
        for names, size in node.images:
            for name in names:
                rows = states.setdefault(name, (size, []))[1]
                if not rows or rows[-1] != index[node.name]:
                    rows.append(index[node.name])
    return states
