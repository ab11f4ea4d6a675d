"""A scenario that is ready to run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from kschedweb.engine.objects.access import Json
from kschedweb.engine.simulation import Event, Settings
from kschedweb.engine.simulation.use import Use
from kschedweb.engine.watermarks.table import Watermarks


@dataclass(frozen=True, slots=True)
class Prepared:
    """Raw ``objects`` at time 0 and the ``events`` that follow, to ``until`` (seconds), ``None``: until all is quiet.

    ``use()`` makes what a run is told of real use: one for each, for it remembers what ran. ``watermarks`` are figures
    that do not change. ``notes`` say what was left out or read differently, with line and reason.
    """

    objects: list[Json]
    events: list[Event]
    until: float | None = None
    settings: Settings = field(default_factory=Settings)
    use: Callable[[], Use] | None = None
    watermarks: Watermarks | None = None
    seed: int = 0
    notes: list[str] = field(default_factory=list)
