"""Run a scenario under a policy: equal scenario, configuration and seed give an equal outcome."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from kschedweb.engine.config import Configuration
from kschedweb.engine.cycle.search_request import SearchRequest
from kschedweb.engine.objects.json_access import ObjectError, get_mapping
from kschedweb.engine.objects.selecting_objects import PodDisruptionBudget
from kschedweb.engine.simulation import PodArrives
from kschedweb.engine.state.cluster_objects import BUDGET
from kschedweb.engine.state.snapshot import Snapshot
from kschedweb.engine.studies.play.outcome import RunOutcome
from kschedweb.engine.studies.play.recorder import Progress, RunRecorder
from kschedweb.engine.studies.play.rewind import Rewind
from kschedweb.engine.studies.play.simulation import LONGEST, Registry, finish_simulation, start_simulation
from kschedweb.engine.studies.prepare.prepared import PreparedScenario


def run_scenario(
    prepared: PreparedScenario,
    configuration: Configuration,
    *,
    registry: Registry | None = None,
    progress: Progress | None = None,
    quick: bool = True,
    ended: Callable[[Snapshot], object] | None = None,
) -> RunOutcome:
    """Run the scenario under ``configuration``, and return its outcome.

    ``progress(virtual seconds, pods decided at least once, pods known)`` is called now and then, and may raise to end
    the run. Without ``quick``, tries that must fail are made too; the outcome is the same. ``ended`` gets the cluster
    at the end. Raise SimulationError for an impossible event.
    """
    recorder = RunRecorder(_read_budgets(prepared.objects), _count_arrivals(prepared), progress, prepared.actors)
    simulation = start_simulation(prepared, configuration, recorder, registry=registry, quick=quick)
    scheduler = simulation.loop.scheduler
    waits = any(framework.points.permit for framework in scheduler.frameworks.values())
    creates = any(actor.creates_pods for actor in simulation.actors)
    recorder.begin_actors(scheduler)
    recorder.mark_initial_complete(replayed=waits or creates or scheduler.takes_turns)
    result = finish_simulation(simulation, prepared)
    if ended is not None:
        ended(simulation.world.snapshot)
    notes = list(prepared.notes)
    if prepared.end is None and result.end >= LONGEST:
        notes.append(f"the run was ended after {LONGEST / 86400:g} days without settling")
    notes += [note for actor in simulation.actors for note in actor.list_notes()]
    outcome = recorder.build_outcome(result, prepared.seed, notes, prepared.prices)
    # Skipped tries left no message. They are explained from the outcome, which is then built again with the messages.
    if recorder.owed_messages:
        recorder.set_messages(_explain_skipped(prepared, configuration, outcome, recorder.owed_messages))
        outcome = recorder.build_outcome(result, prepared.seed, notes, prepared.prices)
    return outcome


def _explain_skipped(
    prepared: PreparedScenario, configuration: Configuration, outcome: RunOutcome, owed: Mapping[int, tuple[float, int]]
) -> dict[int, str]:
    """Return the messages of skipped tries by row; pods of one signature get the same message."""
    rewind = Rewind(prepared, configuration, outcome)
    message_by_kind: dict[Hashable, str] = {}
    messages = {}
    # A rewind goes only forwards.
    for row, (time, move_count) in sorted(owed.items(), key=lambda item: (item[1][1], item[1][0])):
        pod = rewind.go_to(row, time, move_count)
        kind = move_count, pod.scheduler_name, pod.signature
        if kind not in message_by_kind:
            message_by_kind[kind] = rewind.scheduler.find(pod, SearchRequest(post_filter=True, start=0)).condition
        messages[row] = message_by_kind[kind]
    return messages


def _count_arrivals(prepared: PreparedScenario) -> int:
    """Return the number of pods to schedule that is known at the beginning."""
    waiting = (
        raw for raw in prepared.objects if raw.get("kind") == "Pod" and not get_mapping(raw, "spec").get("nodeName")
    )
    return sum(1 for _ in waiting) + sum(isinstance(event, PodArrives) for event in prepared.events)


def _read_budgets(objects: Sequence[Any]) -> list[tuple[str, PodDisruptionBudget]]:
    budgets = []
    for raw in objects:
        if isinstance(raw, dict) and raw.get("kind") == BUDGET:
            with suppress(ObjectError):  # The snapshot has a note about it.
                budget = PodDisruptionBudget.from_json(raw)
                budgets.append((f"{budget.namespace}/{raw['metadata']['name']}", budget))
    return budgets
