"""DynamicResources keeps a pod on nodes where the devices of its resource claims can be used.

Claims with allocated devices are treated as kube-scheduler treats them. Allocation of devices is not simulated: on
nodes where kube-scheduler would allocate some, the verdict says that this is outside the simulation.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from kschedweb.engine.config.args import args_struct
from kschedweb.engine.config.specs import ArgsSpec, PluginSpec
from kschedweb.engine.config.types import DURATION, Field
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
from kschedweb.engine.framework.interface import Cycle, Handle, PostFilterResult, PreFilterResult, Scope, Verdicts
from kschedweb.engine.framework.preparation import FreeClaim, Preparation, ReserveClaim
from kschedweb.engine.framework.scoring import default_normalize
from kschedweb.engine.framework.status import (
    SKIP,
    SUCCESS,
    CycleError,
    Status,
    error,
    outside,
    unresolvable,
    unschedulable,
)
from kschedweb.engine.objects.access import mapping
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.resourceclaim import Allocation, BindingState, ResourceClaim
from kschedweb.engine.state.cluster import ClusterObjects
from kschedweb.engine.state.columns import Codes, Ints, Mask, Rows
from kschedweb.engine.state.devices.needs import (
    ClaimError,
    Needs,
    claims_of,
    extended_resources,
    may_be_extended,
    needs_of,
)
from kschedweb.engine.state.nodematching import matches_any
from kschedweb.engine.state.snapshot import Snapshot
from kschedweb.engine.validation.fields import Problem, Typed, child, forbidden, invalid
from kschedweb.engine.validation.golang import SECOND, duration_text

MISSING = error("not found")
NO_ACCESS = "no access"
UNAVAILABLE = unresolvable("resourceclaim not available on the node", about=NO_ACCESS)
NO_RESOURCE = unresolvable("cannot fit resource")
STALE = unresolvable("cannot schedule extended resource claim")
NOTHING_NEW = unschedulable("no new claims to deallocate")
NO_HELP = unschedulable("still not schedulable")
MAX_RESERVED = 256  # pods that the API server lets share a claim
VERDICTS = "DynamicResources.verdicts"
AVAILABLE_CODE, UNAVAILABLE_CODE, NO_RESOURCE_CODE, STALE_CODE, CHOICE_CODE, CLOCK_CODE = range(6)


class DynamicResources:
    name = "DynamicResources"

    def __init__(self, args: dict[str, Any], tells: bool = True) -> None:
        """``tells``: its PostFilter says so where it cannot help."""
        self.nothing_new, self.no_help = (NOTHING_NEW, NO_HELP) if tells else (unschedulable(), unschedulable())

    def events(self) -> list[EventHint]:
        changed = Action.ADD | Action.UPDATE
        return [
            EventHint(ClusterEvent(NODE, Action.ADD | Action.NODE_LABEL | Action.NODE_ALLOCATABLE)),
            EventHint(ClusterEvent(RESOURCE_CLAIM, changed), _after_claim),
            EventHint(ClusterEvent(POD, Action.POD_GENERATED_CLAIM), _after_own_update),
            EventHint(ClusterEvent(DEVICE_CLASS, changed)),
            EventHint(ClusterEvent(RESOURCE_SLICE, changed)),
        ]

    def scope(self, pod: Pod) -> Scope:
        from_devices = pod.resource_claims or any(may_be_extended(name) for name in pod.requests)
        return Scope.CLUSTER if from_devices else Scope.NODE

    def pre_enqueue(self, pod: Pod, cluster: ClusterObjects) -> Status:
        try:
            claims_of(cluster.devices, pod)
        except ClaimError as problem:
            return unresolvable(str(problem))
        return SUCCESS

    def pre_filter(self, cycle: Cycle) -> PreFilterResult:
        cycle.state[self.name] = Needs()
        try:
            found = needs_of(cycle.snapshot, cycle.pod)
        except ClaimError as problem:
            return PreFilterResult(unresolvable(str(problem)))
        if found.empty:
            return PreFilterResult(SKIP)
        refusal = _refusal(cycle.snapshot, found)
        if refusal.ok:
            cycle.state[self.name] = found
        return PreFilterResult(refusal)

    def filter(self, cycle: Cycle, rows: Rows) -> Verdicts:
        needs: Needs | None = cycle.state.get(self.name)
        if needs is None:
            return Verdicts.uniform(cycle.size(rows), MISSING)
        if needs.empty:
            return Verdicts.uniform(cycle.size(rows))
        verdicts: Verdicts | None = cycle.state.get(VERDICTS)
        if verdicts is None:
            statuses = (SUCCESS, UNAVAILABLE, NO_RESOURCE, STALE, _choice(cycle.snapshot, needs), _clock(needs))
            verdicts = cycle.state[VERDICTS] = Verdicts(_codes(cycle.snapshot, needs), statuses)
        return Verdicts(verdicts.codes[rows], verdicts.statuses)

    def post_filter(self, cycle: Cycle, diagnosis: Diagnosis, handle: Handle) -> PostFilterResult:
        """Deallocate a claim that nobody else uses if it keeps the pod off a node: other devices may suit."""
        needs: Needs | None = cycle.state.get(self.name)
        if needs is None:
            return PostFilterResult(MISSING)
        if needs.empty:
            return PostFilterResult(self.nothing_new)
        for claim in _in_the_way(cycle.snapshot, needs, self._unavailable(diagnosis)):
            if set(claim.reserved_for) <= {cycle.pod.uid}:
                if not (handle.explains or handle.elsewhere):
                    cycle.snapshot.resource_claims.change(claim.deallocated())
                said = unschedulable("deallocation of ResourceClaim completed")
                return PostFilterResult(said, frees=(FreeClaim(claim.namespace, claim.name),))
        if needs.earlier is not None and not handle.elsewhere:  # only kube-scheduler makes such claims
            if not handle.explains:
                cycle.snapshot.resource_claims.delete(needs.earlier)
            return PostFilterResult(unschedulable("deletion of ResourceClaim completed"))
        return PostFilterResult(self.no_help)

    def _unavailable(self, diagnosis: Diagnosis) -> Mask:
        """The nodes that were rejected because a claim cannot be used there."""
        nodes = np.zeros(len(diagnosis.names), dtype=np.bool_)
        for position, column in enumerate(diagnosis.filters):
            for code, status in enumerate(column.verdicts):
                if status.plugin == self.name and status.reasons == UNAVAILABLE.reasons:
                    nodes |= (diagnosis.rejected_by == position) & (column.codes == code)
        return nodes

    def score(self, cycle: Cycle, rows: Rows) -> Ints:
        """The sum of the scores of the chosen alternatives. Called only if some claim had no devices yet."""
        needs: Needs | None = cycle.state.get(self.name)
        if needs is None:
            raise CycleError(f'running Score plugins: plugin "{self.name}" failed with: not found')
        counts = VERDICTS in cycle.state and bool(needs.claims) and needs.searches
        worth = sum(claim.worth for claim in needs.claims) if counts else 0
        return np.full(cycle.size(rows), worth, dtype=np.int64)

    def normalize_score(self, cycle: Cycle, rows: Rows, scores: Ints) -> Ints:
        return default_normalize(scores)

    def reserve(self, cycle: Cycle, node: str) -> Status:
        return SUCCESS

    def unreserve(self, cycle: Cycle, node: str) -> None:
        uid = cycle.pod.uid
        for claim in _current(cycle):
            if uid in claim.reserved_for and claim.allocation is not None:
                left = tuple(other for other in claim.reserved_for if other != uid)
                cycle.snapshot.resource_claims.change(claim.reserved(left))

    def preparations(self, cycle: Cycle, node: str) -> list[Preparation]:
        return [ReserveClaim(claim.namespace, claim.name) for claim in _unreserved(cycle)]

    def pre_bind(self, cycle: Cycle, node: str) -> Status:
        """Reserve the claims for the pod. Devices that must be prepared are assumed to become ready."""
        pod, claims = cycle.pod, cycle.snapshot.resource_claims
        for found in _unreserved(cycle):
            claim = claims.get(found.namespace, found.name) or found
            reserved = (*claim.reserved_for, pod.uid)
            if refusal := _too_many(reserved):
                return error(
                    f'add reservation to claim {claim.key}: ResourceClaim.resource.k8s.io "{claim.name}" is invalid: '
                    f"status.reservedFor{refusal}"
                )
            claims.change(claim.reserved(reserved))
        if pod.resource_claims and _current(cycle) and extended_resources(cycle.snapshot, pod):
            # kube-scheduler makes a claim even for resources that the node's device plugin has, and then fails on it.
            return error(f"nil or empty request mappings, no update of pod {pod.key} ExtendedResourceClaimStatus")
        return SUCCESS


def _unreserved(cycle: Cycle) -> list[ResourceClaim]:
    """The pod's claims that are not reserved for it yet."""
    return [claim for claim in _current(cycle) if cycle.pod.uid not in claim.reserved_for]


