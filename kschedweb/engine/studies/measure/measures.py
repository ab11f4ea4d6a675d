"""The measures of a run, with units and help texts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from kschedweb.engine.objects.resources import CPU, MEMORY
from kschedweb.engine.simulation.observer import LAUNCHED, REMOVED
from kschedweb.engine.studies.measure import overtime
from kschedweb.engine.studies.measure.descheduling import again
from kschedweb.engine.studies.measure.fragmentation import fragmentation
from kschedweb.engine.studies.measure.groups import rank
from kschedweb.engine.studies.measure.measured import (
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
    Measure,
    Measures,
)
from kschedweb.engine.studies.measure.occupancy import HOUR, empty_nodes, node_cost, node_hours
from kschedweb.engine.studies.measure.paid import paid
from kschedweb.engine.studies.play.outcome import Kind, Outcome

WORDS = {CPU: "CPU", MEMORY: "memory"}


def measure(outcome: Outcome) -> Measures:
    """The measures of a run. Means over time are from its beginning to its end; values have 12 digits.

    Float sums in another order differ in further digits, and that must not make a policy worse.
    """
    found = (
        *_scheduling(outcome),
        *_waiting(outcome),
        *_leaving(outcome),
        *_descheduling(outcome),
        *_scaling(outcome),
        *_costs(outcome),
        *_nodes(outcome),
        *_autoscaling(outcome),
        *_fragmentation(outcome),
        *(one for resource in outcome.resources for one in _requests(outcome, resource)),
        *(one for resource in (CPU, MEMORY) for one in _use(outcome, resource)),
    )
    exact = (one if one.value is None else replace(one, value=float(f"{one.value:.12g}")) for one in found)
    return Measures(tuple(sorted(exact, key=lambda one: rank(one.name))))


def _scheduling(outcome: Outcome) -> Iterator[Measure]:
    tried = outcome.attempts > 0
    waited = (outcome.bound - outcome.arrived)[tried & ~np.isnan(outcome.bound)]
    said = "from its arrival until it was bound; pods that were never bound do not count"
    yield Measure(
        "unscheduled", "Unscheduled pods", float(len(outcome.pending)), PODS, LOWER, "Pods that still wait at the end."
    )
    yield Measure(
        "wait_median",
        "Time to schedule, median",
        overtime.quantile(waited, 0.5),
        SECONDS,
        LOWER,
        f"How long a pod took {said}.",
    )
    yield Measure(
        "wait_p99",
        "Time to schedule, 99th percentile",
        overtime.quantile(waited, 0.99),
        SECONDS,
        LOWER,
        f"How long the slowest of a hundred pods took {said}.",
    )


def _waiting(outcome: Outcome) -> Iterator[Measure]:
    pending, times = outcome.samples.pending.astype(np.float64), outcome.samples.time
    mean = overtime.mean(pending, times, outcome.end)
    most = float(pending.max()) if pending.size else None
    yield Measure("pending_mean", "Pods pending, mean", mean, PODS, LOWER, "Pods that waited, on average over time.")
    yield Measure("pending_most", "Pods pending, at most", most, PODS, LOWER, "The most pods that waited at once.")


def _leaving(outcome: Outcome) -> Iterator[Measure]:
    kinds = outcome.forced.kind
    preempted = float((kinds == Kind.PREEMPTED).sum())
    evicted = float(((kinds == Kind.EVICTED) | (kinds == Kind.NODE_GONE)).sum())
    yield Measure("preemptions", "Preemptions", preempted, PODS, LOWER, "Pods that had to make room for another pod.")
    yield Measure(
        "evictions",
        "Evictions",
        evicted,
        PODS,
        LOWER,
        "Pods evicted by a drain, a taint or the descheduler, or because their node was removed.",
    )
    yield Measure(
        "failed",
        "Failed pods",
        float((kinds == Kind.FAILED).sum()),
        PODS,
        LOWER,
        "Pods that the kubelet of their node did not accept.",
    )
    unknown = outcome.samples.unknown
    yield Measure(
        "unknown_most",
        "Pods in unknown state, at most",
        None if unknown is None else float(unknown.max(initial=0)),
        PODS,
        LOWER,
        "The most pods at once on nodes whose kubelet is silent: nobody knows whether they run.",
    )
    if outcome.budgets:
        beyond = float(outcome.guards.beyond.sum())
        broken = float(len(np.unique(outcome.guards.budget[outcome.guards.beyond > 0])))
        yield Measure(
            "disruptions",
            "Disruptions beyond a budget",
            beyond,
            PODS,
            LOWER,
            "Pods evicted beyond what their PodDisruptionBudget allows to be down at once.",
        )
        yield Measure(
            "budgets_disrupted",
            "Budgets disrupted",
            broken,
            "budgets",
            LOWER,
            "PodDisruptionBudgets with more pods down at once than they allow.",
        )


def _descheduling(outcome: Outcome) -> Iterator[Measure]:
    if not outcome.rounds:
        return
    yield Measure(
        "evictions_descheduler",
        "Evictions by the descheduler",
        float(len(outcome.evictions)),
        PODS,
        LOWER,
        "Pods that a plugin of the descheduler evicted.",
    )
    yield Measure(
        "evictions_again",
        "Evictions again",
        float(again(outcome)),
        PODS,
        LOWER,
        "Evictions of pods that the descheduler had evicted before: two policies undo one another.",
    )


def _scaling(outcome: Outcome) -> Iterator[Measure]:
    if not outcome.scaled:
        return
    looks = [outcome.looks.of(place) for place in range(len(outcome.scaled))]
    means = [overtime.mean(one.replicas.astype(np.float64), one.time, outcome.end) for one in looks]
    yield Measure(
        "replicas_mean",
        "Replicas of scaled workloads, mean",
        sum(mean for mean in means if mean is not None),
        PODS,
        LOWER,
        "Pods that all scaled workloads ask for together, on average over time.",
    )
    yield Measure(
        "scalings",
        "Changes of scale",
        float(len(outcome.scalings.time)),
        "changes",
        LOWER,
        "How often the number of pods of a workload was changed.",
    )
    known = above = 0
    for one, target in zip(looks, outcome.targets, strict=True):
        used = one.utilization[~np.isnan(one.utilization)] if not np.isnan(target) else np.zeros(0)
        known, above = known + used.size, above + int((used > target).sum())
    yield Measure(
        "above_target",
        "Time above target",
        100.0 * above / known if known else None,
        PERCENT,
        LOWER,
        "Share of an autoscaler's looks, 15 seconds apart, at which its pods used more CPU than it aims at.",
    )


def _nodes(outcome: Outcome) -> Iterator[Measure]:
    there, used = node_hours(outcome)
    yield Measure(
        "node_hours", "Node-hours", there, NODE_HOURS, LOWER, "How long nodes were there, all nodes added up."
    )
    yield Measure(
        "node_hours_used",
        "Node-hours in use",
        used,
        NODE_HOURS,
        LOWER,
        "How long nodes ran more than pods of DaemonSets and static pods, all nodes added up.",
    )
    yield Measure(
        "nodes_empty",
        "Empty nodes",
        float(empty_nodes(outcome, [outcome.end])[0]),
        NODES,
        HIGHER,
        "Nodes with nothing but pods of DaemonSets and static pods at the end.",
    )


def _autoscaling(outcome: Outcome) -> Iterator[Measure]:
    """What an autoscaler of nodes did, and what its nodes cost."""
    if not outcome.prices.size:
        return
    cost, unpriced = node_cost(outcome)
    known = bool((~np.isnan(outcome.prices)).any())
    yield Measure(
        "node_cost",
        "Cost of nodes by their offerings",
        cost if known else None,
        MONEY,
        LOWER,
        "What the nodes cost by the prices of their offerings, in the currency of these."
        + (" Nodes without a known price do not count." if unpriced else ""),
    )
    if unpriced:
        yield Measure(
            "node_hours_unpriced",
            "Node-hours without a price",
            unpriced,
            NODE_HOURS,
            NEITHER,
            "How long nodes were there whose price is not known, all nodes added up.",
        )
    for what, label in ((LAUNCHED, "launched"), (REMOVED, "removed")):
        count = sum(one[1] == what for one in outcome.deeds)
        yield Measure(
            f"nodes_{what}", f"Nodes {label}", float(count), NODES, NEITHER, f"Nodes that the autoscaler {label}."
        )
    kinds = outcome.forced.kind
    hours = outcome.end / HOUR
    yield Measure(
        "evictions_rate",
        "Evictions an hour",
        float((kinds == Kind.EVICTED).sum()) / hours if hours else None,
        PODS_AN_HOUR,
        LOWER,
        "Pods that had to leave their node, on average an hour.",
    )


def _costs(outcome: Outcome) -> Iterator[Measure]:
    unit = outcome.kinds.currency
    if not unit:
        return
    found = paid(outcome)
    said = "nodes without a price count as 0"
    yield Measure("cost", "Cost of nodes", found.there.amount, unit, LOWER, f"What all nodes cost; {said}.")
    yield Measure(
        "cost_used",
        "Cost of nodes in use",
        found.used.amount,
        unit,
        LOWER,
        f"What nodes cost while they run more than pods of DaemonSets and static pods, as if they were alone; {said}.",
    )
    yield Measure(
        "cost_used_end",
        "Cost of nodes in use at the end",
        found.used_hour,
        f"{unit}/h",
        LOWER,
        f"What the nodes that run more than pods of DaemonSets and static pods at the end cost an hour; {said}.",
    )
    yield Measure(
        "unpriced_node_hours",
        "Node-hours without a price",
        found.there.unpriced,
        NODE_HOURS,
        LOWER,
        "How long nodes without a price were there, all added up: they are in no cost.",
    )


def _fragmentation(outcome: Outcome) -> Iterator[Measure]:
    counts = np.bincount(outcome.shape[outcome.shape >= 0], minlength=len(outcome.eligible))
    asked = np.zeros((len(outcome.resources), len(outcome.eligible)), dtype=np.int64)
    known = np.flatnonzero(outcome.shape >= 0)
    asked[:, outcome.shape[known]] = outcome.requests[:, known]
    end = [outcome.end]
    free = np.stack(
        [outcome.allocatable(end, name)[-1] - outcome.requested(end, name)[-1] for name in outcome.resources]
    )
    for row, name in enumerate(outcome.resources):
        share = fragmentation(free, asked, counts, outcome.eligible, row)
        yield Measure(
            f"fragmentation_{name}",
            f"Fragmentation of {_words(name)}",
            None if share is None else 100.0 * share,
            PERCENT,
            LOWER,
            f"Share of the free {_words(name)} at the end that a pod drawn from the workload cannot use, on average.",
        )


def _requests(outcome: Outcome, resource: str) -> Iterator[Measure]:
    times = overtime.times_of(outcome)
    loads = 100.0 * outcome.loads(times, resource).astype(np.float64)
    has = ~np.isnan(loads).all(axis=1)
    if not has.any():
        return
    words = _words(resource)
    skew, spread = overtime.skew(loads), overtime.spread(loads)
    of = f"the requested share of {words}"
    for name, label, column, sentence in (
        ("skew", "Skew", skew, f"The fullest node minus the emptiest, by {of}"),
        ("spread", "Spread", spread, f"Standard deviation over the nodes of {of}"),
    ):
        mean, last = overtime.mean(column, times, outcome.end), overtime.last(column)
        yield Measure(
            f"{name}_{resource}",
            f"{label} of {words} requests",
            mean,
            POINTS,
            LOWER,
            f"{sentence}, on average over time.",
        )
        yield Measure(
            f"{name}_{resource}_end",
            f"{label} of {words} requests at the end",
            last,
            POINTS,
            LOWER,
            f"{sentence}, at the end.",
        )
    asked, amount = outcome.requested(times, resource), outcome.allocatable(times, resource)
    whole = np.nansum(amount, axis=1)
    share = 100.0 * np.divide(asked.sum(axis=1), whole, out=np.full(len(whole), np.nan), where=whole > 0.0)
    mean = overtime.mean(share, times, outcome.end)
    sentence = f"Share of all {words} that is requested by pods on nodes, on average over time."
    yield Measure(f"requested_{resource}", f"Requested {words}", mean, PERCENT, NEITHER, sentence)


def _use(outcome: Outcome, resource: str) -> Iterator[Measure]:
    measured = (outcome.use.cpu if resource == CPU else outcome.use.memory).astype(np.float64)
    later = outcome.use.time > 0.0  # nothing is known before the end of the first interval
    times, levels = outcome.use.time[later], measured[later]
    if not levels.size or np.isnan(levels).all():
        return
    words, end = _words(resource), outcome.end
    skew, spread = overtime.mean(overtime.skew(levels), times, end), overtime.mean(overtime.spread(levels), times, end)
    yield Measure(
        f"use_skew_{resource}",
        f"Skew of {words} use",
        skew,
        POINTS,
        LOWER,
        f"The fullest node minus the emptiest, by the share of {words} that is really used, on average over time.",
    )
    yield Measure(
        f"use_spread_{resource}",
        f"Spread of {words} use",
        spread,
        POINTS,
        LOWER,
        f"Standard deviation over the nodes of the share of {words} that is really used, on average over time.",
    )
    yield Measure(
        f"use_hottest_{resource}",
        f"Hottest node by {words} use",
        float(np.nanmax(levels)),
        PERCENT,
        LOWER,
        f"The highest share of {words} that was really used on any node at any time.",
    )


def _words(resource: str) -> str:
    return WORDS.get(resource, resource)
