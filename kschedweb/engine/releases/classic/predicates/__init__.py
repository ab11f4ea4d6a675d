"""The predicates that need no argument, by name; predicates with an argument may have any name."""

from __future__ import annotations

from collections.abc import Callable

from kschedweb.engine.framework.interface import FilterPlugin
from kschedweb.engine.json_types import Json
from kschedweb.engine.releases.classic.catalogue import NO_EXECUTE
from kschedweb.engine.releases.classic.predicates import node, room, volumes
from kschedweb.engine.releases.classic.predicates.affinity import MatchInterPodAffinity, MatchInterPodAffinityByTerm
from kschedweb.engine.releases.classic.predicates.services import CheckServiceAffinity

Factory = Callable[[str, Json], FilterPlugin]
PREDICATES: dict[str, Factory] = {
    "CheckNodeCondition": node.CheckNodeCondition,
    "CheckNodeUnschedulable": node.CheckNodeUnschedulable,
    "GeneralPredicates": room.GeneralPredicates,
    "HostName": node.HostName,
    "PodFitsHostPorts": room.PodFitsHostPorts,
    "PodFitsPorts": room.PodFitsHostPorts,
    "MatchNodeSelector": node.MatchNodeSelector,
    "PodFitsResources": room.PodFitsResources,
    "NoDiskConflict": room.NoDiskConflict,
    "PodToleratesNodeTaints": node.PodToleratesNodeTaints,
    NO_EXECUTE: node.PodToleratesNodeNoExecuteTaints,
    **dict.fromkeys(volumes.KINDS, volumes.MaxVolumeCount),
    "MaxCSIVolumeCountPred": volumes.MaxCSIVolumeCount,
    "CheckVolumeBinding": volumes.CheckVolumeBinding,
    "NoVolumeZoneConflict": volumes.NoVolumeZoneConflict,
    "CheckNodeMemoryPressure": node.CheckNodeMemoryPressure,
    "CheckNodePIDPressure": node.CheckNodePIDPressure,
    "CheckNodeDiskPressure": node.CheckNodeDiskPressure,
    "MatchInterPodAffinity": MatchInterPodAffinity,
}
# By kind of argument.
ARGUED: dict[str, Factory] = {
    "serviceAffinity": CheckServiceAffinity,
    "labelsPresence": node.CheckNodeLabelPresence,
}
# Predicates that were different in 1.9.
OLD: dict[str, Factory] = {"MatchInterPodAffinity": MatchInterPodAffinityByTerm}


def predicate_factories(*, old: bool) -> dict[str, Factory]:
    """Return constructors of predicates by name, and by kind of argument; ``old`` is 1.9."""
    return PREDICATES | ARGUED | (OLD if old else {})
