"""DynamicResources keeps a pod on nodes where the devices of its resource claims can be used.

Claims that have their devices are decided as kube-scheduler does. Which devices a claim would get is not simulated: on
nodes where kube-scheduler would choose some, the verdict is that this lies outside the simulation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kschedweb.engine.cluster import ClusterObjects
from kschedweb.engine.columns import Codes, Ints, Mask, Rows
from kschedweb.engine.devices import ClaimUse, Devices
from kschedweb.engine.framework.diagnosis import Diagnosis
from kschedweb.engine.framework.interface import Cycle, Handle, PostFilterResult, PreFilterResult, Scope, Verdicts
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
from kschedweb.engine.nodematching import matches_any
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.resourceclaim import IMPLICIT_PREFIX, Allocation, Binding, PodClaim, ResourceClaim
from kschedweb.engine.objects.resources import is_extended
from kschedweb.engine.snapshot import Snapshot

MISSING = error("not found")
UNAVAILABLE = unresolvable("resourceclaim not available on the node")
NO_RESOURCE = unresolvable("cannot fit resource")
STALE = unresolvable("cannot schedule extended resource claim")
MAX_RESERVED = 256  # pods that the API server lets share a claim
AVAILABLE_CODE, UNAVAILABLE_CODE, NO_RESOURCE_CODE, STALE_CODE, CHOICE_CODE, CLOCK_CODE = range(6)


class ClaimError(ValueError):
    """A claim of the pod that is not fit for use; the text is the scheduler's."""


@dataclass(slots=True)
class State:
    """The pod's claims, and the resources that it wants from devices where no device plugin has them.

    ``earlier`` is the claim that stood for those resources in an earlier attempt to bind the pod. ``verdicts`` are
    those on all nodes, once they were asked for.
    """

    claims: tuple[ResourceClaim, ...] = ()
    extended: tuple[str, ...] = ()
    earlier: ResourceClaim | None = None
    verdicts: Verdicts | None = None

    @property
    def empty(self) -> bool:
        return not self.claims and not self.extended

    @property
    def all_claims(self) -> tuple[ResourceClaim, ...]:
        return self.claims if self.earlier is None else (*self.claims, self.earlier)

    @property
    def extends_anew(self) -> bool:
        """Whether a claim for the extended resources is still to be made, or to get its devices."""
        return bool(self.extended) and (self.earlier is None or self.earlier.allocation is None)

    @property
    def searches(self) -> bool:
        """Whether kube-scheduler goes through its search for devices, be it for none."""
        return self.extends_anew or any(claim.allocation is None for claim in self.claims)