def _refusal(snapshot: Snapshot, needs: Needs) -> Status:
    """The status that refuses all nodes: an allocation cannot be parsed, or a class does not exist."""
    for claim in needs.all_claims:
        if claim.allocation is not None:
            if claim.allocation.problem:
                return error(claim.allocation.problem)
        elif claim is not needs.earlier:
            for request in claim.requests:
                if not request.classes:
                    return unresolvable(f"resource claim {claim.key}, request {request.name}: unknown request type")
                for name, device_class in request.classes:
                    if not device_class:
                        return error(f"request {name}: unsupported request type")
                    if device_class not in snapshot.objects.devices.classes:
                        return unresolvable(f"request {name}: device class {device_class} does not exist")
    return SUCCESS


def _codes(snapshot: Snapshot, needs: Needs) -> Codes:
    """The verdict on every node."""
    size = len(snapshot)
    if needs.earlier is not None and needs.earlier.requests:
        return np.full(size, STALE_CODE, dtype=np.int32)
    codes = np.full(size, AVAILABLE_CODE, dtype=np.int32)
    if needs.claims:
        for claim in needs.all_claims:
            _add_allocated(codes, snapshot, claim)
    if any(claim.needs_devices for claim in needs.claims):
        codes[:] = CHOICE_CODE
    if needs.extended:
        _add_extended(codes, snapshot, needs)
    return codes


