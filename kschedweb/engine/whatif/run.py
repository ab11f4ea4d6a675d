"""A scenario run under a policy: the same scenario, configuration and seed give the same outcome."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from kschedweb.engine.cluster import BUDGET
from kschedweb.engine.config import Configuration
from kschedweb.engine.framework.runtime import Factory
from kschedweb.engine.objects.access import ObjectError, mapping
from kschedweb.engine.objects.workloads import Budget
from kschedweb.engine.simulation import Observer, PodArrives, Result, Simulation
from kschedweb.engine.whatif.outcome import Outcome
from kschedweb.engine.whatif.prepared import Prepared
from kschedweb.engine.whatif.recorder import Progress, Recorder

LONGEST = 366 * 24 * 3600.0  # seconds that a run lasts which is to end when all is quiet
MOST_SAMPLES = 4096

Registry = Mapping[str, Factory]


def run(
    prepared: Prepared,
    configuration: Configuration,
    *,
    registry: Registry | None = None,
    progress: Progress | None = None,
) -> Outcome:
    """What comes of the scenario under ``configuration``.

    ``progress(virtual seconds, pods decided at least once, pods known)`` is called now and then, and may raise to end
    the run. Raises SimulationError where an event cannot happen.
    """
    recorder = Recorder(_budgets(prepared.objects), _arrivals(prepared), progress)
    simulation = begin(prepared, configuration, recorder, registry=registry)
    frameworks = simulation.loop.scheduler.frameworks.values()
    recorder.begin(waits=any(framework.plugins("permit") for framework in frameworks))
    result = finish(simulation, prepared)
    notes = list(prepared.notes)
    if prepared.until is None and result.end >= LONGEST:
        notes.append(f"the run was ended after {LONGEST / 86400:g} days without having come to rest")
    return recorder.outcome(result, prepared.seed, notes)


def begin(
    prepared: Prepared, configuration: Configuration, observer: Observer, *, registry: Registry | None = None
) -> Simulation:
    """The simulation at its beginning."""
    settings = prepared.settings
    if settings.most_samples > MOST_SAMPLES:
        settings = replace(settings, most_samples=MOST_SAMPLES)
    return Simulation(
        prepared.objects,
        configuration,
        prepared.events,
        settings,
        registry=registry,
        use=None if prepared.use is None else prepared.use(),
        watermarks=prepared.watermarks,
        observer=observer,
    )


def finish(simulation: Simulation, prepared: Prepared) -> Result:
    """Let it run to its end."""
    if prepared.until is None:
        return simulation.run_until_quiet(LONGEST)
    return simulation.run(prepared.until)


def _arrivals(prepared: Prepared) -> int:
    """How many pods are to be scheduled, as far as is known from the beginning."""
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
