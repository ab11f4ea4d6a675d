"""Claims as prepared for the search: kube-scheduler's validation, and the number of devices wanted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field

from kschedweb.engine.allocation.capacity import CapacityError
from kschedweb.engine.allocation.constraints import Constraint, create_constraint
from kschedweb.engine.allocation.features import Features
from kschedweb.engine.allocation.pools import DeviceCandidate, DevicePool
from kschedweb.engine.allocation.selectors import SelectorError, Selectors
from kschedweb.engine.allocation.taken_devices import TakenDevices
from kschedweb.engine.objects.devicerequests import ALL, EXACT_COUNT, DeviceChoice, DeviceRequest
from kschedweb.engine.objects.resourceclaim import DeviceClass, ResourceClaim
from kschedweb.engine.values import dataclass

# The most devices of one claim (resource.k8s.io's AllocationResultsMaxSize).
MAX_RESULTS = 32
NO_CAPACITY: Mapping[str, int] = {}
NO_SUCH_KEY = "no such key:"
# kube-scheduler adds this hint to an error about a missing key.
HINT = (
    ". consider using CEL optional chaining (.? followed by orValue()) or guarding the check with has() for optional"
    " fields"
)


class AllocationError(Exception):
    """An error that ends the search; the message is kube-scheduler's."""


class UnusablePoolError(AllocationError):
    """An error that ends the search, and since 1.38 refuses the node alone."""


@dataclass(slots=True)
class RequestData:
    """The data of one choice of a request."""

    # The claim and the choice, as errors begin.
    prefix: str
    # The name of the request, and the full name with the alternative.
    request: str
    full: str
    choice: DeviceChoice
    # (expression, its owner for errors), those of the class first.
    selectors: tuple[tuple[str, str], ...]
    capacity: Mapping[str, int]
    # Devices wanted.
    count: int
    # The devices of the mode All, with their pools.
    everything: list[tuple[DevicePool, DeviceCandidate]] = field(default_factory=list)


@dataclass(slots=True)
class ClaimRequests:
    """A claim with the choices of each of its requests."""

    claim: ResourceClaim
    requests: list[list[RequestData]]
    # For each request, True if it has no alternatives.
    exact: list[bool]
    constraints: list[Constraint]

    @property
    def has_distinct_constraints(self) -> bool:
        """True if some of its devices must differ in an attribute."""
        return any(constraint.distinct for constraint in self.claim.constraints)

    @property
    def max_devices(self) -> int:
        """The most devices that a solution can have."""
        return sum(max(request_data.count for request_data in choices) for choices in self.requests)


def selectors_of(claim: ResourceClaim, choice: DeviceChoice, of_class: DeviceClass) -> Iterator[tuple[str, str]]:
    """Yield each expression that a device must meet, with its owner; those of the class come first."""
    for owner, expressions in (
        (f"class {of_class.name}", of_class.selectors),
        (f"claim {claim.key}", choice.selectors),
    ):
        for number, expression in enumerate(expressions):
            yield expression or "", f"{owner}: selector #{number}"


