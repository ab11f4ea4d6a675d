"""Compute the measures of a run, with shared intermediate results."""

from __future__ import annotations

from functools import cached_property, lru_cache

import numpy as np

from kschedweb.engine.objects.resources import CPU
from kschedweb.engine.simulation.autoscaling.context import LAUNCHED, REMOVED
from kschedweb.engine.state.columns import Floats
from kschedweb.engine.studies.measure import overtime
from kschedweb.engine.studies.measure.costs import RunCosts, compute_costs
from kschedweb.engine.studies.measure.descheduling import count_repeated_evictions
from kschedweb.engine.studies.measure.fragmentation import compute_fragmentation
from kschedweb.engine.studies.measure.occupancy import HOUR, empty_nodes, node_cost, node_hours
from kschedweb.engine.studies.play.outcome import MoveKind, NodeState, RunOutcome


class RunFigures:
    """One outcome, with a function for each measure; functions of a resource take its name.

    Means over time are from the beginning of the run to its end.
    """

    def __init__(self, outcome: RunOutcome) -> None:
        self.outcome, self.end = outcome, outcome.end
        # Caches of this object: a cache of the class would keep every outcome in memory.
        self.requested_levels = lru_cache(maxsize=None)(self._requested_levels)
        self.used_levels = lru_cache(maxsize=None)(self._used_levels)

    # Pods that wait, and for how long.

    def count_unscheduled(self) -> float:
        return float(len(self.outcome.pending))

    @cached_property
    def waits(self) -> Floats:
        """Seconds from the arrival of each pod that was tried and bound until it was bound."""
        outcome = self.outcome
        took: Floats = (outcome.bound - outcome.arrived)[(outcome.attempts > 0) & ~np.isnan(outcome.bound)]
        return took

    def wait_median(self) -> float | None:
        return overtime.compute_quantile(self.waits, 0.5)

    def wait_p99(self) -> float | None:
        return overtime.compute_quantile(self.waits, 0.99)

    def pending_mean(self) -> float | None:
        samples = self.outcome.samples
        return overtime.mean_over_time(samples.pending.astype(np.float64), samples.time, self.end)

    def pending_most(self) -> float | None:
        pending = self.outcome.samples.pending
        return float(pending.max()) if pending.size else None

    def count_failed(self) -> float:
        return self._count_forced(MoveKind.FAILED)

    def unknown_most(self) -> float | None:
        unknown = self.outcome.samples.unknown
        return None if unknown is None else float(unknown.max(initial=0))

    # Pods that have to leave.

    def _count_forced(self, *kinds: MoveKind) -> float:
        return float(np.isin(self.outcome.forced_moves.kind, kinds).sum())

    def count_preemptions(self) -> float:
        return self._count_forced(MoveKind.PREEMPTED)

    def count_evictions(self) -> float:
        return self._count_forced(MoveKind.EVICTED, MoveKind.NODE_GONE)

    def evictions_rate(self) -> float | None:
        hours = self.end / HOUR
        return self.count_evictions() / hours if hours else None

    def count_disruptions(self) -> float:
        return float(self.outcome.guards.beyond.sum())

    def budgets_disrupted(self) -> float:
        guards = self.outcome.guards
        return float(len(np.unique(guards.budget[guards.beyond > 0])))

    def evictions_descheduler(self) -> float:
        return float(len(self.outcome.evictions))

    def evictions_again(self) -> float:
        return float(count_repeated_evictions(self.outcome))

    # Scaled workloads.

    def replicas_mean(self) -> float:
        looks = (self.outcome.looks.for_workload(place) for place in range(len(self.outcome.scaled)))
        means = [overtime.mean_over_time(look.replicas.astype(np.float64), look.time, self.end) for look in looks]
        return float(sum(mean for mean in means if mean is not None))

    def count_scalings(self) -> float:
        return float(len(self.outcome.scalings.time))

    def above_target(self) -> float | None:
        measured = above = 0
        for place, target in enumerate(self.outcome.targets.tolist()):
            levels = self.outcome.looks.for_workload(place).utilization
            used = levels[~np.isnan(levels)] if not np.isnan(target) else np.zeros(0)
            measured, above = measured + used.size, above + int((used > target).sum())
        return 100.0 * above / measured if measured else None

    # Costs and use of nodes.

    @cached_property
    def _costs(self) -> RunCosts:
        return compute_costs(self.outcome)

    def total_cost(self) -> float | None:
        return self._costs.total.amount

    def cost_used(self) -> float | None:
        return self._costs.used.amount

    def cost_used_end(self) -> float | None:
        return self._costs.used_hour

    def unpriced_node_hours(self) -> float:
        return self._costs.total.unpriced

    @cached_property
    def _node_hours(self) -> tuple[float, float]:
        return node_hours(self.outcome)

    def node_hours(self) -> float:
        return self._node_hours[0]

    def node_hours_used(self) -> float:
        return self._node_hours[1]

    def nodes_empty(self) -> float:
        return float(empty_nodes(self.outcome, [self.end])[0])

    @cached_property
    def _offering_cost(self) -> tuple[float, float]:
        return node_cost(self.outcome)

    def node_cost(self) -> float | None:
        return None if np.isnan(self.outcome.prices).all() else self._offering_cost[0]

    def node_hours_unpriced(self) -> float:
        return self._offering_cost[1]

    def nodes_launched(self) -> float:
        return self._count_actions(LAUNCHED)

    def nodes_removed(self) -> float:
        return self._count_actions(REMOVED)

    def _count_actions(self, action: str) -> float:
        return float(sum(kind == action for _, kind, *_ in self.outcome.autoscaler_actions))

    @cached_property
    def _fragment_shares(self) -> dict[str, float | None]:
        outcome = self.outcome
        shaped_rows, end = np.flatnonzero(outcome.shape >= 0), [outcome.end]
        counts = np.bincount(outcome.shape[shaped_rows], minlength=len(outcome.eligible))
        requests = np.zeros((len(outcome.resources), len(outcome.eligible)), dtype=np.int64)
        requests[:, outcome.shape[shaped_rows]] = outcome.requests[:, shaped_rows]
        free = np.stack(
            [outcome.allocatable(end, name)[-1] - outcome.requested(end, name)[-1] for name in outcome.resources]
        )
        return {
            name: compute_fragmentation(free, requests, counts, outcome.eligible, row)
            for row, name in enumerate(outcome.resources)
        }

    def fragmentation_percent(self, resource: str) -> float | None:
        share = self._fragment_shares[resource]
        return None if share is None else 100.0 * share

    # Balance of nodes.

    @cached_property
    def times(self) -> Floats:
        """The times at which requests are sampled."""
        return overtime.times_of(self.outcome)

    def _requested_levels(self, resource: str) -> Floats:
        """Return the requested percent of each node, NaN if it has none of the resource. Shape [times, nodes]."""
        levels: Floats = 100.0 * self.outcome.requested_shares(self.times, resource).astype(np.float64)
        return levels

    def _over_time(self, levels: Floats) -> float | None:
        return overtime.mean_over_time(levels, self.times, self.end)

    def mean_skew(self, resource: str) -> float | None:
        return self._over_time(overtime.compute_skew(self.requested_levels(resource)))

    def skew_end(self, resource: str) -> float | None:
        return overtime.last_level(overtime.compute_skew(self.requested_levels(resource)))

    def mean_spread(self, resource: str) -> float | None:
        return self._over_time(overtime.compute_spread(self.requested_levels(resource)))

    def spread_end(self, resource: str) -> float | None:
        return overtime.last_level(overtime.compute_spread(self.requested_levels(resource)))

    def requested_share(self, resource: str) -> float | None:
        requested_amount = self.outcome.requested(self.times, resource).sum(axis=1)
        whole = np.nansum(self.outcome.allocatable(self.times, resource), axis=1)
        return self._over_time(
            100.0 * np.divide(requested_amount, whole, out=np.full(len(whole), np.nan), where=whole > 0.0)
        )

    @cached_property
    def _measured_slice(self) -> slice:
        """The measurements of use without that of time 0, before a first interval is over."""
        return slice(int(np.searchsorted(self.outcome.use.time, 0.0, side="right")), None)

    @cached_property
    def use_times(self) -> Floats:
        return self.outcome.use.time[self._measured_slice]

    def _used_levels(self, resource: str) -> Floats:
        """Return the really used percent of each node, NaN if it is unknown. Shape [measurements, nodes]."""
        log = self.outcome.use
        levels: Floats = (log.cpu if resource == CPU else log.memory)[self._measured_slice].astype(np.float64)
        return levels

    def open_levels(self, resource: str) -> Floats:
        """Return the used percent of nodes that are open to any pod, NaN for others. Shape [measurements, nodes]."""
        levels = self.used_levels(resource)
        return np.where(self.outcome.node_states(self.use_times) == NodeState.OPEN, levels, np.nan)

    def use_skew(self, resource: str) -> float | None:
        return overtime.mean_over_time(overtime.compute_skew(self.open_levels(resource)), self.use_times, self.end)

    def use_spread(self, resource: str) -> float | None:
        return overtime.mean_over_time(overtime.compute_spread(self.open_levels(resource)), self.use_times, self.end)

    def use_hottest(self, resource: str) -> float:
        return float(np.nanmax(self.used_levels(resource)))
