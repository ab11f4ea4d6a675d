"""One room for each kind of actor of a scenario, found by being there.

A room has these modules, each only when needed:
- ``keys``: ``FIELD``, the key of a scenario document by which it is set up;
- ``setup``: ``ACTOR``, which adds it to a prepared scenario;
- ``columns``: ``RECORDER``, which records its reports, and gives them as columns of the outcome;
- ``measures``: ``MEASURES``, blocks of measures of a run.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pkgutil import iter_modules
from types import ModuleType


@cache
def list_modules(name: str) -> tuple[ModuleType, ...]:
    """Return the modules of this name in all rooms, by the name of the room: the order in which actors act."""
    rooms = sorted(room.name for room in iter_modules(__path__, f"{__name__}.") if room.ispkg)
    return tuple(import_module(f"{room}.{name}") for room in rooms if find_spec(f"{room}.{name}") is not None)
