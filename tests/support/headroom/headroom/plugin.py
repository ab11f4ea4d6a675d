"""Headroom prefers nodes that really use little of a resource, and rejects those that use too much of it."""

from __future__ import annotations

import numpy as np

from kschedweb.engine.authoring import (
    FLOAT64,
    STRING,
    SUCCESS,
    ArgsSpec,
    Cycle,
    Floats,
    Ints,
    PluginArgs,
    PluginSpec,
    Problem,
    Rows,
    Snapshot,
    StructField,
    Verdicts,
    args_struct,
    child_path,
    invalid,
    round_half_away,
    unschedulable,
)

RESOURCES, WINDOW, DEFAULT_LEAST = ("cpu", "memory"), "15m", 10.0
SHORT = "headroom"
STATUSES = (SUCCESS, unschedulable("node(s) had too little headroom", fact=SHORT))


class Headroom:
    name = "Headroom"

    def __init__(self, args: PluginArgs) -> None:
        self.resource: str = args.get("resource") or RESOURCES[0]
        self.least: float = args.get("leastPercent", DEFAULT_LEAST)

    def filter(self, cycle: Cycle, rows: Rows) -> Verdicts:
        """Nodes of which nothing is known pass."""
        return Verdicts((self.unused_percent(cycle.snapshot) < self.least).astype(np.int32)[rows], STATUSES)

    def score(self, cycle: Cycle, rows: Rows) -> Ints:
        return round_half_away(np.nan_to_num(self.unused_percent(cycle.snapshot)))[rows]

    def unused_percent(self, snapshot: Snapshot) -> Floats:
        """Percent of the resource that each node does not use, at least 0, NaN where that is not known. [nodes]."""
        if snapshot.watermarks is None:
            return np.full(len(snapshot), np.nan)
        return np.maximum(100.0 - snapshot.watermarks.column(self.resource, WINDOW), 0.0)


def set_defaults(args: PluginArgs) -> None:
    args["resource"] = args["resource"] or RESOURCES[0]
    if args["leastPercent"] is None:
        args["leastPercent"] = DEFAULT_LEAST


def problems(args: PluginArgs, path: str) -> list[Problem]:
    percent = args["leastPercent"]
    return [] if 0 <= percent <= 100 else [invalid(child_path(path, "leastPercent"), percent, "must be a percentage")]


ARGS = args_struct(
    "HeadroomArgs",
    "Of which resource, and how much of it must be left.",
    StructField("resource", STRING, "Which resource counts.", default=RESOURCES[0], enum=RESOURCES),
    StructField(
        "leastPercent", FLOAT64, "Nodes with less take no pods.", pointer=True, default=DEFAULT_LEAST, usual=(0, 50)
    ),
)
SPEC = PluginSpec(
    "Headroom",
    frozenset({"filter", "score"}),
    "Prefers nodes that really use little.",
    ArgsSpec(ARGS, set_defaults, problems),
    factory=Headroom,
    origin="example.com",
    load_aware=True,
)
