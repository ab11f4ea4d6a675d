"""TargetLoadPacking packs pods onto nodes up to a target of CPU use, and avoids nodes above it.

As in scheduler-plugins, the pod's expected use is added to the node's use, in percent of its capacity. Up to the target
the score rises from the target to 100; above it, the score falls from the target to 0.
"""

from __future__ import annotations

import math

import numpy as np

from kschedweb.engine.config.args import args_struct
from kschedweb.engine.config.specs import ArgsSpec, PluginArgs, PluginSpec, PluginTrial
from kschedweb.engine.config.trimaran import ORIGIN, WATCHER, watcher_advice, watcher_defaults, watcher_problems
from kschedweb.engine.config.types import INT64, STRING, MapType, Raw, StructField, text
from kschedweb.engine.framework.interface import Cycle
from kschedweb.engine.framework.scoring import round_half_away
from kschedweb.engine.objects.json_access import ObjectError
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.quantity import read_quantity, round_to_unit
from kschedweb.engine.objects.resources import CPU, Container
from kschedweb.engine.state.columns import Floats, Ints, Rows
from kschedweb.engine.state.snapshot import Snapshot
from kschedweb.engine.state.watermarks.capacity import capacity_percent, node_capacity
from kschedweb.engine.state.watermarks.podtimes import PodTimes
from kschedweb.engine.state.watermarks.recent_pods import EstimateColumns, PodContribution
from kschedweb.engine.state.watermarks.trimaran import MEAN
from kschedweb.engine.validation.fields import Problem, Typed, child_path, invalid, unsupported
from kschedweb.engine.validation.golang import parse_float

# Defaults of scheduler-plugins.
TARGET_UTILIZATION = 40
DEFAULT_REQUESTS = {CPU: "1000m"}
MULTIPLIER = "1.5"
TARGET, FIXED_50 = "Target", "Fixed50"
# Seconds; the figures do not yet show the use of a pod placed within this time.
REPORTING_INTERVAL = 60


class TargetLoadPacking:
    name = "TargetLoadPacking"

    def __init__(self, args: PluginArgs) -> None:
        self.target = float(args.get("targetUtilization") or TARGET_UTILIZATION)
        assumed = args.get("defaultRequests")
        self.default = round_to_unit(CPU, read_quantity((DEFAULT_REQUESTS if assumed is None else assumed).get(CPU, 0)))
        multiplier = parse_float(args.get("defaultRequestsMultiplier") or MULTIPLIER)
        self.multiplier = float(MULTIPLIER) if multiplier is None else multiplier
        self.penalty: str = args.get("penalty") or TARGET

    def score(self, cycle: Cycle, rows: Rows) -> Ints:
        """Return scores from 0 to 100 if the target is at most 100; 0 for nodes whose CPU use is unknown."""
        expected = self.expected(cycle.snapshot, cycle.pod)[rows]
        measured = ~np.isnan(expected)
        scores = np.zeros(len(expected), dtype=np.int64)
        scores[measured] = round_half_away(packing_scores(expected[measured], self.target, self.penalty))
        return scores

    def expected(self, snapshot: Snapshot, pod: Pod) -> Floats:
        """Return CPU use with the pod in percent of capacity, NaN where unknown. Shape [nodes]."""
        size = node_capacity(snapshot, CPU).astype(np.float64)
        used = capacity_percent(snapshot, CPU, MEAN) / 100 * size
        total = 100 * (used + float(self.predict_pod_use(pod)) + self.missing_use(snapshot))
        of_nothing = np.where(np.isnan(used), math.nan, 0.0)
        expected: Floats = np.divide(total, size, out=of_nothing, where=size != 0)
        return expected

    def missing_use(self, snapshot: Snapshot) -> Floats:
        """Return the milli-CPU of pods on each node that its figures do not show, or not fully. Shape [nodes]."""
        watermarks = snapshot.watermarks
        if watermarks is None:
            return np.zeros(len(snapshot))

        def estimate(pod: Pod, node: int, time: float) -> PodContribution | None:
            # Whole seconds. NaN, an unknown time of the pod or the figures, makes this false.
            second = math.floor(time) if math.isfinite(time) else time
            counts = watermarks.updated[node] - second < REPORTING_INTERVAL
            return PodContribution([float(self.predict_pod_use(pod))]) if counts else None

        def expiry_times(pods: PodTimes) -> Floats:
            counts = watermarks.updated[pods.node] - np.floor(pods.scheduled) < REPORTING_INTERVAL
            return np.where(counts, math.inf, math.nan)

        missing: Floats = snapshot.recent_sums(self, 1, estimate, EstimateColumns(expiry_times))[0]
        return missing

    def predict_pod_use(self, pod: Pod) -> int:
        """Return the milli-CPU that a pod is expected to use: its containers, without init containers, and its
        overhead.
        """
        resources = pod.resources
        together = sum(self.predicted_of(container) for container in resources.containers)
        return together + round_to_unit(CPU, resources.overhead.get(CPU, 0))

    def predicted_of(self, container: Container) -> int:
        """Return the container's limit, else its request times the multiplier, else the default.

        An explicit 0 counts.
        """
        if CPU in container.limits:
            return round_to_unit(CPU, container.limits[CPU])
        if CPU in container.requests:
            # Rounded half away from zero after the multiplication, as math.Round does.
            request = float(round_to_unit(CPU, container.requests[CPU]))
            return int(round_half_away(np.array([request * self.multiplier]))[0])
        return self.default


