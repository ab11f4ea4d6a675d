"""Why a node has devices for a pod's claims, or has none: every verdict on every device that the node sees."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum

from kschedweb.engine.allocation.allocator import Allocator
from kschedweb.engine.allocation.asked import NO_CAPACITY, AllocationError, selectors_of
from kschedweb.engine.allocation.capacity import Lack
from kschedweb.engine.allocation.pools import Candidate, Pool
from kschedweb.engine.allocation.result import node_selector
from kschedweb.engine.allocation.search import Search
from kschedweb.engine.allocation.selecting import SelectorError, UnknownError
from kschedweb.engine.allocation.taking import Taking
from kschedweb.engine.objects.devicerequests import ALL, DeviceChoice, DeviceConstraint, DeviceRequest
from kschedweb.engine.objects.resourceclaim import DeviceClass, DeviceId, ResourceClaim
from kschedweb.engine.objects.taints import not_tolerated
from kschedweb.engine.values import dataclass

IsRefused = Callable[[Sequence[ResourceClaim]], bool]


class Why(StrEnum):
    """Why a device cannot be had, whatever selectors say."""

    ELSEWHERE = "elsewhere"  # it is for other nodes
    IN_USE = "inUse"
    NOT_OFFERED = "notOffered"  # a feature that it needs is off
    TAINTED = "tainted"
    COUNTERS = "counters"
    CAPACITY = "capacity"
    ATTRIBUTE = "attribute"  # it lacks one that a constraint compares


class Refused(StrEnum):
    """Why a search finds nothing."""

    SHORT = "short"  # a request, on its own, finds too few devices
    CONSTRAINT = "constraint"  # without this constraint the search would not end here
    TOGETHER = "together"  # enough devices pass, but not all at once beside what the requests before need


@dataclass(frozen=True, slots=True)
class SelectorVerdict:
    """What an expression says of a device; ``accepts`` is ``None`` where it has no answer.

    ``problem`` then is kube-scheduler's error, or empty where the expression is ``outside`` the simulation.
    """

    expression: str
    of: str  # "class <name>: selector #0", "claim <key>: selector #0"
    accepts: bool | None
    problem: str = ""

    @property
    def outside(self) -> bool:
        return self.accepts is None and not self.problem


@dataclass(frozen=True, slots=True)
class Objection:
    """``names`` are taints or attributes, ``lacks`` counters or capacities in nano-units."""

    why: Why
    names: tuple[str, ...] = ()
    lacks: tuple[Lack, ...] = ()


@dataclass(frozen=True, slots=True)
class DeviceVerdict:
    """One device, for one choice of a request.

    ``holders`` are the claims that have it or a share of it, ``compared`` its values of the attributes that constraints
    compare, ``chosen_for`` the claims and requests for which the search chose it ("claim request").
    """

    device: DeviceId
    selectors: tuple[SelectorVerdict, ...]
    objections: tuple[Objection, ...]
    holders: tuple[str, ...]
    compared: tuple[tuple[str, str], ...]
    chosen: bool
    chosen_for: tuple[str, ...]

    @property
    def accepted(self) -> bool:
        """Whether all selectors accept it."""
        return all(one.accepts for one in self.selectors)

    @property
    def passes(self) -> bool:
        """Whether it can be had for this request alone."""
        return self.accepted and not self.objections

    @property
    def suits(self) -> bool:
        """Whether it counts as one of all devices."""
        return self.accepted and not {one.why for one in self.objections} & {
            Why.ELSEWHERE,
            Why.CAPACITY,
            Why.NOT_OFFERED,
        }


@dataclass(frozen=True, slots=True)
class ChoiceInspection:
    """A request of a claim, or one of its alternatives, by its full ``name``; ``count`` is ``None`` for all devices.

    ``selectors`` are expressions, each with what it is of.
    """

    claim: str
    request: str
    name: str
    device_class: str
    class_exists: bool
    count: int | None
    selectors: tuple[tuple[str, str], ...]
    devices: tuple[DeviceVerdict, ...]

    @property
    def wanted(self) -> int:
        """How many devices it takes."""
        return sum(one.suits for one in self.devices) if self.count is None else self.count

    @property
    def passing(self) -> int:
        return sum(one.passes for one in self.devices)

    @property
    def short(self) -> bool:
        """Whether it finds too few devices even if nothing else is asked for."""
        if self.count is None:
            return not self.wanted or any(one.suits and not one.passes for one in self.devices)
        return self.passing < self.count


@dataclass(frozen=True, slots=True)
class Refusal:
    """``claim`` and ``request`` are those that find too few, or ``constraint`` is what forbids what there is."""

    why: Refused
    claim: str
    request: str = ""
    constraint: DeviceConstraint | None = None


@dataclass(frozen=True, slots=True)
class Inspection:
    """What the search comes to on one node.

    ``found``: there are devices for all claims. Otherwise ``failed`` is kube-scheduler's error, or ``unknown`` says
    what it depends on, or ``refusals`` say why. ``unusable`` are pools without devices for now, with their state.
    """

    choices: tuple[ChoiceInspection, ...]
    constraints: tuple[tuple[str, DeviceConstraint], ...]  # with the claim's key
    unusable: tuple[tuple[str, str], ...]
    found: bool
    failed: str = ""
    unknown: str = ""
    refusals: tuple[Refusal, ...] = ()


def inspect(
    allocator: Allocator, claims: Sequence[ResourceClaim], row: int, holders: Mapping[DeviceId, Sequence[str]]
) -> Inspection:
    """Every verdict on the devices that the node at position ``row`` sees, for claims without devices.

    ``holders`` are the claims that have each device in use.
    """
    pools = allocator.pools(row)
    search = allocator.search(claims, row)
    failed, unknown = "", allocator.unknown
    found = False
    if not unknown:
        found, failed, unknown = _searched(search, claims)
    chosen = [[(one.one.id, one.request) for one in each] for each in search.chosen] if found else [[] for _ in claims]
    search.give_all_back()
    looking = _Looking(allocator, pools, search.taking, holders, _chosen_for(claims, chosen))
    choices = tuple(
        looking.choice(claim, request, choice, set(chosen[place]))
        for place, claim in enumerate(claims)
        for request in claim.requests
        for choice in request.choices
    )
    refused = not (found or failed or unknown)
    return Inspection(
        choices,
        tuple((claim.key, constraint) for claim in claims for constraint in claim.constraints),
        tuple((pool.name, "invalid" if pool.invalid else "incomplete") for pool in pools if not pool.usable),
        found,
        failed,
        unknown,
        tuple(_refusals(allocator, claims, row, choices)) if refused else (),
    )


def _searched(search: Search, claims: Sequence[ResourceClaim]) -> tuple[bool, str, str]:
    """Whether there are devices, kube-scheduler's error, what it depends on."""
    try:
        if not search.found():
            return False, "", ""
        for claim, chosen in zip(claims, search.chosen, strict=True):
            node_selector(claim, "", chosen)
    except AllocationError as error:
        return False, str(error), ""
    except UnknownError as error:
        return False, "", str(error)
    return True, "", ""


