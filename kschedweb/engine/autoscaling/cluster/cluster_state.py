"""A cluster with its NodePools and instance types, read once and never changed by the questions asked of it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import field
from functools import cached_property
from typing import TypeVar

from kschedweb.engine.autoscaling.cluster.pdb_limits import PdbLimit, PdbLimits
from kschedweb.engine.autoscaling.cluster.pods import PodData, PodView, pod_of_daemon_set, read_pod
from kschedweb.engine.autoscaling.cluster.state_nodes import ClaimView, NodeView, StateNode, build_state_nodes
from kschedweb.engine.autoscaling.cluster.volumes import Storage
from kschedweb.engine.autoscaling.offers.catalogue import Catalogue
from kschedweb.engine.autoscaling.offers.cross_checks import find_faults
from kschedweb.engine.autoscaling.offers.instance_types import InstanceType
from kschedweb.engine.autoscaling.offers.labels import WELL_KNOWN
from kschedweb.engine.autoscaling.offers.nodepool_validation import find_complaint
from kschedweb.engine.autoscaling.offers.nodepools import NodeClassRef, NodePool
from kschedweb.engine.autoscaling.offers.ready_catalogue import READY, ready_types
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import (
    ObjectError,
    describe_object,
    get_boolean,
    get_mapping,
    get_string,
    get_string_map,
)
from kschedweb.engine.objects.json_access import get_objects as listed_objects
from kschedweb.engine.objects.labels import Labels
from kschedweb.engine.values import dataclass

# Values of Karpenter's options --preference-policy and --min-values-policy.
RESPECT, IGNORE = "Respect", "Ignore"
STRICT, BEST_EFFORT = "Strict", "BestEffort"
Read = TypeVar("Read")
# The end of the kinds of node classes of all providers: EC2NodeClass, AKSNodeClass.
NODE_CLASS = "NodeClass"
STORED = ("PersistentVolumeClaim", "PersistentVolume", "StorageClass", "CSINode")


@dataclass(frozen=True, slots=True)
class KarpenterOptions:
    """Karpenter's options that change decisions."""

    # RESPECT treats preferences of pods as required first, IGNORE drops them.
    preferences: str = RESPECT
    # STRICT fails a node with fewer types than minValues, BEST_EFFORT lowers minValues.
    min_values: str = STRICT
    # The feature gate SpotToSpotConsolidation.
    spot_to_spot: bool = False

    @property
    def ignores_preferences(self) -> bool:
        return self.preferences == IGNORE

    @property
    def best_effort(self) -> bool:
        return self.min_values == BEST_EFFORT

    @classmethod
    def from_json(cls, raw: Json) -> KarpenterOptions:
        """Read the options of a scenario; raises ObjectError."""
        return cls(
            preferences=_one_of(raw, "preferencePolicy", (RESPECT, IGNORE)),
            min_values=_one_of(raw, "minValuesPolicy", (STRICT, BEST_EFFORT)),
            spot_to_spot=get_boolean(raw, "spotToSpotConsolidation", "options."),
        )


