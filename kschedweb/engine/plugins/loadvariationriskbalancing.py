"""LoadVariationRiskBalancing prefers nodes whose use is low and steady.

As in scheduler-plugins, the risk of a resource is half the mean use (with the pod's request) plus half the standard
deviation of the use, both as shares of allocatable. The riskier of CPU and memory decides.
"""

from __future__ import annotations

import math

import numpy as np

from kschedweb.engine.config.args import args_struct
from kschedweb.engine.config.specs import ArgsSpec, PluginArgs, PluginSpec, PluginTrial
from kschedweb.engine.config.trimaran import ORIGIN, WATCHER, watcher_advice, watcher_defaults, watcher_problems
from kschedweb.engine.config.types import FLOAT64, StructField
from kschedweb.engine.framework.interface import Cycle
from kschedweb.engine.framework.scoring import round_half_away
from kschedweb.engine.objects.resources import CPU, MEMORY
from kschedweb.engine.state.columns import Floats, Ints, Rows
from kschedweb.engine.state.watermarks.trimaran import TrimaranUse, container_requests, effective_amounts

# Defaults of scheduler-plugins.
MARGIN, SENSITIVITY = 1.0, 1.0


class LoadVariationRiskBalancing:
    name = "LoadVariationRiskBalancing"

    def __init__(self, args: PluginArgs) -> None:
        margin, sensitivity = args.get("safeVarianceMargin"), args.get("safeVarianceSensitivity")
        self.margin = MARGIN if margin is None else float(margin)
        self.sensitivity = SENSITIVITY if sensitivity is None else float(sensitivity)

    def score(self, cycle: Cycle, rows: Rows) -> Ints:
        """Return the lower score of CPU and memory, or the score of the only one that is measured, else 0; 0 to 100."""
        snapshot, watermarks = cycle.snapshot, cycle.snapshot.watermarks
        if watermarks is None:
            return np.zeros(cycle.num_rows(rows), dtype=np.int64)
        scores, masks = [], []
        for resource, request in zip(
            (CPU, MEMORY), effective_amounts(cycle.pod.resources, container_requests), strict=True
        ):
            measured = TrimaranUse.from_watermarks(watermarks, resource, rows)
            allocatable = snapshot.resource_row(snapshot.allocatable, resource)[rows]
            scores.append(np.where(measured.measured, self.resource_scores(measured, allocatable, request), 0.0))
            masks.append(measured.measured)
        # An unmeasured resource has the score 0, so the maximum picks the measured one.
        return round_half_away(np.where(masks[0] & masks[1], np.minimum(*scores), np.maximum(*scores)))

    def resource_scores(self, measured: TrimaranUse, allocatable: Ints, request: int) -> Floats:
        """Return the scores of one resource before rounding; 0 where allocatable is 0."""
        mean, deviation = measured.compute_shares(allocatable, request)
        return np.where(allocatable > 0, risk_scores(mean, deviation, self.margin, self.sensitivity), 0.0)


def risk_scores(mean: Floats, deviation: Floats, margin: float, sensitivity: float) -> Floats:
    """Return scores, 0 to 100, of use with this ``mean`` and ``deviation``, both shares in 0..1.

    The deviation counts as margin × deviation^(1 ÷ sensitivity). With sensitivity 0 only a deviation of 1 counts.
    """
    power = 1 / sensitivity if sensitivity else math.inf
    spread = np.clip(np.power(deviation, power) * margin, 0.0, 1.0)
    return (1.0 - (mean + spread) / 2) * 100


ARGS = args_struct(
    "LoadVariationRiskBalancingArgs",
    "How much the variation of the load counts.",
    *WATCHER,
    StructField(
        "safeVarianceMargin",
        FLOAT64,
        "The standard deviation counts this many times; below 0 counts as 1.",
        pointer=True,
        default=1,
        usual=(0, 3),
    ),
    StructField(
        "safeVarianceSensitivity",
        FLOAT64,
        "The standard deviation, as a share, counts by this root of it; below 0 counts as 1.",
        pointer=True,
        default=1,
        usual=(0, 4),
    ),
)


def set_defaults(args: PluginArgs) -> None:
    watcher_defaults(args)
    for name in ("safeVarianceMargin", "safeVarianceSensitivity"):
        if args[name] is None or args[name] < 0:
            args[name] = 1.0


SPEC = PluginSpec(
    "LoadVariationRiskBalancing",
    frozenset({"score"}),
    "Prefers nodes whose use is low and steady.",
    ArgsSpec(ARGS, set_defaults, watcher_problems, advice=watcher_advice),
    factory=LoadVariationRiskBalancing,
    origin=ORIGIN,
    load_aware=True,
    rank=4,
    trials=(PluginTrial("load-variation-risk"),),
)
