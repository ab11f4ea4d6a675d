"""One module a plugin: what pages tell of it, in words. Found by the plugin's name.

Those of other packages come from entry points of the group ``kschedweb.presenters`` that load to a ``Presenter``.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from pkgutil import iter_modules

from kschedweb.decisions.presenters.base import Presenter

ENTRY_POINTS = "kschedweb.presenters"


@cache
def _known() -> dict[str, Presenter]:
    modules = [vars(import_module(module.name)) for module in iter_modules(__path__, f"{__name__}.")]
    found = [value for module in modules for value in module.values() if isinstance(value, Presenter)]
    found += [entry.load() for entry in entry_points(group=ENTRY_POINTS)]
    return {presenter.plugin: presenter for presenter in found}


def presenter(plugin: str) -> Presenter:
    """What tells of ``plugin``: its own presenter, or one that knows nothing but what the plugin says."""
    return _known().get(plugin) or Presenter(plugin)
