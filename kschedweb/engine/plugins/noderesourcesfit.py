"""NodeResourcesFit rejects nodes without room for the pod's requests, and scores nodes by their use with the pod.

Strategies: LeastAllocated, MostAllocated, RequestedToCapacityRatio.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from kschedweb.engine.config.args import (
    RESOURCE,
    SHAPE_POINT,
    args_struct,
    default_resources,
    set_default_weights,
    shape_problems,
)
from kschedweb.engine.config.specs import ArgsSpec, PluginArgs, PluginSpec, PluginVariant
from kschedweb.engine.config.types import STRING, ListType, Struct, StructField, text
from kschedweb.engine.framework.events import (
    DEVICE_CLASS,
    NODE,
    POD,
    Action,
    ClusterEvent,
    EventHint,
    ObjectChange,
    has_place,
)
from kschedweb.engine.framework.groups import Assignment, Domain, GroupCycle
from kschedweb.engine.framework.interface import PASSED, Cycle, PluginScope, PreFilterResult, Verdicts
from kschedweb.engine.framework.scoring import (
    MAX_NODE_SCORE,
    add_saturating,
    broken_line,
    divide_toward_zero,
    exact_share_of,
    round_half_away,
    share_of,
)
from kschedweb.engine.framework.status import SUCCESS, Code, Status, error
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import get_mapping
from kschedweb.engine.objects.node import Node
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.resources import CPU, MEMORY, is_extended, is_scalar
from kschedweb.engine.state.cluster_objects import ClusterObjects
from kschedweb.engine.state.columns import Ints, Mask, Rows, unique_inverse
from kschedweb.engine.state.nodecolumns import BASIC
from kschedweb.engine.state.snapshot import Snapshot
from kschedweb.engine.validation.fields import Problem, Typed, child_path, forbidden, invalid, required, unsupported
from kschedweb.engine.validation.labels import name_complaints
from kschedweb.engine.values import dataclass

TOO_MANY_PODS, PODS = "Too many pods", "pods"
MISSING = error('error reading "PreFilterNodeResourcesFit" from cycleState: not found')
# Failures that fit into an int64, at two bits each.
_BITS = 31
LEAST_ALLOCATED, MOST_ALLOCATED, RATIO = "LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"


class Failure(NamedTuple):
    """One reason for rejection."""

    # Nodes without room now.
    reason: str
    # Nodes that would have no room even if they were empty.
    short: Mask
    never: Mask | None = None
    resource: str | None = None


@dataclass(frozen=True, slots=True)
class BoundAmounts:
    """The resources that a pod already has on its node."""

    # Number of nodes in the snapshot.
    nodes: int
    # Position of the pod's node.
    node: int
    amounts: Mapping[str, int]

    def missing_amounts(self, name: str, requested: int) -> Ints:
        """Return the amount that the pod needs of each node to have as much as ``requested``."""
        missing = np.full(self.nodes, requested, dtype=np.int64)
        missing[self.node] = max(0, requested - self.amounts.get(name, 0))
        return missing


class NodeResourcesFit:
    name = "NodeResourcesFit"

    def __init__(
        self,
        args: PluginArgs,
        delegates_extended_resources: bool = True,
        implicit_resources_kept: bool = False,
        resize_preemption: bool = False,
        pod_level_score: bool = False,
        saturating_amounts: bool = False,
        shrunk_node_hint: bool = False,
    ) -> None:
        """Read the arguments; the flags depend on the release.

        ``delegates_extended_resources``: an extended resource that a DeviceClass provides is left to DynamicResources.
        ``implicit_resources_kept``: see ``Devices.list_resource_classes``.
        ``resize_preemption``: on its own node a pod needs only the amounts that it does not have yet.
        ``pod_level_score``: see ``Behaviour.fit_score_pod_level``.
        ``saturating_amounts``: see ``Behaviour.saturating_amounts``.
        ``shrunk_node_hint``: see ``Behaviour.shrunk_node_hint``.
        """
        self.shrunk_node_hint = shrunk_node_hint
        self.pod_level_score, self.saturating_amounts = pod_level_score, saturating_amounts
        self.delegates_extended_resources = delegates_extended_resources
        self.implicit_resources_kept = implicit_resources_kept
        self.resize_preemption = resize_preemption
        self.ignored = frozenset(args.get("ignoredResources") or ())
        self.ignored_groups = frozenset(args.get("ignoredResourceGroups") or ())
        strategy = args.get("scoringStrategy") or {}
        self.strategy = strategy.get("type", LEAST_ALLOCATED)
        resources = strategy.get("resources") or [{"name": CPU, "weight": 1}, {"name": MEMORY, "weight": 1}]
        self.resources = [(item["name"], int(item.get("weight") or 1)) for item in resources]
        self.curve = broken_line((strategy.get("requestedToCapacityRatio") or {}).get("shape") or [])

    def events(self) -> list[EventHint]:
        return [
            EventHint(ClusterEvent(POD, Action.DELETE | Action.POD_SCALE_DOWN), _after_pod),
            EventHint(ClusterEvent(NODE, Action.ADD | Action.NODE_ALLOCATABLE), self._after_node),
            EventHint(ClusterEvent(DEVICE_CLASS, Action.ADD | Action.UPDATE), _after_device_class),
        ]

    def _after_node(self, pod: Pod, change: ObjectChange) -> bool:
        return _after_node(pod, change) or (self.shrunk_node_hint and _is_nominated_too_small(pod, change))

    def scope(self, pod: Pod) -> PluginScope:
        return PluginScope.ROOM

    def pre_filter(self, cycle: Cycle) -> PreFilterResult:
        cycle.state[self.name] = cycle.pod.requests
        return PASSED

    def filter(self, cycle: Cycle, rows: Rows) -> Verdicts:
        if self.name not in cycle.state:
            return Verdicts.uniform(cycle.num_rows(rows), MISSING)
        snapshot = cycle.snapshot
        full = snapshot.pod_count[rows] >= snapshot.pod_limit[rows]
        failures = [Failure(TOO_MANY_PODS, full, resource=PODS)] if full.any() else []
        bound = self._bound_amounts(cycle)
        classes = snapshot.objects.devices.list_resource_classes(self.implicit_resources_kept)
        for name, request in self._checked_requests(cycle.state[self.name]):
            allocatable = snapshot.resource_row(snapshot.allocatable, name)[rows]
            missing = request if bound is None else bound.missing_amounts(name, request)[rows]
            short = missing > allocatable - snapshot.resource_row(snapshot.requested, name)[rows]
            if name not in BASIC:
                # A scalar resource that the pod does not need is not checked, even if it is overcommitted.
                short &= missing != 0
            if self.delegates_extended_resources and name in classes:
                short &= allocatable > 0  # elsewhere DynamicResources decides
            if not short.any():
                continue
            # The original compares the whole request for CPU, memory and ephemeral storage, but the missing part for
            # the others.
            never = (request if name in BASIC else missing) > allocatable
            failures.append(Failure(f"Insufficient {name}", short, never, name))
        return combine_failures(failures) if failures else Verdicts.uniform(cycle.num_rows(rows))

    def _bound_amounts(self, cycle: Cycle) -> BoundAmounts | None:
        """Return the resources that the pod already has; ``None`` if it is on no node."""
        node = cycle.snapshot.index.get(cycle.pod.node_name) if self.resize_preemption and cycle.pod.node_name else None
        if node is None or cycle.pod.key not in cycle.snapshot.pods.slots:
            return None
        return BoundAmounts(len(cycle.snapshot), node, cycle.snapshot.get_pod(cycle.pod.key).occupied)

    def _checked_requests(self, requests: dict[str, int]) -> list[tuple[str, int]]:
        basic = [(name, requests[name]) for name in BASIC if requests.get(name, 0) > 0]
        return basic + [
            (name, amount)
            for name, amount in sorted(requests.items())
            if amount != 0 and is_scalar(name) and not self._is_ignored(name)
        ]

    def _is_ignored(self, name: str) -> bool:
        return is_extended(name) and (name in self.ignored or name.partition("/")[0] in self.ignored_groups)

    def pre_score(self, cycle: Cycle, rows: Rows) -> Status:
        return SUCCESS

    def score(self, cycle: Cycle, rows: Rows) -> Ints:
        """Return the weighted mean over the configured resources that the node has; 0 to 100."""
        totals = np.zeros(cycle.num_rows(rows), dtype=np.int64)
        weights: Ints | int = 0
        for name, weight in self.resources:
            requested, allocatable = self.requested_after(cycle, rows, name)
            # A fast path: if every node has the resource, no mask is needed. The result is the same.
            if self.strategy != RATIO and allocatable.all():
                resource_score = self.score_resource(requested, allocatable)
                totals += resource_score if weight == 1 else resource_score * weight
                weights = weights + weight
                continue
            counts = allocatable != 0
            resource_score = self.score_resource(requested, np.maximum(allocatable, 1))
            if self.strategy == RATIO:
                # As `buildRequestedToCapacityRatioScorerFunction`: a resource with the score 0 is left out of the mean.
                counts &= resource_score > 0
            totals += resource_score * counts * weight
            weights = weights + counts * weight
        weights = np.maximum(weights, 1)
        if self.strategy == RATIO:
            return round_half_away(totals / weights)
        # What wrapped around can be negative.
        return divide_toward_zero(totals, weights) if totals.size and totals.min() < 0 else totals // weights

    def score_placement(self, cycle: GroupCycle, domain: Domain, assigned: Sequence[Assignment]) -> int:
        """Return the use of the domain's nodes together, with the pods assigned there; 0 to 100."""
        snapshot, total, weights = cycle.snapshot, 0, 0
        for name, weight in self.resources:
            pod_requests = sum(self.scoring_requests(pod).get(name, 0) for pod, _ in assigned)
            if pod_requests == 0 and is_scalar(name):
                continue
            amounts = snapshot.resource_row(snapshot.allocatable, name)[domain.nodes]
            used = _requested_for_scoring(snapshot, name)[domain.nodes]
            allocatable, requested = int(amounts.sum()), pod_requests + int(used[amounts != 0].sum())
            if allocatable:
                total += weight * (min(requested, allocatable) * MAX_NODE_SCORE // allocatable)
                weights += weight
        return total // weights if weights else 0

    def score_resource(self, requested: Ints, allocatable: Ints) -> Ints:
        """Return the score of one resource, 0 to 100, for nodes with allocatable above 0."""
        take_share = share_of
        if self.saturating_amounts:
            requested, take_share = np.maximum(requested, 0), exact_share_of
        if self.strategy == LEAST_ALLOCATED:
            return take_share(np.maximum(allocatable - requested, 0), allocatable, MAX_NODE_SCORE)
        share = take_share(np.minimum(requested, allocatable), allocatable, MAX_NODE_SCORE)
        return share if self.strategy == MOST_ALLOCATED else self.curve[np.clip(share, 0, MAX_NODE_SCORE)]

    def scoring_requests(self, pod: Pod) -> dict[str, int]:
        """Return the requests of the pod that its score counts."""
        return pod.pod_level_scoring_requests if self.pod_level_score else pod.scoring_requests

    def requested_after(self, cycle: Cycle, rows: Rows, name: str) -> tuple[Ints, Ints]:
        """Return (requested with the pod, allocatable) of one resource; allocatable is 0 where the resource does not
        count.
        """
        snapshot: Snapshot = cycle.snapshot
        request = self.scoring_requests(cycle.pod).get(name, 0)
        allocatable = snapshot.resource_row(snapshot.allocatable, name)[rows]
        if request == 0 and is_scalar(name):
            allocatable = np.zeros_like(allocatable)
        used = _requested_for_scoring(snapshot, name)[rows]
        return add_saturating(used, request) if self.saturating_amounts else used + request, allocatable


def _requested_for_scoring(snapshot: Snapshot, name: str) -> Ints:
    """Return the requests on each node for scoring, with defaults for CPU and memory."""
    if name in (CPU, MEMORY):
        used: Ints = snapshot.nonzero[0 if name == CPU else 1]
        return used
    return snapshot.resource_row(snapshot.requested, name)


def combine_failures(failures: list[Failure]) -> Verdicts:
    """Return one status for each combination of failures that occurs; unresolvable if the node can never have room."""
    kinds, codes = _find_combinations(failures[:_BITS])
    for begin in range(_BITS, len(failures), _BITS):
        more, places = _find_combinations(failures[begin : begin + _BITS])
        pairs, codes = unique_inverse(codes * len(more) + places)
        kinds = [kinds[pair // len(more)] | more[pair % len(more)] << 2 * begin for pair in pairs.tolist()]
    statuses = [SUCCESS]
    table = np.zeros(len(kinds), dtype=np.int32)
    for position, kind in enumerate(kinds):
        if kind:
            table[position] = len(statuses)
            statuses.append(_failure_status(failures, kind))
    return Verdicts(table[codes], statuses)


def _find_combinations(failures: list[Failure]) -> tuple[list[int], Ints]:
    """Return the combinations that occur, two bits per failure, and the index of each node's combination."""
    # Two bits per failure: one for a node without room now, one for a node that never has it.
    bits = np.zeros(len(failures[0].short), dtype=np.int64)
    for position, (_, short, never, _) in enumerate(failures):
        bits |= short.astype(np.int64) << (2 * position)
        if never is not None:
            bits |= (short & never).astype(np.int64) << (2 * position + 1)
    kinds, codes = unique_inverse(bits)
    return kinds.tolist(), codes


def _failure_status(failures: list[Failure], kind: int) -> Status:
    occurring = [failure for position, failure in enumerate(failures) if kind >> (2 * position) & 1]
    never = any(kind >> (2 * position + 1) & 1 for position in range(len(failures)))
    code = Code.UNRESOLVABLE if never else Code.UNSCHEDULABLE
    return Status(
        code, tuple(failure.reason for failure in occurring), facts=tuple(failure.resource for failure in occurring)
    )


def _after_pod(pod: Pod, change: ObjectChange) -> bool:
    """Queue if a pod left its node, or requests less of a resource that this pod requests."""
    if change.new is None:
        return has_place(change.old)
    if change.new.uid == pod.uid:
        return True
    if not change.new.node_name:
        return False
    before, after = change.old.occupied, change.new.occupied
    return any(
        before.get(name, 0) > max(after.get(name, 0), 0)
        for name, amount in pod.occupied.items()
        if amount and (name in BASIC or is_scalar(name))
    )


def _after_node(pod: Pod, change: ObjectChange) -> bool:
    """Queue if the pod fits the empty node and, for an update, a requested resource has grown."""
    if not _fits_empty_node(pod, change.new, change.cluster):
        return False
    requests, old, new = _checked_amounts(pod), change.old, change.new
    if old is None or any(_is_delegated(change.cluster, name, new) for name in requests):
        return True
    return any(new.allocatable.get(name, 0) > old.allocatable.get(name, 0) for name in ("pods", *requests))


def _is_nominated_too_small(pod: Pod, change: ObjectChange) -> bool:
    """Queue if a pod without a group waits for room on the node, which fitted it when empty, but no longer does.

    Only amounts of CPU, memory and ephemeral storage count: drivers of devices take theirs away for a moment.
    """
    old, new = change.old, change.new
    if old is None or pod.scheduling_group or pod.nominated_node != new.name:
        return False
    is_too_small = any(pod.requests.get(name, 0) > new.allocatable.get(name, 0) for name in BASIC)
    return is_too_small and _fits_empty_node(pod, old, change.cluster)


def _checked_amounts(pod: Pod) -> dict[str, int]:
    """Return the requests that are compared with a node."""
    return {
        name: amount
        for name, amount in pod.requests.items()
        if (amount > 0 if name in BASIC else amount != 0 and is_scalar(name))
    }


def _fits_empty_node(pod: Pod, node: Node, cluster: ClusterObjects) -> bool:
    return node.allocatable.get("pods", 0) >= 1 and all(
        amount <= node.allocatable.get(name, 0) or _is_delegated(cluster, name, node)
        for name, amount in _checked_amounts(pod).items()
    )


def _is_delegated(cluster: ClusterObjects, name: str, node: Node) -> bool:
    """Return whether a DeviceClass provides the extended resource because the node itself has none."""
    return (
        is_extended(name)
        and node.allocatable.get(name, 0) <= 0
        and any(name in _resource_names(raw) for raw in cluster.all("DeviceClass"))
    )


def _resource_names(device_class: Json) -> tuple[str, Any]:
    """Return the extended resources that a DeviceClass provides: the implicit one and the one it names."""
    name = get_mapping(device_class, "metadata").get("name")
    return f"deviceclass.resource.kubernetes.io/{name}", get_mapping(device_class, "spec").get("extendedResourceName")


def _after_device_class(pod: Pod, change: ObjectChange) -> bool:
    """Queue if a DeviceClass now provides an extended resource that the pod requests."""
    implicit, explicit = _resource_names(change.new)
    if change.old is not None and (explicit or "") == (_resource_names(change.old)[1] or ""):
        return False
    return explicit in pod.requests or (change.old is None and implicit in pod.requests)


STRATEGIES = (LEAST_ALLOCATED, MOST_ALLOCATED, RATIO)
RATIO_PARAM = Struct(
    "v1.RequestedToCapacityRatioParam",
    "The scoring function by use.",
    (StructField("shape", ListType(SHAPE_POINT), "Points by increasing use; the score between them is interpolated."),),
)
SCORING_STRATEGY = Struct(
    "v1.ScoringStrategy",
    "How the use of a node becomes a score.",
    (
        StructField(
            "type",
            text("v1.ScoringStrategyType"),
            "LeastAllocated spreads, MostAllocated packs, RequestedToCapacityRatio follows a function of the use. "
            "LeastAllocated where scoringStrategy is left out; needed where it is given.",
            enum=STRATEGIES,
        ),
        StructField("resources", ListType(RESOURCE), "Resources that count; cpu and memory with weight 1 where empty."),
        StructField(
            "requestedToCapacityRatio",
            RATIO_PARAM,
            "Needed for RequestedToCapacityRatio, not allowed with another type.",
            pointer=True,
        ),
    ),
)
ARGS = args_struct(
    "NodeResourcesFitArgs",
    "Which resources must fit, and how their use is scored.",
    StructField(
        "ignoredResources",
        ListType(STRING),
        "Extended resources that need not fit (scoring still sees them).",
        examples=(["example.com/gpu"],),
    ),
    StructField(
        "ignoredResourceGroups",
        ListType(STRING),
        "Prefixes of extended resources that need not fit, as example.com.",
        examples=(["example.com"],),
    ),
    StructField("scoringStrategy", SCORING_STRATEGY, "How the use of a node becomes a score.", pointer=True),
)


def set_defaults(args: PluginArgs) -> None:
    if args["scoringStrategy"] is None:
        args["scoringStrategy"] = {"type": LEAST_ALLOCATED, "resources": None, "requestedToCapacityRatio": None}
    strategy = args["scoringStrategy"]
    strategy["resources"] = strategy["resources"] or default_resources()
    set_default_weights(strategy["resources"])


def validate_args(args: PluginArgs, path: str, strict_capacity_ratio_args: bool = True) -> list[Problem]:
    problems: list[Problem] = []
    for index, name in enumerate(args["ignoredResources"] or ()):
        at = f"{child_path(path, 'ignoredResources')}[{index}]"
        problems += [invalid(at, name, text) for text in name_complaints(name)]
    for index, group in enumerate(args["ignoredResourceGroups"] or ()):
        at = f"{child_path(path, 'ignoredResourceGroups')}[{index}]"
        if "/" in group:
            problems.append(invalid(at, group, "resource group name can't contain '/'"))
        problems += [invalid(at, group, text) for text in name_complaints(group)]
    strategy, at = args["scoringStrategy"], child_path(path, "scoringStrategy")
    problems += _strategy_problems(strategy, at)
    if strict_capacity_ratio_args:
        return problems + _ratio_problems(strategy, f"{at}.requestedToCapacityRatio")
    ratio = strategy["requestedToCapacityRatio"]
    return problems if ratio is None else problems + shape_problems(ratio["shape"] or [], f"{at}.shape")


def _strategy_problems(strategy: Json, path: str) -> list[Problem]:
    problems: list[Problem] = []
    kind = strategy["type"]
    if kind not in STRATEGIES:
        problems.append(unsupported(f"{path}.type", Typed(kind), STRATEGIES))
    for index, resource in enumerate(strategy["resources"]):
        if not 0 < resource["weight"] <= 100:
            detail = f"resource weight of {resource['name']} not in valid range (0, 100]"
            problems.append(invalid(f"{path}.resources[{index}].weight", resource["weight"], detail))
    return problems


def _ratio_problems(strategy: Json, path: str) -> list[Problem]:
    ratio = strategy["requestedToCapacityRatio"]
    if strategy["type"] != RATIO:
        detail = "must be nil when type is not RequestedToCapacityRatio"
        return [] if ratio is None else [forbidden(path, detail)]
    if ratio is None:
        return [required(path, "must be specified when type is RequestedToCapacityRatio")]
    return shape_problems(ratio["shape"] or [], f"{path}.shape")


def _variant(release: Any) -> PluginVariant:
    checked = partial(validate_args, strict_capacity_ratio_args=release.behaviour.strict_capacity_ratio_args)
    return {
        "args": ArgsSpec(ARGS, set_defaults, checked, when_created=True),
        "factory": partial(
            NodeResourcesFit,
            delegates_extended_resources=release.is_enabled("DRAExtendedResource"),
            implicit_resources_kept=release.behaviour.dra_unified_allocator,
            resize_preemption=release.has_resize_preemption,
            pod_level_score=release.behaviour.fit_score_pod_level,
            saturating_amounts=release.behaviour.saturating_amounts,
            shrunk_node_hint=release.behaviour.shrunk_node_hint,
        ),
    }


SPEC = PluginSpec(
    "NodeResourcesFit",
    frozenset({"preFilter", "filter", "preScore", "score", "placementScore"}),
    "Refuses nodes without enough free resources, and scores nodes by their use.",
    ArgsSpec(ARGS, set_defaults, validate_args, when_created=True),
    factory=NodeResourcesFit,
    variant=_variant,
)
