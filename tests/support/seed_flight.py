"""A stretch of a flight recorder: a pod that waits, until another one goes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.support.seed_recordings import cluster

if TYPE_CHECKING:
    from kschedweb.clusters.models import Cluster

BEGAN, SECOND = 1_777_636_800, 1_000_000  # 2026-05-01 12:00:00 UTC


def flown(rows: int = 1, of: Cluster | None = None, name: str = "web") -> str:
    """What the recorder kept of pod ``name``, with ``rows`` nodes that do not help; "cluster/namespace/pod"."""
    from kschedweb.clusters.flight.models import FlightRecorder
    from kschedweb.clusters.flight.stretches import SETTLE, Flight
    from kschedweb.clusters.following.reflector import Bookmark, Changed, Listed, Removed
    from tests.clusters.flight.test_rebuilding import node, pod

    found = of or cluster()
    FlightRecorder.objects.update_or_create(cluster=found, defaults={"on": True, "holder": "seed"})
    flight, began = Flight(found, "seed", ("Node", "Pod"), "started"), BEGAN * SECOND
    flight.take_news(began, Listed("Node", [node(0)], "1", "start"))
    flight.take_news(began, Listed("Pod", [pod("db", "node-0")], "1", "start"))
    flight.store_known(began + SETTLE)
    flight.take_news(began + 10 * SECOND, Changed("Pod", pod(name)))
    for number in range(rows):
        flight.take_news(began + (11 + number) * SECOND, Changed("Node", node(number + 1, "1")))
    flight.take_news(began + 600 * SECOND, Removed("Pod", pod("db", "node-0")))
    flight.take_news(began + 601 * SECOND, Changed("Pod", pod(name, "node-0")))
    for kind in ("Node", "Pod"):
        flight.take_news(began + 900 * SECOND, Bookmark(kind, "2"))
    flight.store_known(began + 900 * SECOND)
    return f"{found.name}/default/{name}"
