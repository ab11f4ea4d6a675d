"""Devices that a search need not tell apart: where one of them leads nowhere, the others do not either."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from kschedweb.engine.allocation.asked import Asked
from kschedweb.engine.allocation.pools import Candidate
from kschedweb.engine.allocation.selecting import SelectorError, Selectors
from kschedweb.engine.allocation.taking import Taking
from kschedweb.engine.objects.resourceclaim import DeviceId


class Alike:
    """Kinds of devices for the claims ``asked``.

    Two devices of a kind that nobody uses can change places in any solution. So after one of them was tried in vain,
    the other, which comes later, is in vain too: the search ends in the same way without it, only sooner.
    """

    def __init__(self, asked: Sequence[Asked], selectors: Selectors, taking: Taking) -> None:
        self._selectors, self._taking = selectors, taking
        wanted = [one for claim in asked for choices in claim.requests for one in choices]
        self._expressions = sorted({expression for one in wanted for expression, _ in one.selectors})
        wishes = [constraint for claim in asked for constraint in claim.claim.constraints]
        self._attributes = sorted({constraint.attribute or "" for constraint in wishes})
        # What these remember depends on what was tried before.
        self.any = not any(constraint.distinct for constraint in wishes)
        self._kinds: dict[DeviceId, Hashable] = {}

    def kind(self, one: Candidate) -> Hashable:
        """Equal for devices that can change places; ``None`` for one that is like no other."""
        if not self.any or self._taking.touched(one.id):
            return None
        if one.id not in self._kinds:
            self._kinds[one.id] = self._kind(one)
        return self._kinds[one.id]

    def _kind(self, one: Candidate) -> Hashable:
        device, (driver, pool, _) = one.device, one.id
        return (
            driver,
            (pool, device.consumes) if device.consumes else None,
            one.here,
            device.shareable,
            tuple(sorted(device.capacity.items(), key=lambda item: item[0])),
            device.taints,
            tuple(device.attribute(name, driver) for name in self._attributes),
            tuple(self._accepts(expression, one) for expression in self._expressions),
        )

    def _accepts(self, expression: str, one: Candidate) -> Hashable:
        try:
            return self._selectors.matches(expression, one)
        except SelectorError as error:
            return str(error)