def _add_allocated(codes: Codes, snapshot: Snapshot, claim: ResourceClaim) -> None:
    """One claim that cannot be used on a node rejects the node, whatever the state of the other claims."""
    if claim.allocation is not None:
        if claim.allocation.binding is BindingState.WAITING and claim.allocation.dated:
            codes[codes == AVAILABLE_CODE] = CLOCK_CODE
        codes[~_usable(snapshot, claim.allocation)] = UNAVAILABLE_CODE


def _usable(snapshot: Snapshot, allocation: Allocation) -> Mask:
    """The nodes on which the devices can be used."""
    if allocation.binding is BindingState.FAILED:
        return np.zeros(len(snapshot), dtype=np.bool_)
    if allocation.terms is None:
        return np.ones(len(snapshot), dtype=np.bool_)
    return matches_any(snapshot, allocation.terms)


def _in_the_way(snapshot: Snapshot, needs: Needs, nodes: Mask) -> list[ResourceClaim]:
    """The claims that cannot be used on some node of ``nodes``."""
    return [
        claim
        for claim in needs.claims
        if claim.allocation is not None and bool((nodes & ~_usable(snapshot, claim.allocation)).any())
    ]


def _add_extended(codes: Codes, snapshot: Snapshot, needs: Needs) -> None:
    """Add verdicts on extended resources, which come from devices on nodes whose device plugin has none."""
    classes = snapshot.objects.devices.extended_resources
    for name in needs.extended:
        if name in classes and needs.extends_anew:
            codes[snapshot.amounts(snapshot.allocatable, name) == 0] = CHOICE_CODE
    for name in needs.extended:
        if name not in classes:
            codes[~_named(snapshot, name)] = NO_RESOURCE_CODE


def _named(snapshot: Snapshot, resource: str) -> Mask:
    """The nodes whose allocatable lists the resource, even with 0."""
    named: Mask = np.array([resource in node.allocatable for node in snapshot.nodes], dtype=np.bool_)
    return named


def _choice(snapshot: Snapshot, needs: Needs) -> Status:
    classes = snapshot.objects.devices.extended_resources
    needy = [f"resource claim {claim.key}" for claim in needs.claims if claim.needs_devices]
    if needs.extends_anew:
        needy += [f"{name} (device class {classes[name]})" for name in needs.extended if name in classes]
    return outside(f"devices still have to be chosen for {_listed(needy)}")


def _clock(needs: Needs) -> Status:
    waiting = [claim for claim in needs.claims if claim.allocation and claim.allocation.binding is BindingState.WAITING]
    names = _listed([f"resource claim {claim.key}" for claim in waiting])
    return outside(f"the time by which the devices of {names} have to be ready")


def _current(cycle: Cycle) -> list[ResourceClaim]:
    """The pod's claims as they are now."""
    claims = cycle.snapshot.resource_claims
    found = [
        claims.get(cycle.pod.namespace, item.claim) for item in cycle.pod.resource_claims if item.claim is not None
    ]
    return [claim for claim in found if claim is not None]


