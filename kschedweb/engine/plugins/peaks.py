"""Peaks prefers nodes whose power draw the pod raises least.

As in scheduler-plugins, a node that uses x percent of its CPU draws k0 + k1 e^(k2 x) watts. The raw score is the rise
in femtowatts; the node with the lowest rise gets 100. Nodes without figures, and nodes that the pod would overload, get
a rise of 0 and so count as the cheapest.
"""

from __future__ import annotations

import math

import numpy as np

from kschedweb.engine.config.args import args_struct
from kschedweb.engine.config.specs import ArgsSpec, PluginArgs, PluginSpec, PluginTrial
from kschedweb.engine.config.trimaran import COLLECTED, ORIGIN
from kschedweb.engine.config.types import FLOAT64, STRING, MapType, Struct, StructField
from kschedweb.engine.framework.interface import Cycle
from kschedweb.engine.framework.scoring import MAX_NODE_SCORE
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.quantity import round_to_unit
from kschedweb.engine.objects.resources import CPU
from kschedweb.engine.state.columns import Floats, Ints, Rows
from kschedweb.engine.state.snapshot import Snapshot
from kschedweb.engine.state.watermarks.capacity import capacity_percent, node_capacity
from kschedweb.engine.state.watermarks.trimaran import MEAN
from kschedweb.engine.validation.fields import Problem, Typed, child_path, invalid

# The power model in watts: k0 + k1 × e^(k2 × percent of CPU in use).
POWER = {"k0": 400.0, "k1": -90.0, "k2": -0.07}
NO_MODEL: dict[str, float] = {}
# Femtowatts in a watt: scores are whole numbers.
FEMTO = 1e15
# Go's int64 of a float out of range, on amd64.
OUT_OF_RANGE = np.iinfo(np.int64).min


class Peaks:
    name = "Peaks"

    def __init__(self, args: PluginArgs) -> None:
        # kschedweb's spelling, and the one that the released plugin reads.
        self.models: dict[str, dict[str, float]] = args.get("nodePowerModel") or args.get("NodePowerModel") or {}

    def score(self, cycle: Cycle, rows: Rows) -> Ints:
        """Return the rise in femtowatts; 0 without a model, or if the use is unknown or would exceed 100 %."""
        use, expected = self.cpu_use(cycle.snapshot, cycle.pod)
        k1, k2 = self.model_factors(cycle.snapshot)
        use, expected, k1, k2 = use[rows], expected[rows], k1[rows], k2[rows]
        counts = ~np.isnan(expected) & (expected <= 100)
        raw = np.zeros(len(use), dtype=np.int64)
        # Other nodes keep a rise of 0, which makes them the cheapest.
        raw[counts] = to_femtowatts(power_rise(use[counts], expected[counts], k1[counts], k2[counts]))
        return raw

    def normalize_score(self, cycle: Cycle, rows: Rows, scores: Ints) -> Ints:
        return cheapest_first(scores)

    @staticmethod
    def cpu_use(snapshot: Snapshot, pod: Pod) -> tuple[Floats, Floats]:
        """Return percent of CPU capacity in use without and with the pod, NaN where unknown. Shape [nodes] each."""
        size = node_capacity(snapshot, CPU).astype(np.float64)
        use = capacity_percent(snapshot, CPU, MEAN)
        total = 100 * (use / 100 * size + float(cpu_request(pod)))
        # A node without capacity counts as unused, unless its use is unknown.
        of_nothing = np.where(np.isnan(use), math.nan, 0.0)
        return use, np.divide(total, size, out=of_nothing, where=size != 0)

    def model_factors(self, snapshot: Snapshot) -> tuple[Floats, Floats]:
        """Return k1 and k2 of each node, 0 without a model. Shape [nodes] each."""

        def compute() -> tuple[Floats, Floats]:
            models = [self.models.get(name, NO_MODEL) for name in snapshot.names]
            k1, k2 = (np.array([model.get(key, 0.0) for model in models], dtype=np.float64) for key in ("k1", "k2"))
            return k1, k2

        return snapshot.cached_by_nodes((self, "factors"), compute)


