"""The measures of a run, with units and help texts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kschedweb.engine.objects.resources import CPU, MEMORY
from kschedweb.engine.state.columns import Floats
from kschedweb.engine.studies.measure.fragmentation import fragmentation
from kschedweb.engine.studies.play.outcome import Kind, Outcome

LOWER, HIGHER, NEITHER = "lower", "higher", ""
PODS, NODES, SECONDS, POINTS, PERCENT = "pods", "nodes", "s", "points", "%"
MOST_TIMES = 512  # times at which means over time are sampled
WORDS = {CPU: "CPU", MEMORY: "memory"}


@dataclass(frozen=True, slots=True)
class Measure:
    """A measure; ``value`` is ``None`` if there is nothing to measure, ``direction`` is what is better, "" for neither.

    ``unit`` "points" are percentage points.
    """

    name: str
    label: str
    value: float | None
    unit: str
    direction: str
    sentence: str


@dataclass(frozen=True, slots=True)
class Measures:
    """The measures of a run, the most important first."""

    listed: tuple[Measure, ...]

    def __iter__(self) -> Iterator[Measure]:
        return iter(self.listed)

    def __getitem__(self, name: str) -> Measure:
        for one in self.listed:
            if one.name == name:
                return one
        raise KeyError(name)

    def to_dict(self) -> dict[str, Any]:
        """Plain data by name, in order."""
        return {one.name: {key: value for key, value in asdict(one).items() if key != "name"} for one in self.listed}

    @classmethod
    def of(cls, plain: dict[str, dict[str, Any]]) -> Measures:
        """The reverse of ``to_dict``."""
        return cls(tuple(Measure(name=name, **rest) for name, rest in plain.items()))


def measure(outcome: Outcome) -> Measures:
    """The measures of a run. Means over time are from its beginning to its end; values have 12 digits.

    Float sums in another order differ in further digits, and that must not make a policy worse.
    """
    found = (
        *_scheduling(outcome),
        *_waiting(outcome),
        *_leaving(outcome),
        *_nodes(outcome),
        *(one for resource in outcome.resources for one in _requests(outcome, resource)),
        *(one for resource in (CPU, MEMORY) for one in _use(outcome, resource)),
    )
    return Measures(
        tuple(one if one.value is None else replace(one, value=float(f"{one.value:.12g}")) for one in found)
    )


def _scheduling(outcome: Outcome) -> Iterator[Measure]:
    tried = outcome.attempts > 0
    waited = (outcome.bound - outcome.arrived)[tried & ~np.isnan(outcome.bound)]
    said = "from its arrival until it was bound; pods that were never bound do not count"
    yield Measure(
        "unscheduled", "Unscheduled pods", float(len(outcome.pending)), PODS, LOWER, "Pods that wait still at the end."
    )
    yield Measure(
        "wait_median",
        "Time to schedule, median",
        _quantile(waited, 0.5),
        SECONDS,
        LOWER,
        f"How long a pod took {said}.",
    )
    yield Measure(
        "wait_p99",
        "Time to schedule, 99th percentile",
        _quantile(waited, 0.99),
        SECONDS,
        LOWER,
        f"How long the slowest of a hundred pods took {said}.",
    )


def _waiting(outcome: Outcome) -> Iterator[Measure]:
    pending, times = outcome.samples.pending.astype(np.float64), outcome.samples.time
    mean = _mean(pending, times, outcome.end)
    most = float(pending.max()) if pending.size else None
    yield Measure("pending_mean", "Pods pending, mean", mean, PODS, LOWER, "Pods that waited, on average over time.")
    yield Measure("pending_most", "Pods pending, at most", most, PODS, LOWER, "Pods that waited at once, at most.")


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
        "Pods told to leave their node: by a drain, a taint, or its end.",
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
            "Pods that had to go while more pods of their PodDisruptionBudget were down already than it allows.",
        )
        yield Measure(
            "budgets_disrupted",
            "Budgets disrupted",
            broken,
            "budgets",
            LOWER,
            "PodDisruptionBudgets of which more pods were down at once than they allow.",
        )


def _nodes(outcome: Outcome) -> Iterator[Measure]:
    there = ~np.isnan(outcome.allocatable([outcome.end], CPU)[-1])
    placed = outcome.placed(outcome.end)
    taken = np.zeros(len(outcome.nodes), dtype=np.bool_)
    taken[placed[placed >= 0]] = True
    yield Measure(
        "nodes_empty", "Empty nodes", float((there & ~taken).sum()), NODES, HIGHER, "Nodes without any pod at the end."
    )
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
    times = _times(outcome)
    loads = 100.0 * outcome.loads(times, resource).astype(np.float64)
    has = ~np.isnan(loads).all(axis=1)
    if not has.any():
        return
    words = _words(resource)
    skew, spread = _skew(loads), _spread(loads)
    of = f"the requested share of {words}"
    for name, label, column, sentence in (
        ("skew", "Skew", skew, f"Highest node less the lowest, by {of}"),
        ("spread", "Spread", spread, f"Standard deviation over the nodes of {of}"),
    ):
        mean, last = _mean(column, times, outcome.end), _last(column)
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
    mean = _mean(share, times, outcome.end)
    sentence = f"Share of all {words} that is requested by pods on nodes, on average over time."
    yield Measure(f"requested_{resource}", f"Requested {words}", mean, PERCENT, NEITHER, sentence)


def _use(outcome: Outcome, resource: str) -> Iterator[Measure]:
    measured = (outcome.use.cpu if resource == CPU else outcome.use.memory).astype(np.float64)
    later = outcome.use.time > 0.0  # nothing is known before the end of the first interval
    times, levels = outcome.use.time[later], measured[later]
    if not levels.size or np.isnan(levels).all():
        return
    words, end = _words(resource), outcome.end
    skew, spread = _mean(_skew(levels), times, end), _mean(_spread(levels), times, end)
    yield Measure(
        f"use_skew_{resource}",
        f"Skew of {words} use",
        skew,
        POINTS,
        LOWER,
        f"Highest node less the lowest, by the share of {words} that is really used, on average over time.",
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


def _times(outcome: Outcome) -> Floats:
    """The times for means: those of samples, evenly thinned, and the end."""
    times = outcome.samples.time
    step = max(1, -(-len(times) // MOST_TIMES))
    if len(times) < MOST_TIMES // 8:  # a short run, of which there are few samples
        times, step = np.linspace(0.0, outcome.end, MOST_TIMES // 8), 1
    return np.unique(np.append(times[::step], outcome.end))


def _skew(levels: Floats) -> Floats:
    """The level of the highest less that of the lowest node at each time, nan without nodes. Shape [times]."""
    return _by_time(levels, lambda known: float(known.max() - known.min()))


def _spread(levels: Floats) -> Floats:
    return _by_time(levels, lambda known: float(known.std()))


def _by_time(levels: Floats, of: Any) -> Floats:
    rows = [row[~np.isnan(row)] for row in levels]
    return np.array([of(row) if row.size else np.nan for row in rows], dtype=np.float64)


def _mean(values: NDArray[np.float64], times: Floats, end: float) -> float | None:
    """The mean over time: each value holds until the next one, the last to ``end``; ``None`` without values."""
    known = ~np.isnan(values)
    lasts = np.diff(np.append(times, max(end, times[-1]) if times.size else end))
    weight = float(lasts[known].sum())
    if not known.any():
        return None
    return float((values[known] * lasts[known]).sum() / weight) if weight else float(values[known].mean())


def _last(values: Floats) -> float | None:
    known = values[~np.isnan(values)]
    return float(known[-1]) if known.size else None


def _quantile(values: Floats, share: float) -> float | None:
    """The smallest value such that at least ``share`` of all values are at most that."""
    if not values.size:
        return None
    return float(np.sort(values)[max(0, int(np.ceil(share * values.size)) - 1)])
