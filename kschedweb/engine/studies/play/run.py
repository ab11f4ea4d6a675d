"""Runs a scenario under a policy: equal scenario, configuration and seed give an equal outcome."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from kschedweb.engine.config import Configuration
from kschedweb.engine.cycle.request import SearchRequest
from kschedweb.engine.objects.access import ObjectError, mapping
from kschedweb.engine.objects.workloads import Budget
from kschedweb.engine.simulation import PodArrives, ScalerComes
from kschedweb.engine.simulation.descheduling import MOST_ROUNDS
from kschedweb.engine.state.cluster import BUDGET
from kschedweb.engine.state.snapshot import Snapshot
from kschedweb.engine.studies.moves.speaking import Spoke
from kschedweb.engine.studies.play.outcome import Outcome
from kschedweb.engine.studies.play.playing import LONGEST, Registry, begin, finish
from kschedweb.engine.studies.play.recorder import Progress, Recorder
from kschedweb.engine.studies.play.rewind import Rewind
from kschedweb.engine.studies.prepare.prepared import Prepared


def run(
    prepared: Prepared,
    configuration: Configuration,
    *,
    registry: Registry | None = None,
    progress: Progress | None = None,
    quick: bool = True,
    ended: Callable[[Snapshot], object] | None = None,
) -> Outcome:
    """The outcome of the scenario under ``configuration``.

    ``progress(virtual seconds, pods decided at least once, pods known)`` is called now and then, and may raise to end
    the run. Without ``quick``, tries that must fail are made too; the outcome is the same. ``ended`` is given the
    cluster at the end. Raises SimulationError for an impossible event.
    """
    price = prepared.autoscaler.price if prepared.autoscaler is not None else None
    recorder = Recorder(_budgets(prepared.objects), _arrivals(prepared), progress, price)
    simulation = begin(prepared, configuration, recorder, registry=registry, quick=quick)
    scheduler = simulation.loop.scheduler
    waits = any(framework.points.permit for framework in scheduler.frameworks.values())
    scales = any(isinstance(event, ScalerComes) for event in prepared.events)
    if simulation.descheduling is not None:
        recorder.descheduling.spoke = Spoke(scheduler)
    recorder.begin(replayed=waits or scales or scheduler.takes_turns)
    result = finish(simulation, prepared)
    if ended is not None:
        ended(simulation.world.snapshot)
    notes = list(prepared.notes)
    if prepared.until is None and result.end >= LONGEST:
        notes.append(f"the run was ended after {LONGEST / 86400:g} days without having come to rest")
    if simulation.descheduling is not None and simulation.descheduling.stopped:
        notes.append(
            f"the descheduler stopped {MOST_ROUNDS} rounds after the last event: the run has no end of its own"
        )
    outcome = recorder.outcome(result, prepared.seed, notes, prepared.prices)
    if recorder.owed:
        recorder.said(_worked_out(prepared, configuration, outcome, recorder.owed))
        outcome = recorder.outcome(result, prepared.seed, notes, prepared.prices)
    return outcome


def _worked_out(
    prepared: Prepared, configuration: Configuration, outcome: Outcome, owed: Mapping[int, tuple[float, int]]
) -> dict[int, str]:
    """Add the messages of skipped tries; pods of one signature get the same message."""
    rewind = Rewind(prepared, configuration, outcome)
    known: dict[Hashable, str] = {}
    messages = {}
    for row, (time, seen) in sorted(owed.items(), key=lambda item: (item[1][1], item[1][0])):
        pod = rewind.at(row, time, seen)
        kind = seen, pod.scheduler_name, pod.signature
        if kind not in known:
            known[kind] = rewind.scheduler.find(pod, SearchRequest(post_filter=True, start=0)).condition
        messages[row] = known[kind]
    return messages


def _arrivals(prepared: Prepared) -> int:
    """The number of pods to schedule that is known at the beginning."""
    waiting = (raw for raw in prepared.objects if raw.get("kind") == "Pod" and not mapping(raw, "spec").get("nodeName"))
    return sum(1 for _ in waiting) + sum(isinstance(event, PodArrives) for event in prepared.events)


def _budgets(objects: Sequence[Any]) -> list[tuple[str, Budget]]:
    found = []
    for raw in objects:
        if isinstance(raw, dict) and raw.get("kind") == BUDGET:
            with suppress(ObjectError):  # the snapshot says so
                budget = Budget.read(raw)
                found.append((f"{budget.namespace}/{raw['metadata']['name']}", budget))
    return found
