"""LowRiskOverCommitment prefers nodes with little overcommitment whose use seldom exceeds the requests.

As in scheduler-plugins, the riskier of CPU and memory decides. The risk of limits is the share of (limits - requests)
that exceeds the node. The risk of load is the probability that the use, assumed to be beta-distributed, is above the
requests.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kschedweb.engine.config.args import args_struct
from kschedweb.engine.config.specs import ArgsSpec, PluginArgs, PluginSpec, PluginTrial
from kschedweb.engine.config.trimaran import ORIGIN, WATCHER, watcher_advice, watcher_defaults, watcher_problems
from kschedweb.engine.config.types import FLOAT64, INT64, MapType, StructField
from kschedweb.engine.framework.interface import Cycle
from kschedweb.engine.framework.scoring import round_half_away
from kschedweb.engine.framework.status import SUCCESS, Status
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.resources import CPU, MEMORY
from kschedweb.engine.state.columns import ALL, Floats, Ints, Mask, Rows
from kschedweb.engine.state.snapshot import Snapshot
from kschedweb.engine.state.watermarks.beta import incomplete_beta
from kschedweb.engine.state.watermarks.recent_pods import PodContribution
from kschedweb.engine.state.watermarks.table import Watermarks
from kschedweb.engine.state.watermarks.trimaran import (
    TrimaranUse,
    container_limits,
    container_requests,
    effective_amounts,
    reported_nodes,
)
from kschedweb.engine.values import dataclass

# Defaults of scheduler-plugins.
SMOOTHING_WINDOW = 5
RISK_LIMIT_WEIGHT = 0.5
# The variance is capped at this share of the largest that a beta distribution with the same mean can have.
VARIANCE_ALLOWANCE = 0.99
# Requests and limits: milli-CPU, bytes, milli-CPU, bytes.
PodRequestsAndLimits = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class NodeRequestsAndLimits:
    """Requests and limits of one resource on nodes, with and without the pod. All are float64[nodes]."""

    allocatable: Floats
    # At most allocatable.
    request: Floats
    limit: Floats
    # At most allocatable.
    request_before: Floats
    limit_before: Floats

    def select_nodes(self, nodes: NDArray[np.intp]) -> NodeRequestsAndLimits:
        """Return the amounts of some nodes."""
        parts = (self.allocatable, self.request, self.limit, self.request_before, self.limit_before)
        return NodeRequestsAndLimits(*(part[nodes] for part in parts))


@dataclass(frozen=True, slots=True, eq=False)
class LoadRisks:
    """The risk of load of one resource for ``inputs``. It does not depend on the pod to place, so it is cached."""

    watermarks: Watermarks
    # [3, nodes]: allocatable, and requests and limits before the pod.
    inputs: Floats
    # float64[nodes].
    risk: Floats


class LowRiskOverCommitment:
    name = "LowRiskOverCommitment"

    def __init__(self, args: PluginArgs) -> None:
        self.window = int(args.get("smoothingWindowSize") or SMOOTHING_WINDOW)
        weights = args.get("riskLimitWeights") or {}
        self.weights = {name: float(weights.get(name, RISK_LIMIT_WEIGHT)) for name in (CPU, MEMORY)}
        self._cached_risks: dict[str, LoadRisks] = {}

    def pre_score(self, cycle: Cycle, rows: Rows) -> Status:
        cycle.state[self.name] = pod_requests_and_limits(cycle.pod)
        return SUCCESS

    def score(self, cycle: Cycle, rows: Rows) -> Ints:
        """Return scores from 0 to 100; 0 for a pod without requests and limits, and for nodes without figures."""
        watermarks = cycle.snapshot.watermarks
        pod_resources: PodRequestsAndLimits = cycle.state.get(self.name) or pod_requests_and_limits(cycle.pod)
        if watermarks is None or not any(pod_resources):
            return np.zeros(cycle.num_rows(rows), dtype=np.int64)
        risk = np.zeros(cycle.num_rows(rows))
        for resource in (CPU, MEMORY):
            amounts = self.node_requests_and_limits(cycle.snapshot, pod_resources, resource)
            load = self._cached_load_risk(watermarks, resource, amounts)
            risk = np.maximum(risk, total_risk(limit_risk(amounts), load, self.weights[resource])[rows])
        return np.where(reported_nodes(watermarks, rows), round_half_away((1 - risk) * 100), 0)

    @staticmethod
    def node_requests_and_limits(
        snapshot: Snapshot, pod_resources: PodRequestsAndLimits, resource: str, rows: Rows = ALL
    ) -> NodeRequestsAndLimits:
        """Return requests and limits of the pods on each node and of the pod to place, whose own are
        ``pod_resources``.
        """
        place = 0 if resource == CPU else 1

        def estimate(pod: Pod, node: int, time: float) -> PodContribution:
            return PodContribution(
                snapshot.cached_by_nodes(("requests and limits", pod.template), lambda: pod_requests_and_limits(pod))
            )

        sums = (
            np.zeros((4, len(snapshot))) if snapshot.bare else snapshot.recent_sums("requests and limits", 4, estimate)
        )
        request_before, limit_before = sums[place][rows], sums[place + 2][rows]
        allocatable = snapshot.resource_row(snapshot.allocatable, resource)[rows].astype(np.float64)
        return NodeRequestsAndLimits(
            allocatable=allocatable,
            request=np.minimum(request_before + pod_resources[place], allocatable),
            limit=limit_before + pod_resources[place + 2],
            request_before=np.minimum(request_before, allocatable),
            limit_before=limit_before,
        )

    def _cached_load_risk(self, watermarks: Watermarks, resource: str, amounts: NodeRequestsAndLimits) -> Floats:
        """Return the risk of load, recomputed only for nodes whose pods changed since the last call. Shape [nodes]."""
        inputs = np.array([amounts.allocatable, amounts.request_before, amounts.limit_before])
        cached = self._cached_risks.get(resource)
        if cached is None or cached.watermarks is not watermarks or cached.inputs.shape != inputs.shape:
            cached = LoadRisks(watermarks, np.full_like(inputs, np.nan), np.zeros(inputs.shape[1]))
        # The incomplete beta function is slow, and few nodes change between two pods. NaN differs from itself, so a new
        # cache is filled completely.
        changed = np.flatnonzero((cached.inputs != inputs).any(axis=0))
        if changed.size:
            risk = cached.risk.copy()  # another thread may read the kept one
            risk[changed] = self.load_risk(
                TrimaranUse.from_watermarks(watermarks, resource, changed), amounts.select_nodes(changed)
            )
            cached = self._cached_risks[resource] = LoadRisks(watermarks, inputs, risk)
        return cached.risk

    def load_risk(self, measured: TrimaranUse, amounts: NodeRequestsAndLimits) -> Floats:
        """Return the probability that use exceeds requests, without the pod; 0 if a resource is not measured.

        Where limits are below the capacity, use above them counts as impossible.
        """
        size = amounts.allocatable
        mean, deviation = measured.compute_shares(size)
        deviation = np.minimum(deviation * self.window**0.5, np.sqrt(mean * (1 - mean) * VARIANCE_ALLOWANCE))
        divisor = np.where(size > 0, size, 1.0)
        threshold = np.clip(amounts.request_before / divisor, 0.0, 1.0)
        cdf, alpha, beta = compute_probability(mean, deviation, threshold)
        ruled = (amounts.limit_before < size) & (amounts.request_before <= amounts.limit_before)
        ceiling = np.where(ruled, amounts.limit_before / divisor, 1.0)
        below = _beta_cdf(ceiling, alpha, beta)  # 0 where no distribution was fitted
        conditioned = np.clip(np.divide(cdf, below, out=cdf.copy(), where=below > 0), 0.0, 1.0)
        risk = 1 - np.where(ruled, np.where(ceiling == 0, 1.0, conditioned), cdf)
        return np.where(measured.measured, risk, 0.0)


def pod_requests_and_limits(pod: Pod) -> PodRequestsAndLimits:
    """Return requests and limits of a pod. A limit below the request is raised to it."""
    cpu, memory = effective_amounts(pod.resources, container_requests)
    most_cpu, most_memory = effective_amounts(pod.resources, container_limits)
    return cpu, memory, max(cpu, most_cpu), max(memory, most_memory)


def total_risk(limits: Floats, load: Floats, weight: float) -> Floats:
    """Return the risk of one resource in 0..1: ``weight`` for that of its limits, the rest for that of its load."""
    return np.clip(weight * limits + (1 - weight) * load, 0.0, 1.0)


def limit_risk(amounts: NodeRequestsAndLimits) -> Floats:
    """Return the part of limits above the node's allocatable, as a share of the part above the requests."""
    beyond = amounts.limit - amounts.allocatable
    return np.divide(beyond, amounts.limit - amounts.request, out=np.zeros_like(beyond), where=beyond > 0)


