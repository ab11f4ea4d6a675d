"""The features by which claims can tell devices apart: selectors, and attributes that constraints compare."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

from kschedweb.engine.allocation.pools import DeviceCandidate
from kschedweb.engine.allocation.selectors import SelectorError, Selectors, UnknownError
from kschedweb.engine.objects.resourceclaim import DeviceClass, ResourceClaim


class ClaimView:
    """Devices as ``claims`` see them. Most have attributes, such as an id, that no claim looks at."""

    def __init__(
        self, claims: Sequence[ResourceClaim], classes: Mapping[str, DeviceClass], selectors: Selectors
    ) -> None:
        self._selectors = selectors
        choices = [choice for claim in claims for request in claim.requests for choice in request.choices]
        device_classes = [classes[choice.device_class] for choice in choices if choice.device_class in classes]
        listed = [
            *(choice.selectors for choice in choices),
            *(device_class.selectors for device_class in device_classes),
        ]
        self._expressions = sorted(
            {expression for selectors in listed for expression in selectors if expression is not None}
        )
        constraints = [constraint for claim in claims for constraint in claim.constraints]
        self._attributes = sorted({constraint.attribute or "" for constraint in constraints})
        # By content of the device: computed once for devices that list the same.
        self._kinds: dict[Hashable, int] = {}
        # By visible features.
        self._numbers: dict[Hashable, int] = {}

    def device_kind(self, candidate: DeviceCandidate) -> int:
        """Return a number that is equal for devices that only name and pool tell apart for these claims."""
        key = candidate.id[0], candidate.device.content, candidate.is_for_node, candidate.excess_terms
        kind = self._kinds.get(key)
        if kind is None:
            kind = self._kinds[key] = self._numbers.setdefault(self._visible_features(candidate), len(self._numbers))
        return kind

    def _visible_features(self, candidate: DeviceCandidate) -> Hashable:
        device, driver = candidate.device, candidate.id[0]
        return (
            driver,
            candidate.is_for_node,
            candidate.excess_terms,
            device.binds_to_node,
            bool(device.binding_conditions),
            device.consumes,
            device.shareable,
            tuple(sorted(device.capacity.items(), key=lambda item: item[0])),
            device.taints,
            tuple(device.get_attribute(name, driver) for name in self._attributes),
            tuple(self._accepts(expression, candidate) for expression in self._expressions),
        )

    def _accepts(self, expression: str, candidate: DeviceCandidate) -> Hashable:
        try:
            return self._selectors.matches(expression, candidate)
        except (SelectorError, UnknownError) as error:
            return str(error)
