"""DynamicResources keeps a pod on nodes where the devices of its resource claims can be used or allocated.

Devices are chosen as kube-scheduler chooses them. If the answer depends on something that is not simulated, such as a
selector that is not understood, the verdict says that it is outside the simulation.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from kschedweb.engine.allocation.features import DEFAULTS, Features
from kschedweb.engine.cel import LANGUAGE_1_36, LANGUAGE_SINCE_1_37, LANGUAGE_UP_TO_1_35, Language
from kschedweb.engine.config.release import Behaviour
from kschedweb.engine.config.specs import ArgsSpec, PluginArgs, PluginSpec, PluginVariant
from kschedweb.engine.framework.diagnosis import Diagnosis
from kschedweb.engine.framework.events import (
    DEVICE_CLASS,
    NODE,
    POD,
    RESOURCE_CLAIM,
    RESOURCE_SLICE,
    Action,
    ClusterEvent,
    EventHint,
    ObjectChange,
)
from kschedweb.engine.framework.groups import GroupCycle, GroupHandle, GroupRoom
from kschedweb.engine.framework.interface import (
    SKIPPED,
    Cycle,
    Handle,
    PluginScope,
    PostFilterResult,
    PreFilterResult,
    Verdicts,
)
from kschedweb.engine.framework.preparation import FreeClaim, Preparation
from kschedweb.engine.framework.scoring import default_normalize
from kschedweb.engine.framework.status import SUCCESS, CycleError, Status, error, unresolvable, unschedulable
from kschedweb.engine.objects.devicerequests import DeviceRequest
from kschedweb.engine.objects.json_access import get_mapping
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.resourceclaim import ResourceClaim
from kschedweb.engine.plugins.dynamicresources.arguments import ARGS, args_spec
from kschedweb.engine.plugins.dynamicresources.reserving import (
    choose_devices,
    give_back,
    list_preparations,
    write_claims,
)
from kschedweb.engine.plugins.dynamicresources.verdicts import NO_ACCESS as NO_ACCESS
from kschedweb.engine.plugins.dynamicresources.verdicts import UNAVAILABLE, Judged, judge_nodes, usable_nodes
from kschedweb.engine.state.cluster_objects import ClusterObjects
from kschedweb.engine.state.columns import Ints, Mask, Rows
from kschedweb.engine.state.devices.needs import ClaimError, DeviceNeeds, claims_of, may_be_extended, needs_of
from kschedweb.engine.state.snapshot import Snapshot

MISSING = error("not found")
NOTHING_NEW = unschedulable("no new claims to deallocate")
NO_HELP = unschedulable("still not schedulable")
JUDGED = "DynamicResources.judged"


class DynamicResources:
    name = "DynamicResources"

    def __init__(
        self,
        args: PluginArgs,
        features: Features = DEFAULTS,
        postfilter_message: bool = True,
        claim_delete_requeues: bool = False,
        groups_by_topology: bool = False,
    ) -> None:
        """Take the features and flags of the release.

        ``postfilter_message``: PostFilter gives a message if it cannot help.
        ``claim_delete_requeues``: deleted claims requeue pods.
        ``groups_by_topology``: see ``Release.has_topology_scheduling``.
        """
        self.features, self.groups_by_topology = features, groups_by_topology
        self._claim_delete_requeues = claim_delete_requeues
        self.nothing_new = NOTHING_NEW if postfilter_message else unschedulable()
        self.no_help = NO_HELP if postfilter_message else unschedulable()

    def events(self) -> list[EventHint]:
        changed = Action.ADD | Action.UPDATE
        claim_actions = changed | Action.DELETE if self._claim_delete_requeues else changed
        return [
            EventHint(ClusterEvent(NODE, Action.ADD | Action.NODE_LABEL | Action.NODE_ALLOCATABLE)),
            EventHint(ClusterEvent(RESOURCE_CLAIM, claim_actions), _after_claim),
            EventHint(ClusterEvent(POD, Action.POD_GENERATED_CLAIM), _after_own_update),
            EventHint(ClusterEvent(DEVICE_CLASS, changed)),
            EventHint(ClusterEvent(RESOURCE_SLICE, changed)),
        ]

    def scope(self, pod: Pod) -> PluginScope:
        return PluginScope.CLUSTER if self.concerns(pod) else PluginScope.NODE

    def concerns(self, pod: Pod) -> bool:
        return bool(pod.resource_claims) or any(map(may_be_extended, pod.requests))

    def pre_enqueue(self, pod: Pod, cluster: ClusterObjects) -> Status:
        try:
            claims_of(cluster.devices, pod)
        except ClaimError as problem:
            return unresolvable(str(problem))
        return SUCCESS

    def pre_filter(self, cycle: Cycle) -> PreFilterResult:
        # Written first, so that Filter finds a state even if PreFilter fails below.
        cycle.state[self.name] = DeviceNeeds()
        try:
            needs = needs_of(
                cycle.snapshot, cycle.pod, self.features.list_resource_classes(cycle.snapshot.objects.devices)
            )
        except ClaimError as problem:
            return PreFilterResult(unresolvable(str(problem)))
        if needs.is_empty:
            return SKIPPED
        refusal = _check_claims(cycle.snapshot, needs, self.features)
        if refusal.ok:
            cycle.state[self.name] = needs
        return PreFilterResult(refusal)

    def filter(self, cycle: Cycle, rows: Rows) -> Verdicts:
        needs: DeviceNeeds | None = cycle.state.get(self.name)
        if needs is None:
            return Verdicts.uniform(cycle.num_rows(rows), MISSING)
        if needs.is_empty:
            return Verdicts.uniform(cycle.num_rows(rows))
        # All nodes are judged at once and cached: the allocator shares work between nodes.
        judged: Judged | None = cycle.state.get(JUDGED)
        if judged is None:
            judged = cycle.state[JUDGED] = judge_nodes(cycle.snapshot, cycle.pod, needs, self.features)
        return Verdicts(judged.verdicts.codes[rows], judged.verdicts.statuses)

    def post_filter(self, cycle: Cycle, diagnosis: Diagnosis, handle: Handle) -> PostFilterResult:
        """Deallocate a claim that no other pod uses if it keeps the pod off a node: other devices may suit."""
        needs: DeviceNeeds | None = cycle.state.get(self.name)
        if needs is None:
            return PostFilterResult(MISSING)
        if needs.is_empty:
            return PostFilterResult(self.nothing_new)
        frees = self.frees_for(cycle, diagnosis)
        if not frees:
            return PostFilterResult(self.no_help)
        (claim,) = frees
        if not (handle.explains or handle.elsewhere):
            # An explanation leaves the claim alone, and in a live cluster others deallocate it.
            cycle.snapshot.resource_claims.free_devices(claim.namespace, claim.claim, generated=claim.is_generated)
        action = "deletion" if claim.is_generated else "deallocation"
        status = unschedulable(f"{action} of ResourceClaim completed")
        return PostFilterResult(status, frees=frees if handle.elsewhere or not claim.is_generated else ())

    def frees_for(self, cycle: Cycle, diagnosis: Diagnosis) -> tuple[FreeClaim, ...]:
        """Return the claim to give back, at most one: no other pod uses it, and it keeps the pod off a node."""
        needs: DeviceNeeds = cycle.state.get(self.name) or DeviceNeeds()
        for claim in _list_unusable_claims(cycle.snapshot, needs, self._unavailable_nodes(diagnosis), self.features):
            chosen = cycle.snapshot.resource_claims.in_flight(claim.namespace, claim.name)
            if chosen is None and set(claim.reserved_for) <= {cycle.pod.uid}:
                return (FreeClaim(claim.namespace, claim.name),)
        return (
            ()
            if needs.earlier is None
            else (FreeClaim(needs.earlier.namespace, needs.earlier.name, is_generated=True),)
        )

    def pod_group_post_filter(self, cycle: GroupCycle, handle: GroupHandle) -> GroupRoom:
        """Give back a claim of each pod that was tried, even of a pod that found a node while others did not."""
        if cycle.group.is_composite or (self.groups_by_topology and cycle.group.topology_key):
            return GroupRoom(unschedulable())
        if self.name not in cycle.prepared:
            return GroupRoom(error("not found"))
        frees = {pod.key: cycle.frees.get((self.name, pod.key), ()) for pod in cycle.pods}
        return GroupRoom(unschedulable("deallocation and deletion of ResourceClaims completed"), frees=frees)

    def _unavailable_nodes(self, diagnosis: Diagnosis) -> Mask:
        """Return a mask of the nodes that were rejected because a claim cannot be used there."""
        nodes = np.zeros(len(diagnosis.names), dtype=np.bool_)
        for position, column in enumerate(diagnosis.filters):
            for code, status in enumerate(column.verdicts):
                if status.plugin == self.name and status.reasons == UNAVAILABLE.reasons:
                    nodes |= (diagnosis.rejected_by == position) & (column.codes == code)
        for name, status in diagnosis.extra.items():
            if status.plugin == self.name and status.reasons == UNAVAILABLE.reasons:
                nodes[diagnosis.index[name]] = True
        return nodes

    def score(self, cycle: Cycle, rows: Rows) -> Ints:
        """Return the sum of the scores of the chosen alternatives. Called only if a claim had no devices yet."""
        needs: DeviceNeeds | None = cycle.state.get(self.name)
        if needs is None:
            raise CycleError(f'running Score plugins: plugin "{self.name}" failed with: not found')
        judged: Judged | None = cycle.state.get(JUDGED)
        if judged is None or not needs.claims or not needs.needs_allocator:
            return np.zeros(cycle.num_rows(rows), dtype=np.int64)
        return judged.worth[rows] + sum(claim.worth for claim in needs.claims)

    def normalize_score(self, cycle: Cycle, rows: Rows, scores: Ints) -> Ints:
        return default_normalize(scores)

    def reserve(self, cycle: Cycle, node: str) -> Status:
        return choose_devices(cycle, node, self.features)

    def unreserve(self, cycle: Cycle, node: str) -> None:
        give_back(cycle)

    def preparations(self, cycle: Cycle, node: str) -> list[Preparation]:
        return list_preparations(cycle, self.features)

    def pre_bind(self, cycle: Cycle, node: str) -> Status:
        """Write devices and reservations. Devices that must be prepared are assumed to become ready."""
        return write_claims(cycle, self.features)


def _after_claim(pod: Pod, change: ObjectChange) -> bool:
    """Queue if devices came free, or the status of one of the pod's claims changed."""
    if change.new is None:
        return _to_claim(change.old).allocation is not None
    try:
        used = claims_of(change.cluster.devices, pod)
    except ClaimError:
        return False
    old, new = _to_claim(change.old), _to_claim(change.new)
    # Freed devices may help any pod, not only those that use this claim.
    if old.allocation is not None and new.allocation is None:
        return True
    mine = any(claim.key == new.key for claim in used)
    return mine and (change.old is None or _claim_status(change.old) != _claim_status(change.new))


