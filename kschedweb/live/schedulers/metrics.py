"""Metrics for scrapers, with kube-scheduler's names and buckets, served at their own address.

Each series has the labels ``cluster`` and ``profile`` besides kube-scheduler's, since one process may host several.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

import structlog
from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
    generate_latest,
    start_http_server,
)
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from kschedweb.engine.framework.diagnosis import EXTENDER
from kschedweb.engine.framework.status import Code

if TYPE_CHECKING:
    from kschedweb.engine.framework.decision import Decision
    from kschedweb.engine.live import QueueDepths

logger = structlog.get_logger(__name__)

# kube-scheduler has no series that tell when a counter was created.
disable_created_metrics()  # type: ignore[no-untyped-call]
REGISTRY = CollectorRegistry()
BINDING = "binding"
# Values of the label "type" of the cache's size, and of "queue" of the pending pods.
SIZES = ("nodes", "pods", "assumed_pods")
QUEUES = ("active", "backoff", "unschedulable", "gated")
OWNER_LABELS = ("cluster", "profile")


def exponential_buckets(start: float, factor: float, count: int) -> tuple[float, ...]:
    """Return the upper bounds of buckets, as prometheus.ExponentialBuckets in Go."""
    return tuple(start * factor**power for power in range(count))


def make_counter(name: str, help_text: str, *labels: str) -> Counter:
    """Return a counter in this process's registry. ``make_gauge`` and ``make_histogram`` do the same."""
    return Counter(name, help_text, (*OWNER_LABELS, *labels), registry=REGISTRY)


def make_gauge(name: str, help_text: str, *labels: str) -> Gauge:
    return Gauge(name, help_text, (*OWNER_LABELS, *labels), registry=REGISTRY)


def make_histogram(name: str, help_text: str, buckets: tuple[float, ...], *labels: str) -> Histogram:
    return Histogram(name, help_text, (*OWNER_LABELS, *labels), buckets=buckets, registry=REGISTRY)


