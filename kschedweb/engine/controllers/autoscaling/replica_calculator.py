"""How many pods a metric asks for, as the controller of HorizontalPodAutoscalers works it out.

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
INITIALIZATION, DELAY = 300.0, 30.0  # seconds, flags of kube-controller-manager
NONE_OF_PODS = "no pods returned by selector while calculating replica count"
NONE_OF_METRICS = "did not receive metrics for targeted pods (pods might be unready)"
NO_REQUESTS = "no metrics returned matched known pods"


class CountError(ValueError):
    """Why a metric asks for no number of pods, in the controller's words."""


@dataclass(frozen=True, slots=True)
class PodMetric:
    """What a pod used, as measured ``at`` over the ``window`` before."""

    value: int
    at: float
    window: float


@dataclass(frozen=True, slots=True)
class ObservedPod:
    """A pod as the controller sees it. ``ready`` is the condition's status, ``None`` where there is no condition.

    ``since`` is when that last changed, ``started`` the start time.
    """

    name: str
    resources: PodResources
    phase: str = RUNNING
    terminating: bool = False
    ready: bool | None = True
    since: float = 0.0
    started: float | None = 0.0


@dataclass(frozen=True, slots=True)
class ReplicaCount:
    """``replicas`` asked for; ``utilization`` in percent where that is aimed at, ``average`` a pod in milli-units."""

    replicas: int
    average: int
    utilization: int | None = None


def calculate_replicas(
    metric: Metric,
    current: int,
    pods: Sequence[ObservedPod],
    measured: Mapping[str, PodMetric],
    tolerances: tuple[float, float],
    now: float,
) -> ReplicaCount:
    """The number of pods that ``metric`` asks for where there are ``current``; raises CountError."""
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
    if ratio != 1.0:
        values |= {name: 0 if ratio > 1.0 else aim.assumed_usage(name) for name in missing}
    if unready_up:
        values |= dict.fromkeys(unready, 0)
    new_ratio, _ = aim.usage_ratio(values)
    stays = ReplicaCount(current, count.average, count.utilization)
    if _is_within_tolerances(new_ratio, tolerances) or (ratio < 1.0 < new_ratio) or (new_ratio < 1.0 < ratio):
        return stays
    replicas = math.ceil(new_ratio * len(values))
    if (new_ratio < 1.0 and replicas > current) or (new_ratio > 1.0 and replicas < current):
        return stays
    return ReplicaCount(replicas, count.average, count.utilization)


class _MetricTarget:
    """What a metric aims at, for pods with these requests."""

    def __init__(self, metric: Metric, pods: Sequence[ObservedPod]) -> None:
        self.metric = metric
        relative = metric.utilization is not None
        self.requests = {pod.name: get_pod_request(pod, metric.resource) for pod in pods} if relative else {}

    def usage_ratio(self, values: Mapping[str, int]) -> tuple[float, ReplicaCount]:
        """What is used as a part of what is aimed at, and what was measured."""
        if self.metric.utilization is None:
            assert self.metric.average is not None
            average = sum(values.values()) // len(values)
            return average / self.metric.average, ReplicaCount(0, average)
        matched = [name for name in values if name in self.requests]
        requested, used = sum(self.requests[name] for name in matched), sum(values[name] for name in matched)
        if not requested:
            raise CountError(NO_REQUESTS)
        utilization = used * 100 // requested
        return utilization / self.metric.utilization, ReplicaCount(0, used // len(matched), utilization)

    def assumed_usage(self, name: str) -> int:
        """What a pod without a figure is taken to use where fewer pods seem to be enough."""
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
    """The number of ready pods, and the names of those that are unready, without a figure, and of no account."""
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
    """Whether the pod's use of CPU says nothing yet: it starts still, or was never ready."""
    if pod.ready is None or pod.started is None:
        return True
    if pod.started + INITIALIZATION > now:
        return not pod.ready or figure.at < pod.since + figure.window
    return not pod.ready and pod.started + DELAY > pod.since


def get_pod_request(pod: ObservedPod, resource: str) -> int:
    """What the pod requests, in milli-units; raises CountError where one of its containers requests none."""
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
    """Milli-units, rounded up."""
    return -(-nano // quantity.MILLI)
