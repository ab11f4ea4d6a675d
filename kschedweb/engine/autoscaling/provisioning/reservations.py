"""How many slots of each reservation are left while new nodes are worked out."""

from __future__ import annotations

from collections.abc import Iterable

from kschedweb.engine.autoscaling.cluster.world import World
from kschedweb.engine.autoscaling.offers.labels import RESERVED


class Reservations:
    """Slots by reservation id; each new node takes at most one of each."""

    def __init__(self, slots: dict[str, int]) -> None:
        self._left = dict(slots)
        self._held: dict[str, set[str]] = {}

    def free(self, host: str, identity: str) -> bool:
        """Whether a node can have a slot, or has one."""
        return identity in self._held.get(host, ()) or self._left[identity] > 0

    def hold(self, host: str, identities: Iterable[str]) -> None:
        """The node has a slot of just these reservations."""
        wanted, held = set(identities), self._held.get(host, set())
        for identity in wanted - held:
            self._left[identity] -= 1
        for identity in held - wanted:
            self._left[identity] += 1
        self._held[host] = wanted


def slots(world: World) -> dict[str, int]:
    """The slots of each reservation: the fewest, where several offerings tell of it."""
    found: dict[str, int] = {}
    names = {pool.name for pool in world.usable}
    for sold in world.types:
        for one in sold.offerings if not sold.pools or names & set(sold.pools) else ():
            if one.capacity_type == RESERVED:
                known = found.get(one.reservation, one.reservation_capacity)
                found[one.reservation] = min(known, one.reservation_capacity)
    return found
