"""The search for devices on one node: the first solution in kube-scheduler's order of tries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from enum import Enum, auto

from kschedweb.engine.allocation.alike import Alike
from kschedweb.engine.allocation.asked import MAX_RESULTS, AllocationError, Asked, Reading, Wanted
from kschedweb.engine.allocation.capacity import all_consumed
from kschedweb.engine.allocation.features import Features
from kschedweb.engine.allocation.pools import Candidate, Pool
from kschedweb.engine.allocation.selecting import Selectors, UnknownError
from kschedweb.engine.allocation.sight import Sight
from kschedweb.engine.allocation.taking import Chosen, Taking
from kschedweb.engine.objects.devicerequests import ALL
from kschedweb.engine.objects.resourceclaim import DeviceClass, ResourceClaim
from kschedweb.engine.patience import checkpoint
from kschedweb.engine.state.devices.use import DeviceUse

FEW_TRIES = 64
MAX_TRIES = 100_000  # kube-scheduler gives up by the clock, after filterTimeout
MAX_DEPTH = 400  # calls within calls: one for a device, two for a request

Place = tuple[int, int]  # of a device: its pool, and its number there


class End(Enum):
    FOUND = auto()
    NONE = auto()
    TOO_MANY = auto()  # no solution of at most MAX_RESULTS devices


class Search:
    """Chooses devices for ``claims`` from the ``pools`` of a node, in their order, beside what is in ``use``."""

    def __init__(
        self,
        claims: Sequence[ResourceClaim],
        pools: Sequence[Pool],
        use: DeviceUse,
        classes: Mapping[str, DeviceClass],
        selectors: Selectors,
        features: Features,
        sight: Sight,
    ) -> None:
        self._claims, self._pools = claims, pools
        self.taking, self._features = Taking(use, features), features
        self._reading = Reading(pools, classes, selectors, features, self.taking)
        self._alike = Alike(sight, self.taking)
        self._asked: list[Asked] = []
        self._tries = 0
        self._ended: dict[Hashable, End] = {}
        self.chosen: list[list[Chosen]] = [[] for _ in claims]

    def found(self) -> bool:
        """Whether there are devices for all claims: ``chosen`` then has them by claim.

        Raises AllocationError and UnknownError.
        """
        self._asked = [self._reading.read(claim) for claim in self._claims]
        if sum(asked.most + 2 * len(asked.requests) for asked in self._asked) > MAX_DEPTH:
            raise UnknownError("the search for so many devices for one pod")
        return self._claim(0) is End.FOUND

    def give_all_back(self) -> None:
        """Give back what was taken: ``taking`` is as it was before."""
        for claim in reversed(range(len(self._claims))):
            while self.chosen[claim]:
                self.taking.give_back(claim, self.chosen[claim].pop())

    def _claim(self, claim: int) -> End:
        return End.FOUND if claim >= len(self._claims) else self._request(claim, 0)

    def _request(self, claim: int, request: int) -> End:
        """Find devices for a request, and everything after it."""
        state = self._state(claim, request) if self._tries > FEW_TRIES else None
        ended = self._ended.get(state)
        if ended is None:
            ended = self._requested(claim, request)
            if state is not None and ended is not End.FOUND:
                self._ended[state] = ended
        return ended

    def _state(self, claim: int, request: int) -> Hashable:
        """Equal where a search ends alike from here on: as many devices of each kind are taken, in whatever order."""
        taken = Counter(self._alike.taken(number, one) for number, each in enumerate(self.chosen) for one in each)
        constraints = tuple(constraint.state for constraint in self._asked[claim].constraints)
        return claim, request, frozenset(taken.items()), constraints

    def _requested(self, claim: int, request: int) -> End:
        asked = self._asked[claim]
        if request >= len(asked.requests):
            ended = self._claim(claim + 1)
            return End.NONE if ended is End.TOO_MANY else ended
        choices = asked.requests[request]
        if asked.exact[request]:
            return self._device(claim, request, choices[0], 0, (0, 0))
        ends = []
        for choice in choices:
            ends.append(self._device(claim, request, choice, 0, (0, 0)))
            if ends[-1] is End.FOUND:
                return End.FOUND
        return End.TOO_MANY if all(ended is End.TOO_MANY for ended in ends) else End.NONE

    def _device(self, claim: int, request: int, wanted: Wanted, number: int, start: Place) -> End:
        """Find device ``number`` of a choice, from ``start`` on, and everything after it."""
        checkpoint()
        if self._tries > MAX_TRIES:
            raise UnknownError("whether kube-scheduler's search for devices would end within its filterTimeout")
        of_all = wanted.choice.mode == ALL
        if of_all and not wanted.everything:
            return End.NONE
        if number >= wanted.count:
            return self._request(claim, request + 1)
        if len(self.chosen[claim]) + wanted.count - number > MAX_RESULTS:
            return End.TOO_MANY
        tries = self._next_of_all(wanted, number) if of_all else self._candidates(claim, wanted, start)
        following = self._following(claim, request, wanted) if of_all else wanted
        in_vain: set[Hashable] = set()
        # What constraints on distinct values remember, while they have devices, depends on what was tried before.
        may_skip = not (self._asked[claim].distinct and self.chosen[claim])
        for pool, one, after in tries:
            self._tries += 1
            kind = self._alike.kind(one) if may_skip and self._tries > FEW_TRIES else None
            if kind in in_vain or not self._take(claim, wanted, pool, one):
                continue
            ended = self._device(claim, request, following, number + 1, after)
            if ended is End.FOUND:
                return ended
            self._give_back(claim, wanted)
            if ended is End.TOO_MANY:
                return ended
            if kind is not None:
                in_vain.add(kind)
        return End.NONE

    def _following(self, claim: int, request: int, wanted: Wanted) -> Wanted:
        """What the next device is for, after one of all that are wanted."""
        return self._asked[claim].requests[request][0] if self._features.early else wanted

    def _next_of_all(self, wanted: Wanted, number: int) -> Iterator[tuple[Pool, Candidate, Place]]:
        """The one device that is next where all are wanted."""
        yield (*wanted.everything[number], (0, 0))

    def _candidates(self, claim: int, wanted: Wanted, start: Place) -> Iterator[tuple[Pool, Candidate, Place]]:
        """The devices that can be tried, each with the place after it."""
        taking, admin = self.taking, wanted.choice.admin
        first, number = start
        for place in range(first, len(self._pools)):
            pool = self._pools[place]
            if pool.problem:
                raise AllocationError(pool.problem)
            if pool.usable or self._features.local:
                for position in range(number if place == first else 0, len(pool.devices)):
                    one = pool.devices[position]
                    if taking.held_for(one.id, claim) if admin else taking.in_use(one.id):
                        continue
                    if self._reading.suits(wanted, one):
                        yield pool, one, (place, position + 1)

    def _take(self, claim: int, wanted: Wanted, pool: Pool, one: Candidate) -> bool:
        """Take the device if it can be. Raises AllocationError where all are wanted and a constraint forbids one."""
        taking, choice, device = self.taking, wanted.choice, one.device
        if not taking.can_be_had(claim, choice, one):
            return False
        counting = taking.counts(one)
        # Before taints are looked at: the first pool of a name is the one whose counters count.
        if counting and not taking.has_counters(pool, one):
            return False
        if not taking.tolerated(choice, one):
            return False
        if not self._meets_constraints(claim, wanted, one):
            if choice.mode == ALL:
                said = f"claim {self._claims[claim].key}, request {choice.name}: cannot add device {'/'.join(one.id)}"
                raise AllocationError(f"{said} because a claim constraint would not be satisfied")
            return False
        if not taking.has_room(one, wanted.capacity):
            self._leave_constraints(claim, wanted, len(self._asked[claim].constraints))
            return False
        shared = taking.shares(one)
        consumed = all_consumed(device, wanted.capacity, self._features.fractional) if shared else {}
        chosen = Chosen(wanted.full, choice, pool, one, shared, counting, consumed)
        taking.take(claim, chosen)
        self.chosen[claim].append(chosen)
        return True

    def _give_back(self, claim: int, wanted: Wanted) -> None:
        """Give the device back that was taken last."""
        self.taking.give_back(claim, self.chosen[claim].pop())
        self._leave_constraints(claim, wanted, len(self._asked[claim].constraints))

    def _meets_constraints(self, claim: int, wanted: Wanted, one: Candidate) -> bool:
        for place, constraint in enumerate(self._asked[claim].constraints):
            if not constraint.add(wanted.request, wanted.full, one.device, one.id[0]):
                self._leave_constraints(claim, wanted, place)
                return False
        return True

    def _leave_constraints(self, claim: int, wanted: Wanted, count: int) -> None:
        """Take the device that was added last away from the first ``count`` constraints."""
        for constraint in reversed(self._asked[claim].constraints[:count]):
            constraint.remove(wanted.request, wanted.full)
