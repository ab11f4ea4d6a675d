"""One look of the HorizontalPodAutoscaler controller, after horizontal.go of Kubernetes 1.37."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

from kschedweb.engine.controllers.autoscaling.replica_calculator import (
    CountError,
    ObservedPod,
    PodMetric,
    ReplicaCount,
    calculate_replicas,
)
from kschedweb.engine.controllers.autoscaling.spec import Autoscaler, Metric
from kschedweb.engine.controllers.autoscaling.stabilization import ScalingMemory
from kschedweb.engine.values import dataclass

# Seconds between two looks, the default of ``--horizontal-pod-autoscaler-sync-period``.
SYNC = 15.0
SUCCEEDED_GET_SCALE = "True SucceededGetScale: the HPA controller was able to get the target's current scale"
OFF = "False ScalingDisabled: scaling is disabled since the replica count of the target is zero"
ABOVE = "Current number of replicas above Spec.MaxReplicas"
BELOW = "Current number of replicas below Spec.MinReplicas"
ALL_BELOW = "All metrics below target"


@dataclass(frozen=True, slots=True)
class ScalingDecision:
    """The result of a look."""

    replicas: int
    # Why the number changes; "" if it does not.
    reason: str = ""
    # Percent that the deciding metric measured; ``None`` if no utilization was measured.
    utilization: int | None = None


@dataclass(slots=True)
class HorizontalController:
    """The controller's state of one autoscaler."""

    autoscaler: Autoscaler
    memory: ScalingMemory = field(default_factory=ScalingMemory)
    # type -> "Status Reason: message"
    conditions: dict[str, str] = field(default_factory=dict)

    def reconcile(
        self, current: int, pods: Sequence[ObservedPod], measured: Mapping[str, Mapping[str, PodMetric]], now: float
    ) -> ScalingDecision:
        """Decide what to do with ``current`` replicas at ``now``; ``measured`` is by resource and pod."""
        scaler = self.autoscaler
        self.conditions["AbleToScale"] = SUCCEEDED_GET_SCALE
        self.memory.record_initial_recommendation(current, now)
        # A workload that was scaled to 0 by hand stays there.
        if current == 0:
            self.conditions["ScalingActive"] = OFF
            return ScalingDecision(0)
        if current > scaler.max_replicas:
            return self._record_scale(current, ScalingDecision(scaler.max_replicas, ABOVE), now)
        if current < scaler.min_replicas:
            return self._record_scale(current, ScalingDecision(scaler.min_replicas, BELOW), now)
        metric_and_count = self._compute_for_metrics(current, pods, measured, now)
        if metric_and_count is None:
            return ScalingDecision(current)
        metric, count = metric_and_count
        normal = self.memory.normalize_desired_replicas(scaler, current, count.replicas, now)
        reason = ALL_BELOW if count.replicas < current else normal.able[1]
        if count.replicas > current:
            reason = f"{_metric_name(metric)} above target"
        self.conditions["AbleToScale"] = "True {}: {}".format(*normal.able)
        limited = normal.limited[0] != "DesiredWithinRange"
        self.conditions["ScalingLimited"] = f"{limited} {normal.limited[0]}: {normal.limited[1]}"
        return self._record_scale(current, ScalingDecision(normal.replicas, reason, count.utilization), now)

    def _record_scale(self, current: int, look: ScalingDecision, now: float) -> ScalingDecision:
        if look.replicas == current:
            return ScalingDecision(current, utilization=look.utilization)
        message = f"the HPA controller was able to update the target scale to {look.replicas}"
        self.conditions["AbleToScale"] = f"True SucceededRescale: {message}"
        self.memory.store_scale_event(self.autoscaler.behavior, current, look.replicas, now)
        return look

    def _compute_for_metrics(
        self, current: int, pods: Sequence[ObservedPod], measured: Mapping[str, Mapping[str, PodMetric]], now: float
    ) -> tuple[Metric, ReplicaCount] | None:
        """Return the metric that asks for most pods; ``None`` if too little is known."""
        best: tuple[Metric, ReplicaCount] | None = None
        first = ""
        for metric in self.autoscaler.metrics:
            try:
                count = self._compute_for_metric(metric, current, pods, measured, now)
            except CountError as problem:
                first = first or str(problem)
                continue
            if best is None or best[1].replicas == 0 or count.replicas > best[1].replicas:
                best = metric, count
        # As in `computeReplicasForMetrics`, a missing metric forbids scaling down, but not up.
        if best is None or (first and best[1].replicas < current):
            message = f"the HPA was unable to compute the replica count: {first}"
            self.conditions["ScalingActive"] = f"False FailedGetResourceMetric: {message}"
            return None
        message = f"the HPA was able to successfully calculate a replica count from {_metric_name(best[0])}"
        self.conditions["ScalingActive"] = f"True ValidMetricFound: {message}"
        return best

    def _compute_for_metric(
        self,
        metric: Metric,
        current: int,
        pods: Sequence[ObservedPod],
        measured: Mapping[str, Mapping[str, PodMetric]],
        now: float,
    ) -> ReplicaCount:
        if metric.unknown:
            raise CountError(f"the metric {metric.unknown} cannot be measured here")
        measure = "usage" if metric.utilization is None else "utilization"
        try:
            figures = measured.get(metric.resource)
            if not figures:
                none = "no metrics returned from resource metrics API"
                raise CountError(f"unable to get metrics for resource {metric.resource}: {none}")
            return calculate_replicas(metric, current, pods, figures, self.autoscaler.tolerances, now)
        except CountError as problem:
            raise CountError(f"failed to get {metric.resource} {measure}: {problem}") from None


def _metric_name(metric: Metric) -> str:
    relative = metric.utilization is not None
    return f"{metric.resource} resource{' utilization (percentage of request)' if relative else ''}"
