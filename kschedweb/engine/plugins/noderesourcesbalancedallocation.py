"""NodeResourcesBalancedAllocation prefers nodes whose resources the pod would bring closer to equal use."""

from __future__ import annotations

from functools import partial

import numpy as np

from kschedweb.engine.config.args import RESOURCE, args_struct, default_resources, set_default_weights
from kschedweb.engine.config.specs import ArgsSpec, PluginArgs, PluginSpec
from kschedweb.engine.config.types import ListType, StructField
from kschedweb.engine.framework.interface import Cycle, PluginScope
from kschedweb.engine.framework.scoring import MAX_NODE_SCORE, add_saturating
from kschedweb.engine.framework.status import SKIP, SUCCESS, Status
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.resources import CPU, MEMORY, is_scalar
from kschedweb.engine.state.columns import Floats, Ints, Mask, Rows
from kschedweb.engine.state.snapshot import Snapshot
from kschedweb.engine.validation.fields import Problem, child_path, duplicate, invalid


class NodeResourcesBalancedAllocation:
    name = "NodeResourcesBalancedAllocation"

    def __init__(self, args: PluginArgs, by_delta: bool = True, saturating_amounts: bool = False) -> None:
        self.by_delta, self.saturating_amounts = by_delta, saturating_amounts
        self.resources = [item["name"] for item in args.get("resources") or [{"name": CPU}, {"name": MEMORY}]]

    def scope(self, pod: Pod) -> PluginScope:
        return PluginScope.ROOM

    def pre_score(self, cycle: Cycle, rows: Rows) -> Status:
        return SUCCESS if self._has_requests(cycle.pod) else SKIP

    def score(self, cycle: Cycle, rows: Rows) -> Ints:
        """Return scores from 50 to 100: 75 if the pod does not change the balance, 0 for a pod without requests.

        Up to 1.35 the score is the balance with the pod itself, from 0 to 100.
        """
        if not self._has_requests(cycle.pod):  # enabled for score only, so PreScore did not skip it
            return np.zeros(cycle.num_rows(rows), dtype=np.int64)
        before: Ints
        after: Ints
        before, after = balance_scores(*self.requested_fractions(cycle, rows))
        if not self.by_delta:
            return after
        change: Ints = after - before
        # A balance is from 50 to 100, so the change is from -50 to 50; this maps it to 50 to 100, in integers as the
        # original.
        return 50 + (50 + change) // 2

    def requested_fractions(self, cycle: Cycle, rows: Rows) -> tuple[Floats, Mask]:
        """Return the requested share of each resource without and with the pod, and which shares count.

        Shapes: float64[2, resources, nodes] and bool[resources, nodes].
        """
        snapshot = cycle.snapshot
        fractions = np.empty((2, len(self.resources), cycle.num_rows(rows)))
        counted = np.empty((len(self.resources), cycle.num_rows(rows)), dtype=np.bool_)
        for position, name in enumerate(self.resources):
            request = cycle.pod.occupied.get(name, 0)
            counts, sizes = _allocatable_sizes(snapshot, name)
            if request == 0 and is_scalar(name):
                counts, sizes = np.zeros_like(counts), np.ones_like(sizes)
            counted[position], size = counts[rows], sizes[rows]
            used = snapshot.resource_row(snapshot.requested, name)[rows]
            np.divide(used, size, out=fractions[0, position])
            requested = add_saturating(used, request) if self.saturating_amounts else used + request
            np.divide(requested, size, out=fractions[1, position])
        return np.minimum(fractions, 1.0, out=fractions), counted

    def _has_requests(self, pod: Pod) -> bool:
        return any(pod.occupied.get(name, 0) for name in self.resources)


def _allocatable_sizes(snapshot: Snapshot, name: str) -> tuple[Mask, Floats]:
    """Return (mask of nodes that have any of the resource, their amounts).

    kube-scheduler converts to float64 before it divides.
    """

    def compute() -> tuple[Mask, Floats]:
        allocatable = snapshot.resource_row(snapshot.allocatable, name)
        return allocatable != 0, np.maximum(allocatable, 1).astype(np.float64)

    return snapshot.cached_by_nodes(("balanced", name), compute)


def balance_scores(fractions: Floats, counted: Mask) -> Ints:
    """Return 100 less the standard deviation (in points) of the fractions that count on each node.

    ``fractions`` is float64[any, resources, nodes], ``counted`` bool[resources, nodes], the result int64[any, nodes].
    """
    if len(counted) == 2 and counted.all():
        # With two resources the scheduler takes half the difference, which rounds differently.
        half = fractions[:, 0] - fractions[:, 1]
        np.abs(half, out=half)
        half *= 0.5
        return _to_points(half)
    return np.array([_to_points(_standard_deviation(part, counted)) for part in fractions])


def _standard_deviation(fractions: Floats, counted: Mask) -> Floats:
    number = counted.sum(axis=0)
    total: Floats = np.zeros(fractions.shape[1])
    highest, lowest = np.full_like(total, -np.inf), np.full_like(total, np.inf)
    for fraction, counts in zip(fractions, counted, strict=True):
        # Added up resource by resource, as the original's loop does; numpy's own sum would round otherwise.
        total = total + np.where(counts, fraction, 0.0)
        highest = np.where(counts, np.maximum(highest, fraction), highest)
        lowest = np.where(counts, np.minimum(lowest, fraction), lowest)
    mean = total / np.maximum(number, 1)
    squares = np.zeros_like(total)
    for fraction, counts in zip(fractions, counted, strict=True):
        squares = squares + np.where(counts, (fraction - mean) * (fraction - mean), 0.0)
    deviation: Floats = np.sqrt(squares / np.maximum(number, 1))
    # With two fractions that count, the original takes half of the difference here as well.
    two = number == 2
    deviation[two] = np.abs((highest[two] - lowest[two]) / 2)
    deviation[number < 2] = 0.0
    return deviation


def _to_points(deviation: Floats) -> Ints:
    # Subtract, scale, then truncate, in the original's order of float operations.
    share = 1 - deviation
    share *= float(MAX_NODE_SCORE)
    points: Ints = share.astype(np.int64)
    return points


ARGS = args_struct(
    "NodeResourcesBalancedAllocationArgs",
    "Resources whose use should be balanced.",
    StructField(
        "resources",
        ListType(RESOURCE),
        "Resources to balance, each once, weight always 1; cpu and memory where empty.",
    ),
)


def set_defaults(args: PluginArgs) -> None:
    args["resources"] = args["resources"] or default_resources()
    set_default_weights(args["resources"])


def validate_args(args: PluginArgs, path: str) -> list[Problem]:
    problems: list[Problem] = []
    names: set[str] = set()
    for index, resource in enumerate(args["resources"]):
        at = f"{child_path(path, 'resources')}[{index}]"
        if resource["name"] in names:
            problems.append(duplicate(f"{at}.name", resource["name"]))
        names.add(resource["name"])
        if resource["weight"] != 1:
            problems.append(invalid(f"{at}.weight", resource["weight"], "must be 1"))
    return problems


SPEC = PluginSpec(
    "NodeResourcesBalancedAllocation",
    frozenset({"preScore", "score"}),
    "Prefers nodes whose resources would be used in more equal shares.",
    ArgsSpec(ARGS, set_defaults, validate_args),
    factory=NodeResourcesBalancedAllocation,
    variant=lambda release: {
        "factory": partial(
            NodeResourcesBalancedAllocation,
            by_delta=release.behaviour.balanced_allocation_by_delta,
            saturating_amounts=release.behaviour.saturating_amounts,
        )
    },
)
