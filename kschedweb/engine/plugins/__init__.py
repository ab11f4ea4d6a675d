"""One module per plugin: what it decides, its arguments, and the ``PluginSpec`` that registers it.

Plugins of other packages are found by entry points of the group ``kschedweb.plugins``.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from pkgutil import iter_modules

from kschedweb.engine.config.specs import PluginError, PluginSpec

ENTRY_POINTS = "kschedweb.plugins"

SPECS = tuple(
    value
    for module in iter_modules(__path__, f"{__name__}.")
    for value in vars(import_module(module.name)).values()
    if isinstance(value, PluginSpec)
)
"""The plugins that come with kschedweb: those of kube-scheduler, and those with an origin."""


def kube_scheduler(without: Collection[str] = ()) -> tuple[PluginSpec, ...]:
    """kube-scheduler's own plugins, but for those of these names."""
    return tuple(spec for spec in SPECS if not spec.origin and spec.name not in without)


@cache
def others() -> tuple[PluginSpec, ...]:
    """Return the plugins that are not kube-scheduler's: kschedweb's own and those of installed packages.

    Raises ``PluginError``, which names the entry point that cannot be used.
    """
    ours = sorted((spec for spec in SPECS if spec.origin), key=lambda spec: (spec.rank, spec.name))
    known = {spec.name for spec in SPECS}
    found = []
    for entry in sorted(entry_points(group=ENTRY_POINTS), key=lambda entry: entry.name):
        try:
            found.append(_checked(entry.load(), known))
        except Exception as error:
            # Another package's code may raise anything; the error must name that package.
            raise PluginError(f"the plugin {entry.name} ({entry.value}) cannot be used: {error}") from error
        known.add(found[-1].name)
    return (*ours, *found)


def _checked(spec: object, known: set[str]) -> PluginSpec:
    if not isinstance(spec, PluginSpec):
        raise TypeError("is no PluginSpec")
    if spec.name in known:
        raise ValueError(f"two plugins are called {spec.name!r}")
    spec.check()
    return spec
