"""When pods are collected that name a node which does not exist, as the pod garbage collector decides."""

from __future__ import annotations

from collections.abc import Iterable

PERIOD, QUARANTINE = 20.0, 40.0  # seconds between two looks, and for which a missing node may come still


class PodCollection:
    """Looks each ``PERIOD``. All pods of a node that was missed are collected once its quarantine is over."""

    def __init__(self) -> None:
        self._over: dict[str, float] = {}  # node -> when its quarantine is over

    @staticmethod
    def next_time(now: float) -> float:
        """When it looks next, ``now`` included."""
        return -(-now // PERIOD) * PERIOD

    def collect_nodes(self, missing: Iterable[str], now: float) -> set[str]:
        """The nodes whose pods are collected ``now``; ``missing`` are those that pods name and that are not there."""
        missing = set(missing)
        over = {node for node, time in self._over.items() if time == now}
        # A quarantine that ended while no pod named the node is forgotten.
        self._over = {node: time for node, time in self._over.items() if time > now}
        for node in missing:
            self._over.setdefault(node, now + QUARANTINE)
        return over & missing
