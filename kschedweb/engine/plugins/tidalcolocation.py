"""TidalCoLocation puts pods whose peaks fall into a node's valley there, so that the tides of a day balance out.

A pod's curve of the day is the use of its workload's pods at each hour of the past days; a node's curve is the sum of
the curves of its pods. The node's tide is how much higher it stands, compared with the other nodes and with its own
mean, at the hours in which the pod works. A pod that uses the same at all hours has no tide anywhere.
"""

from __future__ import annotations

import numpy as np

from kschedweb.engine.config.args import args_struct
from kschedweb.engine.config.specs import ArgsSpec, PluginArgs, PluginSpec, PluginTrial
from kschedweb.engine.config.types import FLOAT64, StructField
from kschedweb.engine.framework.interface import Cycle
from kschedweb.engine.framework.scoring import MAX_NODE_SCORE, round_half_away
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.resources import CPU
from kschedweb.engine.state.columns import Floats, Ints, Rows
from kschedweb.engine.state.snapshot import Snapshot
from kschedweb.engine.state.watermarks.curves import fill_missing_hours
from kschedweb.engine.validation.fields import Problem, child_path, invalid
from kschedweb.engine.values import dataclass

# The score of a node without a tide.
NEUTRAL = 50.0
# Default of pointsPerPercent.
POINTS = 5.0
# Milli-CPU in a core.
MILLI = 1000.0


@dataclass(frozen=True, slots=True)
class Tides:
    """Curves of 24 hours in UTC, and the tides computed from them."""

    # Cores, [24].
    pod: Floats
    # Percent of allocatable, [24, nodes].
    node: Floats
    # The mean of the nodes, percent of allocatable, [24].
    cluster: Floats
    # Points of percent, [nodes].
    tide: Floats


class TidalCoLocation:
    name = "TidalCoLocation"

    def __init__(self, args: PluginArgs) -> None:
        points = args.get("pointsPerPercent")
        self.points: float = POINTS if points is None else points

    def score(self, cycle: Cycle, rows: Rows) -> Ints:
        """Return 50 less the node's tide times ``pointsPerPercent``, rounded; 50 everywhere if the pod has no curve."""
        tides = self.compute_tides(cycle.snapshot, cycle.pod)
        tide = np.zeros(len(cycle.snapshot)) if tides is None else tides.tide
        return round_half_away(np.clip(NEUTRAL - self.points * tide, 0.0, MAX_NODE_SCORE))[rows]

    def compute_tides(self, snapshot: Snapshot, pod: Pod) -> Tides | None:
        """Return the tides that ``pod`` meets; ``None`` if its workload is unknown or uses nothing."""
        curve = snapshot.watermarks.workload_curve(pod, snapshot.objects) if snapshot.watermarks is not None else None
        if curve is None or not (pod_curve := fill_missing_hours(curve)).sum() > 0.0:
            return None
        allocatable = snapshot.resource_row(snapshot.allocatable, CPU) / MILLI
        used = snapshot.hourly_use()
        # In percent of allocatable, so that large and small nodes compare.
        node = np.divide(100.0 * used, allocatable, out=np.zeros_like(used), where=allocatable > 0.0)
        return Tides(pod_curve, node, node.mean(axis=1), tide_of(pod_curve, node))


def tide_of(pod: Floats, node: Floats) -> Floats:
    """Return the rise of each node above average, against the mean node, when the pod works: [nodes] in points.

    ``pod`` is [24] in any unit, not all 0; ``node`` is [24, nodes] in percent.
    """
    deviation = node - node.mean(axis=1, keepdims=True)
    tide: Floats = pod @ deviation / pod.sum() - deviation.mean(axis=0)
    return tide


ARGS = args_struct(
    "TidalCoLocationArgs",
    "How much a node's tide counts.",
    StructField(
        "pointsPerPercent",
        FLOAT64,
        "Points that the score falls by for each percent that the node stands higher when the pod works; 0: none.",
        pointer=True,
        default=POINTS,
        minimum=0,
        usual=(0, 20),
    ),
)


def set_defaults(args: PluginArgs) -> None:
    if args["pointsPerPercent"] is None:
        args["pointsPerPercent"] = POINTS


def validate_args(args: PluginArgs, path: str) -> list[Problem]:
    points = args["pointsPerPercent"]
    return (
        []
        if 0 <= points <= 100
        else [invalid(child_path(path, "pointsPerPercent"), points, "not in valid range [0, 100]")]
    )


SPEC = PluginSpec(
    "TidalCoLocation",
    frozenset({"score"}),
    "Puts pods whose peaks of the day fall into a node's valley there.",
    ArgsSpec(ARGS, set_defaults, validate_args),
    factory=TidalCoLocation,
    origin="kschedweb",
    load_aware=True,
    rank=2,
    trials=(
        PluginTrial(
            "tidal",
            companion_weights={"HheWaterLevelBalance": 1},
            title="TidalCoLocation with HheWaterLevelBalance beside the defaults",
        ),
    ),
)