def cpu_request(pod: Pod) -> int:
    """Return the milli-CPU that a pod requests: the sum of its containers, or its largest init container if that is
    more.

    The overhead is added only to a request above 0.
    """
    resources = pod.resources
    together = sum(container.requests.get(CPU, 0) for container in resources.containers)
    alone = (container.requests.get(CPU, 0) for container in resources.init_containers)
    request = max([together, *alone])
    return round_to_unit(CPU, request + resources.overhead.get(CPU, 0) if request else 0)


def power_rise(use: Floats, expected: Floats, k1: Floats, k2: Floats) -> Floats:
    """Return the rise in power draw from ``use`` to ``expected`` percent, in the unit of ``k1`` (watts)."""
    with np.errstate(over="ignore", invalid="ignore"):
        rise: Floats = k1 * (np.exp(k2 * expected) - np.exp(k2 * use))
    return rise


def to_femtowatts(watts: Floats) -> Ints:
    """Return femtowatts as int64, truncated towards 0; the smallest int64 if out of range, as on amd64."""
    with np.errstate(over="ignore", invalid="ignore"):
        amount = watts * FEMTO
        fits = np.abs(amount) < 2.0**63
        return np.where(fits, np.where(fits, amount, 0.0).astype(np.int64), OUT_OF_RANGE)


def cheapest_first(scores: Ints) -> Ints:
    """Return 100 for the lowest score and 0 for the highest, or 1 by float rounding; if all are 0, they stay 0."""
    if not scores.size or not scores.any():
        return scores
    lowest, highest = scores.min(), scores.max()
    if lowest == highest:
        return np.full_like(scores, MAX_NODE_SCORE)
    with np.errstate(over="ignore"):
        above = (scores - lowest).astype(np.float64)
        span = float(highest - lowest)
    cost: Ints = (MAX_NODE_SCORE * above / span).astype(np.int64)
    return MAX_NODE_SCORE - cost


POWER_MODEL = Struct(
    "v1.PowerModel",
    "A node that uses x percent of its CPU draws k0 + k1 e^(k2 x) watts.",
    tuple(
        StructField(name, FLOAT64, text, omit_empty=False)
        for name, text in (
            ("k0", "Watts; has no effect on scores."),
            ("k1", "Watts."),
            ("k2", "Growth for each percent."),
        )
    ),
)
ARGS = args_struct(
    "PeaksArgs",
    "How much power each node draws.",
    StructField("watcherAddress", STRING, "Ignored here: kschedweb collects utilisation itself."),
    StructField(
        "nodePowerModel",
        MapType(POWER_MODEL),
        "Power models by node name; a node without one counts as the cheapest.",
        examples=({"node-1": {"k0": 471.7, "k1": -91.5, "k2": -0.072}},),
    ),
    StructField(
        "WatcherAddress", STRING, "The same as watcherAddress, in the spelling that the released plugin reads."
    ),
    StructField(
        "NodePowerModel",
        MapType(POWER_MODEL),
        "The same as nodePowerModel, in the spelling that the released plugin reads.",
    ),
)


def validate_args(args: PluginArgs, path: str) -> list[Problem]:
    if not (args["nodePowerModel"] and args["NodePowerModel"]):
        return []
    detail = "stands beside nodePowerModel: write one of them"
    return [invalid(child_path(path, "NodePowerModel"), Typed(sorted(args["NodePowerModel"])), detail)]


def advice(args: PluginArgs) -> list[tuple[str, str]]:
    remarks = [(name, COLLECTED) for name in ("watcherAddress", "WatcherAddress") if args[name]]
    if not args["nodePowerModel"] and not args["NodePowerModel"]:
        remarks.append(("nodePowerModel", "names no node, so every node gets the same score"))
    return remarks


SPEC = PluginSpec(
    "Peaks",
    frozenset({"score"}),
    "Prefers nodes whose power draw the pod would raise least.",
    ArgsSpec(ARGS, problems=validate_args, advice=advice),
    factory=Peaks,
    origin=ORIGIN,
    load_aware=True,
    rank=6,
    trials=(PluginTrial("peaks", args=lambda nodes: {"nodePowerModel": dict.fromkeys(nodes, POWER)}),),
)
