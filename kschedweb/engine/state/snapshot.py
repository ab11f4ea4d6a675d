"""The cluster at one time, in the form that decisions need."""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from kschedweb.engine.objects.json_access import Json, ObjectError, describe_object, get_string
from kschedweb.engine.objects.node import Node
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.resources import COUNTING, Counting
from kschedweb.engine.objects.taints import Taint
from kschedweb.engine.state.caches import Caches, SnapshotPart
from kschedweb.engine.state.cluster_objects import ClusterObjects
from kschedweb.engine.state.columns import Floats, Ints, LabelColumn, Mask
from kschedweb.engine.state.devices.claims import ClaimUse
from kschedweb.engine.state.nodecolumns import NodeColumns
from kschedweb.engine.state.pod_table import PodTable
from kschedweb.engine.state.podstate import PodState
from kschedweb.engine.state.volumes.use import VolumeUse
from kschedweb.engine.state.watermarks.annotations import read_annotations
from kschedweb.engine.state.watermarks.curves import HourlyUse
from kschedweb.engine.state.watermarks.podtimes import PodTimes
from kschedweb.engine.state.watermarks.recent_pods import Estimate, EstimateColumns, RecentPods
from kschedweb.engine.state.watermarks.table import HOURS, Watermarks

Result = TypeVar("Result")
FINISHED = frozenset({"Succeeded", "Failed"})
ON_UNKNOWN_NODE = "is bound to node"  # begins the problem of a pod that kube-scheduler would know and not count


