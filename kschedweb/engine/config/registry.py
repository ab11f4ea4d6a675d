"""Which plugins there are: those of ``kschedweb.engine.plugins``, which register here, and those of other packages.

Either come as ``PluginSpec`` objects; those of other packages from entry points of the group ``kschedweb.plugins``.
"""

from __future__ import annotations

from functools import cache
from importlib.metadata import entry_points

from kschedweb.engine.config.specs import PluginError, PluginRef, PluginSpec, Registry

ENTRY_POINTS = "kschedweb.plugins"
DEFAULT_PLUGINS = (
    PluginRef("SchedulingGates"),
    PluginRef("PrioritySort"),
    PluginRef("NodeUnschedulable"),
    PluginRef("NodeName"),
    PluginRef("TaintToleration", 3),
    PluginRef("NodeAffinity", 2),
    PluginRef("NodePorts"),
    PluginRef("NodeResourcesFit", 1),
    PluginRef("VolumeRestrictions"),
    PluginRef("NodeVolumeLimits"),
    PluginRef("VolumeBinding"),
    PluginRef("VolumeZone"),
    PluginRef("PodTopologySpread", 2),
    PluginRef("InterPodAffinity", 2),
    PluginRef("DynamicResources", 2),
    PluginRef("DefaultPreemption"),
    PluginRef("NodeResourcesBalancedAllocation", 1),
    PluginRef("ImageLocality", 1),
    PluginRef("DefaultBinder"),
    PluginRef("NodeDeclaredFeatures"),
)
"""The default set: multiPoint plugins in their order with their weights (0 where none is set)."""

_registered: list[PluginSpec] = []


def register(*specs: PluginSpec) -> None:
    """Add plugins that come with kschedweb; it is done before anybody asks for the registry."""
    _registered.extend(specs)


@cache
def in_tree() -> Registry:
    """Return kube-scheduler's own plugins: those of the default set, then those behind feature gates."""
    specs = {spec.name: spec for spec in _registered if not spec.origin}
    return Registry([*(specs.pop(ref.name) for ref in DEFAULT_PLUGINS), *specs.values()], DEFAULT_PLUGINS)


@cache
def installed() -> Registry:
    """Return kube-scheduler's own plugins, the others that come with kschedweb, and those of installed packages.

    Raises ``PluginError`` naming the entry point that cannot be used.
    """
    others = sorted((spec for spec in _registered if spec.origin), key=lambda spec: (spec.rank, spec.name))
    registry = in_tree().extended(*others)
    for entry in sorted(entry_points(group=ENTRY_POINTS), key=lambda entry: entry.name):
        try:
            spec = entry.load()
            if not isinstance(spec, PluginSpec):
                raise TypeError("is no PluginSpec")
            registry = registry.extended(spec)
        except Exception as error:
            # Whatever goes wrong while another package's code runs, that package is to be named.
            raise PluginError(f"the plugin {entry.name} ({entry.value}) cannot be used: {error}") from error
    return registry
