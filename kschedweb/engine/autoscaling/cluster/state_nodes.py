"""Nodes and NodeClaims, and the machine that Karpenter sees in both."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field
from functools import cached_property

from kschedweb.engine.autoscaling.cluster.pods import PodView
from kschedweb.engine.autoscaling.offers.amounts import (
    MILLI_UNIT,
    NODES,
    Milli,
    add_amounts,
    read_milli,
    subtract_amounts,
)
from kschedweb.engine.autoscaling.offers.labels import (
    DO_NOT_DISRUPT,
    GROUP,
    INITIALIZED,
    INSTANCE_TYPE,
    NODEPOOL,
    NORMALIZED,
    REGISTERED,
)
from kschedweb.engine.autoscaling.offers.nodepools import check_kind, read_nillable
from kschedweb.engine.autoscaling.offers.requirements import Requirements
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import (
    ObjectError,
    get_mapping,
    get_objects_and_paths,
    get_string,
    get_string_map,
    get_time,
)
from kschedweb.engine.objects.node import HOSTNAME
from kschedweb.engine.objects.taints import NO_EXECUTE, NO_SCHEDULE, NOT_READY, UNREACHABLE, Taint, read_taints
from kschedweb.engine.validation.golang import plain_sum
from kschedweb.engine.values import dataclass

# The cost of disrupting a node without pods.
BASE_COST = 1.0
CONSOLIDATABLE, INITIALIZED_CONDITION = "Consolidatable", "Initialized"
# Karpenter's `KnownEphemeralTaints`: they go once the node is initialized.
_PASSING = frozenset(
    {
        (NOT_READY, NO_SCHEDULE),
        (NOT_READY, NO_EXECUTE),
        (UNREACHABLE, NO_SCHEDULE),
        ("node.cloudprovider.kubernetes.io/uninitialized", NO_SCHEDULE),
        (f"{GROUP}/unregistered", NO_EXECUTE),
        (f"{GROUP}/rebooting", NO_SCHEDULE),
    }
)
_READINESS = "readiness.k8s.io/"


@dataclass(frozen=True, eq=False)
class NodeView:
    """A v1 Node, with amounts in milli-units."""

    name: str
    provider_id: str
    labels: dict[str, str]
    annotations: dict[str, str]
    taints: tuple[Taint, ...]
    capacity: Milli
    allocatable: Milli
    ready: bool
    terminating: bool

    @cached_property
    def requirements(self) -> Requirements:
        """The requirements that its labels state."""
        return Requirements.of_labels(self.labels)

    @classmethod
    def from_json(cls, raw: Json) -> NodeView:
        """Read a Node; raises ObjectError."""
        metadata, spec, status = get_mapping(raw, "metadata"), get_mapping(raw, "spec"), get_mapping(raw, "status")
        name = get_string(metadata, "name", "metadata.")
        if not name:
            raise ObjectError("metadata.name: is missing")
        conditions = [
            (get_string(condition, "type", at), get_string(condition, "status", at))
            for condition, at in get_objects_and_paths(status, "conditions", "status.")
        ]
        return cls(
            name=name,
            provider_id=get_string(spec, "providerID", "spec."),
            labels=get_string_map(metadata, "labels", "metadata."),
            annotations=get_string_map(metadata, "annotations", "metadata."),
            taints=read_taints(spec, "taints", "spec."),
            capacity=read_milli(status, "capacity", "status."),
            allocatable=read_milli(status, "allocatable", "status."),
            ready=next((condition_status for kind, condition_status in conditions if kind == "Ready"), "") == "True",
            terminating=metadata.get("deletionTimestamp") is not None,
        )


@dataclass(frozen=True, slots=True, eq=False)
class ClaimView:
    """A NodeClaim of karpenter.sh/v1, with amounts in milli-units and times in seconds of the epoch."""

    name: str
    provider_id: str
    labels: dict[str, str]
    annotations: dict[str, str]
    taints: tuple[Taint, ...]
    # Taints that go before the node is initialized.
    startup_taints: tuple[Taint, ...]
    capacity: Milli
    allocatable: Milli
    # Status and time of the last transition, by type.
    conditions: dict[str, tuple[str, float | None]]
    terminating: bool
    created: float | None
    # Seconds of life after which it expires, None for never.
    expire_after: float | None
    last_pod_event: float | None

    def is_condition_true(self, condition: str) -> bool:
        return self.conditions.get(condition, ("", None))[0] == "True"

    @classmethod
    def from_json(cls, raw: Json) -> ClaimView:
        """Read a NodeClaim; raises ObjectError."""
        check_kind(raw, "NodeClaim")
        metadata, spec, status = get_mapping(raw, "metadata"), get_mapping(raw, "spec"), get_mapping(raw, "status")
        name = get_string(metadata, "name", "metadata.")
        if not name:
            raise ObjectError("metadata.name: is missing")
        return cls(
            name=name,
            provider_id=get_string(status, "providerID", "status."),
            labels=get_string_map(metadata, "labels", "metadata."),
            annotations=get_string_map(metadata, "annotations", "metadata."),
            taints=read_taints(spec, "taints", "spec."),
            startup_taints=read_taints(spec, "startupTaints", "spec."),
            capacity=read_milli(status, "capacity", "status."),
            allocatable=read_milli(status, "allocatable", "status."),
            conditions={
                get_string(condition, "type", at): (
                    get_string(condition, "status", at),
                    get_time(condition, "lastTransitionTime", at),
                )
                for condition, at in get_objects_and_paths(status, "conditions", "status.")
            },
            terminating=metadata.get("deletionTimestamp") is not None,
            created=get_time(metadata, "creationTimestamp", "metadata."),
            expire_after=read_nillable(spec, "expireAfter", "spec."),
            last_pod_event=get_time(status, "lastPodEventTime", "status."),
        )


@dataclass(eq=False)
class StateNode:
    """A machine: a Node, a NodeClaim, or both joined by provider id."""

    # The name of the node if it has no provider id.
    provider_id: str
    node: NodeView | None = None
    claim: ClaimView | None = None
    # The pods bound to the node, by namespace and name.
    pods: list[PodView] = field(default_factory=list)

    @property
    def is_managed(self) -> bool:
        return self.claim is not None

    @property
    def is_registered(self) -> bool:
        return not self.is_managed or (self.node is not None and self.node.labels.get(REGISTERED) == "true")

    @property
    def is_initialized(self) -> bool:
        return not self.is_managed or (self.node is not None and self.node.labels.get(INITIALIZED) == "true")

    @property
    def is_rebooting(self) -> bool:
        return self.claim is not None and self.claim.is_condition_true("Rebooting")

    @property
    def is_marked_for_deletion(self) -> bool:
        """True if the machine is being deleted."""
        if self.claim is not None:
            return self.claim.terminating or self.claim.is_condition_true("InstanceTerminating")
        return self.node is not None and self.node.terminating

    @cached_property
    def name(self) -> str:
        return self._source.name

    @property
    def labels(self) -> dict[str, str]:
        return self._source.labels

    @property
    def annotations(self) -> dict[str, str]:
        return self._source.annotations

    @property
    def pool(self) -> str:
        """The name of its NodePool, "" for none."""
        return self.labels.get(NODEPOOL, "")

    @property
    def hostname(self) -> str:
        return self.labels.get(HOSTNAME) or self.name

    @cached_property
    def requirements(self) -> Requirements:
        requirements = Requirements.of_labels(self.labels)
        requirements.add(Requirements.of_labels({HOSTNAME: self.hostname}).values())
        return requirements

    @cached_property
    def known_labels(self) -> dict[str, str]:
        """Its labels under the keys that Karpenter normalizes them to, with its host name."""
        old = {NORMALIZED[key]: value for key, value in self.labels.items() if key in NORMALIZED}
        return old | self.labels | {HOSTNAME: self.hostname}

    @cached_property
    def taints(self) -> tuple[Taint, ...]:
        """The taints that count; before the node is initialized, without those that will go."""
        source = self.claim if self.node is None or not self.is_registered else self.node
        assert source is not None
        if self.claim is None or (self.is_initialized and not self.is_rebooting):
            return source.taints
        startup = {(taint.key, taint.effect) for taint in self.claim.startup_taints}
        return tuple(
            taint
            for taint in source.taints
            if not _is_ephemeral_taint(taint) and (taint.key, taint.effect) not in startup
        )

    @cached_property
    def capacity(self) -> Milli:
        node = {} if self.node is None else self.node.capacity
        return self._complete_amounts(node, {} if self.claim is None else self.claim.capacity) | {NODES: MILLI_UNIT}

    @cached_property
    def allocatable(self) -> Milli:
        node = {} if self.node is None else self.node.allocatable
        return self._complete_amounts(node, {} if self.claim is None else self.claim.allocatable)

    @cached_property
    def counted_pods(self) -> list[PodView]:
        """The pods that occupy resources: those that have not ended."""
        return [pod for pod in self.pods if not pod.is_terminal]

    @cached_property
    def free(self) -> Milli:
        """Its allocatable less the requests of its pods, in milli-units."""
        return subtract_amounts(self.allocatable, sum_requests(self.counted_pods))

    @cached_property
    def disruption_cost(self) -> float:
        """The cost of disrupting it when it is not a candidate."""
        return evicting_cost(pod for pod in self.counted_pods if not pod.daemon)

    @property
    def is_protected(self) -> bool:
        return self.annotations.get(DO_NOT_DISRUPT) == "true"

    @property
    def _source(self) -> NodeView | ClaimView:
        if self.node is not None and (self.claim is None or self.is_registered):
            return self.node
        assert self.claim is not None
        return self.claim

    def _complete_amounts(self, node: Milli, claim: Milli) -> Milli:
        """Return the node's amounts; before it is initialized, the claim's amounts fill what the node lacks."""
        if self.claim is None or self.is_initialized:
            return dict(node)
        return node | {name: amount for name, amount in claim.items() if not node.get(name)}


def build_state_nodes(nodes: Iterable[NodeView], claims: Iterable[ClaimView]) -> list[StateNode]:
    """Join nodes and claims of the same provider id to machines, as Karpenter's cluster state does."""
    state_nodes: dict[str, StateNode] = {}
    for claim in claims:
        if claim.provider_id:
            state_nodes.setdefault(claim.provider_id, StateNode(claim.provider_id)).claim = claim
    for node in nodes:
        managed, initialized = bool(node.labels.get(NODEPOOL)), bool(node.labels.get(INITIALIZED))
        unknown = not node.provider_id or (not node.labels.get(INSTANCE_TYPE) and not initialized)
        # Karpenter does not track a managed node before it has a provider id and an instance type.
        if managed and unknown:
            continue
        identity = node.provider_id or node.name
        state_nodes.setdefault(identity, StateNode(identity)).node = node
    return list(state_nodes.values())


def evicting_cost(pods: Iterable[PodView]) -> float:
    """Return the cost of disrupting a node that evicts these pods; no pod lowers it."""
    # A plain loop adds up floats as Go does; the built-in sum() compensates rounding.
    return plain_sum((BASE_COST, *(max(0.0, pod.eviction_cost) for pod in pods)))


def sum_requests(pods: Iterable[PodView]) -> Milli:
    total: Milli = {}
    for pod in pods:
        total = add_amounts(total, pod.pod_data.requests)
    return total


def _is_ephemeral_taint(taint: Taint) -> bool:
    """Return whether a taint goes by itself once the node is initialized."""
    return (taint.key, taint.effect) in _PASSING or taint.key.startswith(_READINESS)
