"""What claims ask for, looked at before the search: kube-scheduler's objections, and how many devices are wanted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field

from kschedweb.engine.allocation.constraints import Constraint, made
from kschedweb.engine.allocation.features import Features
from kschedweb.engine.allocation.pools import Candidate, Pool
from kschedweb.engine.allocation.selecting import SelectorError, Selectors
from kschedweb.engine.allocation.taking import Taking
from kschedweb.engine.objects.devicerequests import ALL, EXACT_COUNT, DeviceChoice, DeviceRequest
from kschedweb.engine.objects.resourceclaim import DeviceClass, ResourceClaim
from kschedweb.engine.values import dataclass

MAX_RESULTS = 32  # devices of one claim
NO_CAPACITY: Mapping[str, int] = {}
NO_SUCH_KEY = "no such key:"
HINT = (
    ". consider using CEL optional chaining (.? followed by orValue()) or guarding the check with has() for optional"
    " fields"
)


class AllocationError(Exception):
    """The search fails for good; the text is kube-scheduler's error."""


@dataclass(slots=True)
class Wanted:
    """One choice of a request. ``everything`` are the devices of the mode All, with their pools.

    ``selectors`` holds (expression, what it is of, for errors), the class's first.
    """

    request: str  # the request's name
    full: str
    choice: DeviceChoice
    selectors: tuple[tuple[str, str], ...]
    capacity: Mapping[str, int]
    count: int
    everything: list[tuple[Pool, Candidate]] = field(default_factory=list)


@dataclass(slots=True)
class Asked:
    """A claim with the choices of each of its requests; ``exact`` says which requests are no alternatives."""

    claim: ResourceClaim
    requests: list[list[Wanted]]
    exact: list[bool]
    constraints: list[Constraint]

    @property
    def distinct(self) -> bool:
        """Whether some of its devices must differ in an attribute."""
        return any(constraint.distinct for constraint in self.claim.constraints)

    @property
    def most(self) -> int:
        """How many devices there can be in a solution."""
        return sum(max(one.count for one in choices) for choices in self.requests)


def selectors_of(claim: ResourceClaim, choice: DeviceChoice, of_class: DeviceClass) -> Iterator[tuple[str, str]]:
    """Each expression that a device has to meet, with what it is of; the class's come first."""
    for owner, expressions in (
        (f"class {of_class.name}", of_class.selectors),
        (f"claim {claim.key}", choice.selectors),
    ):
        for number, expression in enumerate(expressions):
            yield expression or "", f"{owner}: selector #{number}"