def _to_claim(claim: Any) -> ResourceClaim:
    return claim if isinstance(claim, ResourceClaim) else ResourceClaim.from_json(claim or {})


def _claim_status(claim: Any) -> Any:
    if isinstance(claim, ResourceClaim):
        return claim.reserved_for, claim.allocation
    return get_mapping(claim, "status")


def _after_own_update(pod: Pod, change: ObjectChange) -> bool:
    """Queue if all of the pod's own claims exist now."""
    if change.new.uid != pod.uid:
        return False
    try:
        claims_of(change.cluster.devices, change.new)
    except ClaimError:
        return False
    return True


def _check_claims(snapshot: Snapshot, needs: DeviceNeeds, features: Features) -> Status:
    """Return the status that refuses all nodes.

    Reasons are an allocation that cannot be parsed, one in progress, and a device class that does not exist.
    """
    for claim in needs.all_claims:
        if claim.allocation is not None:
            if claim.allocation.problem:
                return error(claim.allocation.problem)
        elif snapshot.resource_claims.in_flight(claim.namespace, claim.name) is not None:
            return unresolvable(f"resource claim {claim.key} is in the process of being allocated")
        elif claim is not needs.earlier:
            for request in claim.requests:
                if (refusal := _refused_request(snapshot, claim, request, features)) is not None:
                    return refusal
    if needs.needs_allocator and features.unified_allocator and features.consumable:
        problem = snapshot.resource_claims.describe_negative_amounts()
        return error(f"gather allocation state: {problem}") if problem else SUCCESS
    return SUCCESS


