"""Devices for the claims of one pod on every node; nodes that are alike are searched once."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import field

import numpy as np

from kschedweb.engine.allocation.allocated_claim import AllocatedClaim
from kschedweb.engine.allocation.allocation_search import AllocationSearch
from kschedweb.engine.allocation.claim_view import ClaimView
from kschedweb.engine.allocation.features import Features
from kschedweb.engine.allocation.inventory import Inventory, get_inventory
from kschedweb.engine.allocation.node_contents import Contents, compute_pool_state, find_namesakes
from kschedweb.engine.allocation.pools import DevicePool
from kschedweb.engine.allocation.request_data import AllocationError, UnusablePoolError
from kschedweb.engine.allocation.result import build_allocation, create_node_selector
from kschedweb.engine.allocation.selectors import Selectors, UnknownError
from kschedweb.engine.objects.resourceclaim import DeviceClass, ResourceClaim, compute_worth
from kschedweb.engine.state.columns import Codes, Mask
from kschedweb.engine.state.snapshot import Snapshot
from kschedweb.engine.values import dataclass

# The most signatures of claims that are remembered.
MANY = 512


@dataclass(frozen=True, slots=True)
class AllocationOutcome:
    """The end of a search: with devices, or with exactly one of the three texts."""

    # The score of the devices.
    worth: int = 0
    # Why the node has no devices.
    rejected: str = ""
    # kube-scheduler's error.
    failed: str = ""
    # What the answer depends on and the simulation does not know.
    unknown: str = ""
    # The text names devices or pools of the node, or the claim: every node needs its own.
    names_node: bool = False

    @property
    def ok(self) -> bool:
        return not (self.rejected or self.failed or self.unknown)


NONE_FOUND = AllocationOutcome(rejected="cannot allocate all claims")
INVALID = AllocationOutcome(rejected="invalid resource pools were encountered")


class Allocator:
    """The choice of devices on the nodes of ``snapshot``, beside those in use there now."""

    def __init__(self, snapshot: Snapshot, features: Features) -> None:
        self._snapshot, self.features = snapshot, features
        self._inventory = get_inventory(snapshot, features)
        self._use, self.classes = snapshot.resource_claims.device_use, snapshot.objects.devices.classes
        self._cache = _get_cache(snapshot, self._inventory, features)
        self.selectors = self._cache.selectors

    @property
    def unknown(self) -> str:
        """The unknown on which all answers depend; "" if there is none."""
        listed = self._inventory.problem
        return f"the node selector of ResourceSlice {listed}, which cannot be parsed" if listed else ""

    def find_outcomes(self, claims: Sequence[ResourceClaim], nodes: Mask) -> tuple[Codes, list[AllocationOutcome]]:
        """Return how the search for ``claims`` ends on each of ``nodes``: codes int32[nodes] that index the outcomes.

        All other nodes have code 0.
        """
        codes = np.zeros(len(self._snapshot), dtype=np.int32)
        listed, codes_by_outcome = [AllocationOutcome()], dict[AllocationOutcome, int]()
        if self.unknown:
            codes[nodes] = 1
            return codes, [*listed, AllocationOutcome(unknown=self.unknown)]
        rows = np.flatnonzero(nodes)
        # Nodes of equal content end alike, so that one of each kind is searched.
        kinds, first, places = np.unique(self._cache.contents.codes[rows], return_index=True, return_inverse=True)
        kind_outcomes = self._by_content(claims, kinds.tolist(), rows[first].tolist())
        numbers = np.zeros(len(kinds), dtype=np.int32)
        for place, outcome in enumerate(kind_outcomes):
            if outcome.names_node:
                for row in rows[places == place].tolist():
                    listed.append(self._search_node(claims, row))
                    codes[row] = len(listed) - 1
                continue
            if outcome not in codes_by_outcome:
                codes_by_outcome[outcome] = len(listed)
                listed.append(outcome)
            numbers[place] = codes_by_outcome[outcome]
        same = numbers[places]
        codes[rows[same != 0]] = same[same != 0]
        return codes, listed

    def _by_content(
        self, claims: Sequence[ResourceClaim], kinds: list[int], rows: list[int]
    ) -> list[AllocationOutcome]:
        """Return the outcomes for kinds of node contents; ``rows`` has a node of each kind."""
        known_outcomes = self._cache.get_outcomes(claims, self.classes)
        for kind, row in zip(kinds, rows, strict=True):
            if kind not in known_outcomes.by_content:
                key = self._node_view(known_outcomes.claim_view, row)
                if key not in known_outcomes.by_sight:
                    known_outcomes.by_sight[key] = self._search_node(claims, row)
                known_outcomes.by_content[kind] = known_outcomes.by_sight[key]
        return [known_outcomes.by_content[kind] for kind in kinds]

    def _node_view(self, sight: ClaimView, row: int) -> Hashable:
        """Return a key that is equal for nodes on which the search ends alike, names aside, for the claims of
        ``sight``."""
        pools = self.get_pools(row)
        pool_views = [
            (
                pool.id[0],
                pool.incomplete,
                pool.invalid,
                tuple(map(sight.device_kind, pool.devices)),
                compute_pool_state(pool, self._use),
            )
            for pool in pools
        ]
        return tuple(pool_views), find_namesakes(pools)

    def _search_node(self, claims: Sequence[ResourceClaim], row: int) -> AllocationOutcome:
        search = self.create_search(claims, row)
        try:
            if not search.find_devices():
                invalid = not self.features.node_local_pools and any(pool.invalid for pool in self.get_pools(row))
                return INVALID if invalid else NONE_FOUND
            total, node = 0, self._snapshot.names[row]
            for claim, chosen in zip(claims, search.chosen, strict=True):
                create_node_selector(claim, node, chosen)
                total += compute_worth(claim.requests, {chosen_device.request for chosen_device in chosen})
        except AllocationError as error:
            if self.features.unified_allocator and isinstance(error, UnusablePoolError):
                return AllocationOutcome(rejected=str(error), names_node=True)
            return AllocationOutcome(failed=str(error), names_node=True)
        except UnknownError as error:
            return AllocationOutcome(unknown=str(error))
        return AllocationOutcome(total)

    def allocate_claims(self, claims: Sequence[ResourceClaim], row: int) -> list[AllocatedClaim] | None:
        """Return the devices of each of ``claims`` on the node at position ``row``; None if there are not enough.

        Raises AllocationError and UnknownError.
        """
        search, node = self.create_search(claims, row), self._snapshot.names[row]
        if not search.find_devices():
            return None
        return [build_allocation(claim, node, chosen) for claim, chosen in zip(claims, search.chosen, strict=True)]

    def create_search(self, claims: Sequence[ResourceClaim], row: int) -> AllocationSearch:
        """Return a search, not begun, for devices for ``claims`` on the node at position ``row``."""
        sight = self._cache.get_outcomes(claims, self.classes).claim_view
        return AllocationSearch(
            claims, self.get_pools(row), self._use, self.classes, self.selectors, self.features, sight
        )

    def get_pools(self, row: int) -> Sequence[DevicePool]:
        """Return the pools that the node at position ``row`` sees, in the order in which they are tried."""
        return self._inventory.places[int(self._inventory.place_of[row])]


@dataclass(frozen=True, slots=True)
class KnownOutcomes:
    """The outcomes for claims of one signature."""

    claim_view: ClaimView
    # By code of a node's content.
    by_content: dict[int, AllocationOutcome] = field(default_factory=dict)
    # By what the claims can tell apart of a node.
    by_sight: dict[Hashable, AllocationOutcome] = field(default_factory=dict)


class AllocatorCache:
    """The results kept from pod to pod for one cluster, valid while slices, classes and nodes do not change."""

    def __init__(self, contents: Contents, features: Features) -> None:
        self.contents = contents
        self.selectors = Selectors(features.language, shares=features.consumable or not features.early_allocator)
        self._outcomes: dict[Hashable, KnownOutcomes] = {}

    def get_outcomes(self, claims: Sequence[ResourceClaim], classes: Mapping[str, DeviceClass]) -> KnownOutcomes:
        """Return what is known for claims with the same requests and constraints."""
        signature = tuple((claim.requests, claim.constraints) for claim in claims)
        outcomes = self._outcomes.get(signature)
        if outcomes is None:
            if len(self._outcomes) >= MANY:
                del self._outcomes[next(iter(self._outcomes))]
            outcomes = self._outcomes[signature] = KnownOutcomes(ClaimView(claims, classes, self.selectors))
        return outcomes


def _get_cache(snapshot: Snapshot, device_inventory: Inventory, features: Features) -> AllocatorCache:
    claims = snapshot.resource_claims
    use, cache = claims.device_use, claims.allocator_cache
    if (
        not isinstance(cache, AllocatorCache)
        or cache.contents.inventory is not device_inventory
        or cache.contents.is_overgrown
    ):
        cache = claims.allocator_cache = AllocatorCache(Contents(device_inventory, use), features)
    else:
        cache.contents.follow(use)
    return cache
