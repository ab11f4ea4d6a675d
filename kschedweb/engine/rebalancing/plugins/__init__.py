"""The plugins of the descheduler, one module each under the plugin's name."""

from kschedweb.engine.rebalancing.handle import PluginSpec
from kschedweb.engine.rebalancing.plugins import (
    defaultevictor,
    highnodeutilization,
    lownodeutilization,
    podlifetime,
    removeduplicates,
    removefailedpods,
    removepodshavingtoomanyrestarts,
    removepodsviolatinginterpodantiaffinity,
    removepodsviolatingnodeaffinity,
    removepodsviolatingnodetaints,
    removepodsviolatingtopologyspreadconstraint,
)

PLUGINS: dict[str, PluginSpec] = {
    module.SPEC.name: module.SPEC
    for module in (
        defaultevictor,
        highnodeutilization,
        lownodeutilization,
        podlifetime,
        removeduplicates,
        removefailedpods,
        removepodshavingtoomanyrestarts,
        removepodsviolatinginterpodantiaffinity,
        removepodsviolatingnodeaffinity,
        removepodsviolatingnodetaints,
        removepodsviolatingtopologyspreadconstraint,
    )
}
