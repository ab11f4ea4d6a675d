"""What a scraper reads, under kube-scheduler's names and with its buckets, and served at an address of its own.

Each series has the label ``cluster`` besides kube-scheduler's own labels, since one process may host several.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

import structlog
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest, start_http_server
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from kschedweb.engine.framework.diagnosis import EXTENDER

if TYPE_CHECKING:
    from kschedweb.engine.live import Depths

logger = structlog.get_logger(__name__)

REGISTRY = CollectorRegistry()
SIZES = ("nodes", "pods", "assumed_pods")
QUEUES = ("active", "backoff", "unschedulable", "gated")


def _exponential(start: float, factor: float, count: int) -> tuple[float, ...]:
    """Upper bounds as Go's client makes them."""
    return tuple(start * factor**power for power in range(count))


ATTEMPTS = Counter(
    "scheduler_schedule_attempts",
    "Number of attempts to schedule pods, by the result.",
    ("cluster", "profile", "result"),
    registry=REGISTRY,
)
ATTEMPT_SECONDS = Histogram(
    "scheduler_scheduling_attempt_duration_seconds",
    "Scheduling attempt latency in seconds, without the binding.",
    ("cluster", "profile", "result"),
    buckets=_exponential(0.001, 2, 15),
    registry=REGISTRY,
)
ALGORITHM_SECONDS = Histogram(
    "scheduler_scheduling_algorithm_duration_seconds",
    "Scheduling algorithm latency in seconds.",
    ("cluster",),
    buckets=_exponential(0.001, 2, 15),
    registry=REGISTRY,
)
POINT_SECONDS = Histogram(
    "scheduler_framework_extension_point_duration_seconds",
    "Latency for running all plugins of a specific extension point.",
    ("cluster", "profile", "extension_point"),
    buckets=_exponential(0.0001, 2, 12),
    registry=REGISTRY,
)
SLI_SECONDS = Histogram(
    "scheduler_pod_scheduling_sli_duration_seconds",
    "Seconds from a pod's first appearance to its binding, by the number of attempts it took.",
    ("cluster", "attempts"),
    buckets=_exponential(0.01, 2, 20),
    registry=REGISTRY,
)
POD_ATTEMPTS = Histogram(
    "scheduler_pod_scheduling_attempts",
    "Number of attempts to successfully schedule a pod.",
    ("cluster",),
    buckets=_exponential(1, 2, 5),
    registry=REGISTRY,
)
PENDING = Gauge(
    "scheduler_pending_pods",
    "Number of pending pods, by the queue they are in.",
    ("cluster", "profile", "queue"),
    registry=REGISTRY,
)
INCOMING = Counter(
    "scheduler_queue_incoming_pods",
    "Number of pods added to scheduling queues by event and queue type.",
    ("cluster", "queue", "event"),
    registry=REGISTRY,
)
PREEMPTIONS = Counter(
    "scheduler_preemption_attempts", "Total preemption attempts in the cluster.", ("cluster",), registry=REGISTRY
)
VICTIMS = Histogram(
    "scheduler_preemption_victims",
    "Number of selected preemption victims.",
    ("cluster",),
    buckets=_exponential(1, 2, 7),
    registry=REGISTRY,
)
PERMIT_SECONDS = Histogram(
    "scheduler_permit_wait_duration_seconds",
    "Seconds that pods waited at Permit.",
    ("cluster", "result"),
    buckets=_exponential(0.001, 2, 15),
    registry=REGISTRY,
)
CACHE = Gauge(
    "scheduler_cache_size",
    "Number of nodes, pods, and assumed (bound) pods in the scheduler cache.",
    ("cluster", "profile", "type"),
    registry=REGISTRY,
)
MASTER = Gauge(
    "leader_election_master_status",
    "Whether this process leads: 1 is master, 0 is backup. 'name' is the name of the lease.",
    ("cluster", "name"),
    registry=REGISTRY,
)
# Extension points that are part of finding a node.
ALGORITHM = frozenset({"PreFilter", "Filter", "Score", EXTENDER})


class Instruments:
    """The series of one live scheduler."""

    def __init__(self, cluster: str, profile: str, lease: str) -> None:
        self._cluster, self._profile, self._lease = cluster, profile, lease
        self._attempts = {
            result: (ATTEMPTS.labels(cluster, profile, result), ATTEMPT_SECONDS.labels(cluster, profile, result))
            for result in ("scheduled", "unschedulable", "error")
        }
        self._algorithm = ALGORITHM_SECONDS.labels(cluster)
        self._points: dict[str, Histogram] = {}
        self._incoming: dict[tuple[str, str], int] = {}
        self._master = MASTER.labels(cluster, lease)

    def attempted(self, result: str, durations: Mapping[str, float]) -> None:
        """One try ended as scheduled, unschedulable or error; ``durations`` are seconds by extension point."""
        number, seconds = self._attempts[result]
        number.inc()
        seconds.observe(sum(durations.values()))
        self._algorithm.observe(sum(spent for point, spent in durations.items() if point in ALGORITHM))
        for point, spent in durations.items():
            found = self._points.get(point)
            if found is None:
                found = self._points[point] = POINT_SECONDS.labels(self._cluster, self._profile, point)
            found.observe(spent)

    def pod_bound(self, seconds: float, attempts: int) -> None:
        # kube-scheduler counts attempts from 15 on as one.
        SLI_SECONDS.labels(self._cluster, str(attempts) if attempts < 15 else "15+").observe(seconds)
        POD_ATTEMPTS.labels(self._cluster).observe(attempts)

    def permit_waited(self, seconds: float, result: str) -> None:
        PERMIT_SECONDS.labels(self._cluster, result).observe(seconds)

    def incoming(self, counts: Mapping[tuple[str, str], int]) -> None:
        """``counts`` since the run began, by queue and event."""
        for key, count in counts.items():
            if news := count - self._incoming.get(key, 0):
                INCOMING.labels(self._cluster, *key).inc(news)
                self._incoming[key] = count

    def preempted(self, victims: int) -> None:
        PREEMPTIONS.labels(self._cluster).inc()
        VICTIMS.labels(self._cluster).observe(victims)

    def depths(self, depths: Depths) -> None:
        for name in QUEUES:
            PENDING.labels(self._cluster, self._profile, name).set(getattr(depths, name))
        sizes = (depths.nodes, depths.pods, depths.waiting + depths.binding)
        for name, size in zip(SIZES, sizes, strict=True):
            CACHE.labels(self._cluster, self._profile, name).set(size)

    def leads(self, leading: bool) -> None:
        self._master.set(int(leading))

    def forget(self) -> None:
        """The scheduler is no longer hosted here: it has no depths and leads no more."""
        self._master.set(0)
        for gauge, names in ((PENDING, QUEUES), (CACHE, SIZES)):
            for name in names:
                with suppress(KeyError):  # it never came so far as to have any
                    gauge.remove(self._cluster, self._profile, name)


def exposition() -> tuple[bytes, str]:
    """What a scraper gets, and its content type."""
    return generate_latest(REGISTRY), CONTENT_TYPE_LATEST


def serve(port: int, host: str) -> None:
    """Serve the metrics at ``http://host:port/metrics`` from a thread; scheduling goes on where it cannot be."""
    try:
        start_http_server(port, addr=host, registry=REGISTRY)
    except OSError as error:
        logger.error("metrics_not_served", host=host, port=port, reason=error.strerror)
