"""RackLimit rejects nodes in racks that run enough pods, and prefers racks that run few."""

from __future__ import annotations

import numpy as np

from kschedweb.engine.authoring import (
    INT32,
    STRING,
    SUCCESS,
    ArgsSpec,
    Cycle,
    Ints,
    PluginArgs,
    PluginSpec,
    Problem,
    Rows,
    StructField,
    Verdicts,
    args_struct,
    child_path,
    default_normalize,
    invalid,
    unresolvable,
    unschedulable,
)

LABEL, MAX_PODS = "example.com/rack", 10
STATUSES = (SUCCESS, unschedulable("rack(s) were full"), unresolvable("node(s) were in no rack"))
FULL, NOWHERE = 1, 2


class RackLimit:
    name = "RackLimit"

    def __init__(self, args: PluginArgs) -> None:
        self.label = args.get("label", LABEL)
        self.max_pods = args.get("maxPods", MAX_PODS)

    def filter(self, cycle: Cycle, rows: Rows) -> Verdicts:
        codes = np.where(self._pods(cycle) >= self.max_pods, FULL, 0)
        codes[~cycle.snapshot.label_column(self.label).present] = NOWHERE
        return Verdicts(codes[rows].astype(np.int32), STATUSES)

    def score(self, cycle: Cycle, rows: Rows) -> Ints:
        return self._pods(cycle)[rows]

    def normalize_score(self, cycle: Cycle, rows: Rows, scores: Ints) -> Ints:
        return default_normalize(scores, reverse=True)

    def _pods(self, cycle: Cycle) -> Ints:
        """Count the pods of each node's rack; the last count is for nodes without the label, whose code is -1."""
        racks = cycle.snapshot.label_column(self.label)
        counts = np.zeros(len(racks.values) + 1, dtype=np.int64)
        np.add.at(counts, racks.codes, cycle.snapshot.pod_count)
        return counts[racks.codes]


def set_defaults(args: PluginArgs) -> None:
    args["label"] = args["label"] or LABEL
    if args["maxPods"] is None:
        args["maxPods"] = MAX_PODS


def problems(args: PluginArgs, path: str) -> list[Problem]:
    limit = args["maxPods"]
    return [] if limit > 0 else [invalid(child_path(path, "maxPods"), limit, "must be greater than 0")]


ARGS = args_struct(
    "RackLimitArgs",
    "Which label names a node's rack, and how many pods a rack may run.",
    StructField("label", STRING, "Node label that names the rack.", default=LABEL),
    StructField("maxPods", INT32, "A rack with as many pods takes no more.", pointer=True, default=MAX_PODS, minimum=1),
)
SPEC = PluginSpec(
    name="RackLimit",
    points=frozenset({"filter", "score"}),
    help="Keeps racks from filling up, and prefers those that run few pods.",
    args=ArgsSpec(ARGS, set_defaults, problems),
    factory=RackLimit,
)
