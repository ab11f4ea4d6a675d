"""The in-tree plugins by the names that configurations use."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from kschedweb.engine.config.registry import installed
from kschedweb.engine.plugins.defaultbinder import DefaultBinder
from kschedweb.engine.plugins.defaultpreemption import DefaultPreemption
from kschedweb.engine.plugins.dynamic import Dynamic
from kschedweb.engine.plugins.dynamicresources import DynamicResources
from kschedweb.engine.plugins.hhewaterlevelbalance import HheWaterLevelBalance
from kschedweb.engine.plugins.humanapproval import HumanApproval
from kschedweb.engine.plugins.imagelocality import ImageLocality
from kschedweb.engine.plugins.interpodaffinity import InterPodAffinity
from kschedweb.engine.plugins.loadawarescheduling import LoadAwareScheduling
from kschedweb.engine.plugins.loadvariationriskbalancing import LoadVariationRiskBalancing
from kschedweb.engine.plugins.lowriskovercommitment import LowRiskOverCommitment
from kschedweb.engine.plugins.nodeaffinity import NodeAffinity
from kschedweb.engine.plugins.nodedeclaredfeatures import NodeDeclaredFeatures
from kschedweb.engine.plugins.nodename import NodeName
from kschedweb.engine.plugins.nodeports import NodePorts
from kschedweb.engine.plugins.noderesourcesbalancedallocation import NodeResourcesBalancedAllocation
from kschedweb.engine.plugins.noderesourcesfit import NodeResourcesFit
from kschedweb.engine.plugins.nodeunschedulable import NodeUnschedulable
from kschedweb.engine.plugins.nodevolumelimits import NodeVolumeLimits
from kschedweb.engine.plugins.peaks import Peaks
from kschedweb.engine.plugins.podtopologyspread import HkePodTopologySpread, PodTopologySpread
from kschedweb.engine.plugins.prioritysort import PrioritySort
from kschedweb.engine.plugins.schedulinggates import SchedulingGates
from kschedweb.engine.plugins.tainttoleration import TaintToleration
from kschedweb.engine.plugins.targetloadpacking import TargetLoadPacking
from kschedweb.engine.plugins.volcanousage import VolcanoUsage
from kschedweb.engine.plugins.volumebinding import VolumeBinding
from kschedweb.engine.plugins.volumerestrictions import VolumeRestrictions
from kschedweb.engine.plugins.volumezone import VolumeZone

IN_TREE: tuple[Callable[[dict[str, Any]], Any], ...] = (
    DefaultBinder,
    DefaultPreemption,
    Dynamic,
    DynamicResources,
    HheWaterLevelBalance,
    HkePodTopologySpread,
    HumanApproval,
    ImageLocality,
    InterPodAffinity,
    LoadAwareScheduling,
    LoadVariationRiskBalancing,
    LowRiskOverCommitment,
    NodeAffinity,
    NodeDeclaredFeatures,
    NodeName,
    NodePorts,
    NodeResourcesBalancedAllocation,
    NodeResourcesFit,
    NodeUnschedulable,
    NodeVolumeLimits,
    Peaks,
    PodTopologySpread,
    PrioritySort,
    SchedulingGates,
    TaintToleration,
    TargetLoadPacking,
    VolcanoUsage,
    VolumeBinding,
    VolumeRestrictions,
    VolumeZone,
)


@cache
def registry() -> dict[str, Callable[[dict[str, Any]], Any]]:
    """Plugin name -> factory taking the plugin's arguments; those of other packages come with their ``PluginSpec``."""
    plugins = {plugin.name: plugin for plugin in IN_TREE}  # type: ignore[attr-defined]
    plugins.update((spec.name, spec.factory) for spec in installed().specs.values() if spec.factory)
    return plugins
