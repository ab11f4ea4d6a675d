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
class Measured:
    """What a pod used, as measured ``at`` over the ``window`` before."""

    value: int
    at: float
    window: float


@dataclass(frozen=True, slots=True)
class Seen:
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
class Count:
    """``replicas`` asked for; ``utilization`` in percent where that is aimed at, ``average`` a pod in milli-units."""

    replicas: int
    average: int
    utilization: int | None = None


def wanted(
    metric: Metric,
    current: int,
    pods: Sequence[Seen],
    measured: Mapping[str, Measured],
    tolerances: tuple[float, float],
    now: float,
) -> Count:
    """The number of pods that ``metric`` asks for where there are ``current``; raises CountError."""
    if not pods:
        raise CountError(NONE_OF_PODS)
    ready, unready, missing, ignored = _grouped(pods, measured, metric.resource, now)
    values = {name: one.value for name, one in measured.items() if name not in ignored and name not in unready}
    if not values:
        raise CountError(NONE_OF_METRICS)
    aim = _Aim(metric, pods)
    ratio, count = aim.ratio(values)
    unready_up = bool(unready) and ratio > 1.0
    if not unready_up and not missing:
        if _within(ratio, tolerances):
            return Count(current, count.average, count.utilization)
        return Count(math.ceil(ratio * ready), count.average, count.utilization)
    if ratio != 1.0:
        values |= {name: 0 if ratio > 1.0 else aim.assumed(name) for name in missing}
    if unready_up:
        values |= dict.fromkeys(unready, 0)
    again, _ = aim.ratio(values)
    stays = Count(current, count.average, count.utilization)
    if _within(again, tolerances) or (ratio < 1.0 < again) or (again < 1.0 < ratio):
        return stays
    replicas = math.ceil(again * len(values))
    if (again < 1.0 and replicas > current) or (again > 1.0 and replicas < current):
        return stays
    return Count(replicas, count.average, count.utilization)


class _Aim:
    """What a metric aims at, for pods with these requests."""

    def __init__(self, metric: Metric, pods: Sequence[Seen]) -> None:
        self.metric = metric
        relative = metric.utilization is not None
        self.requests = {pod.name: request_of(pod, metric.resource) for pod in pods} if relative else {}

    def ratio(self, values: Mapping[str, int]) -> tuple[float, Count]:
        """What is used as a part of what is aimed at, and what was measured."""
        if self.metric.utilization is None:
            assert self.metric.average is not None
            average = sum(values.values()) // len(values)
            return average / self.metric.average, Count(0, average)
        known = [name for name in values if name in self.requests]
        asked, used = sum(self.requests[name] for name in known), sum(values[name] for name in known)
        if not asked:
            raise CountError(NO_REQUESTS)
        utilization = used * 100 // asked
        return utilization / self.metric.utilization, Count(0, used // len(known), utilization)

    def assumed(self, name: str) -> int:
        """What a pod without a figure is taken to use where fewer pods seem to be enough."""
        if self.metric.utilization is None:
            assert self.metric.average is not None
            return self.metric.average
        return self.requests[name] * max(100, self.metric.utilization) // 100


def _within(ratio: float, tolerances: tuple[float, float]) -> bool:
    down, up = tolerances
    return 1.0 - down <= ratio <= 1.0 + up


def _grouped(
    pods: Sequence[Seen], measured: Mapping[str, Measured], resource: str, now: float
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
        elif resource == CPU and _unready(pod, measured[pod.name], now):
            unready.add(pod.name)
        else:
            ready += 1
    return ready, unready, missing, ignored


def _unready(pod: Seen, figure: Measured, now: float) -> bool:
    """Whether the pod's use of CPU says nothing yet: it starts still, or was never ready."""
    if pod.ready is None or pod.started is None:
        return True
    if pod.started + INITIALIZATION > now:
        return not pod.ready or figure.at < pod.since + figure.window
    return not pod.ready and pod.started + DELAY > pod.since


def request_of(pod: Seen, resource: str) -> int:
    """What the pod requests, in milli-units; raises CountError where one of its containers requests none."""
    resources = pod.resources
    if resources.pod_level_set:
        total = resources.total()
        if resource not in total:
            raise CountError(f"missing pod-level request for {resource} in Pod {pod.name}")
        return _milli(total[resource])
    total_milli = 0
    for container in (*resources.containers, *(one for one in resources.init_containers if one.sidecar)):
        if resource not in container.requests:
            where = f"container {container.name} of Pod {pod.name}"
            raise CountError(f"missing request for {resource} in {where}")
        total_milli += _milli(container.requests[resource])
    return total_milli


def _milli(nano: int) -> int:
    """Milli-units, rounded up."""
    return -(-nano // quantity.MILLI)
