"""Devices for the claims of one pod on every node: nodes that are alike are searched once."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from kschedweb.engine.allocation.asked import AllocationError
from kschedweb.engine.allocation.contents import Contents
from kschedweb.engine.allocation.features import Features
from kschedweb.engine.allocation.inventory import Inventory, inventory
from kschedweb.engine.allocation.pools import Pool
from kschedweb.engine.allocation.result import allocated, node_selector
from kschedweb.engine.allocation.search import Search
from kschedweb.engine.allocation.selecting import Selectors, UnknownError
from kschedweb.engine.allocation.written import Allocated
from kschedweb.engine.objects.resourceclaim import ResourceClaim, worth
from kschedweb.engine.state.columns import Codes, Mask
from kschedweb.engine.state.snapshot import Snapshot

MANY = 4096  # kinds of claims remembered at most


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
Signature = Hashable


class Allocator:
    """Chooses devices on the nodes of ``snapshot``, beside those that are in use there now."""

    def __init__(self, snapshot: Snapshot, features: Features) -> None:
        self._snapshot, self._features = snapshot, features
        self._inventory = inventory(snapshot, features)
        self._use = snapshot.resource_claims.use
        self._kept = _kept(snapshot, self._inventory)

    def outcomes(self, claims: Sequence[ResourceClaim], nodes: Mask) -> tuple[Codes, list[Outcome]]:
        """How the search for ``claims`` ends on each of ``nodes``: codes int32[nodes] that index the outcomes.

        Code 0 is that of other nodes.
        """
        codes = np.zeros(len(self._snapshot), dtype=np.int32)
        listed = [Outcome()]
        if self._inventory.problem:
            codes[nodes] = 1
            problem = f"the node selector of ResourceSlice {self._inventory.problem}, which cannot be parsed"
            return codes, [*listed, Outcome(unknown=problem)]
        rows = np.flatnonzero(nodes)
        contents = self._kept.contents.codes[rows]
        kinds, first, places = np.unique(contents, return_index=True, return_inverse=True)
        known = self._kept.outcomes(_signature(claims))
        numbers = np.zeros(len(kinds), dtype=np.int32)
        for place, kind in enumerate(kinds.tolist()):
            outcome = known.get(kind)
            if outcome is None:
                outcome = known[kind] = self._outcome(claims, int(rows[first[place]]))
            if outcome.failed:  # the text names what is on the node, or the claim
                for row in rows[places == place].tolist():
                    listed.append(self._outcome(claims, row))
                    codes[row] = len(listed) - 1
                continue
            numbers[place] = len(listed)
            listed.append(outcome)
        same = numbers[places]
        codes[rows[same != 0]] = same[same != 0]
        return codes, listed

    def _outcome(self, claims: Sequence[ResourceClaim], row: int) -> Outcome:
        search = self._search(claims, row)
        try:
            if not search.found():
                return INVALID if any(pool.invalid for pool in self._pools(row)) else NONE_FOUND
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
        search, node = self._search(claims, row), self._snapshot.names[row]
        if not search.found():
            return None
        return [allocated(claim, node, chosen) for claim, chosen in zip(claims, search.chosen, strict=True)]

    def _search(self, claims: Sequence[ResourceClaim], row: int) -> Search:
        classes, selectors = self._snapshot.objects.devices.classes, self._kept.selectors
        return Search(claims, self._pools(row), self._use, classes, selectors, self._features)

    def _pools(self, row: int) -> Sequence[Pool]:
        return self._inventory.places[int(self._inventory.place_of[row])]


class Kept:
    """What is remembered from pod to pod, while slices, classes and nodes stay: for one cluster's use of devices."""

    def __init__(self, contents: Contents) -> None:
        self.contents, self.selectors = contents, Selectors()
        self._outcomes: dict[Signature, dict[int, Outcome]] = {}

    def outcomes(self, signature: Signature) -> dict[int, Outcome]:
        """The outcomes known for claims of a signature, by the code of a node's content."""
        if signature not in self._outcomes and len(self._outcomes) >= MANY:
            del self._outcomes[next(iter(self._outcomes))]
        return self._outcomes.setdefault(signature, {})


def _kept(snapshot: Snapshot, of: Inventory) -> Kept:
    claims = snapshot.resource_claims
    use, kept = claims.use, claims.kept
    if not isinstance(kept, Kept) or kept.contents.inventory is not of or kept.contents.overgrown:
        kept = claims.kept = Kept(Contents(of, use))
    else:
        kept.contents.follow(use)
    return kept


def _signature(claims: Sequence[ResourceClaim]) -> Signature:
    """Equal for claims for which the search ends alike, but for names in errors."""
    return tuple((claim.requests, claim.constraints) for claim in claims)
