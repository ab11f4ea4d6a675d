"""Declare every measure once. A new one is an entry here and its function in figures.py.

Groups go from the most important on, and measures in the order in which pages list them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from kschedweb.engine.objects.resources import CPU, MEMORY
from kschedweb.engine.studies.actors import list_modules
from kschedweb.engine.studies.measure import conditions as when
from kschedweb.engine.studies.measure.figures import RunFigures
from kschedweb.engine.studies.measure.groups import (
    FRAGMENTATION,
    GROUPS,
    IN_USE,
    LEAVING,
    OWN_FAMILIES,
    PENDING,
    REQUESTS,
    SCALING,
    USE,
    WAIT,
)
from kschedweb.engine.studies.measure.spec import (
    CURRENCY,
    PLACE,
    Family,
    MeasureSpec,
    Population,
    SpecGroup,
    Window,
)
from kschedweb.engine.studies.measure.values import (
    BUDGETS,
    CHANGES,
    HIGHER,
    LOWER,
    MONEY,
    NEITHER,
    NODE_HOURS,
    NODES,
    PERCENT,
    PODS,
    PODS_AN_HOUR,
    POINTS,
    SECONDS,
)

if TYPE_CHECKING:
    from kschedweb.engine.studies.play.outcome import RunOutcome

# Names of measures that other modules compute.
MOVED, NODES_USED, NODE_HOURS_DAY = "moved", "nodes_used", "node_hours_day"
# Phrases that sentences of several measures share.
WORK = "more than pods of DaemonSets and static pods"
BOUND = "from its arrival until it was bound; pods that were never bound do not count"
WITHOUT_PRICE = "nodes without a price count as 0"
REQUEST_SKEW = f"The fullest minus the emptiest of {Population.NODES}, by the requested share of {{}}"
REQUEST_SPREAD = f"Standard deviation over {Population.NODES} of the requested share of {{}}"
USE_SKEW = f"The fullest minus the emptiest of the {Population.OPEN_NODES}, by the share of {{}} that is really used"
USE_SPREAD = f"Standard deviation, over the {Population.OPEN_NODES}, of the share of {{}} that is really used"

_RUN = (
    MeasureSpec(
        "unscheduled", "Unscheduled pods", PODS, LOWER, "Pods that still wait at the end.",
        PENDING, Population.PODS, Window.END, RunFigures.count_unscheduled,
    ),
    MeasureSpec(
        "pending_mean", "Pods pending, mean", PODS, LOWER, "Pods that waited, on average over time.",
        PENDING, Population.PODS, Window.OVER_TIME, RunFigures.pending_mean, happens=True,
    ),
    MeasureSpec(
        "pending_most", "Pods pending, at most", PODS, LOWER, "The most pods that waited at once.",
        PENDING, Population.PODS, Window.PEAK, RunFigures.pending_most, like="pending_mean", happens=True,
    ),
    MeasureSpec(
        "failed", "Failed pods", PODS, LOWER, "Pods that the kubelet of their node did not accept.",
        PENDING, Population.PODS, Window.RUN, RunFigures.count_failed,
    ),
    MeasureSpec(
        "unknown_most", "Pods in unknown state, at most", PODS, LOWER,
        "The most pods at once on nodes whose kubelet is silent: nobody knows whether they run.",
        PENDING, Population.PODS, Window.PEAK, RunFigures.unknown_most, happens=True,
    ),
)  # fmt: skip
_DISRUPTION = (
    MeasureSpec(
        MOVED, "Pods that go elsewhere", PODS, LOWER,
        "Pods that end on another node than under the policy that is compared with.",
        LEAVING, Population.PODS, Window.END, when=when.COMPARED,
    ),
    MeasureSpec(
        "preemptions", "Preemptions", PODS, LOWER, "Pods that had to make room for another pod.",
        LEAVING, Population.PODS, Window.RUN, RunFigures.count_preemptions, happens=True, in_placing=True,
    ),
    MeasureSpec(
        "evictions", "Evictions", PODS, LOWER,
        "Pods evicted by a drain, a taint or the descheduler, or because their node was removed.",
        LEAVING, Population.PODS, Window.RUN, RunFigures.count_evictions, happens=True,
    ),
    MeasureSpec(
        "disruptions", "Disruptions beyond a budget", PODS, LOWER,
        "Pods evicted beyond what their PodDisruptionBudget allows to be down at once.",
        LEAVING, Population.PODS, Window.RUN, RunFigures.count_disruptions, when.BUDGETS, happens=True, in_placing=True,
    ),
    MeasureSpec(
        "budgets_disrupted", "Budgets disrupted", BUDGETS, LOWER,
        "PodDisruptionBudgets with more pods down at once than they allow.",
        LEAVING, Population.BUDGETS, Window.RUN, RunFigures.budgets_disrupted, when.BUDGETS, like="disruptions",
    ),
    MeasureSpec(
        "evictions_descheduler", "Evictions by the descheduler", PODS, LOWER,
        "Pods that a plugin of the descheduler evicted.",
        LEAVING, Population.PODS, Window.RUN, RunFigures.evictions_descheduler, when.DESCHEDULED,
        happens=True, absent=0.0,
    ),
    MeasureSpec(
        "evictions_again", "Evictions again", PODS, LOWER,
        "Evictions of pods that the descheduler had evicted before: two policies undo one another.",
        LEAVING, Population.PODS, Window.RUN, RunFigures.evictions_again, when.DESCHEDULED, happens=True, absent=0.0,
    ),
    MeasureSpec(
        "evictions_rate", "Evictions an hour", PODS_AN_HOUR, LOWER,
        "Pods that had to leave their node, on average an hour.",
        LEAVING, Population.PODS, Window.RUN, RunFigures.evictions_rate, when.AUTOSCALED, happens=True,
    ),
)  # fmt: skip
_REQUESTS = (
    MeasureSpec(
        "skew_{}", "Skew of {} requests", POINTS, LOWER,
        f"{REQUEST_SKEW}, on average over time.",
        REQUESTS, Population.NODES, Window.OVER_TIME, RunFigures.mean_skew, when.REQUESTED,
    ),
    MeasureSpec(
        "skew_{}_end", "Skew of {} requests at the end", POINTS, LOWER,
        f"{REQUEST_SKEW}, at the end.",
        REQUESTS, Population.NODES, Window.END, RunFigures.skew_end, when.REQUESTED, like="skew_{}",
    ),
    MeasureSpec(
        "spread_{}", "Spread of {} requests", POINTS, LOWER,
        f"{REQUEST_SPREAD}, on average over time.",
        REQUESTS, Population.NODES, Window.OVER_TIME, RunFigures.mean_spread, when.REQUESTED, like="skew_{}",
    ),
    MeasureSpec(
        "spread_{}_end", "Spread of {} requests at the end", POINTS, LOWER,
        f"{REQUEST_SPREAD}, at the end.",
        REQUESTS, Population.NODES, Window.END, RunFigures.spread_end, when.REQUESTED, like="skew_{}",
    ),
)  # fmt: skip
_USE = (
    MeasureSpec(
        "use_skew_{}", "Skew of {} use", POINTS, LOWER,
        f"{USE_SKEW}, on average over time.",
        USE, Population.OPEN_NODES, Window.OVER_TIME, RunFigures.use_skew, when.USED, (CPU, MEMORY),
    ),
    MeasureSpec(
        "use_spread_{}", "Spread of {} use", POINTS, LOWER,
        f"{USE_SPREAD}, on average over time.",
        USE, Population.OPEN_NODES, Window.OVER_TIME, RunFigures.use_spread, when.USED, (CPU, MEMORY),
        like="use_skew_{}",
    ),
    MeasureSpec(
        "use_hottest_{}", "Hottest node by {} use", PERCENT, LOWER,
        "The highest share of {} that was really used on any node at any time.",
        USE, Population.NODES, Window.PEAK, RunFigures.use_hottest, when.USED, (CPU, MEMORY),
    ),
    MeasureSpec(
        "use_skew_{}_end", "Skew of {} use at the end", POINTS, LOWER,
        f"{USE_SKEW}, at the end.",
        USE, Population.OPEN_NODES, Window.END, None, when.PLACED_ANEW, (CPU, MEMORY), like="use_skew_{}",
    ),
    MeasureSpec(
        "use_hottest_{}_end", "Hottest node by {} use at the end", PERCENT, LOWER,
        "The highest share of {} that is really used on any node, at the end.",
        USE, Population.NODES, Window.END, None, when.PLACED_ANEW, (CPU, MEMORY), like="use_hottest_{}",
    ),
)  # fmt: skip
_SCALING = (
    MeasureSpec(
        "replicas_mean", "Replicas of scaled workloads, mean", PODS, LOWER,
        "Pods that all scaled workloads ask for together, on average over time.",
        SCALING, Population.WORKLOADS, Window.OVER_TIME, RunFigures.replicas_mean, when.SCALED, happens=True,
    ),
    MeasureSpec(
        "scalings", "Changes of scale", CHANGES, LOWER, "How often the number of pods of a workload was changed.",
        SCALING, Population.WORKLOADS, Window.RUN, RunFigures.count_scalings, when.SCALED, happens=True,
    ),
    MeasureSpec(
        "above_target", "Time above target", PERCENT, LOWER,
        "Share of an autoscaler's looks, 15 seconds apart, at which its pods used more CPU than it aims at.",
        SCALING, Population.WORKLOADS, Window.RUN, RunFigures.above_target, when.SCALED,
    ),
)  # fmt: skip
_COST = (
    MeasureSpec(
        "cost", "Cost of nodes", CURRENCY, LOWER, f"What all nodes cost; {WITHOUT_PRICE}.",
        IN_USE, Population.NODES, Window.RUN, RunFigures.total_cost, when.PRICED,
    ),
    MeasureSpec(
        "cost_used", "Cost of nodes in use", CURRENCY, LOWER,
        f"What nodes cost while they run {WORK}, as if they were alone; {WITHOUT_PRICE}.",
        IN_USE, Population.NODES_IN_USE, Window.RUN, RunFigures.cost_used, when.PRICED,
    ),
    MeasureSpec(
        "cost_used_end", "Cost of nodes in use at the end", f"{CURRENCY}/h", LOWER,
        f"What the nodes that run {WORK} at the end cost an hour; {WITHOUT_PRICE}.",
        IN_USE, Population.NODES_IN_USE, Window.END, RunFigures.cost_used_end, when.PRICED, like="cost_used",
    ),
    MeasureSpec(
        "unpriced_node_hours", "Node-hours without a price", NODE_HOURS, LOWER,
        "How long nodes without a price were there, all added up: they are in no cost.",
        IN_USE, Population.NODES, Window.RUN, RunFigures.unpriced_node_hours, when.PRICED,
    ),
    MeasureSpec(
        "node_hours", "Node-hours", NODE_HOURS, LOWER, "How long nodes were there, all nodes added up.",
        IN_USE, Population.NODES, Window.RUN, RunFigures.node_hours,
    ),
    MeasureSpec(
        "node_hours_used", "Node-hours in use", NODE_HOURS, LOWER,
        f"How long nodes ran {WORK}, all nodes added up.",
        IN_USE, Population.NODES_IN_USE, Window.RUN, RunFigures.node_hours_used,
    ),
    MeasureSpec(
        "nodes_empty", "Empty nodes", NODES, HIGHER,
        "Nodes with nothing but pods of DaemonSets and static pods at the end.",
        IN_USE, Population.NODES, Window.END, RunFigures.nodes_empty,
    ),
    MeasureSpec(
        NODES_USED, "Nodes in use", NODES, LOWER, f"Nodes with {WORK}. All other nodes can go.",
        IN_USE, Population.NODES_IN_USE, Window.END, None, when.PLACED_ANEW,
    ),
    MeasureSpec(
        NODE_HOURS_DAY, "Node-hours a day", NODE_HOURS, LOWER,
        "Node-hours of the nodes in use over a day, with all others removed.",
        IN_USE, Population.NODES_IN_USE, Window.END, None, when.PLACED_ANEW,
    ),
    MeasureSpec(
        "node_cost", "Cost of nodes by their offerings", MONEY, LOWER,
        "What the nodes cost by the prices of their offerings, in the currency of these. Nodes without a known price "
        "do not count.",
        IN_USE, Population.NODES, Window.RUN, RunFigures.node_cost, when.AUTOSCALED,
    ),
    MeasureSpec(
        "node_hours_unpriced", "Node-hours without the price of an offering", NODE_HOURS, NEITHER,
        "How long nodes were there whose price is not known, all nodes added up.",
        IN_USE, Population.NODES, Window.RUN, RunFigures.node_hours_unpriced, when.AUTOSCALED,
    ),
    MeasureSpec(
        "nodes_launched", "Nodes launched", NODES, NEITHER, "Nodes that the autoscaler launched.",
        IN_USE, Population.NODES, Window.RUN, RunFigures.nodes_launched, when.AUTOSCALED, absent=0.0,
    ),
    MeasureSpec(
        "nodes_removed", "Nodes removed", NODES, NEITHER, "Nodes that the autoscaler removed.",
        IN_USE, Population.NODES, Window.RUN, RunFigures.nodes_removed, when.AUTOSCALED, absent=0.0,
    ),
)  # fmt: skip
_FRAGMENTATION = (
    MeasureSpec(
        "fragmentation_{}", "Fragmentation of {}", PERCENT, LOWER,
        "Share of the free {} at the end that a pod drawn from the workload cannot use, on average.",
        FRAGMENTATION, Population.NODES, Window.END, RunFigures.fragmentation_percent,
    ),
)  # fmt: skip
_REQUESTED = (
    MeasureSpec(
        "requested_{}", "Requested {}", PERCENT, NEITHER,
        "Share of all {} that is requested by pods on nodes, on average over time.",
        IN_USE, Population.NODES, Window.OVER_TIME, RunFigures.requested_share, when.REQUESTED,
    ),
)  # fmt: skip
_SPEED = (
    MeasureSpec(
        "wait_median", "Time to schedule, median", SECONDS, LOWER, f"How long a pod took {BOUND}.",
        WAIT, Population.BOUND_PODS, Window.RUN, RunFigures.wait_median,
    ),
    MeasureSpec(
        "wait_p99", "Time to schedule, 99th percentile", SECONDS, LOWER,
        f"How long the slowest of a hundred pods took {BOUND}.",
        WAIT, Population.BOUND_PODS, Window.RUN, RunFigures.wait_p99,
    ),
)  # fmt: skip
# Blocks in order. A block of templates has one split, and gives all measures of one member, then all of the next.
_OWN_BLOCKS = (
    _RUN, _DISRUPTION, _REQUESTS, _USE, _SCALING, _COST, _FRAGMENTATION, _REQUESTED, _SPEED
)  # fmt: skip
# Measures of further actors come last in their group.
_BLOCKS: tuple[tuple[MeasureSpec, ...], ...] = tuple(sorted(
    (*_OWN_BLOCKS, *(block for room in list_modules("measures") for block in room.MEASURES)),
    key=lambda block: GROUPS.index(block[0].group),
))  # fmt: skip
MEASURES: tuple[MeasureSpec, ...] = tuple(spec for block in _BLOCKS for spec in block)
SPLITS = tuple({spec.split.name: spec.split for spec in MEASURES}.values())
FAMILIES = tuple(dict.fromkeys((*OWN_FAMILIES, *(spec.family for spec in MEASURES))))


def list_messages() -> Iterator[str]:
    """Yield labels of groups, labels and sentences of measures, for catalogues: ``%(resource)s`` is a member."""
    yield from (group.label for group in GROUPS)
    for spec in MEASURES:
        yield from (text.replace(PLACE, "%(resource)s") for text in (spec.label, spec.sentence))


def list_family_messages() -> Iterator[str]:
    """Yield labels and explanations of families, for catalogues."""
    for family in FAMILIES:
        yield from (family.label, family.help)


def specs_of(members: Mapping[str, Sequence[str]]) -> Iterator[MeasureSpec]:
    """Yield every measure that a run can have, in order; ``members`` are those of each split by its name."""
    for block in _BLOCKS:
        if not block[0].is_template:
            yield from block
            continue
        for member in members.get(block[0].split.name, ()):
            yield from (spec.for_member(member) for spec in block if spec.resources is None or member in spec.resources)


def list_members(outcome: RunOutcome) -> dict[str, Sequence[str]]:
    """Return the members of each split that a run has."""
    return {split.name: split.list_members(outcome) for split in SPLITS}


@cache
def _specs_by_name() -> dict[str, MeasureSpec]:
    return {spec.name: spec for spec in MEASURES if not spec.is_template}


@lru_cache(maxsize=4096)
def find_spec(name: str) -> MeasureSpec | None:
    """Return the measure ``name``, of any member; ``None`` if there is none."""
    spec = _specs_by_name().get(name)
    if spec is not None:
        return spec
    # Templates with long names come first: a member may end like "_end".
    for template in sorted((spec for spec in MEASURES if spec.is_template), key=lambda spec: -len(spec.name)):
        before, _, after = template.name.partition(PLACE)
        member = name[len(before) : len(name) - len(after)]
        fits = name.startswith(before) and name.endswith(after) and member
        if fits and (template.resources is None or member in template.resources):
            return template.for_member(member)
    return None


def get_spec(name: str) -> MeasureSpec:
    """Return the measure ``name``; raise KeyError if there is none."""
    spec = find_spec(name)
    if spec is None:
        raise KeyError(name)
    return spec


def group_of(name: str) -> SpecGroup:
    """Return the group of a measure; the last group for an unknown name, which an old record may have."""
    spec = find_spec(name)
    return GROUPS[-1] if spec is None else spec.group


def rank_of(name: str) -> int:
    """Return the position of the measure's group, 0 for the most important."""
    return GROUPS.index(group_of(name))


def lead_of(name: str) -> str:
    """Return the measure below which this one is folded because it says nearly the same; itself if it leads."""
    spec = find_spec(name)
    return name if spec is None else spec.like or name


def family_of(name: str) -> Family | None:
    """Return the family of a measure; ``None`` for an unknown name."""
    spec = find_spec(name)
    return None if spec is None else spec.family