def compute_probability(mean: Floats, deviation: Floats, threshold: Floats) -> tuple[Floats, Floats, Floats]:
    """Return (probability that the use is at most ``threshold``, shape alpha, shape beta); all are shares in 0..1.

    The shapes are NaN where no beta distribution fits: the mean is 0, or the deviation is 0 or larger than such a
    distribution can have.
    """
    alpha, beta, fitted = beta_shapes(mean, deviation)
    certain = (mean == 0) | ((deviation == 0) & (mean <= threshold))
    fitted &= ~certain & (deviation != 0)
    alpha, beta = np.where(fitted, alpha, np.nan), np.where(fitted, beta, np.nan)
    return np.where(certain, 1.0, _beta_cdf(threshold, alpha, beta)), alpha, beta


def beta_shapes(mean: Floats, deviation: Floats) -> tuple[Floats, Floats, Mask]:
    """Return the shapes of the beta distribution with this mean and deviation, and a mask of where it exists."""
    # scheduler-plugins computes the variance from the second moment; with a tiny deviation the rounding matters.
    variance = (deviation * deviation + mean * mean) - mean * mean
    max_variance = mean * (1 - mean)
    fits = (variance >= 0) & (variance < max_variance)
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = np.maximum(max_variance / variance - 1, np.finfo(np.float64).smallest_subnormal)
        return mean * scale, (1 - mean) * scale, fits


