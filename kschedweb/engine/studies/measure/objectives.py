"""The objectives of sweeps: every measure of a run, and the number of pods that move."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kschedweb.engine.objects.resources import CPU, MEMORY
from kschedweb.engine.studies.measure.groups import rank
from kschedweb.engine.studies.measure.measured import HIGHER, LOWER, NEITHER, PODS, Measure
from kschedweb.engine.studies.measure.measures import WORDS
from kschedweb.engine.studies.play.outcome import Outcome
from kschedweb.engine.studies.play.successors import last_node, latest

MOVED = "moved"
MOVED_SENTENCE = "Pods that end on another node than under the base policy."


@dataclass(frozen=True, slots=True)
class Objective:
    """A measure by name; ``direction`` is the better one, "" for neither."""

    name: str
    label: str
    direction: str


_ALWAYS = (
    Objective("unscheduled", "Unscheduled pods", LOWER),
    Objective("wait_median", "Time to schedule, median", LOWER),
    Objective("wait_p99", "Time to schedule, 99th percentile", LOWER),
    Objective("pending_mean", "Pods pending, mean", LOWER),
    Objective("pending_most", "Pods pending, at most", LOWER),
    Objective(MOVED, "Pods moved", LOWER),
    Objective("preemptions", "Preemptions", LOWER),
    Objective("evictions", "Evictions", LOWER),
    Objective("failed", "Failed pods", LOWER),
    Objective("unknown_most", "Pods in unknown state, at most", LOWER),
    Objective("node_hours", "Node-hours", LOWER),
    Objective("node_hours_used", "Node-hours in use", LOWER),
    Objective("nodes_empty", "Empty nodes", HIGHER),
)
_OF_BUDGETS = (
    Objective("disruptions", "Disruptions beyond a budget", LOWER),
    Objective("budgets_disrupted", "Budgets disrupted", LOWER),
)
_OF_PRICES = (
    Objective("cost", "Cost of nodes", LOWER),
    Objective("cost_used", "Cost of nodes in use", LOWER),
    Objective("cost_used_end", "Cost of nodes in use at the end", LOWER),
    Objective("unpriced_node_hours", "Node-hours without a price", LOWER),
)
_OF_SCALING = (
    Objective("replicas_mean", "Replicas of scaled workloads, mean", LOWER),
    Objective("scalings", "Changes of scale", LOWER),
    Objective("above_target", "Time above target", LOWER),
)
_OF_RESOURCE = (
    ("skew_{}", "Skew of {} requests", LOWER),
    ("skew_{}_end", "Skew of {} requests at the end", LOWER),
    ("spread_{}", "Spread of {} requests", LOWER),
    ("spread_{}_end", "Spread of {} requests at the end", LOWER),
    ("fragmentation_{}", "Fragmentation of {}", LOWER),
    ("requested_{}", "Requested {}", NEITHER),
)
_OF_USE = (
    ("use_skew_{}", "Skew of {} use", LOWER),
    ("use_spread_{}", "Spread of {} use", LOWER),
    ("use_hottest_{}", "Hottest node by {} use", LOWER),
)


def known(
    resources: Iterable[str] = (CPU, MEMORY),
    *,
    use: bool = True,
    budgets: bool = True,
    scaled: bool = True,
    priced: bool = True,
) -> list[Objective]:
    """The objectives of a run with these resources, the most important group first.

    ``use``, ``budgets``, ``scaled`` and ``priced`` add those of real use, of budgets, of workloads that are scaled, and
    of what nodes cost.
    """
    found = [*_ALWAYS, *(_OF_BUDGETS if budgets else ()), *(_OF_SCALING if scaled else ())]
    found += _OF_PRICES if priced else ()
    found += [_of(one, resource) for resource in resources for one in _OF_RESOURCE]
    found += [_of(one, resource) for resource in (CPU, MEMORY) for one in _OF_USE] if use else []
    return sorted(found, key=lambda one: rank(one.name))


def _of(template: tuple[str, str, str], resource: str) -> Objective:
    name, label, direction = template
    return Objective(name.format(resource), label.format(WORDS.get(resource, resource)), direction)


def places(outcome: Outcome) -> dict[str, str]:
    """The last node of each pod, or of the last one that took its place; "" for none."""
    return {pod: last_node(outcome, row) for pod, row in latest(outcome).items()}


def moved(before: Mapping[str, str], after: Mapping[str, str]) -> Measure:
    """The number of pods that have different nodes in both runs."""
    count = sum(1 for pod, node in after.items() if node and before.get(pod) and before[pod] != node)
    return Measure(MOVED, "Pods moved", float(count), PODS, LOWER, MOVED_SENTENCE)