class Reading:
    """Looks at claims in their order. Raises AllocationError."""

    def __init__(
        self,
        pools: Sequence[Pool],
        classes: Mapping[str, DeviceClass],
        selectors: Selectors,
        features: Features,
        taking: Taking,
    ) -> None:
        self._pools, self._classes, self._selectors = pools, classes, selectors
        self._features, self._taking = features, taking

    def read(self, claim: ResourceClaim) -> Asked:
        """Look at one claim, request by request."""
        requests: list[list[Wanted]] = []
        for request in claim.requests:
            requests.append(self._request(claim, request))
            if self._features.revised:
                _check_limit(claim, requests)
        least = sum(min(one.count for one in choices) for choices in requests)
        if least > MAX_RESULTS and not self._features.revised:
            problem = f"number of requested devices {least} exceeds the claim limit of {MAX_RESULTS}"
            raise AllocationError(f"claim {claim.key}: {problem}")
        for place, constraint in enumerate(claim.constraints):
            unknown = constraint.distinct and self._features.early and not self._features.consumable
            if constraint.attribute is None or unknown:
                problem = f"constraint #{place}: empty constraint (unsupported constraint type?)"
                raise AllocationError(f"claim {claim.key}, {problem}")
        how = {"remembers": self._features.revised, "by_device": self._features.local}
        constraints = [made(constraint, **how) for constraint in claim.constraints]
        return Asked(claim, requests, [request.exact for request in claim.requests], constraints)

    def _request(self, claim: ResourceClaim, request: DeviceRequest) -> list[Wanted]:
        if not request.exact and not self._features.prioritized:
            problem = "has subrequests, but the DRAPrioritizedList feature is disabled"
            raise AllocationError(f"claim {claim.key}, request {request.name}: {problem}")
        for choice in request.choices if self._features.refuses_capacity else ():
            if choice.capacity is not None:
                plainly = request.exact or self._features.plainly
                what = f"request {request.name}" if plainly else f"subrequest {choice.name}"
                problem = "has capacity requests, but the DRAConsumableCapacity feature is disabled"
                raise AllocationError(f"claim {claim.key}, {what}: {problem}")
        return [self._wanted(claim, request, choice) for choice in request.choices]

    def _wanted(self, claim: ResourceClaim, request: DeviceRequest, choice: DeviceChoice) -> Wanted:
        said = f"claim {claim.key}, request {choice.name}"
        for place, expression in enumerate(choice.selectors):
            if expression is None:
                problem = f"selector #{place}: CEL expression empty (unsupported selector type?)"
                raise AllocationError(f"{said}, {problem}")
        if choice.says_admin and not self._features.admin:
            raise AllocationError(f"{said}: admin access is requested, but the feature is disabled")
        of_class = self._class(choice.device_class, said)
        capacity = NO_CAPACITY if choice.capacity is None else dict(choice.capacity)
        selectors = tuple(selectors_of(claim, choice, of_class))
        wanted = Wanted(request.name, request.full_name(choice), choice, selectors, capacity, choice.count)
        if choice.mode == ALL:
            self._add_everything(wanted, said)
        elif choice.mode != EXACT_COUNT:
            raise AllocationError(f"{said}: unsupported count mode {choice.mode}")
        return wanted

    def _class(self, name: str, said: str) -> DeviceClass:
        if not name:
            raise AllocationError(f"{said}: missing device class name (unsupported request type?)")
        found = self._classes.get(name)
        if found is None:
            problem = f'deviceclass.resource.k8s.io "{name}" not found'
            raise AllocationError(f"{said}: could not retrieve device class {name}: {problem}")
        return found

    def _add_everything(self, wanted: Wanted, said: str) -> None:
        for pool in self._pools:
            if not pool.usable:
                state = "being updated" if pool.incomplete else "invalid"
                problem = f"asks for all devices, but resource pool {pool.name} is currently {state}"
                raise AllocationError(f"{said}: {problem}")
            wanted.everything += [
                (pool, one) for one in pool.devices if self.suits(wanted, one, unused=self._features.revised)
            ]
        wanted.count = len(wanted.everything)

    def suits(self, wanted: Wanted, one: Candidate, *, unused: bool = False) -> bool:
        """Whether selectors accept the device, and it is for the node and has room for what is wanted of it.

        ``unused``: whether it would have room if nothing of it were in use.
        """
        if one.device.binding_conditions and not self._features.binding_conditions:
            return False
        for expression, of in wanted.selectors:
            try:
                if not self._selectors.matches(expression, one):
                    return False
            except SelectorError as error:
                on = f" on device {'/'.join(one.id)}" if self._features.revised else ""
                hint = HINT if self._features.revised and NO_SUCH_KEY in str(error) else ""
                raise AllocationError(f"{of}{on}: CEL runtime error: {error}{hint}") from None
        return one.here and self._taking.has_room(one, wanted.capacity, unused=unused)


def _check_limit(claim: ResourceClaim, requests: list[list[Wanted]]) -> None:
    """Raises AllocationError where the last of ``requests`` makes more devices than a claim can have."""
    *before, last = (min((one.count for one in choices), default=0) for choices in requests)
    if last > MAX_RESULTS - sum(before):
        problem = f"adding {last} devices exceeds the claim limit of {MAX_RESULTS}, with {sum(before)} already"
        raise AllocationError(f"claim {claim.key}, request {requests[-1][0].request}: {problem} accounted for")
