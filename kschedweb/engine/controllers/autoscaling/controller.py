"""The controller of HorizontalPodAutoscalers at one look, as horizontal.go of Kubernetes 1.37 has it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

from kschedweb.engine.controllers.autoscaling.limits import Memory
from kschedweb.engine.controllers.autoscaling.replicas import Count, CountError, Measured, Seen, wanted
from kschedweb.engine.controllers.autoscaling.spec import Autoscaler, Metric
from kschedweb.engine.values import dataclass

SYNC = 15.0  # seconds between two looks
GOT = "True SucceededGetScale: the HPA controller was able to get the target's current scale"
OFF = "False ScalingDisabled: scaling is disabled since the replica count of the target is zero"
ABOVE = "Current number of replicas above Spec.MaxReplicas"
BELOW = "Current number of replicas below Spec.MinReplicas"
ALL_BELOW = "All metrics below target"


@dataclass(frozen=True, slots=True)
class Look:
    """``replicas`` are wanted, because of ``reason`` where that is another number than there was.

    ``utilization`` is that of the metric that decided, in percent, ``None`` where nothing was measured of that kind.
    """

    replicas: int
    reason: str = ""
    utilization: int | None = None


@dataclass(slots=True)
class Controller:
    """What it knows of one autoscaler: ``conditions`` are ``Status Reason: message`` by type."""

    autoscaler: Autoscaler
    memory: Memory = field(default_factory=Memory)
    conditions: dict[str, str] = field(default_factory=dict)

    def look(
        self, current: int, pods: Sequence[Seen], measured: Mapping[str, Mapping[str, Measured]], now: float
    ) -> Look:
        """What to do with ``current`` replicas at ``now``; ``measured`` is by resource and pod."""
        scaler = self.autoscaler
        self.conditions["AbleToScale"] = GOT
        self.memory.begin(current, now)
        if current == 0:
            self.conditions["ScalingActive"] = OFF
            return Look(0)
        if current > scaler.most:
            return self._done(current, Look(scaler.most, ABOVE), now)
        if current < scaler.least:
            return self._done(current, Look(scaler.least, BELOW), now)
        found = self._counted(current, pods, measured, now)
        if found is None:
            return Look(current)
        metric, count = found
        normal = self.memory.normal(scaler, current, count.replicas, now)
        reason = ALL_BELOW if count.replicas < current else normal.able[1]
        if count.replicas > current:
            reason = f"{_named(metric)} above target"
        self.conditions["AbleToScale"] = "True {}: {}".format(*normal.able)
        limited = normal.limited[0] != "DesiredWithinRange"
        self.conditions["ScalingLimited"] = f"{limited} {normal.limited[0]}: {normal.limited[1]}"
        return self._done(current, Look(normal.replicas, reason, count.utilization), now)

    def _done(self, current: int, look: Look, now: float) -> Look:
        if look.replicas == current:
            return Look(current, utilization=look.utilization)
        said = f"the HPA controller was able to update the target scale to {look.replicas}"
        self.conditions["AbleToScale"] = f"True SucceededRescale: {said}"
        self.memory.scaled(self.autoscaler.behavior, current, look.replicas, now)
        return look

    def _counted(
        self, current: int, pods: Sequence[Seen], measured: Mapping[str, Mapping[str, Measured]], now: float
    ) -> tuple[Metric, Count] | None:
        """The metric that asks for most pods; ``None`` where too little is known."""
        found: tuple[Metric, Count] | None = None
        first = ""
        for metric in self.autoscaler.metrics:
            try:
                count = self._of(metric, current, pods, measured, now)
            except CountError as problem:
                first = first or str(problem)
                continue
            if found is None or found[1].replicas == 0 or count.replicas > found[1].replicas:
                found = metric, count
        if found is None or (first and found[1].replicas < current):
            said = f"the HPA was unable to compute the replica count: {first}"
            self.conditions["ScalingActive"] = f"False FailedGetResourceMetric: {said}"
            return None
        said = f"the HPA was able to successfully calculate a replica count from {_named(found[0])}"
        self.conditions["ScalingActive"] = f"True ValidMetricFound: {said}"
        return found

    def _of(
        self,
        metric: Metric,
        current: int,
        pods: Sequence[Seen],
        measured: Mapping[str, Mapping[str, Measured]],
        now: float,
    ) -> Count:
        if metric.unknown:
            raise CountError(f"the metric {metric.unknown} cannot be measured here")
        what = "usage" if metric.utilization is None else "utilization"
        try:
            figures = measured.get(metric.resource)
            if not figures:
                none = "no metrics returned from resource metrics API"
                raise CountError(f"unable to get metrics for resource {metric.resource}: {none}")
            return wanted(metric, current, pods, figures, self.autoscaler.tolerances, now)
        except CountError as problem:
            raise CountError(f"failed to get {metric.resource} {what}: {problem}") from None


def _named(metric: Metric) -> str:
    relative = metric.utilization is not None
    return f"{metric.resource} resource{' utilization (percentage of request)' if relative else ''}"