@dataclass(eq=False)
class ClusterState:
    """A cluster as Karpenter's controllers see it."""

    # In the order of the scenario, as are the NodePools.
    types: list[InstanceType]
    pools: list[NodePool]
    nodes: dict[str, NodeView]
    # Nodes and NodeClaims joined by provider id.
    machines: list[StateNode]
    # By namespace and name.
    pods: list[PodView]
    # One pod for every DaemonSet.
    daemons: list[PodView]
    guards: PdbLimits
    storage: Storage
    namespaces: dict[str, Labels]
    settings: KarpenterOptions
    # Seconds of the epoch.
    now: float
    # The reason why a node class cannot be used.
    unready_classes: dict[NodeClassRef, str] = field(default_factory=dict)
    # Labels whose values Karpenter knows: the well-known ones and those of any instance type.
    well_known_labels: frozenset[str] = field(init=False)
    # What is wrong with a NodePool, by its name.
    faults: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        self.well_known_labels = WELL_KNOWN | {
            key for instance_type in self.types for key in instance_type.requirements
        }
        complaints = ((pool.name, find_complaint(pool, self.well_known_labels)) for pool in self.pools)
        self.faults = {name: problem for name, problem in complaints if problem}

    @cached_property
    def pools_by_name(self) -> dict[str, NodePool]:
        return {pool.name: pool for pool in self.pools}

    @cached_property
    def not_ready(self) -> dict[str, str]:
        """Return why NodePools launch no nodes, by name: the status of their node class.

        A node class that is not among the objects counts as ready.
        """
        return {
            pool.name: f"Its {pool.node_class.kind} {pool.node_class.name} is not ready: {reason}"
            for pool in self.pools
            if (reason := self.unready_classes.get(pool.node_class))
        }

    @cached_property
    def usable_pools(self) -> list[NodePool]:
        """The NodePools that can launch nodes, in the order they are tried: by weight, then by name from Z to A."""
        pools = [
            pool
            for pool in self.pools
            if not pool.static
            and not pool.terminating
            and pool.name not in self.faults
            and pool.name not in self.not_ready
        ]
        pools.sort(key=lambda pool: pool.name, reverse=True)
        return sorted(pools, key=lambda pool: -pool.weight)

    @cached_property
    def catalogues(self) -> dict[str, Catalogue]:
        """The instance types that each NodePool can launch; NodePools that see the same types share a catalogue."""
        by_type_names: dict[tuple[str, ...], Catalogue] = {}
        catalogues = {}
        for name in self.pools_by_name:
            visible_types = [
                instance_type for instance_type in self.types if not instance_type.pools or name in instance_type.pools
            ]
            if visible_types:
                catalogues[name] = by_type_names.setdefault(
                    tuple(instance_type.name for instance_type in visible_types), Catalogue(visible_types)
                )
        return catalogues

    @cached_property
    def active_nodes(self) -> list[StateNode]:
        return [state_node for state_node in self.machines if not state_node.is_marked_for_deletion]

    @cached_property
    def deleting_nodes(self) -> list[StateNode]:
        return [state_node for state_node in self.machines if state_node.is_marked_for_deletion]

    @cached_property
    def terminating_nodes(self) -> frozenset[str]:
        return frozenset(state_node.name for state_node in self.deleting_nodes)

    @cached_property
    def leaving_pods(self) -> list[PodView]:
        """The pods of nodes marked for deletion, which need another place."""
        return [
            pod
            for state_node in self.deleting_nodes
            for pod in state_node.pods
            if self.guards.is_currently_reschedulable(pod)
        ]

    @cached_property
    def pods_by_kind(self) -> dict[object, list[PodView]]:
        """The pods grouped by what selectors can tell apart: namespace and labels."""
        pods_by_kind: dict[object, list[PodView]] = defaultdict(list)
        for pod in self.pods:
            pods_by_kind[pod.kind].append(pod)
        return pods_by_kind


def read_cluster_state(raw: Json, now: float) -> ClusterState:
    """Read the instance types, NodePools, objects and options of a scenario; raises ObjectError with the place."""
    if raw.get("instanceTypes") == READY:
        raw = {**raw, "instanceTypes": ready_types()}
    types = [
        _read_entry("instanceTypes", place, entry, InstanceType.from_json)
        for place, entry in _enumerate_objects(raw, "instanceTypes")
    ]
    pools = [
        _read_entry("nodePools", place, entry, NodePool.from_json)
        for place, entry in _enumerate_objects(raw, "nodePools")
    ]
    for fault in find_faults(types, pools):
        raise ObjectError(str(fault))
    objects = KarpenterObjects()
    for place, entry in _enumerate_objects(raw, "objects"):
        _read_entry("objects", place, entry, objects.add_object)
    return objects.build_cluster_state(types, pools, KarpenterOptions.from_json(get_mapping(raw, "options")), now)