def _beta_cdf(threshold: Floats, alpha: Floats, beta: Floats) -> Floats:
    """Return I_threshold(alpha, beta), 0 where it is not defined."""
    return np.nan_to_num(incomplete_beta(threshold, alpha, beta))


RISK_LIMIT_WEIGHT = 0.5
ARGS = args_struct(
    "LowRiskOverCommitmentArgs",
    "How the risks of limits and of load are weighed.",
    *WATCHER,
    StructField(
        "smoothingWindowSize",
        INT64,
        "Over how many samples the figures are smoothed: their variance counts this many times; 0 or less counts as 5.",
        pointer=True,
        default=5,
        usual=(1, 30),
    ),
    StructField(
        "riskLimitWeights",
        MapType(FLOAT64, ("cpu", "memory")),
        "By resource (cpu, memory): weight of the risk of limits in 0 to 1, 0.5 where it is left out or outside.",
        examples=({"cpu": 0.5, "memory": 0.5},),
        usual=(0, 1),
    ),
)


def set_defaults(args: PluginArgs) -> None:
    watcher_defaults(args)
    if args["smoothingWindowSize"] is None or args["smoothingWindowSize"] <= 0:
        args["smoothingWindowSize"] = 5
    weights = args["riskLimitWeights"] or dict.fromkeys(("cpu", "memory"), RISK_LIMIT_WEIGHT)
    args["riskLimitWeights"] = {
        name: weight if 0 <= weight <= 1 else RISK_LIMIT_WEIGHT for name, weight in weights.items()
    }


def advice(args: PluginArgs) -> list[tuple[str, str]]:
    listed = args["riskLimitWeights"] or {}
    return watcher_advice(args) + [
        (f"riskLimitWeights.{name}", "has no effect: cpu and memory count")
        for name in listed
        if name not in ("cpu", "memory")
    ]


SPEC = PluginSpec(
    "LowRiskOverCommitment",
    frozenset({"preScore", "score"}),
    "Prefers nodes where limits above the capacity are few and use above the requests is rare.",
    ArgsSpec(ARGS, set_defaults, watcher_problems, advice=advice),
    factory=LowRiskOverCommitment,
    origin=ORIGIN,
    load_aware=True,
    rank=5,
    trials=(PluginTrial("low-risk-overcommitment"),),
)
