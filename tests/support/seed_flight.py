"""A stretch of a flight recorder: a pod that waits, until another one goes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.support.seed_recordings import cluster

if TYPE_CHECKING:
    from kschedweb.clusters.models import Cluster

BEGUN_AT, SECOND = 1_777_636_800, 1_000_000  # 2026-05-01 12:00:00 UTC


def flown(rows: int = 1, cluster_row: Cluster | None = None, name: str = "web") -> str:
    """Record pod ``name`` with ``rows`` nodes that do not help; return "cluster/namespace/pod"."""
    from kschedweb.clusters.flight.models import FlightRecorder
    from kschedweb.clusters.flight.stretches import SETTLE, Flight
    from kschedweb.clusters.following.reflector import Bookmark, Changed, Listed, Removed
    from tests.clusters.flight.test_rebuilding import node, pod

    watched_cluster = cluster_row or cluster()
    FlightRecorder.objects.update_or_create(cluster=watched_cluster, defaults={"on": True, "holder": "seed"})
    flight, start = Flight(watched_cluster, "seed", ("Node", "Pod"), "started"), BEGUN_AT * SECOND
    flight.take_news(start, Listed("Node", [node(0)], "1", "start"))
    flight.take_news(start, Listed("Pod", [pod("db", "node-0")], "1", "start"))
    flight.store_known(start + SETTLE)
    flight.take_news(start + 10 * SECOND, Changed("Pod", pod(name)))
    for number in range(rows):
        flight.take_news(start + (11 + number) * SECOND, Changed("Node", node(number + 1, "1")))
    flight.take_news(start + 600 * SECOND, Removed("Pod", pod("db", "node-0")))
    flight.take_news(start + 601 * SECOND, Changed("Pod", pod(name, "node-0")))
    for kind in ("Node", "Pod"):
        flight.take_news(start + 900 * SECOND, Bookmark(kind, "2"))
    flight.store_known(start + 900 * SECOND)
    return f"{watched_cluster.name}/default/{name}"
