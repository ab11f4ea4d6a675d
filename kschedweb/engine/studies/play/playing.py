"""A simulation of a scenario, at its beginning and to its end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from kschedweb.engine.config import Configuration
from kschedweb.engine.framework.runtime import Factory
from kschedweb.engine.simulation import Observer, Result, Simulation
from kschedweb.engine.studies.prepare.prepared import Prepared

LONGEST = 366 * 24 * 3600.0  # seconds that a run lasts which is to end when all is quiet
MOST_SAMPLES = 4096

Registry = Mapping[str, Factory]


def begin(
    prepared: Prepared,
    configuration: Configuration,
    observer: Observer,
    *,
    registry: Registry | None = None,
    quick: bool = True,
    events: bool = True,
) -> Simulation:
    """The simulation at its beginning, perhaps without the ``events`` that are to follow."""
    settings = prepared.settings
    if settings.most_samples > MOST_SAMPLES:
        settings = replace(settings, most_samples=MOST_SAMPLES)
    return Simulation(
        prepared.start,
        configuration,
        prepared.events if events else (),
        settings,
        registry=registry,
        use=None if prepared.use is None else prepared.use(),
        watermarks=prepared.watermarks,
        observer=observer,
        quick=quick,
    )


def finish(simulation: Simulation, prepared: Prepared) -> Result:
    """Let it run to its end."""
    if prepared.until is None:
        return simulation.run_until_quiet(LONGEST)
    return simulation.run(prepared.until)
