"""Explanations of why a node has devices for a pod's claims or not: every verdict on every device it sees."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum

from kschedweb.engine.allocation.allocation_search import AllocationSearch
from kschedweb.engine.allocation.allocator import Allocator
from kschedweb.engine.allocation.capacity import Lack
from kschedweb.engine.allocation.pools import DeviceCandidate, DevicePool
from kschedweb.engine.allocation.request_data import NO_CAPACITY, AllocationError, selectors_of
from kschedweb.engine.allocation.result import create_node_selector
from kschedweb.engine.allocation.selectors import SelectorError, UnknownError
from kschedweb.engine.allocation.taken_devices import TakenDevices
from kschedweb.engine.objects.devicerequests import ALL, DeviceChoice, DeviceConstraint, DeviceRequest
from kschedweb.engine.objects.resourceclaim import DeviceClass, DeviceId, ResourceClaim
from kschedweb.engine.objects.taints import find_untolerated
from kschedweb.engine.values import dataclass

IsRefused = Callable[[Sequence[ResourceClaim]], bool]


class ObjectionReason(StrEnum):
    """The reasons why a device cannot be had, selectors aside."""

    # It is for other nodes.
    ELSEWHERE = "elsewhere"
    IN_USE = "inUse"
    # A feature that it needs is off.
    NOT_OFFERED = "notOffered"
    TAINTED = "tainted"
    COUNTERS = "counters"
    CAPACITY = "capacity"
    # It lacks an attribute that a constraint compares.
    ATTRIBUTE = "attribute"


class RefusalReason(StrEnum):
    """The reasons why a search finds no devices."""

    # A request finds too few devices even on its own.
    SHORT = "short"
    # Without this constraint the search would find devices.
    CONSTRAINT = "constraint"
    # Enough devices pass, but not together with what the requests before need.
    TOGETHER = "together"


@dataclass(frozen=True, slots=True)
class SelectorVerdict:
    """A selector's verdict on a device."""

    expression: str
    # "class <name>: selector #0", "claim <key>: selector #0".
    owner: str
    # None if the expression has no answer.
    accepts: bool | None
    # kube-scheduler's error; "" if the expression is outside the simulation.
    problem: str = ""

    @property
    def outside(self) -> bool:
        return self.accepts is None and not self.problem


@dataclass(frozen=True, slots=True)
class Objection:
    """A reason why a device cannot be had."""

    why: ObjectionReason
    # Taints or attributes.
    names: tuple[str, ...] = ()
    # Counters or capacities, in nano-units.
    lacks: tuple[Lack, ...] = ()


@dataclass(frozen=True, slots=True)
class DeviceVerdict:
    """The verdict on one device, for one choice of a request."""

    device: DeviceId
    selectors: tuple[SelectorVerdict, ...]
    objections: tuple[Objection, ...]
    # The claims that have the device or a share of it.
    holders: tuple[str, ...]
    # Its values of the attributes that constraints compare.
    compared: tuple[tuple[str, str], ...]
    chosen: bool
    # The claims and requests for which the search chose it: "claim request".
    chosen_for: tuple[str, ...]

    @property
    def is_accepted(self) -> bool:
        """True if all selectors accept it."""
        return all(verdict.accepts for verdict in self.selectors)

    @property
    def passes(self) -> bool:
        """True if it can be had for this request alone."""
        return self.is_accepted and not self.objections

    @property
    def is_suitable(self) -> bool:
        """True if it counts as one of all devices."""
        return self.is_accepted and not {objection.why for objection in self.objections} & {
            ObjectionReason.ELSEWHERE,
            ObjectionReason.CAPACITY,
            ObjectionReason.NOT_OFFERED,
        }


@dataclass(frozen=True, slots=True)
class ChoiceInspection:
    """A request of a claim, or one of its alternatives."""

    claim: str
    request: str
    # The full name.
    name: str
    device_class: str
    class_exists: bool
    # None for all devices.
    count: int | None
    # Expressions with their owners.
    selectors: tuple[tuple[str, str], ...]
    devices: tuple[DeviceVerdict, ...]

    @property
    def required_count(self) -> int:
        """The number of devices that it takes."""
        return sum(device.is_suitable for device in self.devices) if self.count is None else self.count

    @property
    def passing(self) -> int:
        return sum(device.passes for device in self.devices)

    @property
    def is_short(self) -> bool:
        """True if it finds too few devices even if nothing else is requested."""
        if self.count is None:
            return not self.required_count or any(device.is_suitable and not device.passes for device in self.devices)
        return self.passing < self.count


@dataclass(frozen=True, slots=True)
class AllocationRefusal:
    """The reason why the search refuses a claim."""

    why: RefusalReason
    # The claim, and the request that finds too few devices.
    claim: str
    request: str = ""
    # The constraint that forbids the devices that there are.
    constraint: DeviceConstraint | None = None


