"""What claims can tell devices by: what their selectors say, the attributes that their constraints compare."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

from kschedweb.engine.allocation.pools import Candidate
from kschedweb.engine.allocation.selecting import SelectorError, Selectors, UnknownError
from kschedweb.engine.objects.resourceclaim import DeviceClass, ResourceClaim


class Sight:
    """Devices as ``claims`` see them. Most devices have attributes, such as an id, that nobody asks about."""

    def __init__(
        self, claims: Sequence[ResourceClaim], classes: Mapping[str, DeviceClass], selectors: Selectors
    ) -> None:
        self._selectors = selectors
        choices = [choice for claim in claims for request in claim.requests for choice in request.choices]
        known = [classes[choice.device_class] for choice in choices if choice.device_class in classes]
        listed = [*(choice.selectors for choice in choices), *(one.selectors for one in known)]
        self._expressions = sorted({one for selectors in listed for one in selectors if one is not None})
        constraints = [constraint for claim in claims for constraint in claim.constraints]
        self._attributes = sorted({constraint.attribute or "" for constraint in constraints})
        self._kinds: dict[Hashable, int] = {}
        self._numbers: dict[Hashable, int] = {}

    def kind(self, one: Candidate) -> int:
        """Equal for devices that differ for these claims by name and pool alone."""
        key = one.id[0], one.device.content, one.here, one.split
        found = self._kinds.get(key)
        if found is None:
            found = self._kinds[key] = self._numbers.setdefault(self._seen(one), len(self._numbers))
        return found

    def _seen(self, one: Candidate) -> Hashable:
        device, driver = one.device, one.id[0]
        return (
            driver,
            one.here,
            one.split,
            device.binds_to_node,
            bool(device.binding_conditions),
            device.consumes,
            device.shareable,
            tuple(sorted(device.capacity.items(), key=lambda item: item[0])),
            device.taints,
            tuple(device.attribute(name, driver) for name in self._attributes),
            tuple(self._accepts(expression, one) for expression in self._expressions),
        )

    def _accepts(self, expression: str, one: Candidate) -> Hashable:
        try:
            return self._selectors.matches(expression, one)
        except (SelectorError, UnknownError) as error:
            return str(error)
