"""Groups of measures, the most important first, and what of a group says nearly the same."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Group:
    """Measures whose names begin with one of ``stems``."""

    name: str
    label: str
    stems: tuple[str, ...]


GROUPS = (
    Group("run", "Do pods run?", ("unscheduled", "pending_", "failed", "unknown_")),
    Group("disruption", "Disruption", ("moved", "preemptions", "evictions", "disruptions", "budgets_", "scalings")),
    Group("balance", "Balance", ("skew_", "spread_", "use_")),
    Group(
        "cost",
        "Cost",
        ("cost", "unpriced_", "node_hours", "node_cost", "nodes_", "fragmentation_", "requested_", "replicas_"),
    ),
    Group("speed", "Speed", ("wait_", "above_target")),
)
# Measures that say nearly what another one says: the beginnings of both names.
_NEAR = (
    ("pending_most", "pending_mean"),
    ("budgets_disrupted", "disruptions"),
    ("spread_", "skew_"),
    ("use_spread_", "use_skew_"),
)


def group_of(measure: str) -> Group:
    """The group of a measure; the last one for a name that no group has."""
    return next((group for group in GROUPS if measure.startswith(group.stems)), GROUPS[-1])


def rank(measure: str) -> int:
    """The place of the measure's group, 0 for the most important."""
    return GROUPS.index(group_of(measure))


def lead(measure: str) -> str:
    """The measure below which this one is folded, since it says nearly the same; itself for one that leads."""
    for near, leading in _NEAR:
        if measure.startswith(near):
            measure = leading + measure.removeprefix(near)
    return measure.removesuffix("_end")
