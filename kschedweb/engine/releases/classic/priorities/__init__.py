"""The priorities that need no argument, by name; priorities with an argument may have any name."""

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
# Priorities that were different in 1.9.
OLD: dict[str, Factory] = {
    "ImageLocalityPriority": node.PlainImageLocality,
    "serviceAntiAffinity": spreading.PlainServiceAntiAffinity,
}


def known(*, old: bool) -> dict[str, Factory]:
    """Constructors of priorities by name, and by kind of argument; ``old`` is 1.9."""
    return NAMED | ARGUED | (OLD if old else {})