@dataclass(frozen=True, slots=True)
class Inspection:
    """The result of the search on one node, with every verdict behind it."""

    choices: tuple[ChoiceInspection, ...]
    # Each with its claim's key.
    constraints: tuple[tuple[str, DeviceConstraint], ...]
    # Pools that cannot be used for now, with their state.
    unusable: tuple[tuple[str, str], ...]
    # There are devices for all claims. If not, one of the next three says why.
    has_devices: bool
    # kube-scheduler's error.
    failed: str = ""
    # What the answer depends on and the simulation does not know.
    unknown: str = ""
    refusals: tuple[AllocationRefusal, ...] = ()


def inspect_node(
    allocator: Allocator, claims: Sequence[ResourceClaim], row: int, holders: Mapping[DeviceId, Sequence[str]]
) -> Inspection:
    """Return every verdict on the devices that the node at position ``row`` sees, for claims without devices.

    ``holders`` are the claims that use each device.
    """
    pools = allocator.get_pools(row)
    search = allocator.create_search(claims, row)
    failed, unknown = "", allocator.unknown
    has_devices = False
    if not unknown:
        has_devices, failed, unknown = _run_search(search, claims)
    chosen = (
        [
            [(chosen_device.candidate.id, chosen_device.request) for chosen_device in chosen_devices]
            for chosen_devices in search.chosen
        ]
        if has_devices
        else [[] for _ in claims]
    )
    # Devices are judged as they were before the search.
    search.give_all_back()
    inspector = _DeviceInspector(allocator, pools, search.taking, holders, _chosen_for(claims, chosen))
    choices = tuple(
        inspector.inspect_choice(claim, request, choice, set(chosen[place]))
        for place, claim in enumerate(claims)
        for request in claim.requests
        for choice in request.choices
    )
    refused = not (has_devices or failed or unknown)
    return Inspection(
        choices,
        tuple((claim.key, constraint) for claim in claims for constraint in claim.constraints),
        tuple((pool.name, "invalid" if pool.invalid else "incomplete") for pool in pools if not pool.is_usable),
        has_devices,
        failed,
        unknown,
        tuple(_find_refusals(allocator, claims, row, choices)) if refused else (),
    )


def _run_search(search: AllocationSearch, claims: Sequence[ResourceClaim]) -> tuple[bool, str, str]:
    """Return whether there are devices, kube-scheduler's error, and what the answer depends on."""
    try:
        if not search.find_devices():
            return False, "", ""
        for claim, chosen in zip(claims, search.chosen, strict=True):
            create_node_selector(claim, "", chosen)
    except AllocationError as error:
        return False, str(error), ""
    except UnknownError as error:
        return False, "", str(error)
    return True, "", ""


def _chosen_for(
    claims: Sequence[ResourceClaim], chosen: Sequence[Sequence[tuple[DeviceId, str]]]
) -> dict[DeviceId, tuple[str, ...]]:
    requests_by_device: dict[DeviceId, tuple[str, ...]] = {}
    for claim, chosen_devices in zip(claims, chosen, strict=True):
        for device, request in chosen_devices:
            requests_by_device[device] = (*requests_by_device.get(device, ()), f"{claim.key} {request}")
    return requests_by_device