def _chosen_for(
    claims: Sequence[ResourceClaim], chosen: Sequence[Sequence[tuple[DeviceId, str]]]
) -> dict[DeviceId, tuple[str, ...]]:
    found: dict[DeviceId, tuple[str, ...]] = {}
    for claim, each in zip(claims, chosen, strict=True):
        for device, request in each:
            found[device] = (*found.get(device, ()), f"{claim.key} {request}")
    return found


class _Looking:
    """Looks at devices as they were before the search took any."""

    def __init__(
        self,
        allocator: Allocator,
        pools: Sequence[Pool],
        taking: Taking,
        holders: Mapping[DeviceId, Sequence[str]],
        chosen_for: Mapping[DeviceId, tuple[str, ...]],
    ) -> None:
        self._allocator, self._pools, self._taking = allocator, pools, taking
        self._holders, self._chosen_for = holders, chosen_for

    def choice(
        self, claim: ResourceClaim, request: DeviceRequest, choice: DeviceChoice, chosen: set[tuple[DeviceId, str]]
    ) -> ChoiceInspection:
        name = request.full_name(choice)
        of_class = self._allocator.classes.get(choice.device_class)
        selectors = list(selectors_of(claim, choice, of_class or DeviceClass(choice.device_class, "", 0.0)))
        constraints = [one for one in claim.constraints if one.concerns(request.name, name)]
        verdicts = [
            DeviceVerdict(
                one.id,
                tuple(self._selector(expression, of, one) for expression, of in selectors),
                tuple(self._objections(choice, pool, one, constraints)),
                tuple(self._holders.get(one.id, ())),
                tuple(_compared(one, constraints)),
                (one.id, name) in chosen,
                self._chosen_for.get(one.id, ()),
            )
            for pool in self._pools
            for one in pool.devices
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

    def _selector(self, expression: str, of: str, one: Candidate) -> SelectorVerdict:
        try:
            return SelectorVerdict(expression, of, self._allocator.selectors.matches(expression, one))
        except SelectorError as error:
            return SelectorVerdict(expression, of, None, f"CEL runtime error: {error}")
        except UnknownError:
            return SelectorVerdict(expression, of, None)

    def _objections(
        self, choice: DeviceChoice, pool: Pool, one: Candidate, constraints: Sequence[DeviceConstraint]
    ) -> Iterator[Objection]:
        device, taking, features = one.device, self._taking, self._allocator.features
        if not one.here:
            yield Objection(Why.ELSEWHERE)
        if device.binding_conditions and not features.binding_conditions:
            yield Objection(Why.NOT_OFFERED, ("bindingConditions",))
        if device.consumes and not features.partitionable:
            yield Objection(Why.NOT_OFFERED, ("consumesCounters",))
        if not choice.admin and taking.in_use(one.id):
            yield Objection(Why.IN_USE)
        if taking.counts(one) and (overdrawn := taking.overdrawn(pool, one)):
            yield Objection(Why.COUNTERS, lacks=tuple(overdrawn))
        if not taking.tolerated(choice, one):
            yield Objection(Why.TAINTED, tuple(map(str, not_tolerated(device.taints, choice.tolerations))))
        capacity = NO_CAPACITY if choice.capacity is None else dict(choice.capacity)
        if lacks := tuple(taking.lacking(one, capacity)):
            yield Objection(Why.CAPACITY, lacks=lacks)
        wanted = dict.fromkeys(constraint.attribute for constraint in constraints if constraint.attribute is not None)
        if missing := tuple(name for name in wanted if device.attribute(name, one.id[0]) is None):
            yield Objection(Why.ATTRIBUTE, missing)


def _compared(one: Candidate, constraints: Sequence[DeviceConstraint]) -> Iterator[tuple[str, str]]:
    for name in dict.fromkeys(constraint.attribute for constraint in constraints if constraint.attribute is not None):
        if (found := one.device.attribute(name, one.id[0])) is not None:
            yield name, str(found[1])


def _refusals(
    allocator: Allocator, claims: Sequence[ResourceClaim], row: int, choices: Sequence[ChoiceInspection]
) -> Iterator[Refusal]:
    """Why the search finds nothing: the simplest reason that there is."""

    def refused(asked: Sequence[ResourceClaim]) -> bool:
        return not any(_searched(allocator.search(asked, row), asked))

    short = _short(choices)
    yield from short
    if short:
        return
    free = [replace(claim, constraints=()) for claim in claims]
    if refused(free):
        yield _crowded_out(free, refused)
        return
    constraints = [(place, each) for place, claim in enumerate(claims) for each in range(len(claim.constraints))]
    alone = [(place, each) for place, each in constraints if not refused(_without(claims, place, each))]
    for place, each in alone or constraints:
        yield Refusal(Refused.CONSTRAINT, claims[place].key, constraint=claims[place].constraints[each])


def _short(choices: Sequence[ChoiceInspection]) -> list[Refusal]:
    """The requests none of whose alternatives finds enough devices on its own."""
    by_request: dict[tuple[str, str], list[bool]] = {}
    for one in choices:
        by_request.setdefault((one.claim, one.request), []).append(one.short)
    return [Refusal(Refused.SHORT, *key) for key, short in by_request.items() if all(short)]


def _crowded_out(claims: Sequence[ResourceClaim], refused: IsRefused) -> Refusal:
    """The first request for which nothing is left, whatever the requests before it take."""
    for place, claim in enumerate(claims):
        for number, request in enumerate(claim.requests, 1):
            if refused([*claims[:place], replace(claim, requests=claim.requests[:number])]):
                return Refusal(Refused.TOGETHER, claim.key, request.name)
    raise AssertionError("all requests together find devices")


def _without(claims: Sequence[ResourceClaim], place: int, number: int) -> list[ResourceClaim]:
    """The claims without one constraint of the claim at ``place``."""
    claim = claims[place]
    left = (*claim.constraints[:number], *claim.constraints[number + 1 :])
    return [*claims[:place], replace(claim, constraints=left), *claims[place + 1 :]]