def packing_scores(expected: Floats, target: float, penalty: str = TARGET) -> Floats:
    """Return scores before rounding, for nodes that would use ``expected`` percent of their CPU with the pod.

    Above the target the score falls from the target. With ``penalty`` Fixed50 it falls from 50, as in the plugin's
    first releases; with a target below 50, a node just above it may then score higher than one below it.
    """
    start = target if penalty == TARGET else 50.0
    # In the original's order of float operations, as the results are rounded.
    rising = (100 - target) * expected / target + target
    with np.errstate(divide="ignore", invalid="ignore"):  # a target of 100 divides by 0
        falling = start * (100 - expected) / np.float64(100 - target)
    return np.where(expected <= target, rising, np.where(expected <= 100, falling, 0.0))


QUANTITY = Raw("resource.Quantity")
ARGS = args_struct(
    "TargetLoadPackingArgs",
    "How much of each node's CPU is to be used, and what pods are expected to use.",
    *WATCHER,
    StructField(
        "defaultRequests",
        MapType(QUANTITY),
        "What a container is expected to use that has neither a request nor a limit: cpu alone counts (1000m).",
        omit_empty=False,
        examples=({"cpu": "1000m"},),
    ),
    StructField(
        "defaultRequestsMultiplier",
        STRING,
        "A container with a request and no limit is expected to use the request times this number.",
        pointer=True,
        default="1.5",
    ),
    StructField(
        "targetUtilization",
        INT64,
        "Percent of CPU capacity that nodes are filled up to; 0 or less counts as 40.",
        pointer=True,
        default=40,
        usual=(1, 100),
    ),
    StructField(
        "penalty",
        text("v1.PenaltyType"),
        "What the score above the target starts from: the target, or 50 as in the plugin's first releases.",
        default="Target",
        enum=("Target", "Fixed50"),
    ),
)


def set_defaults(args: PluginArgs) -> None:
    watcher_defaults(args)
    if args["defaultRequests"] is None:
        args["defaultRequests"] = {"cpu": "1000m"}
    if args["defaultRequestsMultiplier"] is None:
        args["defaultRequestsMultiplier"] = "1.5"
    if args["targetUtilization"] is None or args["targetUtilization"] <= 0:
        args["targetUtilization"] = 40


def validate_args(args: PluginArgs, path: str) -> list[Problem]:
    problems = watcher_problems(args, path)
    for name, amount in args["defaultRequests"].items():
        try:
            read_quantity(amount)
        except ObjectError as error:
            at = f"{child_path(path, 'defaultRequests')}.{name}"
            problems.append(invalid(at, Typed(amount), str(error).removeprefix(": ")))
    at, multiplier = child_path(path, "defaultRequestsMultiplier"), args["defaultRequestsMultiplier"]
    if parse_float(multiplier) is None:
        problems.append(invalid(at, multiplier, "must be a number in quotes, such as 1.5"))
    if args["penalty"] not in ("", "Target", "Fixed50"):
        problems.append(unsupported(child_path(path, "penalty"), Typed(args["penalty"]), ("Target", "Fixed50")))
    return problems


def advice(args: PluginArgs) -> list[tuple[str, str]]:
    remarks = watcher_advice(args)
    if (args["targetUtilization"] or 0) > 100:
        remarks.append(("targetUtilization", "above 100 scores rise above 100, and pods fail to be scheduled"))
    if args["penalty"]:
        remarks.append(("penalty", "is known to kschedweb only: scheduler-plugins refuses a configuration with it"))
    return remarks


SPEC = PluginSpec(
    "TargetLoadPacking",
    frozenset({"score"}),
    "Packs pods onto nodes up to a target of CPU use, and avoids nodes above it.",
    ArgsSpec(ARGS, set_defaults, validate_args, advice=advice),
    factory=TargetLoadPacking,
    origin=ORIGIN,
    load_aware=True,
    rank=3,
    trials=(
        PluginTrial("target-load-packing"),
        PluginTrial(
            "target-load-packing-50",
            args=lambda nodes: {"penalty": FIXED_50},
            title="TargetLoadPacking with the constant 50",
        ),
    ),
)