ATTEMPTS = make_counter("scheduler_schedule_attempts", "Number of attempts to schedule pods, by the result.", "result")
ATTEMPT_SECONDS = make_histogram(
    "scheduler_scheduling_attempt_duration_seconds",
    "Scheduling attempt latency in seconds, waits at Permit and the binding included.",
    exponential_buckets(0.001, 2, 15),
    "result",
)
ALGORITHM_SECONDS = make_histogram(
    "scheduler_scheduling_algorithm_duration_seconds",
    "Scheduling algorithm latency in seconds.",
    exponential_buckets(0.001, 2, 15),
)
POINT_SECONDS = make_histogram(
    "scheduler_framework_extension_point_duration_seconds",
    "Latency for running all plugins of a specific extension point.",
    exponential_buckets(0.0001, 2, 12),
    "extension_point",
    "status",
)
PLUGIN_SECONDS = make_histogram(
    "scheduler_plugin_execution_duration_seconds",
    "Duration for running a plugin at a specific extension point, in every tenth cycle. One call is about all nodes "
    "that the plugin is asked about, where kube-scheduler calls Filter and Score for each node. Answers that are "
    "remembered from earlier pods are no calls.",
    exponential_buckets(0.00001, 1.5, 20),
    "plugin",
    "extension_point",
    "status",
)
SLI_SECONDS = make_histogram(
    "scheduler_pod_scheduling_sli_duration_seconds",
    "Seconds from a pod's first appearance to its binding, by the number of attempts it took. Waits for people are "
    "left out: scheduler_permit_wait_duration_seconds has them.",
    exponential_buckets(0.01, 2, 20),
    "attempts",
)
POD_ATTEMPTS = make_histogram(
    "scheduler_pod_scheduling_attempts",
    "Number of attempts to successfully schedule a pod.",
    exponential_buckets(1, 2, 5),
)
PENDING = make_gauge("scheduler_pending_pods", "Number of pending pods, by the queue they are in.", "queue")
# Of the labels for the kind one is empty, which Prometheus takes as absent: releases name it differently.
ENTITIES = make_gauge(
    "scheduler_queued_entities",
    "Number of queued pods, pod groups and composite pod groups, by the queue they are in. The kind is in the label "
    "'type' under kube-scheduler 1.37, in 'entity' since 1.38.",
    "queue",
    "type",
    "entity",
)
INCOMING = make_counter(
    "scheduler_queue_incoming_pods",
    "Number of pods added to scheduling queues by event and queue type.",
    "queue",
    "event",
)
INCOMING_ENTITIES = make_counter(
    "scheduler_queue_incoming_entities",
    "Number of pods without a group, pod groups and composite pod groups added to scheduling queues by event and queue "
    "type. The kind is in the label 'type' under kube-scheduler 1.37, in 'entity' since 1.38.",
    "queue",
    "event",
    "type",
    "entity",
)
PREEMPTIONS = make_counter("scheduler_preemption_attempts", "Total preemption attempts in the cluster.")
VICTIMS = make_histogram(
    "scheduler_preemption_victims", "Number of selected preemption victims.", exponential_buckets(1, 2, 7)
)
PERMIT_SECONDS = make_histogram(
    "scheduler_permit_wait_duration_seconds",
    "Seconds that pods waited at Permit, by the status with which the wait ended.",
    exponential_buckets(0.001, 2, 15),
    "result",
)
CACHE = make_gauge(
    "scheduler_cache_size", "Number of nodes, pods, and assumed (bound) pods in the scheduler cache.", "type"
)
GOROUTINES = make_gauge(
    "scheduler_goroutines",
    "Number of binding cycles under way, waits at Permit included: kube-scheduler has a goroutine for each.",
    "operation",
)
MASTER = make_gauge(
    "leader_election_master_status",
    "Whether this process leads: 1 is master, 0 is backup. 'name' is the name of the lease.",
    "name",
)
# Extension points that count as the scheduling algorithm: those that find a node.
ALGORITHM = frozenset({"PreFilter", "Filter", "Score", EXTENDER})


