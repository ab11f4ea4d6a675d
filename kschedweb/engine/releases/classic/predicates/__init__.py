"""The predicates by the names of those that need no argument; an argument makes others of any name."""

from __future__ import annotations

from collections.abc import Callable

from kschedweb.engine.framework.interface import FilterPlugin
from kschedweb.engine.objects.access import Json
from kschedweb.engine.releases.classic.catalogue import NO_EXECUTE
from kschedweb.engine.releases.classic.predicates import node, room, volumes
from kschedweb.engine.releases.classic.predicates.affinity import MatchInterPodAffinity, MatchInterPodAffinityByTerm
from kschedweb.engine.releases.classic.predicates.services import CheckServiceAffinity

Factory = Callable[[str, Json], FilterPlugin]
NAMED: dict[str, Factory] = {
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
ARGUED: dict[str, Factory] = {
    "serviceAffinity": CheckServiceAffinity,
    "labelsPresence": node.CheckNodeLabelPresence,
}
# Those of 1.9 that were not yet as they are above.
OLD: dict[str, Factory] = {"MatchInterPodAffinity": MatchInterPodAffinityByTerm}


def known(*, old: bool) -> dict[str, Factory]:
    """What makes the predicate of a name, or that of a kind of argument; 1.9 is ``old``."""
    return NAMED | ARGUED | (OLD if old else {})