class Snapshot:
    """Everything that decisions read. Nodes are in the order in which kube-scheduler visits them.

    ``node_columns`` is replaced when nodes change; ``pod_state`` and ``resource_claims`` change in place. A copy names
    the parts that it does not share, and shares the caches that depend on the others. ``now`` is the time of decisions
    in seconds of the epoch, for plugins that look at the age of ``watermarks``; no clock is read. ``counting`` is how
    the release that decides counts what pods take.
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
        self.bare = False  # whether nodes are shown without their pods
        self.now = 0.0
        self.counting = COUNTING
        self._watermarks: Watermarks | None = None
        self._caches = Caches()
        self._times: tuple[tuple[int, int], PodTimes] | None = None  # of which state of the pods
        self._related_to = self.objects.version

    @staticmethod
    def zone_of(node: Node) -> str:
        """The zone of a node in the order of the nodes."""
        return node.zone

    @staticmethod
    def of_today(raw: Any) -> Any:
        """A raw object of a cluster of today as this kind of snapshot reads it."""
        return raw

    @classmethod
    def from_objects(
        cls, objects: Iterable[Any], *, keep_finished: bool = False, counting: Counting = COUNTING
    ) -> Self:
        """Make a snapshot from raw Kubernetes objects of any kind.

        Objects that cannot be read are left out and listed in ``problems`` as (object, reason). Finished pods are left
        out, as by kube-scheduler's informer, unless ``keep_finished``. ``counting`` says how a release counts what pods
        take. ``watermarks`` come from the objects'
        annotations; ``doubts`` lists what is wrong with those, in the form of ``problems``.
        """
        problems: list[tuple[str, str]] = []
        nodes: dict[str, Node] = {}
        pods: dict[str, Pod] = {}
        other_objects: list[Json] = []
        for raw in objects:
            try:
                kind = raw.get("kind") if isinstance(raw, dict) else None
                if kind == "Node":
                    node = Node.from_json(raw)
                    nodes[node.name] = node
                elif kind == "Pod":
                    pod = Pod.from_json(raw).with_counting(counting)
                    if keep_finished or get_string(raw.get("status") or {}, "phase", "status.") not in FINISHED:
                        pods[pod.key] = pod
                elif isinstance(raw, dict):
                    other_objects.append(raw)
                else:
                    raise ObjectError("is not a Kubernetes object")
            except ObjectError as error:
                problems.append((describe_object(raw), str(error)))
        snapshot = cls(nodes.values())
        snapshot.problems, snapshot.counting = problems, counting
        snapshot._add_objects(other_objects)
        for pod in pods.values():
            snapshot.objects.groups.add_member(pod)
            if not pod.node_name:
                snapshot.pending.append(pod)
            elif pod.node_name in snapshot.index:
                snapshot.add_pod(pod, snapshot.index[pod.node_name])
            else:
                problems.append(
                    (f"Pod {pod.key}", f"{ON_UNKNOWN_NODE} {pod.node_name}, which is not among the objects")
                )
        parsed = read_annotations(snapshot.nodes, snapshot.objects)
        snapshot.watermarks, snapshot.doubts = parsed.watermarks, parsed.problems
        return snapshot

    def _add_objects(self, raw_objects: list[Json]) -> None:
        for raw in raw_objects:
            try:
                self.objects.add(raw)
            except ObjectError as error:
                self.problems.append((describe_object(raw), str(error)))

    # Parts that plugins read.

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
        """The rows of ``allocatable`` and ``requested`` by resource name."""
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
        """Requested milli-CPU and bytes, with defaults for missing requests. Shape [2, nodes]."""
        return self.pod_state.nonzero

    @property
    def pod_count(self) -> Ints:
        return self.pod_state.pod_count

    @property
    def ports(self) -> dict[tuple[str, int], dict[str, Ints]]:
        return self.pod_state.ports

    def group_members(self, group: str) -> list[Pod]:
        """The pods on nodes that name the scheduling group of that key."""
        return [self.get_pod(key) for key in self.pod_state.grouped.get(group, ())]

    @property
    def volume_use(self) -> VolumeUse:
        return self.pod_state.volumes

    def __len__(self) -> int:
        return len(self.node_columns.nodes)

    # Copies.

    def _copy_except(self, changed: SnapshotPart) -> Self:
        """A copy whose parts ``changed`` will be replaced; caches of the other parts are shared."""
        other = copy.copy(self)
        other._caches = self._caches.copy_after_change(changed)
        if self._times is not None and not self._times[1].is_computed:
            other._times = None  # it would look at the pods of this one, which may change until then
        return other

    def copy(self) -> Self:
        """A copy with independent pods and claims; everything else is shared."""
        other = self._copy_except(SnapshotPart.PODS | SnapshotPart.AMOUNTS)
        other.pending, other.objects = list(self.pending), self.objects.copy()
        other.pod_state = self.pod_state.copy(other.objects)
        other.resource_claims = self.resource_claims.copy(other.objects.devices)
        return other

    def without_pod(self, key: str) -> tuple[Self, Pod]:
        """A copy without a bound pod, and that pod as unbound; raises KeyError if it is not bound."""
        other = self.copy()
        return other, other.remove_pod(key).on("")

    def with_nodes(self, changed: Collection[Node]) -> Self:
        """The same cluster with ``changed`` instead of the nodes of the same names, which must be in the same zones.

        The pods are handed over: this snapshot must not be used any more.
        """
        other = self._copy_except(SnapshotPart.NODES)
        other.node_columns = self.node_columns.with_nodes(changed)
        other.pod_state.add_resources(other.resources)
        return other

    def with_own_amounts(self) -> Self:
        """The same cluster with its own requested amounts and counts of pods, which can be changed."""
        other = self._copy_except(SnapshotPart.AMOUNTS)
        other.pod_state = self.pod_state.with_own_amounts()
        return other

    def without_images(self) -> Self:
        """A copy, as ``copy`` makes it, in which no node has images."""
        other = self.copy()
        other.node_columns = self.node_columns.without_images()
        return other

    def with_emptied_nodes(self, nodes: Mapping[int, Node]) -> Self:
        """A snapshot for scoring: the nodes at these positions are replaced by the given ones, without pods.

        kube-scheduler sees nodes so that an extender returned as objects. Their pods still count for topologies.
        """
        other = self._copy_except(SnapshotPart.NODES | SnapshotPart.AMOUNTS)
        other.node_columns, other.bare = self.node_columns.with_bare_nodes(nodes), True
        other.pod_state, rows = self.pod_state.with_own_amounts(), list(nodes)
        other.requested[:, rows] = other.nonzero[:, rows] = other.pod_count[rows] = 0
        return other

    def carry_over_times(self, last: Snapshot) -> None:
        """Take over from ``last`` the times at which present pods were placed."""
        placed = last.pod_state.placed
        self.pod_state.placed = {key: time for key, time in placed.items() if key in self.pods.slots}
        self.now, self._times = last.now, None

    def refresh_node(self, node: Node) -> None:
        """Replace a node by a newer object with no change that the columns hold."""
        self.nodes[self.index[node.name]] = node

    # Changes of pods.

    def get_pod(self, key: str) -> Pod:
        """The pod ``namespace/name``, bound or pending; raises KeyError if there is none."""
        if (slot := self.pods.slots.get(key)) is not None and (pod := self.pods.pods[slot]) is not None:
            return pod
        for pod in self.pending:
            if pod.key == key:
                return pod
        raise KeyError(key)

    def add_pod(self, pod: Pod, node: int) -> None:
        """Put ``get_pod`` on the node at position ``node``."""
        self.pod_state.add_pod(pod, node)
        if self.pod_state.resources is not self.node_columns.resources:
            self.node_columns = self.node_columns.with_resources(self.pod_state.resources)

    def place_pod(self, pod: Pod, node: str) -> None:
        """Put ``pod`` on the node named ``node``, scheduled at ``now``."""
        self.pod_state.placed[pod.key] = self.now
        self.add_pod(pod.on(node), self.index[node])

    def remove_pod(self, key: str) -> Pod:
        """Remove a bound pod from its node; raises KeyError if it is not bound."""
        return self.pod_state.remove_pod(key)

    @contextmanager
    def pod_removed(self, key: str) -> Iterator[Pod]:
        """A context in which the pod ``namespace/name``, which it gives, is not on its node."""
        placed = self.pod_state.placed
        node, time = int(self.pods.node[self.pods.slots[key]]), placed.get(key)
        pod = self.remove_pod(key)
        try:
            yield pod
        finally:
            self.add_pod(pod, node)
            if time is not None:
                placed[key] = time

    def save_claims(self, pod: Pod) -> Callable[[], None]:
        """Return what takes back whatever happens from now on to the claims of ``pod``, their volumes and devices.

        It is called when the pods are where they are now, but for ``pod``, which is on no node then.
        """
        storage, uses = self.objects.storage, self.resource_claims
        volumes = storage.save_volumes() if pod.volumes else None
        devices = uses.save_claims() if pod.resource_claims or self.objects.devices.extended_resources else None

        def restore_claims() -> None:
            if volumes is not None and storage.restore_volumes(volumes):
                self.volume_use.resolve_again()
            if devices is not None:
                uses.restore_claims(devices)

        return restore_claims

    def hold_ports(self, node: int) -> None:
        """Add the host ports of all pods on the node at position ``node`` again, after a trial pod was removed."""
        self.pod_state.hold_ports(node)

    def scheduled_at(self, pod: Pod) -> float:
        """When a bound pod got its node, in seconds of the epoch; NaN if unknown."""
        placed = self.pod_state.placed
        time = placed.get(pod.key) if placed else None
        return pod.scheduled if time is None else time

    @property
    def pod_times(self) -> PodTimes:
        """When the bound pods got their nodes and started, as they are now."""
        state = self.pods.version, self.pods.refreshed
        if self._times is None or self._times[0] != state:
            self._times = state, PodTimes(self.pods, self.pod_state.placed)
        return self._times[1]

    # Computed values.

    @property
    def watermarks(self) -> Watermarks | None:
        """What nodes and workloads really use, in the order of the nodes; ``None`` if nothing is known."""
        return self._watermarks

    @watermarks.setter
    def watermarks(self, watermarks: Watermarks | None) -> None:
        self._watermarks = None if watermarks is None else watermarks.align_to(self.names)
        self._caches = self._caches.copy_after_change(SnapshotPart.WATERMARKS)

    def cached_by_nodes(self, key: Hashable, compute: Callable[[], Result]) -> Result:
        """``compute()``, cached under ``key``; only for what depends on nodes alone."""
        return self._caches.memo.get_or_compute(key, compute)

    def cached_by_objects(self, key: Hashable, compute: Callable[[], Result]) -> Result:
        """``compute()``, cached under ``key``; only for what depends on nodes, storage and budgets."""
        if self._related_to != self.objects.version:
            self._caches, self._related_to = self._caches.copy_after_change(SnapshotPart.OBJECTS), self.objects.version
        return self._caches.related.get_or_compute(key, compute)

    def cached_by_watermarks(self, key: Hashable, compute: Callable[[], Result]) -> Result:
        """``compute()``, cached under ``key``; only for what depends on nodes and watermarks, not on the time."""
        return self._caches.derived.get_or_compute(key, compute)

    def recent_sums(
        self, key: Hashable, width: int, estimate: Estimate, columns: EstimateColumns | None = None
    ) -> Floats:
        """Sums by node of what pods add to the watermarks: float64[width, nodes]. The array changes with the next call.

        ``estimate(pod, node, time)`` returns what a bound pod adds that was scheduled at ``time`` (NaN: not known).
        ``key`` identifies everything else that the estimate depends on beside pods and watermarks. ``columns`` say the
        same of all pods at once.
        """
        return self._caches.recent.get_or_compute(
            key, lambda: RecentPods(self, width, estimate, columns)
        ).current_sums()

    def hourly_use(self) -> Floats:
        """What the nodes' pods use at each hour of the day in UTC, by the curves of their workloads, in cores.

        Zeros where nodes are shown without their pods. Shape [24, nodes]. The array changes with the next call.
        """
        if self.bare:
            return np.zeros((HOURS, len(self)))
        curves = self._watermarks.curves if self._watermarks is not None else {}
        cached_use: HourlyUse = self._caches.hourly.get_or_compute("hourly", lambda: HourlyUse(self, self.objects))
        return cached_use.sum_curves(curves)

    def resource_row(self, array: Ints, name: str) -> Ints:
        """The row of ``array`` for resource ``name``; zeros if it has none. Shape [nodes]."""
        row = self.resources.get(name)
        return array[row] if row is not None else np.zeros(len(self), dtype=np.int64)

    def room_signature(self, node: int) -> Hashable:
        """A value that is equal for nodes with equal allocatable and requested resources and as many pods."""
        columns, state = self.node_columns, self.pod_state
        return (
            columns.allocatable[:, node].tobytes(),
            state.requested[:, node].tobytes(),
            state.nonzero[:, node].tobytes(),
            int(columns.pod_limit[node]),
            int(state.pod_count[node]),
        )

    def label_column(self, key: str) -> LabelColumn:
        """The nodes' values of label ``key``."""
        return self.cached_by_nodes(("label", key), lambda: LabelColumn(node.labels.get(key) for node in self.nodes))

    def taint_sets(self) -> tuple[NDArray[np.intp], list[tuple[Taint, ...]]]:
        """Codes intp[nodes] and the distinct taint lists they index."""

        def compute_sets() -> tuple[NDArray[np.intp], list[tuple[Taint, ...]]]:
            code_by_taints: dict[tuple[Taint, ...], int] = {}
            codes = np.array(
                [code_by_taints.setdefault(node.taints, len(code_by_taints)) for node in self.nodes], dtype=np.intp
            )
            return codes, list(code_by_taints)

        return self.cached_by_nodes("taint sets", compute_sets)