class Instruments:
    """The series of one live scheduler."""

    def __init__(self, cluster: str, profile: str, lease: str) -> None:
        self._whose = cluster, profile
        self._attempts = {
            result: (ATTEMPTS.labels(*self._whose, result), ATTEMPT_SECONDS.labels(*self._whose, result))
            for result in ("scheduled", "unschedulable", "error")
        }
        self._algorithm = ALGORITHM_SECONDS.labels(*self._whose)
        self._points: dict[tuple[str, str], Histogram] = {}
        self._incoming: dict[tuple[str, ...], int] = {}
        self._master = MASTER.labels(*self._whose, lease)
        self._entities: set[tuple[str, str, str]] = set()

    def count_decision(self, decision: Decision) -> None:
        """Count one scheduling cycle with its durations."""
        durations, codes = decision.durations, decision.codes
        for call in decision.calls:
            PLUGIN_SECONDS.labels(*self._whose, call.plugin, call.point, call.code).observe(call.seconds)
        self._algorithm.observe(sum(spent for point, spent in durations.items() if point in ALGORITHM))
        for point, spent in durations.items():
            key = point, str(codes.get(point, Code.SUCCESS))
            series = self._points.get(key)
            if series is None:
                series = self._points[key] = POINT_SECONDS.labels(*self._whose, *key)
            series.observe(spent)
        # kube-scheduler counts each run of PostFilter as an attempt to preempt.
        if "PostFilter" in durations:
            PREEMPTIONS.labels(*self._whose).inc()

    def count_attempt(self, result: str, seconds: float) -> None:
        """Count a try that ended as scheduled, unschedulable or error, ``seconds`` after it began."""
        number, duration = self._attempts[result]
        number.inc()
        duration.observe(seconds)

    def pod_bound(self, seconds: float, attempts: int) -> None:
        # As `getAttemptsLabel`: from 15 attempts on there is only one label.
        SLI_SECONDS.labels(*self._whose, str(attempts) if attempts < 15 else "15+").observe(seconds)
        POD_ATTEMPTS.labels(*self._whose).observe(attempts)

    def permit_waited(self, seconds: float, code: Code) -> None:
        PERMIT_SECONDS.labels(*self._whose, str(code)).observe(seconds)

    def count_incoming(self, counts: Mapping[tuple[str, str], int]) -> None:
        """Add the pods that entered queues; ``counts`` are totals since the run began, by queue and event."""
        self._increase(INCOMING, counts.items())

    def count_incoming_entities(self, counts: Mapping[tuple[str, str, str], int], label: str) -> None:
        """Add the entities that entered queues; ``counts`` are totals, by queue, event and kind.

        The kind is in the ``label`` of the release; without one it has no such metric.
        """
        if label:
            self._increase(
                INCOMING_ENTITIES,
                (((queue, event, *_place_kind(kind, label)), count) for (queue, event, kind), count in counts.items()),
            )

    def _increase(self, counter: Counter, totals: Iterable[tuple[tuple[str, ...], int]]) -> None:
        # A counter of Prometheus cannot be set, only increased, so the last totals are remembered.
        for labels, count in totals:
            if news := count - self._incoming.get(labels, 0):
                counter.labels(*self._whose, *labels).inc(news)
                self._incoming[labels] = count

    def count_preemption(self, victims: int) -> None:
        VICTIMS.labels(*self._whose).observe(victims)

    def set_depths(self, depths: QueueDepths) -> None:
        for name in QUEUES:
            PENDING.labels(*self._whose, name).set(getattr(depths, name))
        GOROUTINES.labels(*self._whose, BINDING).set(depths.waiting + depths.binding)
        sizes = (depths.nodes, depths.pods, depths.waiting + depths.binding)
        for name, size in zip(SIZES, sizes, strict=True):
            CACHE.labels(*self._whose, name).set(size)

    def set_entities(self, counts: Mapping[tuple[str, str], int], label: str) -> None:
        """Set the number of queued entities, by queue and kind, with the kind in the ``label`` of the release.

        Without a label the release has no such metric.
        """
        series = {
            (queue, *_place_kind(kind, label)): count for (queue, kind), count in (counts if label else {}).items()
        }
        self._forget_entities(self._entities - series.keys())
        for labels, count in series.items():
            ENTITIES.labels(*self._whose, *labels).set(count)
        self._entities = set(series)

    def _forget_entities(self, gone: Iterable[tuple[str, str, str]]) -> None:
        for labels in gone:
            with suppress(KeyError):
                ENTITIES.remove(*self._whose, *labels)

    def set_leading(self, leading: bool) -> None:
        self._master.set(int(leading))

    def forget_depths(self) -> None:
        """Remove the gauges of a scheduler that is no longer hosted here: it has no depths and does not lead."""
        self._master.set(0)
        self._forget_entities(self._entities)
        for gauge, names in ((PENDING, QUEUES), (CACHE, SIZES), (GOROUTINES, (BINDING,))):
            for name in names:
                with suppress(KeyError):  # The run ended before it had any.
                    gauge.remove(*self._whose, name)


def _place_kind(kind: str, label: str) -> tuple[str, str]:
    """Return the values of the labels ``type`` and ``entity``, of which the ``label`` of the release has the kind."""
    return (kind, "") if label == "type" else ("", kind)


def render_exposition() -> tuple[bytes, str]:
    """Return the exposition for a scraper, and its content type."""
    return generate_latest(REGISTRY), CONTENT_TYPE_LATEST


def serve_metrics(port: int, host: str) -> None:
    """Serve the metrics at ``http://host:port/metrics`` in a thread. If that fails, scheduling goes on without it."""
    try:
        start_http_server(port, addr=host, registry=REGISTRY)
    except OSError as error:
        logger.error("metrics_not_served", host=host, port=port, reason=error.strerror)