@dataclass(slots=True)
class KarpenterObjects:
    """The objects of a cluster, added one by one."""

    nodes: dict[str, NodeView] = field(default_factory=dict)
    claims: list[ClaimView] = field(default_factory=list)
    pods: list[PodView] = field(default_factory=list)
    # DaemonSets, each with the pod of its template.
    sets: list[tuple[Json, PodView]] = field(default_factory=list)
    guards: list[PdbLimit] = field(default_factory=list)
    storage: Storage = field(default_factory=Storage)
    namespaces: dict[str, Labels] = field(default_factory=dict)
    # Shared by the pods of a template, so that each is read once.
    data_by_template: dict[int, PodData] = field(default_factory=dict)
    unready_classes: dict[NodeClassRef, str] = field(default_factory=dict)

    def add_object(self, raw: Json) -> None:
        match kind := get_string(raw, "kind"):
            case "Node":
                node = NodeView.from_json(raw)
                self.nodes[node.name] = node
            case "NodeClaim":
                self.claims.append(ClaimView.from_json(raw))
            case "Pod":
                self.pods.append(read_pod(raw, self.data_by_template))
            case "DaemonSet":
                self.sets.append((raw, pod_of_daemon_set(raw)))
            case "PodDisruptionBudget":
                self.guards.append(PdbLimit.from_json(raw))
            case "Namespace":
                metadata = get_mapping(raw, "metadata")
                self.namespaces[get_string(metadata, "name", "metadata.")] = get_string_map(
                    metadata, "labels", "metadata."
                )
            case _ if kind in STORED:
                self.storage.add_object(kind, raw)
            case _ if kind.endswith(NODE_CLASS):
                self._take_class(raw, kind)
            case "":
                raise ObjectError("kind: is missing")

    def _take_class(self, raw: Json, kind: str) -> None:
        """Record a node class whose provider reports that it is not ready."""
        conditions = listed_objects(get_mapping(raw, "status"), "conditions", "status.")
        ready = next((condition for condition in conditions if condition.get("type") == "Ready"), None)
        if ready is not None and ready.get("status") != "True":
            group, name = (
                get_string(raw, "apiVersion").partition("/")[0],
                get_string(get_mapping(raw, "metadata"), "name", "metadata."),
            )
            reason = (
                get_string(ready, "message") or get_string(ready, "reason") or f"Ready is {get_string(ready, 'status')}"
            )
            self.unready_classes[NodeClassRef(group, kind, name)] = reason

    def build_cluster_state(
        self, types: list[InstanceType], pools: list[NodePool], settings: KarpenterOptions, now: float
    ) -> ClusterState:
        state_nodes = build_state_nodes(self.nodes.values(), self.claims)
        by_node = {state_node.node.name: state_node for state_node in state_nodes if state_node.node is not None}
        # Karpenter names the first pod, or budget, that is in the way; a client lists them by name.
        pods = sorted(self.pods, key=lambda pod: (pod.namespace, pod.name))
        for pod in pods:
            if pod.node in by_node:
                by_node[pod.node].pods.append(pod)
        return ClusterState(
            types=types,
            pools=pools,
            nodes=self.nodes,
            machines=state_nodes,
            pods=pods,
            daemons=[self._choose_daemon_pod(raw, template) for raw, template in self.sets],
            guards=PdbLimits(sorted(self.guards, key=lambda limit: limit.key), now),
            storage=self.storage,
            namespaces=self.namespaces,
            settings=settings,
            now=now,
            unready_classes=self.unready_classes,
        )

    def _choose_daemon_pod(self, raw: Json, template: PodView) -> PodView:
        """Return the newest pod of a DaemonSet, or the pod of its template if it has none.

        Required node affinity is always the template's.
        """
        # The DaemonSet controller adds an affinity to the pod's own node, which would keep it off every other.
        uid = get_string(get_mapping(raw, "metadata"), "uid", "metadata.")
        daemon_pods = [pod for pod in self.pods if pod.controller_uid == uid and pod.namespace == template.namespace]
        if not uid or not daemon_pods:
            return template
        return max(daemon_pods, key=lambda pod: pod.created).with_terms(template.pod_data.wants.required)


def _enumerate_objects(raw: Json, key: str) -> Iterable[tuple[int, Json]]:
    return enumerate(listed_objects(raw, key))


def _read_entry(key: str, place: int, raw: Json, read: Callable[[Json], Read]) -> Read:
    """Read an entry of a list; raises ObjectError that names the entry."""
    try:
        return read(raw)
    except ObjectError as error:
        label = raw.get("name") if isinstance(raw.get("name"), str) else describe_object(raw)
        raise ObjectError(f"{key}[{place}] ({label}): {error}") from None


def _one_of(raw: Json, key: str, choices: tuple[str, ...]) -> str:
    choice = get_string(raw, key, "options.") or choices[0]
    if choice not in choices:
        raise ObjectError(f"options.{key}: must be one of {', '.join(choices)}, is {choice[:60]!r}")
    return choice
