"""Devices that a search need not tell apart: where one of them leads nowhere, the others do not either."""

from __future__ import annotations

from collections.abc import Hashable

from kschedweb.engine.allocation.pools import Candidate
from kschedweb.engine.allocation.sight import Sight
from kschedweb.engine.allocation.taking import Chosen, Taking


class Alike:
    """Kinds of devices for the claims that ``sight`` is of.

    Two devices of a kind that nobody uses can change places in any solution. So after one of them was tried in vain,
    the other, which comes later, is in vain too: the search ends in the same way without it, only sooner.
    """

    def __init__(self, sight: Sight, taking: Taking) -> None:
        self._sight, self._taking = sight, taking

    def kind(self, one: Candidate) -> Hashable:
        """Equal for devices that can change places; ``None`` for one that is like no other."""
        return None if self._taking.touched(one.id) else self._kind(one)

    def taken(self, claim: int, chosen: Chosen) -> Hashable:
        """What a device counts as that was taken for a claim: equal for devices of a kind that nobody else can have."""
        one = chosen.one
        if chosen.shared or chosen.choice.admin:
            return claim, one.id, chosen.counting, tuple(sorted(chosen.consumed.items()))
        return claim, self._kind(one)

    def _kind(self, one: Candidate) -> Hashable:
        return self._sight.kind(one), one.id[1] if one.device.consumes else ""
