"""The priorities by the names of those that need no argument; an argument makes others of any name."""

from __future__ import annotations

from collections.abc import Callable

from kschedweb.engine.framework.interface import ScorePlugin
from kschedweb.engine.objects.access import Json
from kschedweb.engine.releases.classic.priorities import node, room, spreading

Factory = Callable[[str, Json], ScorePlugin]
NAMED: dict[str, Factory] = {
    "SelectorSpreadPriority": spreading.SelectorSpread,
    "ServiceSpreadingPriority": spreading.SelectorSpread,
    "InterPodAffinityPriority": spreading.InterPodAffinityPriority,
    "LeastRequestedPriority": room.LeastRequested,
    "MostRequestedPriority": room.MostRequested,
    "RequestedToCapacityRatioPriority": room.RequestedToCapacityRatio,
    "BalancedResourceAllocation": room.BalancedResourceAllocation,
    "ResourceLimitsPriority": room.ResourceLimits,
    "NodePreferAvoidPodsPriority": node.NodePreferAvoidPods,
    "NodeAffinityPriority": node.NodeAffinity,
    "TaintTolerationPriority": node.TaintToleration,
    "ImageLocalityPriority": node.ImageLocality,
    "EqualPriority": node.Equal,
}
ARGUED: dict[str, Factory] = {
    "serviceAntiAffinity": spreading.ServiceAntiAffinity,
    "labelPreference": node.NodeLabel,
    "requestedToCapacityRatioArguments": room.RequestedToCapacityRatio,
}
# Those of 1.9 that were not yet as they are above.
OLD: dict[str, Factory] = {
    "ImageLocalityPriority": node.PlainImageLocality,
    "serviceAntiAffinity": spreading.PlainServiceAntiAffinity,
}


def known(*, old: bool) -> dict[str, Factory]:
    """What makes the priority of a name, or that of a kind of argument; 1.9 is ``old``."""
    return NAMED | ARGUED | (OLD if old else {})