def _listed(names: list[str]) -> str:
    return " and ".join(names)


def _too_many(reserved: tuple[str, ...]) -> str:
    """The API server's objection to this list; "" if there is none."""
    if len(reserved) > MAX_RESERVED:
        return f": Too many: {len(reserved)}: must have at most {MAX_RESERVED} items"
    if reserved[-1] in reserved[:-1]:
        return f'[{len(reserved) - 1}]: Duplicate value: "{reserved[-1]}"'
    return ""


def _after_claim(pod: Pod, change: ObjectChange) -> bool:
    """Devices came free, or the status of a claim of the pod changed."""
    try:
        used = claims_of(change.cluster.devices, pod)
    except ClaimError:
        return False
    old, new = _typed(change.old), _typed(change.new)
    if old.allocation is not None and new.allocation is None:
        return True
    mine = any(claim.key == new.key for claim in used)
    return mine and (change.old is None or _status(change.old) != _status(change.new))


def _typed(claim: Any) -> ResourceClaim:
    return claim if isinstance(claim, ResourceClaim) else ResourceClaim.read(claim or {})


def _status(claim: Any) -> Any:
    if isinstance(claim, ResourceClaim):
        return claim.reserved_for, claim.allocation
    return mapping(claim, "status")


def _after_own_update(pod: Pod, change: ObjectChange) -> bool:
    """The pod's own claims are all there now."""
    if change.new.uid != pod.uid:
        return False
    try:
        claims_of(change.cluster.devices, change.new)
    except ClaimError:
        return False
    return True


ARGS = args_struct(
    "DynamicResourcesArgs",
    "Time limits of dynamic resource allocation.",
    Field(
        "filterTimeout",
        DURATION,
        "Longest time to look for devices on one node; 0s for no limit.",
        pointer=True,
        omit_empty=False,
        default="10s",
    ),
    Field(
        "bindingTimeout",
        DURATION,
        "Longest wait for devices to become ready; at least 1s.",
        pointer=True,
        default="10m0s",
    ),
)


NO_FILTER_TIMEOUT = "DRASchedulingFilterTimeout feature gate is disabled"
NO_BINDING_TIMEOUT = "DRADeviceBindingConditions or DRAResourceClaimDeviceStatus feature gate is disabled"


def _args(release: Any) -> ArgsSpec:
    """The arguments in ``release``: a time limit of a feature whose gate is off has no default and is refused."""
    filters = release.on("DRASchedulerFilterTimeout")
    binds = release.on("DRADeviceBindingConditions") and release.on("DRAResourceClaimDeviceStatus")
    known = release.behaviour.devices_have_binding_timeout

    def set_defaults(args: dict[str, Any]) -> None:
        if filters and args["filterTimeout"] is None:
            args["filterTimeout"] = 10 * SECOND
        if binds and args["bindingTimeout"] is None:
            args["bindingTimeout"] = 600 * SECOND

    def problems(args: dict[str, Any], path: str) -> list[Problem]:
        found = _time_limit(args, path, "filterTimeout", 0, "" if filters else NO_FILTER_TIMEOUT)
        return found + (
            _time_limit(args, path, "bindingTimeout", SECOND, "" if binds else NO_BINDING_TIMEOUT) if known else []
        )

    struct = ARGS if known else replace(ARGS, fields=ARGS.fields[:-1])
    return ArgsSpec(struct, set_defaults, problems)


def _time_limit(args: dict[str, Any], path: str, name: str, least: int, gated: str) -> list[Problem]:
    if args[name] is None:
        return []
    if gated:
        return [forbidden(child(path, name), gated)]
    if args[name] >= least:
        return []
    words = "must be at least 1 second" if least else "must be zero or positive"
    return [invalid(child(path, name), Typed(duration_text(args[name])), words)]


POINTS = frozenset(
    {"preEnqueue", "preFilter", "filter", "postFilter", "podGroupPostFilter", "score", "reserve", "preBind"}
)
SPEC = PluginSpec(
    "DynamicResources",
    POINTS,
    "Finds nodes whose devices satisfy the pod's resource claims, and allocates them.",
    ArgsSpec(ARGS),
    factory=DynamicResources,
    variant=lambda release: {
        "args": _args(release),
        "points": POINTS if release.behaviour.devices_score else POINTS - {"score"},
        "factory": partial(DynamicResources, tells=release.behaviour.tells_of_devices_left),
    },
)