class DynamicResources:
    name = "DynamicResources"

    def __init__(self, args: dict[str, Any]) -> None:
        pass

    def scope(self, pod: Pod) -> Scope:
        from_devices = pod.resource_claims or any(_is_extended(name) for name in pod.requests)
        return Scope.CLUSTER if from_devices else Scope.NODE

    def pre_enqueue(self, pod: Pod, cluster: ClusterObjects) -> Status:
        try:
            _claims(cluster.devices, pod)
        except ClaimError as problem:
            return unresolvable(str(problem))
        return SUCCESS

    def pre_filter(self, cycle: Cycle) -> PreFilterResult:
        cycle.state[self.name] = State()
        try:
            found = _found(cycle)
        except ClaimError as problem:
            return PreFilterResult(unresolvable(str(problem)))
        if found.empty:
            return PreFilterResult(SKIP)
        refusal = _refusal(cycle.snapshot, found)
        if refusal.ok:
            cycle.state[self.name] = found
        return PreFilterResult(refusal)

    def filter(self, cycle: Cycle, rows: Rows) -> Verdicts:
        state: State | None = cycle.state.get(self.name)
        if state is None:
            return Verdicts.uniform(cycle.size(rows), MISSING)
        if state.empty:
            return Verdicts.uniform(cycle.size(rows))
        if state.verdicts is None:
            statuses = (SUCCESS, UNAVAILABLE, NO_RESOURCE, STALE, _choice(cycle.snapshot, state), _clock(state))
            state.verdicts = Verdicts(_codes(cycle.snapshot, state), statuses)
        return Verdicts(state.verdicts.codes[rows], state.verdicts.statuses)

    def post_filter(self, cycle: Cycle, diagnosis: Diagnosis, handle: Handle) -> PostFilterResult:
        """Take the devices of a claim that nobody else uses, where it keeps the pod off a node: others may suit."""
        state: State | None = cycle.state.get(self.name)
        if state is None:
            return PostFilterResult(MISSING)
        if state.empty:
            return PostFilterResult(unschedulable("no new claims to deallocate"))
        for claim in _in_the_way(cycle.snapshot, state, self._unavailable(diagnosis)):
            if set(claim.reserved_for) <= {cycle.pod.uid}:
                if not handle.explains:
                    cycle.snapshot.resource_claims.change(claim.deallocated())
                return PostFilterResult(unschedulable("deallocation of ResourceClaim completed"))
        if state.earlier is not None:
            if not handle.explains:
                cycle.snapshot.resource_claims.delete(state.earlier)
            return PostFilterResult(unschedulable("deletion of ResourceClaim completed"))
        return PostFilterResult(unschedulable("still not schedulable"))

    def _unavailable(self, diagnosis: Diagnosis) -> Mask:
        """The nodes that were rejected because a claim cannot be used there."""
        nodes = np.zeros(len(diagnosis.names), dtype=np.bool_)
        for position, column in enumerate(diagnosis.filters):
            for code, status in enumerate(column.verdicts):
                if status.plugin == self.name and status.reasons == UNAVAILABLE.reasons:
                    nodes |= (diagnosis.rejected_by == position) & (column.codes == code)
        return nodes

    def score(self, cycle: Cycle, rows: Rows) -> Ints:
        """The sum of what the chosen alternatives are worth; it is asked only where some claim had no devices yet."""
        state: State | None = cycle.state.get(self.name)
        if state is None:
            raise CycleError(f'running Score plugins: plugin "{self.name}" failed with: not found')
        counts = state.verdicts is not None and bool(state.claims) and state.searches
        worth = sum(claim.worth for claim in state.claims) if counts else 0
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

    def pre_bind(self, cycle: Cycle, node: str) -> Status:
        """Reserve the claims for the pod; that devices which have to be made ready will be is taken for granted."""
        pod, claims = cycle.pod, cycle.snapshot.resource_claims
        for found in [claim for claim in _current(cycle) if pod.uid not in claim.reserved_for]:
            claim = claims.get(found.namespace, found.name) or found
            reserved = (*claim.reserved_for, pod.uid)
            if refusal := _too_many(reserved):
                return error(
                    f'add reservation to claim {claim.key}: ResourceClaim.resource.k8s.io "{claim.name}" is invalid: '
                    f"status.reservedFor{refusal}"
                )
            claims.change(claim.reserved(reserved))
        if pod.resource_claims and _current(cycle) and _extended(cycle.snapshot, pod):
            # kube-scheduler makes a claim for the resources that the node's device plugin has, and trips over it.
            return error(f"nil or empty request mappings, no update of pod {pod.key} ExtendedResourceClaimStatus")
        return SUCCESS


def _found(cycle: Cycle) -> State:
    """What the pod asks of devices; raises ClaimError."""
    snapshot, pod = cycle.snapshot, cycle.pod
    extended = _extended(snapshot, pod)
    earlier = snapshot.resource_claims.for_extended_resources(pod.name, pod.uid) if extended else None
    return State(_claims(snapshot.resource_claims, pod), extended, earlier)


def _claims(known: Devices | ClaimUse, pod: Pod) -> tuple[ResourceClaim, ...]:
    """The claims that the pod uses, in its order; raises ClaimError."""
    return tuple(claim for item in pod.resource_claims if (claim := _claim(known, pod, item)) is not None)


def _claim(known: Devices | ClaimUse, pod: Pod, wanted: PodClaim) -> ResourceClaim | None:
    """The claim behind an entry of the pod's ``resourceClaims``, ``None`` where it needs none."""
    if wanted.generated and not wanted.created:
        raise ClaimError(f'pod "{pod.key}": ResourceClaim not created yet')
    if wanted.claim is None:
        if wanted.generated:
            return None
        raise ClaimError(f'pod "{pod.key}", spec.resourceClaim "{wanted.name}": none of the supported fields are set')
    claim = known.get(pod.namespace, wanted.claim)
    if claim is None:
        raise ClaimError(f'could not find ResourceClaim "{pod.namespace}/{wanted.claim}"')
    if claim.terminating:
        raise ClaimError(f'resourceclaim "{claim.name}" is being deleted')
    if wanted.generated and not claim.made_for(pod.uid):
        raise ClaimError(f"ResourceClaim {claim.key} was not created for Pod {pod.key} (Pod is not owner)")
    return claim


