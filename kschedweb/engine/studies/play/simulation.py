"""Start the simulation of a scenario, and run it to its end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from kschedweb.engine.config import Configuration
from kschedweb.engine.config.specs import PluginFactory
from kschedweb.engine.simulation import Observer, Result, Simulation, list_standard_actors
from kschedweb.engine.studies.prepare.prepared import PreparedScenario

# Seconds of a run at most if it ends when nothing more happens: a year.
LONGEST = 366 * 24 * 3600.0
# Samples of a run at most, however often they are taken.
MOST_SAMPLES = 4096

Registry = Mapping[str, PluginFactory]


def start_simulation(
    prepared: PreparedScenario,
    configuration: Configuration,
    observer: Observer,
    *,
    registry: Registry | None = None,
    quick: bool = True,
    events: bool = True,
) -> Simulation:
    """Return a simulation of ``prepared`` at its beginning; without ``events``, nothing happens in it."""
    settings, actors = prepared.settings, list_standard_actors(None if prepared.use is None else prepared.use())
    if settings.most_samples > MOST_SAMPLES:
        settings = replace(settings, most_samples=MOST_SAMPLES)
    return Simulation(
        prepared.start_state(configuration.release),
        configuration,
        prepared.events if events else (),
        settings,
        [*actors, *prepared.list_actors()] if events else actors,
        registry=registry,
        observer=observer,
        quick=quick,
    )


def finish_simulation(simulation: Simulation, prepared: PreparedScenario) -> Result:
    """Run the simulation to its end, and return its result."""
    if prepared.end is None:
        return simulation.run_until_quiet(LONGEST)
    return simulation.run(prepared.end)
