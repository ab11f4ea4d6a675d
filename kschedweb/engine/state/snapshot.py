"""The cluster at one time, as decisions read it."""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from kschedweb.engine.objects.access import Json, ObjectError, reference, text
from kschedweb.engine.objects.node import Node
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.taints import Taint
from kschedweb.engine.state.caches import Caches, Part
from kschedweb.engine.state.cluster import ClusterObjects
from kschedweb.engine.state.columns import Floats, Ints, LabelColumn, Mask
from kschedweb.engine.state.devices.claims import ClaimUse
from kschedweb.engine.state.nodecolumns import NodeColumns
from kschedweb.engine.state.pods import PodTable
from kschedweb.engine.state.podstate import PodState
from kschedweb.engine.state.volumes.use import VolumeUse
from kschedweb.engine.state.watermarks.annotations import annotated
from kschedweb.engine.state.watermarks.recent import Estimate, RecentPods
from kschedweb.engine.state.watermarks.table import Watermarks

Result = TypeVar("Result")
FINISHED = frozenset({"Succeeded", "Failed"})


class Snapshot:
    """Nodes, bound pods and everything else that decisions read: nodes in the order in which the scheduler walks them.

    ``node_columns`` are replaced where nodes change; ``pod_state`` and ``resource_claims`` change in place. Every copy
    says which parts of it are others, and shares what was worked out of the rest. ``now`` is the time of decisions in
    seconds of the epoch, for plugins that weigh the age of ``watermarks``; no other clock is read.
    """

    pod_state: PodState
    pod_state_of: ClassVar[type[PodState]] = PodState

    def __init__(self, nodes: Iterable[Node] = (), objects: ClusterObjects | None = None) -> None:
        self.objects = ClusterObjects() if objects is None else objects
        self.node_columns = NodeColumns(list(nodes), self.zone_of)
        self.pod_state = type(self).pod_state_of(self.node_columns, self.objects)
        self.resource_claims = ClaimUse(self.objects.devices)
        self.pending: list[Pod] = []
        self.problems: list[tuple[str, str]] = []
        self.doubts: list[tuple[str, str]] = []
        self.bare = False  # whether nodes are seen without their pods
        self.now = 0.0
        self._watermarks: Watermarks | None = None
        self._caches = Caches()
        self._related_to = self.objects.version

    @staticmethod
    def zone_of(node: Node) -> str:
        """The zone by which the order of the nodes goes."""
        return node.zone

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

    # Its parts, as plugins read them.

    @property
    def nodes(self) -> list[Node]:
        return self.node_columns.nodes

    @property
    def names(self) -> list[str]:
        return self.node_columns.names

    @property
    def index(self) -> dict[str, int]:
        """Positions of nodes by name."""
        return self.node_columns.index

    @property
    def images(self) -> dict[str, tuple[int, list[int]]]:
        return self.node_columns.images

    @property
    def resources(self) -> dict[str, int]:
        """The rows of ``allocatable`` and ``requested`` by name."""
        return self.node_columns.resources

    @property
    def allocatable(self) -> Ints:
        """In milli-CPU and whole units. Shape [resources, nodes]."""
        return self.node_columns.allocatable

    @property
    def pod_limit(self) -> Ints:
        return self.node_columns.pod_limit

    @property
    def unschedulable(self) -> Mask:
        return self.node_columns.unschedulable

    @property
    def pods(self) -> PodTable:
        return self.pod_state.pods

    @property
    def requested(self) -> Ints:
        """In milli-CPU and whole units. Shape [resources, nodes]."""
        return self.pod_state.requested

    @property
    def nonzero(self) -> Ints:
        """Milli-CPU and bytes, with defaults for what is not asked for. Shape [2, nodes]."""
        return self.pod_state.nonzero

    @property
    def pod_count(self) -> Ints:
        return self.pod_state.pod_count

    @property
    def ports(self) -> dict[tuple[str, int], dict[str, Ints]]:
        return self.pod_state.ports

    @property
    def volume_use(self) -> VolumeUse:
        return self.pod_state.volumes

    def __len__(self) -> int:
        return len(self.node_columns.nodes)

    # Copies.

    def _with(self, changed: Part) -> Self:
        """A copy in which ``changed`` will be others; what was worked out of the other parts is shared."""
        other = copy.copy(self)
        other._caches = self._caches.after(changed)
        return other

    def copy(self) -> Self:
        """A snapshot whose pods and claims can change without these changing; everything else is shared."""
        other = self._with(Part.PODS | Part.AMOUNTS)
        other.pending, other.objects = list(self.pending), self.objects.copy()
        other.pod_state = self.pod_state.copy(other.objects)
        other.resource_claims = self.resource_claims.copy()
        return other

    def without(self, key: str) -> tuple[Self, Pod]:
        """A copy from which a bound pod is gone, and the pod as if it were not bound; KeyError where it is not."""
        other = self.copy()
        return other, other.remove_pod(key).on("")

    def with_nodes(self, changed: Collection[Node]) -> Self:
        """The same cluster with ``changed`` in place of the nodes of the same names, which must be in the same zones.

        The pods are handed over: this snapshot is not to be used any more.
        """
        other = self._with(Part.NODES)
        other.node_columns = self.node_columns.changed(changed)
        other.pod_state.grow(other.resources)
        return other

    def with_own_amounts(self) -> Self:
        """The same cluster, in which what pods take of nodes, and how many they are, can be changed on its own."""
        other = self._with(Part.AMOUNTS)
        other.pod_state = self.pod_state.with_own_amounts()
        return other

    def emptied(self, nodes: Mapping[int, Node]) -> Self:
        """A snapshot to score in: the nodes at these positions are the given ones, with nothing on them.

        So kube-scheduler sees nodes that an extender returned whole; their pods still count for topologies.
        """
        other = self._with(Part.NODES | Part.AMOUNTS)
        other.node_columns, other.bare = self.node_columns.bare(nodes), True
        other.pod_state, rows = self.pod_state.with_own_amounts(), list(nodes)
        other.requested[:, rows] = other.nonzero[:, rows] = other.pod_count[rows] = 0
        return other

    def follow(self, last: Snapshot) -> None:
        """This snapshot goes on from ``last``: it knows when pods were placed that are still here."""
        placed = last.pod_state.placed
        self.pod_state.placed = {key: time for key, time in placed.items() if key in self.pods.slots}
        self.now = last.now

    def refresh_node(self, node: Node) -> None:
        """``node`` is the newer object of a node, of which nothing is kept that changed."""
        self.nodes[self.index[node.name]] = node

    # Pods come and go.

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
        self.pod_state.add(pod, node)
        if self.pod_state.resources is not self.node_columns.resources:
            self.node_columns = self.node_columns.with_resources(self.pod_state.resources)

    def place_pod(self, pod: Pod, node: str) -> None:
        """Put ``pod``, which is scheduled now, on the node called ``node``."""
        self.pod_state.placed[pod.key] = self.now
        self.add_pod(pod.on(node), self.index[node])

    def remove_pod(self, key: str) -> Pod:
        """Take a bound pod off its node; raises KeyError where it is not bound."""
        return self.pod_state.remove(key)

    @contextmanager
    def lifted(self, key: str) -> Iterator[None]:
        """Meanwhile the pod ``namespace/name`` is off its node."""
        placed = self.pod_state.placed
        node, time = int(self.pods.node[self.pods.slots[key]]), placed.get(key)
        pod = self.remove_pod(key)
        try:
            yield
        finally:
            self.add_pod(pod, node)
            if time is not None:
                placed[key] = time

    def hold_ports(self, node: int) -> None:
        """Take the host ports of all pods on the node at position ``node``, after another one left that was tried."""
        self.pod_state.hold_ports(node)

    def scheduled_at(self, pod: Pod) -> float:
        """When a bound pod got its node, in seconds of the epoch; NaN where nothing says so."""
        placed = self.pod_state.placed.get(pod.key)
        return pod.scheduled if placed is None else placed

    # What is worked out of it.

    @property
    def watermarks(self) -> Watermarks | None:
        """What nodes and workloads really use, in the order of the nodes; ``None`` where nobody knows."""
        return self._watermarks

    @watermarks.setter
    def watermarks(self, known: Watermarks | None) -> None:
        self._watermarks = None if known is None else known.aligned(self.names)
        self._caches = self._caches.after(Part.WATERMARKS)

    def memo(self, key: Hashable, compute: Callable[[], Result]) -> Result:
        """``compute()``, kept under ``key``; only for what depends on nodes alone."""
        return self._caches.memo.get(key, compute)

    def related(self, key: Hashable, compute: Callable[[], Result]) -> Result:
        """``compute()``, kept under ``key``; for what depends on nodes, storage and budgets, never on pods."""
        if self._related_to != self.objects.version:
            self._caches, self._related_to = self._caches.after(Part.OBJECTS), self.objects.version
        return self._caches.related.get(key, compute)

    def derived(self, key: Hashable, compute: Callable[[], Result]) -> Result:
        """``compute()``, kept under ``key``; only for what depends on nodes and watermarks, never on pods or time."""
        return self._caches.derived.get(key, compute)

    def recent(self, key: Hashable, width: int, estimate: Estimate) -> Floats:
        """What pods add that the watermarks do not show yet, summed up by node: float64[width, nodes], not to be kept.

        ``estimate(pod, node, time)`` says what a bound pod adds, scheduled at ``time`` (NaN: not known). ``key`` stands
        for everything that the estimate depends on beside pods and watermarks.
        """
        return self._caches.recent.get(key, lambda: RecentPods(self, width, estimate)).sums()

    def amounts(self, array: Ints, name: str) -> Ints:
        """The row of ``array`` for resource ``name``, zeros where no node has it. Shape [nodes]."""
        row = self.resources.get(name)
        return array[row] if row is not None else np.zeros(len(self), dtype=np.int64)

    def room(self, node: int) -> Hashable:
        """Equal for nodes with the same allocatable resources, of which the same is taken, by as many pods."""
        columns, taken = self.node_columns, self.pod_state
        return (
            columns.allocatable[:, node].tobytes(),
            taken.requested[:, node].tobytes(),
            taken.nonzero[:, node].tobytes(),
            int(columns.pod_limit[node]),
            int(taken.pod_count[node]),
        )

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
