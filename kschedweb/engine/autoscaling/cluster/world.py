"""A cluster with its NodePools and what the cloud sells, read once; what is asked of it leaves it as it is."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import field
from functools import cached_property
from typing import TypeVar

from kschedweb.engine.autoscaling.cluster.guards import Guard, Guards
from kschedweb.engine.autoscaling.cluster.nodes import ClaimView, Machine, NodeView, machines
from kschedweb.engine.autoscaling.cluster.pods import Asking, PodView, pod_of_daemon_set, read_pod
from kschedweb.engine.autoscaling.cluster.volumes import Storage
from kschedweb.engine.autoscaling.offers.catalogue import Catalogue
from kschedweb.engine.autoscaling.offers.instancetypes import InstanceType
from kschedweb.engine.autoscaling.offers.labels import WELL_KNOWN
from kschedweb.engine.autoscaling.offers.nodepools import NodeClassRef, NodePool
from kschedweb.engine.autoscaling.offers.poolchecks import complaint
from kschedweb.engine.autoscaling.offers.ready import READY, ready_types
from kschedweb.engine.autoscaling.offers.together import faults
from kschedweb.engine.objects.access import Json, ObjectError, boolean, mapping, reference, string_map, text
from kschedweb.engine.objects.access import objects as listed_objects
from kschedweb.engine.objects.labels import Labels
from kschedweb.engine.values import dataclass

RESPECT, IGNORE = "Respect", "Ignore"
STRICT, BEST_EFFORT = "Strict", "BestEffort"
Read = TypeVar("Read")
NODE_CLASS = "NodeClass"  # ends the kinds of all providers: EC2NodeClass, AKSNodeClass
STORED = ("PersistentVolumeClaim", "PersistentVolume", "StorageClass", "CSINode")


@dataclass(frozen=True, slots=True)
class Settings:
    """The options of Karpenter that change decisions."""

    preferences: str = RESPECT
    min_values: str = STRICT
    spot_to_spot: bool = False

    @property
    def ignores_preferences(self) -> bool:
        return self.preferences == IGNORE

    @property
    def best_effort(self) -> bool:
        return self.min_values == BEST_EFFORT

    @classmethod
    def read(cls, raw: Json) -> Settings:
        """Raises ObjectError."""
        return cls(
            preferences=_one_of(raw, "preferencePolicy", (RESPECT, IGNORE)),
            min_values=_one_of(raw, "minValuesPolicy", (STRICT, BEST_EFFORT)),
            spot_to_spot=boolean(raw, "spotToSpotConsolidation", "options."),
        )


@dataclass(eq=False)
class World:
    """``pools`` and ``types`` in their order, ``pods`` by name; ``now`` in seconds of the epoch."""

    types: list[InstanceType]
    pools: list[NodePool]
    nodes: dict[str, NodeView]
    machines: list[Machine]
    pods: list[PodView]
    daemons: list[PodView]
    guards: Guards
    storage: Storage
    namespaces: dict[str, Labels]
    settings: Settings
    now: float
    unready_classes: dict[NodeClassRef, str] = field(default_factory=dict)
    known: frozenset[str] = field(init=False)
    faults: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        self.known = WELL_KNOWN | {key for one in self.types for key in one.requirements}
        found = ((pool.name, complaint(pool, self.known)) for pool in self.pools)
        self.faults = {name: said for name, said in found if said}

    @cached_property
    def pools_by_name(self) -> dict[str, NodePool]:
        return {pool.name: pool for pool in self.pools}

    @cached_property
    def not_ready(self) -> dict[str, str]:
        """Why NodePools bring no nodes for the status of their node class, by name; ready where no object says more."""
        return {
            pool.name: f"Its {pool.node_class.kind} {pool.node_class.name} is not ready: {reason}"
            for pool in self.pools
            if (reason := self.unready_classes.get(pool.node_class))
        }

    @cached_property
    def usable(self) -> list[NodePool]:
        """Those that new nodes can come of, in the order in which they are tried: by weight, then by name from Z on."""
        found = [
            pool
            for pool in self.pools
            if not pool.static
            and not pool.terminating
            and pool.name not in self.faults
            and pool.name not in self.not_ready
        ]
        found.sort(key=lambda pool: pool.name, reverse=True)
        return sorted(found, key=lambda pool: -pool.weight)

    @cached_property
    def catalogues(self) -> dict[str, Catalogue]:
        """What each NodePool can launch; those that see the same types share one."""
        made: dict[tuple[str, ...], Catalogue] = {}
        found = {}
        for name in self.pools_by_name:
            seen = [one for one in self.types if not one.pools or name in one.pools]
            if seen:
                found[name] = made.setdefault(tuple(one.name for one in seen), Catalogue(seen))
        return found

    @cached_property
    def active(self) -> list[Machine]:
        return [one for one in self.machines if not one.terminating]

    @cached_property
    def terminating(self) -> list[Machine]:
        return [one for one in self.machines if one.terminating]

    @cached_property
    def terminating_nodes(self) -> frozenset[str]:
        return frozenset(one.name for one in self.terminating)

    @cached_property
    def leaving_pods(self) -> list[PodView]:
        """The pods of nodes that go, which need another place."""
        return [pod for one in self.terminating for pod in one.pods if self.guards.moves(pod)]

    @cached_property
    def alike(self) -> dict[object, list[PodView]]:
        """The pods by what selectors can tell apart."""
        found: dict[object, list[PodView]] = defaultdict(list)
        for pod in self.pods:
            found[pod.kind].append(pod)
        return found


def read_world(raw: Json, now: float) -> World:
    """Read the instance types, NodePools, objects and options of a scenario; raises ObjectError with the place."""
    if raw.get("instanceTypes") == READY:
        raw = {**raw, "instanceTypes": ready_types()}
    types = [_placed("instanceTypes", place, one, InstanceType.read) for place, one in _each(raw, "instanceTypes")]
    pools = [_placed("nodePools", place, one, NodePool.read) for place, one in _each(raw, "nodePools")]
    for fault in faults(types, pools):
        raise ObjectError(str(fault))
    found = Objects()
    for place, one in _each(raw, "objects"):
        _placed("objects", place, one, found.take)
    return found.world(types, pools, Settings.read(mapping(raw, "options")), now)


@dataclass(slots=True)
class Objects:
    """The objects of a cluster, taken one by one."""

    nodes: dict[str, NodeView] = field(default_factory=dict)
    claims: list[ClaimView] = field(default_factory=list)
    pods: list[PodView] = field(default_factory=list)
    sets: list[tuple[Json, PodView]] = field(default_factory=list)
    guards: list[Guard] = field(default_factory=list)
    storage: Storage = field(default_factory=Storage)
    namespaces: dict[str, Labels] = field(default_factory=dict)
    asked: dict[int, Asking] = field(default_factory=dict)
    unready_classes: dict[NodeClassRef, str] = field(default_factory=dict)

    def take(self, raw: Json) -> None:
        match kind := text(raw, "kind"):
            case "Node":
                node = NodeView.read(raw)
                self.nodes[node.name] = node
            case "NodeClaim":
                self.claims.append(ClaimView.read(raw))
            case "Pod":
                self.pods.append(read_pod(raw, self.asked))
            case "DaemonSet":
                self.sets.append((raw, pod_of_daemon_set(raw)))
            case "PodDisruptionBudget":
                self.guards.append(Guard.read(raw))
            case "Namespace":
                metadata = mapping(raw, "metadata")
                self.namespaces[text(metadata, "name", "metadata.")] = string_map(metadata, "labels", "metadata.")
            case _ if kind in STORED:
                self.storage.take(kind, raw)
            case _ if kind.endswith(NODE_CLASS):
                self._take_class(raw, kind)
            case "":
                raise ObjectError("kind: is missing")

    def _take_class(self, raw: Json, kind: str) -> None:
        """Note a node class whose provider says that it cannot be used yet."""
        conditions = listed_objects(mapping(raw, "status"), "conditions", "status.")
        ready = next((condition for condition in conditions if condition.get("type") == "Ready"), None)
        if ready is not None and ready.get("status") != "True":
            group, name = text(raw, "apiVersion").partition("/")[0], text(mapping(raw, "metadata"), "name", "metadata.")
            reason = text(ready, "message") or text(ready, "reason") or f"Ready is {text(ready, 'status')}"
            self.unready_classes[NodeClassRef(group, kind, name)] = reason

    def world(self, types: list[InstanceType], pools: list[NodePool], settings: Settings, now: float) -> World:
        found = machines(self.nodes.values(), self.claims)
        by_node = {one.node.name: one for one in found if one.node is not None}
        # Karpenter names the first pod, or budget, that is in the way; a client lists them by name.
        pods = sorted(self.pods, key=lambda pod: (pod.namespace, pod.name))
        for pod in pods:
            if pod.node in by_node:
                by_node[pod.node].pods.append(pod)
        return World(
            types=types,
            pools=pools,
            nodes=self.nodes,
            machines=found,
            pods=pods,
            daemons=[self._daemon(raw, template) for raw, template in self.sets],
            guards=Guards(sorted(self.guards, key=lambda one: one.key), now),
            storage=self.storage,
            namespaces=self.namespaces,
            settings=settings,
            now=now,
            unready_classes=self.unready_classes,
        )

    def _daemon(self, raw: Json, template: PodView) -> PodView:
        """The newest pod of a DaemonSet, or what its template says; node affinity is always the template's."""
        uid = text(mapping(raw, "metadata"), "uid", "metadata.")
        own = [pod for pod in self.pods if pod.controller_uid == uid and pod.namespace == template.namespace]
        if not uid or not own:
            return template
        return max(own, key=lambda pod: pod.created).with_terms(template.asking.wants.required)


def _each(raw: Json, key: str) -> Iterable[tuple[int, Json]]:
    return enumerate(listed_objects(raw, key))


def _placed(key: str, place: int, raw: Json, read: Callable[[Json], Read]) -> Read:
    """Read one of a list; raises ObjectError that says which."""
    try:
        return read(raw)
    except ObjectError as error:
        named = raw.get("name") if isinstance(raw.get("name"), str) else reference(raw)
        raise ObjectError(f"{key}[{place}] ({named}): {error}") from None


def _one_of(raw: Json, key: str, known: tuple[str, ...]) -> str:
    said = text(raw, key, "options.") or known[0]
    if said not in known:
        raise ObjectError(f"options.{key}: must be one of {', '.join(known)}, is {said[:60]!r}")
    return said
