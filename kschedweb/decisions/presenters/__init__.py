"""Presenters, one module per plugin, which put its verdicts and scores into words. They are found by the plugin's name.

Presenters of other packages are found by entry points of the group ``kschedweb.presenters``.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from pkgutil import iter_modules

from kschedweb.decisions.presenters.base import Presenter

ENTRY_POINTS = "kschedweb.presenters"


@cache
def _load_presenters() -> dict[str, Presenter]:
    modules = [vars(import_module(module.name)) for module in iter_modules(__path__, f"{__name__}.")]
    presenters = [value for module in modules for value in module.values() if isinstance(value, Presenter)]
    presenters += [entry.load() for entry in entry_points(group=ENTRY_POINTS)]
    return {presenter.plugin: presenter for presenter in presenters}


def get_presenter(plugin: str) -> Presenter:
    """The presenter of ``plugin``, or a general one that shows the plugin's own messages."""
    return _load_presenters().get(plugin) or Presenter(plugin)
