"""Decide when pods are collected whose node does not exist, as the pod garbage collector does."""

from __future__ import annotations

from collections.abc import Iterable

# Seconds between two looks, and for which a missing node may still come: the original's `gcCheckPeriod` and
# `quarantineTime`.
PERIOD, QUARANTINE = 20.0, 40.0


class PodCollection:
    """Looks every ``PERIOD``. All pods of a missing node are collected once its quarantine is over."""

    def __init__(self) -> None:
        # node -> when its quarantine is over
        self._over: dict[str, float] = {}

    @staticmethod
    def next_time(now: float) -> float:
        """Return when it looks next, ``now`` included."""
        return -(-now // PERIOD) * PERIOD

    def collect_nodes(self, missing: Iterable[str], now: float) -> set[str]:
        """Return the nodes whose pods are collected ``now``; ``missing`` are nodes that pods name and nobody has."""
        missing = set(missing)
        over = {node for node, time in self._over.items() if time == now}
        # A quarantine that ended while no pod named the node is forgotten.
        self._over = {node: time for node, time in self._over.items() if time > now}
        for node in missing:
            self._over.setdefault(node, now + QUARANTINE)
        return over & missing
