"""One module a plugin: what it decides, its arguments, and the ``PluginSpec`` that registers it here."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from kschedweb.engine.config.registry import installed, register
from kschedweb.engine.config.specs import PluginSpec

for _module in iter_modules(__path__, f"{__name__}."):
    register(*(value for value in vars(import_module(_module.name)).values() if isinstance(value, PluginSpec)))


@cache
def registry() -> dict[str, Callable[[dict[str, Any]], Any]]:
    """Plugin name -> factory taking the plugin's arguments, of every plugin that decides anything."""
    return {spec.name: spec.factory for spec in installed().specs.values() if spec.factory}
