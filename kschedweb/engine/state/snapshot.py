"""The cluster at one time, in the form that decisions read."""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import ObjectError, describe_object, get_string
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
# Phases of pods that kube-scheduler's informer leaves out.
FINISHED = frozenset({"Succeeded", "Failed"})
# The start of a problem: a pod on a node that is not there, which kube-scheduler knows and does not count.
ON_UNKNOWN_NODE = "is bound to node"


class Snapshot:
    """Everything that decisions read. Nodes are in the order in which kube-scheduler visits them.

    Parts are replaced or change in place. A copy names the parts that it does not share, and shares the caches that
    depend on the others.
    """

    pod_state: PodState
    pod_state_of: ClassVar[type[PodState]] = PodState

    def __init__(self, nodes: Iterable[Node] = (), objects: ClusterObjects | None = None) -> None:
        # Objects besides nodes and pods.
        self.objects = ClusterObjects() if objects is None else objects
        # Replaced when nodes change.
        self.node_columns = NodeColumns(list(nodes), self.zone_of)
        # Changes in place, like `resource_claims`.
        self.pod_state = type(self).pod_state_of(self.node_columns, self.objects)
        self.resource_claims = ClaimUse(self.objects.devices)
        self.pending: list[Pod] = []
        # (object, reason) of objects that could not be read.
        self.problems: list[tuple[str, str]] = []
        # The same of annotations with watermarks.
        self.doubts: list[tuple[str, str]] = []
        # True if nodes are shown without their pods: see `with_emptied_nodes`.
        self.bare = False
        # The time of decisions in seconds of the epoch, for plugins that look at the age of watermarks. No clock is
        # read.
        self.now = 0.0
        self._watermarks: Watermarks | None = None
        self._caches = Caches()
        # (versions of the pods, their times).
        self._times: tuple[tuple[int, int], PodTimes] | None = None
        # The version of `objects` that the cache for them is valid for.
        self._related_to = self.objects.version

    @property
    def counting(self) -> Counting:
        """Rules by which the deciding release counts the amounts that pods take."""
        return self.pod_state.counting

    @staticmethod
    def zone_of(node: Node) -> str:
        """Return the zone of a node that decides the order of the nodes."""
        return node.zone

    @staticmethod
    def of_today(raw: Any) -> Any:
        """Return a raw object of a present-day cluster in the form that this kind of snapshot reads."""
        return raw

    @classmethod
    def from_objects(
        cls, objects: Iterable[Any], *, keep_finished: bool = False, counting: Counting = COUNTING
    ) -> Self:
        """Make a snapshot from raw Kubernetes objects of any kind.

        Objects that cannot be read are left out and listed in ``problems`` as (object, reason). Finished pods are left
        out, as by kube-scheduler's informer, unless ``keep_finished``. ``counting`` tells how a release counts the
        amounts that pods take. ``watermarks`` come from the objects' annotations; ``doubts`` lists problems with those,
        in the form of ``problems``.
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
        snapshot.problems, snapshot.pod_state.counting = problems, counting
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
        """Rows of ``allocatable`` and ``requested`` by resource name."""
        return self.node_columns.resources

    @property
    def allocatable(self) -> Ints:
        """Allocatable amounts in milli-CPU and whole units. Shape [resources, nodes]."""
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
        """Requested amounts in milli-CPU and whole units. Shape [resources, nodes]."""
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
        """Return the bound pods that name the scheduling group with this key."""
        return [self.get_pod(key) for key in self.pod_state.grouped.get(group, ())]

    @property
    def volume_use(self) -> VolumeUse:
        return self.pod_state.volumes

    def __len__(self) -> int:
        return len(self.node_columns.nodes)

    # Copies.

    def _copy_except(self, changed: SnapshotPart) -> Self:
        """Return a copy whose parts ``changed`` will be replaced; caches of the other parts are shared."""
        other = copy.copy(self)
        other._caches = self._caches.copy_after_change(changed)
        if self._times is not None and not self._times[1].is_computed:
            # It would read this snapshot's pods later, when they may have changed.
            other._times = None
        return other

    def copy(self) -> Self:
        """Return a copy with independent pods and claims; everything else is shared."""
        other = self._copy_except(SnapshotPart.PODS | SnapshotPart.AMOUNTS)
        other.pending, other.objects = list(self.pending), self.objects.copy()
        other.pod_state = self.pod_state.copy(other.objects)
        other.resource_claims = self.resource_claims.copy(other.objects.devices)
        return other

    def without_pod(self, key: str) -> tuple[Self, Pod]:
        """Return a copy without a bound pod, and that pod as unbound; raise KeyError if it is not bound."""
        other = self.copy()
        return other, other.remove_pod(key).on("")

    def with_nodes(self, changed: Collection[Node]) -> Self:
        """Return the same cluster with ``changed`` in place of the nodes of the same names.

        They must be in the same zones. The pods are handed over: do not use this snapshot any more.
        """
        other = self._copy_except(SnapshotPart.NODES)
        other.node_columns = self.node_columns.with_nodes(changed)
        other.pod_state.add_resources(other.resources)
        return other

    def with_own_amounts(self) -> Self:
        """Return the same cluster with its own requested amounts and pod counts, which may be changed."""
        other = self._copy_except(SnapshotPart.AMOUNTS)
        other.pod_state = self.pod_state.with_own_amounts()
        return other

    def without_images(self) -> Self:
        """Return a copy in which no node has images."""
        other = self.copy()
        other.node_columns = self.node_columns.without_images()
        return other

    def with_emptied_nodes(self, nodes: Mapping[int, Node]) -> Self:
        """Return a snapshot for scoring, with the given nodes at these positions and without their pods.

        kube-scheduler sees nodes in this way that an extender returned as objects. Their pods still count for
        topologies.
        """
        other = self._copy_except(SnapshotPart.NODES | SnapshotPart.AMOUNTS)
        other.node_columns, other.bare = self.node_columns.with_bare_nodes(nodes), True
        other.pod_state, rows = self.pod_state.with_own_amounts(), list(nodes)
        other.requested[:, rows] = other.nonzero[:, rows] = other.pod_count[rows] = 0
        return other

    def carry_over_times(self, last: Snapshot) -> None:
        """Take the times at which present pods were placed from ``last``."""
        placed = last.pod_state.placed
        self.pod_state.placed = {key: time for key, time in placed.items() if key in self.pods.slots}
        self.now, self._times = last.now, None

    def refresh_node(self, node: Node) -> None:
        """Replace a node's object by a newer one without changes that the columns hold."""
        self.nodes[self.index[node.name]] = node

    # Changes of pods.

    def get_pod(self, key: str) -> Pod:
        """Return the pod ``namespace/name``, bound or pending; raise KeyError if there is none."""
        if (slot := self.pods.slots.get(key)) is not None and (pod := self.pods.pods[slot]) is not None:
            return pod
        for pod in self.pending:
            if pod.key == key:
                return pod
        raise KeyError(key)

    def add_pod(self, pod: Pod, node: int) -> None:
        """Put ``pod`` on the node at position ``node``."""
        self.pod_state.add_pod(pod, node)
        # The pod requests a resource that no node had: both arrays need the same rows.
        if self.pod_state.resources is not self.node_columns.resources:
            self.node_columns = self.node_columns.with_resources(self.pod_state.resources)

    def place_pod(self, pod: Pod, node: str) -> None:
        """Put ``pod`` on the node named ``node``, scheduled at ``now``."""
        self.pod_state.placed[pod.key] = self.now
        self.add_pod(pod.on(node), self.index[node])

    def remove_pod(self, key: str) -> Pod:
        """Remove a bound pod from its node; raise KeyError if it is not bound."""
        return self.pod_state.remove_pod(key)

    @contextmanager
    def pod_removed(self, key: str) -> Iterator[Pod]:
        """Take the pod ``namespace/name`` off its node within a context, and yield it."""
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
        """Return a function that undoes later changes of the pod's claims, their volumes and devices.

        Call it when all pods are where they are now, except ``pod``, which must be on no node.
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
        """Mark the host ports of all pods on the node at a position as used, after a trial pod was removed."""
        self.pod_state.hold_ports(node)

    def scheduled_at(self, pod: Pod) -> float:
        """Return when a bound pod got its node, in seconds of the epoch; NaN if unknown."""
        placed = self.pod_state.placed
        time = placed.get(pod.key) if placed else None
        return pod.scheduled if time is None else time

    @property
    def pod_times(self) -> PodTimes:
        """The times at which the bound pods got their nodes and started, as they are now."""
        state = self.pods.version, self.pods.refreshed
        if self._times is None or self._times[0] != state:
            self._times = state, PodTimes(self.pods, self.pod_state.placed)
        return self._times[1]

    # Computed values.

    @property
    def watermarks(self) -> Watermarks | None:
        """The real use of nodes and workloads, in the order of the nodes; ``None`` if nothing is known."""
        return self._watermarks

    @watermarks.setter
    def watermarks(self, watermarks: Watermarks | None) -> None:
        self._watermarks = None if watermarks is None else watermarks.align_to(self.names)
        self._caches = self._caches.copy_after_change(SnapshotPart.WATERMARKS)

    def cached_by_nodes(self, key: Hashable, compute: Callable[[], Result]) -> Result:
        """Return ``compute()``, cached under ``key``; only for values that depend on nodes alone."""
        return self._caches.memo.get_or_compute(key, compute)

    def cached_by_objects(self, key: Hashable, compute: Callable[[], Result]) -> Result:
        """Return ``compute()``, cached; only for values that depend on nodes, storage and budgets."""
        if self._related_to != self.objects.version:
            self._caches, self._related_to = self._caches.copy_after_change(SnapshotPart.OBJECTS), self.objects.version
        return self._caches.related.get_or_compute(key, compute)

    def cached_by_watermarks(self, key: Hashable, compute: Callable[[], Result]) -> Result:
        """Return ``compute()``, cached; only for values that depend on nodes and watermarks, not on ``now``."""
        return self._caches.derived.get_or_compute(key, compute)

    def recent_sums(
        self, key: Hashable, width: int, estimate: Estimate, columns: EstimateColumns | None = None
    ) -> Floats:
        """Return the sums by node that pods add to the watermarks. Shape [width, nodes].

        The array changes with the next call. ``estimate(pod, node, time)`` returns the amounts that a bound pod adds
        that was scheduled at ``time`` (NaN if unknown). ``key`` identifies everything that the estimate depends on
        besides pods and watermarks. ``columns`` are the same estimate for all pods at once.
        """
        return self._caches.recent.get_or_compute(
            key, lambda: RecentPods(self, width, estimate, columns)
        ).current_sums()

    def hourly_use(self) -> Floats:
        """Return the cores that each node's pods use at each hour of the day in UTC, by their workloads' curves.

        Zeros where nodes are shown without their pods. Shape [24, nodes]. The array changes with the next call.
        """
        if self.bare:
            return np.zeros((HOURS, len(self)))
        curves = self._watermarks.curves if self._watermarks is not None else {}
        cached_use: HourlyUse = self._caches.hourly.get_or_compute("hourly", lambda: HourlyUse(self, self.objects))
        return cached_use.sum_curves(curves)

    def resource_row(self, array: Ints, name: str) -> Ints:
        """Return the row of ``array`` for a resource; zeros if it has none. Shape [nodes]."""
        row = self.resources.get(name)
        return array[row] if row is not None else np.zeros(len(self), dtype=np.int64)

    def room_signature(self, node: int) -> Hashable:
        """Return a value that is equal for nodes with equal allocatable, requested amounts and pod count."""
        columns, state = self.node_columns, self.pod_state
        return (
            columns.allocatable[:, node].tobytes(),
            state.requested[:, node].tobytes(),
            state.nonzero[:, node].tobytes(),
            int(columns.pod_limit[node]),
            int(state.pod_count[node]),
        )

    def label_column(self, key: str) -> LabelColumn:
        """Return the nodes' values of a label."""
        return self.cached_by_nodes(("label", key), lambda: LabelColumn(node.labels.get(key) for node in self.nodes))

    def taint_sets(self) -> tuple[NDArray[np.intp], list[tuple[Taint, ...]]]:
        """Return codes intp[nodes] and the distinct lists of taints that they index."""

        def compute_sets() -> tuple[NDArray[np.intp], list[tuple[Taint, ...]]]:
            code_by_taints: dict[tuple[Taint, ...], int] = {}
            codes = np.array(
                [code_by_taints.setdefault(node.taints, len(code_by_taints)) for node in self.nodes], dtype=np.intp
            )
            return codes, list(code_by_taints)

        return self.cached_by_nodes("taint sets", compute_sets)
