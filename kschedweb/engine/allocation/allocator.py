"""Devices for the claims of one pod on every node: nodes that are alike are searched once."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import field

import numpy as np

from kschedweb.engine.allocation.asked import AllocationError
from kschedweb.engine.allocation.contents import Contents, namesakes, state
from kschedweb.engine.allocation.features import Features
from kschedweb.engine.allocation.inventory import Inventory, inventory
from kschedweb.engine.allocation.pools import Pool
from kschedweb.engine.allocation.result import allocated, node_selector
from kschedweb.engine.allocation.search import Search
from kschedweb.engine.allocation.selecting import Selectors, UnknownError
from kschedweb.engine.allocation.sight import Sight
from kschedweb.engine.allocation.written import Allocated
from kschedweb.engine.objects.resourceclaim import DeviceClass, ResourceClaim, worth
from kschedweb.engine.state.columns import Codes, Mask
from kschedweb.engine.state.snapshot import Snapshot
from kschedweb.engine.values import dataclass

MANY = 512  # kinds of claims remembered at most


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a search ended: with devices, which count ``worth`` for scores, or without.

    ``rejected`` says why the node has none, ``failed`` is kube-scheduler's error, and ``unknown`` what it depends on
    whether there are any; at most one of the three is set.
    """

    worth: int = 0
    rejected: str = ""
    failed: str = ""
    unknown: str = ""

    @property
    def ok(self) -> bool:
        return not (self.rejected or self.failed or self.unknown)


NONE_FOUND = Outcome(rejected="cannot allocate all claims")
INVALID = Outcome(rejected="invalid resource pools were encountered")


class Allocator:
    """Chooses devices on the nodes of ``snapshot``, beside those that are in use there now."""

    def __init__(self, snapshot: Snapshot, features: Features) -> None:
        self._snapshot, self.features = snapshot, features
        self._inventory = inventory(snapshot, features)
        self._use, self.classes = snapshot.resource_claims.use, snapshot.objects.devices.classes
        self._kept = _kept(snapshot, self._inventory, features)
        self.selectors = self._kept.selectors

    @property
    def unknown(self) -> str:
        """What it depends on whether any node has devices, "" where nothing is in the way of an answer."""
        listed = self._inventory.problem
        return f"the node selector of ResourceSlice {listed}, which cannot be parsed" if listed else ""

    def outcomes(self, claims: Sequence[ResourceClaim], nodes: Mask) -> tuple[Codes, list[Outcome]]:
        """How the search for ``claims`` ends on each of ``nodes``: codes int32[nodes] that index the outcomes.

        Code 0 is that of other nodes.
        """
        codes = np.zeros(len(self._snapshot), dtype=np.int32)
        listed, known = [Outcome()], dict[Outcome, int]()
        if self.unknown:
            codes[nodes] = 1
            return codes, [*listed, Outcome(unknown=self.unknown)]
        rows = np.flatnonzero(nodes)
        kinds, first, places = np.unique(self._kept.contents.codes[rows], return_index=True, return_inverse=True)
        found = self._by_content(claims, kinds.tolist(), rows[first].tolist())
        numbers = np.zeros(len(kinds), dtype=np.int32)
        for place, outcome in enumerate(found):
            if outcome.failed:  # the text names what is on the node, or the claim
                for row in rows[places == place].tolist():
                    listed.append(self._outcome(claims, row))
                    codes[row] = len(listed) - 1
                continue
            if outcome not in known:
                known[outcome] = len(listed)
                listed.append(outcome)
            numbers[place] = known[outcome]
        same = numbers[places]
        codes[rows[same != 0]] = same[same != 0]
        return codes, listed

    def _by_content(self, claims: Sequence[ResourceClaim], kinds: list[int], rows: list[int]) -> list[Outcome]:
        """The outcomes for contents of nodes, each with the position of a node that has it."""
        known = self._kept.known(claims, self.classes)
        for kind, row in zip(kinds, rows, strict=True):
            if kind not in known.by_content:
                key = self._seen(known.sight, row)
                if key not in known.by_sight:
                    known.by_sight[key] = self._outcome(claims, row)
                known.by_content[kind] = known.by_sight[key]
        return [known.by_content[kind] for kind in kinds]

    def _seen(self, sight: Sight, row: int) -> Hashable:
        """Equal for nodes on which the search ends alike for the claims that ``sight`` is of, but for names."""
        pools = self.pools(row)
        found = [
            (pool.id[0], pool.incomplete, pool.invalid, tuple(map(sight.kind, pool.devices)), state(pool, self._use))
            for pool in pools
        ]
        return tuple(found), namesakes(pools)

    def _outcome(self, claims: Sequence[ResourceClaim], row: int) -> Outcome:
        search = self.search(claims, row)
        try:
            if not search.found():
                invalid = not self.features.local and any(pool.invalid for pool in self.pools(row))
                return INVALID if invalid else NONE_FOUND
            total, node = 0, self._snapshot.names[row]
            for claim, chosen in zip(claims, search.chosen, strict=True):
                node_selector(claim, node, chosen)
                total += worth(claim.requests, {one.request for one in chosen})
        except AllocationError as error:
            return Outcome(failed=str(error))
        except UnknownError as error:
            return Outcome(unknown=str(error))
        return Outcome(total)

    def allocated(self, claims: Sequence[ResourceClaim], row: int) -> list[Allocated] | None:
        """The devices of each of ``claims`` on the node at a position; ``None`` where there are not enough.

        Raises AllocationError and UnknownError.
        """
        search, node = self.search(claims, row), self._snapshot.names[row]
        if not search.found():
            return None
        return [allocated(claim, node, chosen) for claim, chosen in zip(claims, search.chosen, strict=True)]

    def search(self, claims: Sequence[ResourceClaim], row: int) -> Search:
        """A search for devices for ``claims`` on the node at a position, which has not begun."""
        sight = self._kept.known(claims, self.classes).sight
        return Search(claims, self.pools(row), self._use, self.classes, self.selectors, self.features, sight)

    def pools(self, row: int) -> Sequence[Pool]:
        """The pools that the node at a position sees, in the order in which they are tried."""
        return self._inventory.places[int(self._inventory.place_of[row])]


@dataclass(frozen=True, slots=True)
class Known:
    """The outcomes for claims of one signature, by the code of a node's content, and by what the claims see of it."""

    sight: Sight
    by_content: dict[int, Outcome] = field(default_factory=dict)
    by_sight: dict[Hashable, Outcome] = field(default_factory=dict)


class Kept:
    """What is remembered from pod to pod, while slices, classes and nodes stay: for one cluster's use of devices."""

    def __init__(self, contents: Contents, features: Features) -> None:
        self.contents = contents
        self.selectors = Selectors(features.language, shares=features.consumable or not features.early)
        self._known: dict[Hashable, Known] = {}

    def known(self, claims: Sequence[ResourceClaim], classes: Mapping[str, DeviceClass]) -> Known:
        """What is known for claims that ask for the same."""
        signature = tuple((claim.requests, claim.constraints) for claim in claims)
        found = self._known.get(signature)
        if found is None:
            if len(self._known) >= MANY:
                del self._known[next(iter(self._known))]
            found = self._known[signature] = Known(Sight(claims, classes, self.selectors))
        return found


def _kept(snapshot: Snapshot, of: Inventory, features: Features) -> Kept:
    claims = snapshot.resource_claims
    use, kept = claims.use, claims.kept
    if not isinstance(kept, Kept) or kept.contents.inventory is not of or kept.contents.overgrown:
        kept = claims.kept = Kept(Contents(of, use), features)
    else:
        kept.contents.follow(use)
    return kept
