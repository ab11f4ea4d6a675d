"""Compute how many pods a metric asks for, as the HorizontalPodAutoscaler controller does.

The source is replica_calculator.go of Kubernetes. Amounts are milli-units, times seconds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from kschedweb.engine.controllers.autoscaling.spec import Metric
from kschedweb.engine.objects import quantity
from kschedweb.engine.objects.resources import CPU, PodResources
from kschedweb.engine.values import dataclass

PENDING, RUNNING, FAILED = "Pending", "Running", "Failed"
# Seconds, the defaults of kube-controller-manager's flags ``--horizontal-pod-autoscaler-cpu-initialization-period`` and
# ``--horizontal-pod-autoscaler-initial-readiness-delay``.
INITIALIZATION, DELAY = 300.0, 30.0
NONE_OF_PODS = "no pods returned by selector while calculating replica count"
NONE_OF_METRICS = "did not receive metrics for targeted pods (pods might be unready)"
NO_REQUESTS = "no metrics returned matched known pods"


class CountError(ValueError):
    """A metric that asks for no number of pods; the text says why, in the controller's words."""


@dataclass(frozen=True, slots=True)
class PodMetric:
    """The use of a pod, as an average over a window."""

    # Milli-units.
    value: int
    # The end of the window, in seconds.
    at: float
    # The length of the window, in seconds.
    window: float


@dataclass(frozen=True, slots=True)
class ObservedPod:
    """A pod as the controller sees it. Times are seconds."""

    name: str
    resources: PodResources
    phase: str = RUNNING
    terminating: bool = False
    # Status of the condition Ready; ``None`` without that condition.
    ready: bool | None = True
    # When that status last changed.
    since: float = 0.0
    # The start time of its status; ``None`` while it has none.
    started: float | None = 0.0


@dataclass(frozen=True, slots=True)
class ReplicaCount:
    """The number of pods that a metric asks for."""

    replicas: int
    # Measured average of a pod, in milli-units.
    average: int
    # Measured percent of requests; ``None`` if the metric aims at an average.
    utilization: int | None = None


def calculate_replicas(
    metric: Metric,
    current: int,
    pods: Sequence[ObservedPod],
    measured: Mapping[str, PodMetric],
    tolerances: tuple[float, float],
    now: float,
) -> ReplicaCount:
    """Return the number of pods that ``metric`` asks for if there are ``current``; raises CountError."""
    if not pods:
        raise CountError(NONE_OF_PODS)
    ready, unready, missing, ignored = _group_pods(pods, measured, metric.resource, now)
    values = {name: figure.value for name, figure in measured.items() if name not in ignored and name not in unready}
    if not values:
        raise CountError(NONE_OF_METRICS)
    aim = _MetricTarget(metric, pods)
    ratio, count = aim.usage_ratio(values)
    unready_up = bool(unready) and ratio > 1.0
    if not unready_up and not missing:
        if _is_within_tolerances(ratio, tolerances):
            return ReplicaCount(current, count.average, count.utilization)
        return ReplicaCount(math.ceil(ratio * ready), count.average, count.utilization)
    # Pods without a figure are assumed to use whatever dampens the change.
    if ratio != 1.0:
        values |= {name: 0 if ratio > 1.0 else aim.assumed_usage(name) for name in missing}
    if unready_up:
        values |= dict.fromkeys(unready, 0)
    new_ratio, _ = aim.usage_ratio(values)
    stays = ReplicaCount(current, count.average, count.utilization)
    # The controller does nothing if its assumptions bring the ratio to the other side of 1.
    if _is_within_tolerances(new_ratio, tolerances) or (ratio < 1.0 < new_ratio) or (new_ratio < 1.0 < ratio):
        return stays
    replicas = math.ceil(new_ratio * len(values))
    if (new_ratio < 1.0 and replicas > current) or (new_ratio > 1.0 and replicas < current):
        return stays
    return ReplicaCount(replicas, count.average, count.utilization)


class _MetricTarget:
    """The target of a metric, for pods with these requests."""

    def __init__(self, metric: Metric, pods: Sequence[ObservedPod]) -> None:
        self.metric = metric
        relative = metric.utilization is not None
        self.requests = {pod.name: get_pod_request(pod, metric.resource) for pod in pods} if relative else {}

    def usage_ratio(self, values: Mapping[str, int]) -> tuple[float, ReplicaCount]:
        """Return the ratio of use to target, and what was measured."""
        if self.metric.utilization is None:
            assert self.metric.average is not None
            # Integer division, as in Go: averages and percentages are rounded down.
            average = sum(values.values()) // len(values)
            return average / self.metric.average, ReplicaCount(0, average)
        matched = [name for name in values if name in self.requests]
        requested, used = sum(self.requests[name] for name in matched), sum(values[name] for name in matched)
        if not requested:
            raise CountError(NO_REQUESTS)
        utilization = used * 100 // requested
        return utilization / self.metric.utilization, ReplicaCount(0, used // len(matched), utilization)

    def assumed_usage(self, name: str) -> int:
        """Return the use that is assumed of a pod without a figure when scaling down."""
        if self.metric.utilization is None:
            assert self.metric.average is not None
            return self.metric.average
        return self.requests[name] * max(100, self.metric.utilization) // 100


def _is_within_tolerances(ratio: float, tolerances: tuple[float, float]) -> bool:
    down, up = tolerances
    return 1.0 - down <= ratio <= 1.0 + up


def _group_pods(
    pods: Sequence[ObservedPod], measured: Mapping[str, PodMetric], resource: str, now: float
) -> tuple[int, set[str], set[str], set[str]]:
    """Return the number of ready pods, and the names of those that are unready, without a figure, and ignored."""
    ready, unready, missing, ignored = 0, set[str](), set[str](), set[str]()
    for pod in pods:
        if pod.terminating or pod.phase == FAILED:
            ignored.add(pod.name)
        elif pod.phase == PENDING:
            unready.add(pod.name)
        elif pod.name not in measured:
            missing.add(pod.name)
        elif resource == CPU and _is_cpu_unready(pod, measured[pod.name], now):
            unready.add(pod.name)
        else:
            ready += 1
    return ready, unready, missing, ignored


def _is_cpu_unready(pod: ObservedPod, figure: PodMetric, now: float) -> bool:
    """Return true if the pod's CPU use means nothing yet: it is starting, or was never ready."""
    if pod.ready is None or pod.started is None:
        return True
    if pod.started + INITIALIZATION > now:
        return not pod.ready or figure.at < pod.since + figure.window
    return not pod.ready and pod.started + DELAY > pod.since


def get_pod_request(pod: ObservedPod, resource: str) -> int:
    """Return the pod's request in milli-units; raises CountError if one of its containers requests none."""
    resources = pod.resources
    if resources.pod_level_set:
        total = resources.total()
        if resource not in total:
            raise CountError(f"missing pod-level request for {resource} in Pod {pod.name}")
        return _round_up_milli(total[resource])
    total_milli = 0
    for container in (
        *resources.containers,
        *(init_container for init_container in resources.init_containers if init_container.sidecar),
    ):
        if resource not in container.requests:
            container_text = f"container {container.name} of Pod {pod.name}"
            raise CountError(f"missing request for {resource} in {container_text}")
        total_milli += _round_up_milli(container.requests[resource])
    return total_milli


def _round_up_milli(nano: int) -> int:
    """Convert to milli-units, rounded up as `MilliValue` does."""
    return -(-nano // quantity.MILLI)
