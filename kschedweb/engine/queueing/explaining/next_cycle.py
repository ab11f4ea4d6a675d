"""Outcome of the next cycle for a workload that fits: others of its tree are processed before it."""

from __future__ import annotations

from kschedweb.engine.queueing.cycle.cycle import QuotaScheduler
from kschedweb.engine.queueing.cycle.entries import ASSUMED, CycleEntry
from kschedweb.engine.queueing.explaining.queue_state import QueueState, build_state
from kschedweb.engine.values import dataclass


@dataclass(frozen=True)
class CycleNeighbour:
    """An entry that a cycle processes before another one."""

    key: str
    cluster_queue: str
    # Whether it gets quota; else it keeps what it could use, or waits for victims.
    gets_quota: bool
    message: str


@dataclass(frozen=True)
class NextCycle:
    """Outcome of the next cycle for a workload."""

    gets_quota: bool
    message: str
    # Those of its tree that come before it.
    before: tuple[CycleNeighbour, ...]


def predict_cycle(state: QueueState, key: str) -> NextCycle | None:
    """Return what the next cycle makes of ``key``; None if it does not look at it."""
    played = build_state(state.objects, state.now, uses_fair_sharing=state.uses_fair_sharing)
    result = QuotaScheduler(played.world, played.controllers.make_pods_ready).run_cycle()
    entries = {entry.info.key: entry for entry in result.entries}
    entry = entries.get(key)
    order = next((keys for keys in played.world.log.order.values() if key in keys), None)
    if entry is None or order is None:
        return None
    before = tuple(_describe_neighbour(entries[other]) for other in order[: order.index(key)])
    return NextCycle(entry.status == ASSUMED, entry.message, before)


def _describe_neighbour(entry: CycleEntry) -> CycleNeighbour:
    return CycleNeighbour(entry.info.key, entry.cluster_queue, entry.status == ASSUMED, entry.message)
