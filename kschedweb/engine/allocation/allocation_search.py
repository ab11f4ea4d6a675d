"""The search for devices on one node: the first solution in the order in which kube-scheduler tries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from enum import Enum, auto

from kschedweb.engine.allocation.claim_view import ClaimView
from kschedweb.engine.allocation.constraints import UnsupportedValueError
from kschedweb.engine.allocation.features import Features
from kschedweb.engine.allocation.pools import DeviceCandidate, DevicePool
from kschedweb.engine.allocation.request_data import (
    MAX_RESULTS,
    AllocationError,
    ClaimRequests,
    RequestData,
    RequestValidator,
)
from kschedweb.engine.allocation.selectors import Selectors, UnknownError
from kschedweb.engine.allocation.taken_devices import ChosenDevice, TakenDevices
from kschedweb.engine.objects.devicerequests import ALL
from kschedweb.engine.objects.resourceclaim import DeviceClass, ResourceClaim
from kschedweb.engine.patience import checkpoint
from kschedweb.engine.state.devices.use import DeviceUse

# Searches are short as a rule: up to here, remembering failed states costs more than it saves.
FEW_TRIES = 64
# kube-scheduler gives up by the clock, after filterTimeout; a count gives the same answer on every machine.
MAX_TRIES = 100_000
# Nested calls, one for each device and two for each request: Python's stack is bounded.
MAX_DEPTH = 400

# A device's pool, and its number there.
Place = tuple[int, int]


class SearchEnd(Enum):
    SOLVED = auto()
    NONE = auto()
    # There is no solution with at most MAX_RESULTS devices.
    TOO_MANY = auto()


class InterchangeableDevices:
    """Kinds of interchangeable devices for the claims of ``sight``: if one fails in a search, so do the others.

    Two unused devices of a kind can change places in any solution. So if one of them was tried in vain, a later one
    is in vain too: without it the search ends in the same way, only sooner.
    """

    def __init__(self, sight: ClaimView, taking: TakenDevices) -> None:
        self._sight, self._taking = sight, taking

    def device_kind(self, candidate: DeviceCandidate) -> Hashable:
        """Return a key that is equal for devices that can change places; None for a device like no other."""
        return None if self._taking.is_touched(candidate.id) else self._device_kind(candidate)

    def taken_kind(self, claim: int, chosen: ChosenDevice) -> Hashable:
        """Return a key of a device taken for a claim, equal for devices of a kind that nobody else can share."""
        candidate = chosen.candidate
        if chosen.shared or chosen.choice.admin:
            return claim, candidate.id, chosen.counting, tuple(sorted(chosen.consumed.items()))
        return claim, self._device_kind(candidate)

    def _device_kind(self, candidate: DeviceCandidate) -> Hashable:
        return self._sight.device_kind(candidate), candidate.id[1] if candidate.device.consumes else ""


class AllocationSearch:
    """The search for devices for ``claims`` in the ``pools`` of a node, in their order, beside those in ``use``."""

    def __init__(
        self,
        claims: Sequence[ResourceClaim],
        pools: Sequence[DevicePool],
        use: DeviceUse,
        classes: Mapping[str, DeviceClass],
        selectors: Selectors,
        features: Features,
        sight: ClaimView,
    ) -> None:
        self._claims, self._pools = claims, pools
        self.taking, self._features = TakenDevices(use, features), features
        self._reading = RequestValidator(pools, classes, selectors, features, self.taking)
        self._alike = InterchangeableDevices(sight, self.taking)
        self._claim_requests: list[ClaimRequests] = []
        self._tries = 0
        # How the search ended, by state.
        self._ended: dict[Hashable, SearchEnd] = {}
        self.chosen: list[list[ChosenDevice]] = [[] for _ in claims]

    def find_devices(self) -> bool:
        """Return whether there are devices for all claims; ``chosen`` then has them by claim.

        Raises AllocationError and UnknownError.
        """
        self._claim_requests = [self._reading.validate_claim(claim) for claim in self._claims]
        if (
            sum(
                claim_requests.max_devices + 2 * len(claim_requests.requests) for claim_requests in self._claim_requests
            )
            > MAX_DEPTH
        ):
            raise UnknownError("the search for so many devices for one pod")
        return self._allocate_claim(0) is SearchEnd.SOLVED

    def give_all_back(self) -> None:
        """Give back all devices taken, so that ``taking`` is as before the search."""
        for claim in reversed(range(len(self._claims))):
            while self.chosen[claim]:
                self.taking.give_back(claim, self.chosen[claim].pop())

    def _allocate_claim(self, claim: int) -> SearchEnd:
        return SearchEnd.SOLVED if claim >= len(self._claims) else self._allocate_request(claim, 0)

    def _allocate_request(self, claim: int, request: int) -> SearchEnd:
        """Find devices for a request and for everything after it."""
        state = self._search_state(claim, request) if self._tries > FEW_TRIES else None
        ended = self._ended.get(state)
        if ended is None:
            ended = self._allocate_choices(claim, request)
            if state is not None and ended is not SearchEnd.SOLVED:
                self._ended[state] = ended
        return ended

    def _search_state(self, claim: int, request: int) -> Hashable:
        """Return a key of states from which a search ends alike: equally many devices of each kind are taken."""
        taken_kinds = Counter(
            self._alike.taken_kind(number, chosen_device)
            for number, chosen_devices in enumerate(self.chosen)
            for chosen_device in chosen_devices
        )
        constraints = tuple(constraint.state for constraint in self._claim_requests[claim].constraints)
        return claim, request, frozenset(taken_kinds.items()), constraints

    def _allocate_choices(self, claim: int, request: int) -> SearchEnd:
        claim_requests = self._claim_requests[claim]
        if request >= len(claim_requests.requests):
            ended = self._allocate_claim(claim + 1)
            return SearchEnd.NONE if ended is SearchEnd.TOO_MANY else ended
        choices = claim_requests.requests[request]
        if claim_requests.exact[request]:
            return self._allocate_one(claim, request, choices[0], 0, (0, 0))
        ends = []
        for choice in choices:
            ends.append(self._allocate_one(claim, request, choice, 0, (0, 0)))
            if ends[-1] is SearchEnd.SOLVED:
                return SearchEnd.SOLVED
        return SearchEnd.TOO_MANY if all(ended is SearchEnd.TOO_MANY for ended in ends) else SearchEnd.NONE

    def _allocate_one(
        self, claim: int, request: int, request_data: RequestData, number: int, start: Place
    ) -> SearchEnd:
        """Find device ``number`` of a choice, from ``start`` on, and the devices for everything after it."""
        checkpoint()
        if self._tries > MAX_TRIES:
            raise UnknownError("whether kube-scheduler's search for devices would end within its filterTimeout")
        of_all = request_data.choice.mode == ALL
        if of_all and not request_data.everything:
            return SearchEnd.NONE
        if number >= request_data.count:
            return self._allocate_request(claim, request + 1)
        if len(self.chosen[claim]) + request_data.count - number > MAX_RESULTS:
            return SearchEnd.TOO_MANY
        tries = self._next_of_all(request_data, number) if of_all else self._list_candidates(claim, request_data, start)
        following = self._next_request_data(claim, request, request_data) if of_all else request_data
        in_vain: set[Hashable] = set()
        # A constraint on distinct values that has devices remembers what was tried before, so that kinds differ by it.
        may_skip = not (self._claim_requests[claim].has_distinct_constraints and self.chosen[claim])
        for pool, candidate, after in tries:
            self._tries += 1
            kind = self._alike.device_kind(candidate) if may_skip and self._tries > FEW_TRIES else None
            if kind in in_vain or not self._allocate_device(claim, request_data, pool, candidate):
                continue
            ended = self._allocate_one(claim, request, following, number + 1, after)
            if ended is SearchEnd.SOLVED:
                return ended
            self._give_back(claim, request_data)
            if ended is SearchEnd.TOO_MANY:
                return ended
            if kind is not None:
                in_vain.add(kind)
        return SearchEnd.NONE

    def _next_request_data(self, claim: int, request: int, request_data: RequestData) -> RequestData:
        """Return the request data for the next device, after one of a request for all devices."""
        return self._claim_requests[claim].requests[request][0] if self._features.early_allocator else request_data

    def _next_of_all(
        self, request_data: RequestData, number: int
    ) -> Iterator[tuple[DevicePool, DeviceCandidate, Place]]:
        """Yield the next device of a request for all devices."""
        yield (*request_data.everything[number], (0, 0))

    def _list_candidates(
        self, claim: int, request_data: RequestData, start: Place
    ) -> Iterator[tuple[DevicePool, DeviceCandidate, Place]]:
        """Yield the devices that can be tried, each with the place after it."""
        taking, admin = self.taking, request_data.choice.admin
        first, number = start
        for place in range(first, len(self._pools)):
            pool = self._pools[place]
            if pool.problem:
                raise AllocationError(pool.problem)
            if pool.is_usable or self._features.node_local_pools:
                for position in range(number if place == first else 0, len(pool.devices)):
                    candidate = pool.devices[position]
                    if taking.held_for(candidate.id, claim) if admin else taking.is_in_use(candidate.id):
                        continue
                    if self._reading.is_selectable(request_data, candidate):
                        yield pool, candidate, (place, position + 1)

    def _allocate_device(
        self, claim: int, request_data: RequestData, pool: DevicePool, candidate: DeviceCandidate
    ) -> bool:
        """Take the device if possible. Raises AllocationError if all devices are wanted and a constraint forbids
        one."""
        taking, choice = self.taking, request_data.choice
        if not taking.can_be_had(claim, choice, candidate):
            return False
        counting = taking.needs_counters(candidate)
        # Counters come before taints: the first pool of a name that is looked at decides whose counters count.
        if counting and not taking.has_counters(pool, candidate):
            return False
        if not taking.is_tolerated(choice, candidate):
            return False
        if not self._meets_constraints(claim, request_data, candidate):
            if choice.mode == ALL:
                raise AllocationError(
                    f"{request_data.prefix}: cannot add device {'/'.join(candidate.id)} "
                    "because a claim constraint would not be satisfied"
                )
            return False
        if not taking.has_room(candidate, request_data.capacity):
            self._leave_constraints(claim, request_data, len(self._claim_requests[claim].constraints))
            return False
        shared = taking.is_shareable(candidate)
        consumed = taking.consume_capacity(candidate, request_data.capacity) if shared else {}
        chosen = ChosenDevice(request_data.full, choice, pool, candidate, shared, counting, consumed)
        taking.take_device(claim, chosen)
        self.chosen[claim].append(chosen)
        return True

    def _give_back(self, claim: int, request_data: RequestData) -> None:
        """Give back the device that was taken last."""
        self.taking.give_back(claim, self.chosen[claim].pop())
        self._leave_constraints(claim, request_data, len(self._claim_requests[claim].constraints))

    def _meets_constraints(self, claim: int, request_data: RequestData, candidate: DeviceCandidate) -> bool:
        for place, constraint in enumerate(self._claim_requests[claim].constraints):
            try:
                added = constraint.add(request_data.request, request_data.full, candidate.device, candidate.id[0])
            except UnsupportedValueError as problem:
                raise AllocationError(f"{request_data.prefix}: device {'/'.join(candidate.id)}: {problem}") from None
            if not added:
                self._leave_constraints(claim, request_data, place)
                return False
        return True

    def _leave_constraints(self, claim: int, request_data: RequestData, count: int) -> None:
        """Remove the device added last from the first ``count`` constraints."""
        for constraint in reversed(self._claim_requests[claim].constraints[:count]):
            constraint.remove(request_data.request, request_data.full)