class _DeviceInspector:
    """Judges devices as they are before the search takes any."""

    def __init__(
        self,
        allocator: Allocator,
        pools: Sequence[DevicePool],
        taking: TakenDevices,
        holders: Mapping[DeviceId, Sequence[str]],
        chosen_for: Mapping[DeviceId, tuple[str, ...]],
    ) -> None:
        self._allocator, self._pools, self._taking = allocator, pools, taking
        self._holders, self._chosen_for = holders, chosen_for

    def inspect_choice(
        self, claim: ResourceClaim, request: DeviceRequest, choice: DeviceChoice, chosen: set[tuple[DeviceId, str]]
    ) -> ChoiceInspection:
        name = request.full_name(choice)
        of_class = self._allocator.classes.get(choice.device_class)
        selectors = list(selectors_of(claim, choice, of_class or DeviceClass(choice.device_class, "", 0.0)))
        constraints = [
            constraint for constraint in claim.constraints if constraint.concerns_request(request.name, name)
        ]
        verdicts = [
            DeviceVerdict(
                candidate.id,
                tuple(self._judge_selector(expression, owner, candidate) for expression, owner in selectors),
                tuple(self._find_objections(choice, pool, candidate, constraints)),
                tuple(self._holders.get(candidate.id, ())),
                tuple(_compared_values(candidate, constraints)),
                (candidate.id, name) in chosen,
                self._chosen_for.get(candidate.id, ()),
            )
            for pool in self._pools
            for candidate in pool.devices
        ]
        count = None if choice.mode == ALL else choice.count
        return ChoiceInspection(
            claim=claim.key,
            request=request.name,
            name=name,
            device_class=choice.device_class,
            class_exists=of_class is not None,
            count=count,
            selectors=tuple(selectors),
            devices=tuple(verdicts),
        )

    def _judge_selector(self, expression: str, owner: str, candidate: DeviceCandidate) -> SelectorVerdict:
        try:
            return SelectorVerdict(expression, owner, self._allocator.selectors.matches(expression, candidate))
        except SelectorError as error:
            return SelectorVerdict(expression, owner, None, f"CEL runtime error: {error}")
        except UnknownError:
            return SelectorVerdict(expression, owner, None)

    def _find_objections(
        self,
        choice: DeviceChoice,
        pool: DevicePool,
        candidate: DeviceCandidate,
        constraints: Sequence[DeviceConstraint],
    ) -> Iterator[Objection]:
        device, taking, features = candidate.device, self._taking, self._allocator.features
        if not candidate.is_for_node:
            yield Objection(ObjectionReason.ELSEWHERE)
        if device.binding_conditions and not features.binding_conditions:
            yield Objection(ObjectionReason.NOT_OFFERED, ("bindingConditions",))
        if device.consumes and not features.partitionable:
            yield Objection(ObjectionReason.NOT_OFFERED, ("consumesCounters",))
        if not choice.admin and taking.is_in_use(candidate.id):
            yield Objection(ObjectionReason.IN_USE)
        if taking.needs_counters(candidate) and (overdrawn := taking.find_overdrawn(pool, candidate)):
            yield Objection(ObjectionReason.COUNTERS, lacks=tuple(overdrawn))
        if not taking.is_tolerated(choice, candidate):
            yield Objection(
                ObjectionReason.TAINTED, tuple(map(str, find_untolerated(device.taints, choice.tolerations)))
            )
        capacity = NO_CAPACITY if choice.capacity is None else dict(choice.capacity)
        if lacks := tuple(taking.find_lacking(candidate, capacity)):
            yield Objection(ObjectionReason.CAPACITY, lacks=lacks)
        attributes = dict.fromkeys(
            constraint.attribute for constraint in constraints if constraint.attribute is not None
        )
        if missing := tuple(name for name in attributes if device.get_attribute(name, candidate.id[0]) is None):
            yield Objection(ObjectionReason.ATTRIBUTE, missing)


def _compared_values(candidate: DeviceCandidate, constraints: Sequence[DeviceConstraint]) -> Iterator[tuple[str, str]]:
    for name in dict.fromkeys(constraint.attribute for constraint in constraints if constraint.attribute is not None):
        if (value := candidate.device.get_attribute(name, candidate.id[0])) is not None:
            yield name, str(value[1])


def _find_refusals(
    allocator: Allocator, claims: Sequence[ResourceClaim], row: int, choices: Sequence[ChoiceInspection]
) -> Iterator[AllocationRefusal]:
    """Yield why the search finds nothing: the simplest reason that holds."""

    def is_refused(tried_claims: Sequence[ResourceClaim]) -> bool:
        return not any(_run_search(allocator.create_search(tried_claims, row), tried_claims))

    short = _find_short(choices)
    yield from short
    if short:
        return
    free = [replace(claim, constraints=()) for claim in claims]
    if is_refused(free):
        yield _crowded_out(free, is_refused)
        return
    constraints = [(place, number) for place, claim in enumerate(claims) for number in range(len(claim.constraints))]
    alone = [
        (place, number) for place, number in constraints if not is_refused(_drop_constraint(claims, place, number))
    ]
    for place, number in alone or constraints:
        yield AllocationRefusal(
            RefusalReason.CONSTRAINT, claims[place].key, constraint=claims[place].constraints[number]
        )


def _find_short(choices: Sequence[ChoiceInspection]) -> list[AllocationRefusal]:
    """Return the requests of which no alternative finds enough devices on its own."""
    by_request: dict[tuple[str, str], list[bool]] = {}
    for choice in choices:
        by_request.setdefault((choice.claim, choice.request), []).append(choice.is_short)
    return [AllocationRefusal(RefusalReason.SHORT, *key) for key, short in by_request.items() if all(short)]


def _crowded_out(claims: Sequence[ResourceClaim], refused: IsRefused) -> AllocationRefusal:
    """Return the first request for which no devices are left by the requests before it."""
    for place, claim in enumerate(claims):
        for number, request in enumerate(claim.requests, 1):
            if refused([*claims[:place], replace(claim, requests=claim.requests[:number])]):
                return AllocationRefusal(RefusalReason.TOGETHER, claim.key, request.name)
    raise AssertionError("all requests together find devices")


def _drop_constraint(claims: Sequence[ResourceClaim], place: int, number: int) -> list[ResourceClaim]:
    """Return the claims without one constraint of the claim at ``place``."""
    claim = claims[place]
    constraints = (*claim.constraints[:number], *claim.constraints[number + 1 :])
    return [*claims[:place], replace(claim, constraints=constraints), *claims[place + 1 :]]
