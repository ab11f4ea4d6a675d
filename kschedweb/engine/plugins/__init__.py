"""One module per plugin: its decisions, its arguments, and the ``PluginSpec`` that registers it.

Plugins of other packages are found by entry points of the group ``kschedweb.plugins``.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from kschedweb.engine.config.specs import PluginError, PluginSpec

ENTRY_POINTS = "kschedweb.plugins"


def kube_scheduler_plugins(*names: str) -> tuple[PluginSpec, ...]:
    """Return kube-scheduler's own plugins of these names, each from the module of its name."""
    modules = (import_module(f"{__name__}.{name.lower()}") for name in names)
    return tuple(module.SPEC for module in modules)


@cache
def out_of_tree_plugins() -> tuple[PluginSpec, ...]:
    """Return the plugins that are not kube-scheduler's: kschedweb's own and those of installed packages.

    Raises ``PluginError``, which names the entry point that cannot be used.
    """
    from importlib.metadata import entry_points

    specs = list(_find_specs())
    ours = sorted((spec for spec in specs if spec.origin), key=lambda spec: (spec.rank, spec.name))
    names = {spec.name for spec in specs}
    loaded = []
    for entry in sorted(entry_points(group=ENTRY_POINTS), key=lambda entry: entry.name):
        try:
            loaded.append(_check_spec(entry.load(), names))
        except Exception as error:
            # Another package's code may raise anything; the error must name that package.
            raise PluginError(f"the plugin {entry.name} ({entry.value}) cannot be used: {error}") from error
        names.add(loaded[-1].name)
    return (*ours, *loaded)


def _find_specs() -> Iterator[PluginSpec]:
    """Yield the plugins that come with kschedweb: those of kube-scheduler, and those with an origin."""
    for module in iter_modules(__path__, f"{__name__}."):
        values = vars(import_module(module.name)).values()
        yield from (value for value in values if isinstance(value, PluginSpec))


def _check_spec(spec: object, names: set[str]) -> PluginSpec:
    if not isinstance(spec, PluginSpec):
        raise TypeError("is no PluginSpec")
    if spec.name in names:
        raise ValueError(f"two plugins are called {spec.name!r}")
    spec.validate_points()
    return spec