class RequestValidator:
    """Validates claims in their order. Raises AllocationError."""

    def __init__(
        self,
        pools: Sequence[DevicePool],
        classes: Mapping[str, DeviceClass],
        selectors: Selectors,
        features: Features,
        taking: TakenDevices,
    ) -> None:
        self._pools, self._classes, self._selectors = pools, classes, selectors
        self._features, self._taking = features, taking

    def validate_claim(self, claim: ResourceClaim) -> ClaimRequests:
        """Validate one claim, request by request."""
        requests: list[list[RequestData]] = []
        for request in claim.requests:
            requests.append(self._validate_request(claim, request))
            # The revised allocator checks the limit after each request, earlier ones once for the claim.
            if self._features.revised_allocator:
                _check_limit(claim, requests)
        min_devices = sum(min(request_data.count for request_data in choices) for choices in requests)
        if min_devices > MAX_RESULTS and not self._features.revised_allocator:
            problem = f"number of requested devices {min_devices} exceeds the claim limit of {MAX_RESULTS}"
            raise AllocationError(f"claim {claim.key}: {problem}")
        for place, constraint in enumerate(claim.constraints):
            unknown = constraint.distinct and self._features.early_allocator and not self._features.consumable
            if constraint.attribute is None or unknown:
                problem = f"constraint #{place}: empty constraint (unsupported constraint type?)"
                raise AllocationError(f"claim {claim.key}, {problem}")
        options = {
            "count_all_devices": self._features.revised_allocator,
            "compare_devices": self._features.node_local_pools,
            "checks_types": self._features.unified_allocator,
        }
        constraints = [create_constraint(constraint, **options) for constraint in claim.constraints]
        return ClaimRequests(claim, requests, [request.exact for request in claim.requests], constraints)

    def _validate_request(self, claim: ResourceClaim, request: DeviceRequest) -> list[RequestData]:
        if not request.exact and not self._features.prioritized:
            problem = "has subrequests, but the DRAPrioritizedList feature is disabled"
            raise AllocationError(f"claim {claim.key}, request {request.name}: {problem}")
        for choice in request.choices if self._features.refuses_capacity else ():
            if choice.capacity is not None:
                names_request = request.exact or self._features.capacity_error_by_request
                request_label = f"request {request.name}" if names_request else f"subrequest {choice.name}"
                problem = "has capacity requests, but the DRAConsumableCapacity feature is disabled"
                raise AllocationError(f"claim {claim.key}, {request_label}: {problem}")
        return [self._create_request_data(claim, request, choice) for choice in request.choices]

    def _create_request_data(self, claim: ResourceClaim, request: DeviceRequest, choice: DeviceChoice) -> RequestData:
        prefix = f"claim {claim.key}, request {choice.name}"
        for place, expression in enumerate(choice.selectors):
            if expression is None:
                problem = f"selector #{place}: CEL expression empty (unsupported selector type?)"
                raise AllocationError(f"{prefix}, {problem}")
        if choice.sets_admin_access and not self._features.admin:
            raise AllocationError(f"{prefix}: admin access is requested, but the feature is disabled")
        of_class = self._get_class(choice.device_class, prefix)
        capacity = NO_CAPACITY if choice.capacity is None else dict(choice.capacity)
        selectors = tuple(selectors_of(claim, choice, of_class))
        request_data = RequestData(
            prefix, request.name, request.full_name(choice), choice, selectors, capacity, choice.count
        )
        if choice.mode == ALL:
            self._add_everything(request_data)
        elif choice.mode != EXACT_COUNT:
            raise AllocationError(f"{prefix}: unsupported count mode {choice.mode}")
        return request_data

    def _get_class(self, name: str, prefix: str) -> DeviceClass:
        if not name:
            raise AllocationError(f"{prefix}: missing device class name (unsupported request type?)")
        device_class = self._classes.get(name)
        if device_class is None:
            problem = f'deviceclass.resource.k8s.io "{name}" not found'
            raise AllocationError(f"{prefix}: could not retrieve device class {name}: {problem}")
        return device_class

    def _add_everything(self, request_data: RequestData) -> None:
        for pool in self._pools:
            if not pool.is_usable:
                state = "being updated" if pool.incomplete else "invalid"
                problem = f"asks for all devices, but resource pool {pool.name} is currently {state}"
                raise UnusablePoolError(f"{request_data.prefix}: {problem}")
            request_data.everything += [
                (pool, candidate)
                for candidate in pool.devices
                if self.is_selectable(request_data, candidate, unused=self._features.revised_allocator)
            ]
        request_data.count = len(request_data.everything)

    def is_selectable(self, request_data: RequestData, candidate: DeviceCandidate, *, unused: bool = False) -> bool:
        """Return whether the device is for the node, meets the selectors and has room for what is wanted of it.

        With ``unused``, room is counted as if nothing of the device were in use.
        """
        if candidate.device.binding_conditions and not self._features.binding_conditions:
            return False
        for expression, owner in request_data.selectors:
            try:
                if not self._selectors.matches(expression, candidate):
                    return False
            except SelectorError as error:
                on = f" on device {'/'.join(candidate.id)}" if self._features.revised_allocator else ""
                hint = HINT if self._features.revised_allocator and NO_SUCH_KEY in str(error) else ""
                raise AllocationError(f"{owner}{on}: CEL runtime error: {error}{hint}") from None
        if not candidate.is_for_node:
            return False
        try:
            self._taking.check_amounts(request_data.choice, candidate, request_data.capacity)
            return self._taking.has_room(candidate, request_data.capacity, unused=unused)
        except CapacityError as problem:
            device = candidate.id[2] if unused else "/".join(candidate.id)
            problem_text = f"checking capacity for device {device}: {problem}"
            raise AllocationError(f"{request_data.prefix}: {problem_text}") from None


def _check_limit(claim: ResourceClaim, requests: list[list[RequestData]]) -> None:
    """Raise AllocationError if the last of ``requests`` exceeds the devices that a claim can have."""
    *before, last = (min((request_data.count for request_data in choices), default=0) for choices in requests)
    if last > MAX_RESULTS - sum(before):
        problem = f"adding {last} devices exceeds the claim limit of {MAX_RESULTS}, with {sum(before)} already"
        raise AllocationError(f"claim {claim.key}, request {requests[-1][0].request}: {problem} accounted for")
