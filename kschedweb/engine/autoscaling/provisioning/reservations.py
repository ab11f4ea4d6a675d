"""The free slots of each reservation while new nodes are computed."""

from __future__ import annotations

from collections.abc import Iterable

from kschedweb.engine.autoscaling.cluster.cluster_state import ClusterState
from kschedweb.engine.autoscaling.offers.labels import RESERVED


class ReservationManager:
    """Slots by reservation id; a new node holds at most one of each."""

    def __init__(self, slots: dict[str, int]) -> None:
        self._remaining = dict(slots)
        self._held_by_host: dict[str, set[str]] = {}

    def can_reserve(self, host: str, identity: str) -> bool:
        """Return whether a node holds a slot or can get one."""
        return identity in self._held_by_host.get(host, ()) or self._remaining[identity] > 0

    def reserve_slots(self, host: str, identities: Iterable[str]) -> None:
        """Let the node hold a slot of exactly these reservations."""
        requested, current = set(identities), self._held_by_host.get(host, set())
        for identity in requested - current:
            self._remaining[identity] -= 1
        for identity in current - requested:
            self._remaining[identity] += 1
        self._held_by_host[host] = requested


def count_slots(world: ClusterState) -> dict[str, int]:
    """Return the slots of each reservation; the fewest if several offerings report it."""
    slots_by_id: dict[str, int] = {}
    names = {pool.name for pool in world.usable_pools}
    for sold in world.types:
        for offering in sold.offerings if not sold.pools or names & set(sold.pools) else ():
            if offering.capacity_type == RESERVED:
                fewest = slots_by_id.get(offering.reservation, offering.reservation_capacity)
                slots_by_id[offering.reservation] = min(fewest, offering.reservation_capacity)
    return slots_by_id