def _extended(snapshot: Snapshot, pod: Pod) -> tuple[str, ...]:
    """The extended resources the pod asks for, if a DeviceClass stands for one of them."""
    classes = snapshot.objects.devices.extended_resources
    if not classes:
        return ()
    wanted = tuple(name for name, amount in pod.requests.items() if amount and _is_extended(name))
    return wanted if any(name in classes for name in wanted) else ()


def _is_extended(name: str) -> bool:
    return is_extended(name) or name.startswith(IMPLICIT_PREFIX)


def _refusal(snapshot: Snapshot, state: State) -> Status:
    """Why no node will do: allocations that cannot be parsed, classes that do not exist."""
    for claim in state.all_claims:
        if claim.allocation is not None:
            if claim.allocation.problem:
                return error(claim.allocation.problem)
        elif claim is not state.earlier:
            for request in claim.requests:
                if not request.classes:
                    return unresolvable(f"resource claim {claim.key}, request {request.name}: unknown request type")
                for name, device_class in request.classes:
                    if not device_class:
                        return error(f"request {name}: unsupported request type")
                    if device_class not in snapshot.objects.devices.classes:
                        return unresolvable(f"request {name}: device class {device_class} does not exist")
    return SUCCESS


def _codes(snapshot: Snapshot, state: State) -> Codes:
    """The verdict on every node."""
    size = len(snapshot)
    if state.earlier is not None and state.earlier.requests:
        return np.full(size, STALE_CODE, dtype=np.int32)
    codes = np.full(size, AVAILABLE_CODE, dtype=np.int32)
    if state.claims:
        for claim in state.all_claims:
            _add_allocated(codes, snapshot, claim)
    if any(claim.needs_devices for claim in state.claims):
        codes[:] = CHOICE_CODE
    if state.extended:
        _add_extended(codes, snapshot, state)
    return codes


def _add_allocated(codes: Codes, snapshot: Snapshot, claim: ResourceClaim) -> None:
    """One claim that cannot be used on a node is enough, whatever the others are waiting for."""
    if claim.allocation is not None:
        if claim.allocation.binding is Binding.WAITING and claim.allocation.dated:
            codes[codes == AVAILABLE_CODE] = CLOCK_CODE
        codes[~_usable(snapshot, claim.allocation)] = UNAVAILABLE_CODE


def _usable(snapshot: Snapshot, allocation: Allocation) -> Mask:
    """The nodes on which the devices can be used."""
    if allocation.binding is Binding.FAILED:
        return np.zeros(len(snapshot), dtype=np.bool_)
    if allocation.terms is None:
        return np.ones(len(snapshot), dtype=np.bool_)
    return matches_any(snapshot, allocation.terms)


def _in_the_way(snapshot: Snapshot, state: State, nodes: Mask) -> list[ResourceClaim]:
    """The claims that cannot be used on one of ``nodes``."""
    return [
        claim
        for claim in state.claims
        if claim.allocation is not None and bool((nodes & ~_usable(snapshot, claim.allocation)).any())
    ]


def _add_extended(codes: Codes, snapshot: Snapshot, state: State) -> None:
    """Extended resources come from devices on nodes whose device plugin has none."""
    classes = snapshot.objects.devices.extended_resources
    for name in state.extended:
        if name in classes and state.extends_anew:
            codes[snapshot.amounts(snapshot.allocatable, name) == 0] = CHOICE_CODE
    for name in state.extended:
        if name not in classes:
            codes[~_named(snapshot, name)] = NO_RESOURCE_CODE


def _named(snapshot: Snapshot, resource: str) -> Mask:
    """The nodes that name the resource among what they have, be it 0."""
    named: Mask = np.array([resource in node.allocatable for node in snapshot.nodes], dtype=np.bool_)
    return named


def _choice(snapshot: Snapshot, state: State) -> Status:
    classes = snapshot.objects.devices.extended_resources
    needy = [f"resource claim {claim.key}" for claim in state.claims if claim.needs_devices]
    if state.extends_anew:
        needy += [f"{name} (device class {classes[name]})" for name in state.extended if name in classes]
    return outside(f"devices still have to be chosen for {_listed(needy)}")


def _clock(state: State) -> Status:
    waiting = [claim for claim in state.claims if claim.allocation and claim.allocation.binding is Binding.WAITING]
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
    """What the API server has against this list, "" where nothing."""
    if len(reserved) > MAX_RESERVED:
        return f": Too many: {len(reserved)}: must have at most {MAX_RESERVED} items"
    if reserved[-1] in reserved[:-1]:
        return f'[{len(reserved) - 1}]: Duplicate value: "{reserved[-1]}"'
    return ""
