"""Dominant resource shares: how much a queue or cohort borrows of what it could (`fair_sharing.go`)."""

from __future__ import annotations

import math
from decimal import Decimal

from kschedweb.engine.queueing.quota.amounts import FlavorResource, Quantities, add_amounts, subtract_amounts
from kschedweb.engine.queueing.quota.quota_tree import QuotaNode
from kschedweb.engine.values import dataclass

_UNLIMITED_SHARE = 2**63 - 1


@dataclass(frozen=True, slots=True)
class DominantShare:
    """The share of a node."""

    # Borrowed per thousand of what is lendable, of the resource of which that is the most.
    ratio: float
    weight: float
    resource: str = ""
    # What the node borrows.
    borrowed: tuple[FlavorResource, ...] = ()

    @property
    def is_borrowing(self) -> bool:
        return bool(self.borrowed)

    def is_borrowing_any(self, requests: Quantities) -> bool:
        """Return True if the node borrows something of which ``requests`` asks (`IsBorrowingOn`)."""
        return any(requests.get(resource, 0) > 0 for resource in self.borrowed)

    @property
    def is_infinite(self) -> bool:
        """True for a node of weight 0 that borrows."""
        return self.weight == 0 and self.ratio != 0

    @property
    def value(self) -> float:
        """The share after its weight."""
        if self.ratio == 0:
            return 0.0
        return math.inf if self.weight == 0 else self.ratio / self.weight

    @property
    def text(self) -> str:
        """The share as Kueue writes it in JSON."""
        if math.isinf(self.value):
            return "+Inf"
        text = format(Decimal(repr(self.value)), "f")
        return text.removesuffix(".0")

    @property
    def rounded(self) -> int:
        """The share as the status has it."""
        return _UNLIMITED_SHARE if math.isinf(self.value) else math.ceil(self.value)

    @property
    def rank(self) -> tuple[bool, float]:
        """The sort key of shares: infinite ones come last, by their ratios (`CompareDRS`)."""
        return self.is_infinite, self.ratio if self.is_infinite else self.value


# Below every share.
LOWEST_SHARE = DominantShare(-1.0, 1.0)


def compute_share(node: QuotaNode) -> DominantShare:
    """Return the share of ``node``; that of a root is 0."""
    if node.parent is None:
        return DominantShare(0.0, node.fair_weight)
    borrowed: dict[str, int] = {}
    resources = []
    for resource, quota in node.subtree_quota.items():
        excess = subtract_amounts(node.used(resource), quota)
        if excess > 0:
            borrowed[resource.resource] = add_amounts(borrowed.get(resource.resource, 0), excess)
            resources.append(resource)
    ratio, dominant = 0.0, ""
    if borrowed:
        lendable = _sum_lendable(node.parent)
        for name, amount in sorted(borrowed.items()):
            if lendable.get(name, 0) > 0:
                own_ratio = float(amount) * 1000.0 / float(lendable[name])
                # The first in the alphabet of equals.
                if own_ratio > ratio:
                    ratio, dominant = own_ratio, name
    return DominantShare(ratio, node.fair_weight, dominant, tuple(resources))


def _sum_lendable(node: QuotaNode) -> dict[str, int]:
    """Return by resource what ``node`` could have in all flavors."""
    root = node
    while root.parent is not None:
        root = root.parent
    lendable: dict[str, int] = {}
    for resource in root.subtree_quota:
        potential = node.potential_available(resource)
        lendable[resource.resource] = add_amounts(lendable.get(resource.resource, 0), potential)
    return lendable