def _refused_request(
    snapshot: Snapshot, claim: ResourceClaim, request: DeviceRequest, features: Features
) -> Status | None:
    prefix = f"resource claim {claim.key}, request {request.name}"
    if not request.choices:
        return unresolvable(f"{prefix}: unknown request type")
    if not request.exact and not features.prioritized:
        return unresolvable(f"{prefix}: has subrequests, but the DRAPrioritizedList feature is disabled")
    for name, device_class in request.device_classes:
        if not device_class:
            return error(f"request {name}: unsupported request type")
        if device_class not in snapshot.objects.devices.classes:
            return unresolvable(f"request {name}: device class {device_class} does not exist")
    return None


def _list_unusable_claims(
    snapshot: Snapshot, needs: DeviceNeeds, nodes: Mask, features: Features
) -> list[ResourceClaim]:
    """Return the claims that cannot be used on some node of ``nodes``."""
    return [
        claim
        for claim in needs.claims
        if claim.allocation is not None and bool((nodes & ~usable_nodes(snapshot, claim.allocation, features)).any())
    ]


def _selector_language(behaviour: Behaviour) -> Language:
    if behaviour.cel_typed_optionals:
        return LANGUAGE_SINCE_1_37
    return LANGUAGE_1_36 if behaviour.cel_includes_function else LANGUAGE_UP_TO_1_35


def _variant(release: Any) -> PluginVariant:
    behaviour = release.behaviour
    features = Features.from_gates(
        release.is_enabled, capacity_error_with_status=behaviour.dra_capacity_error_with_status
    )
    factory = partial(
        DynamicResources,
        features=replace(
            features,
            capacity_error_by_request=behaviour.dra_capacity_error_by_request,
            early_allocator=behaviour.dra_early_allocator,
            node_local_pools=behaviour.dra_node_local_pools,
            revised_allocator=behaviour.dra_revised_allocator,
            unified_allocator=behaviour.dra_unified_allocator,
            language=_selector_language(behaviour),
        ),
        postfilter_message=behaviour.dra_postfilter_message,
        claim_delete_requeues=behaviour.claim_delete_requeues,
        groups_by_topology=release.has_topology_scheduling,
    )
    points = POINTS if behaviour.dra_prioritized_list_scoring else POINTS - {"score"}
    return {"points": points, "args": args_spec(release), "factory": factory}


POINTS = frozenset(
    {"preEnqueue", "preFilter", "filter", "postFilter", "podGroupPostFilter", "score", "reserve", "preBind"}
)
SPEC = PluginSpec(
    "DynamicResources",
    POINTS,
    "Finds nodes whose devices satisfy the pod's resource claims, and allocates them.",
    ArgsSpec(ARGS),
    factory=DynamicResources,
    variant=_variant,
)
