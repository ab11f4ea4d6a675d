"""The plugins of the descheduler, one module each, named as it names them."""

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
