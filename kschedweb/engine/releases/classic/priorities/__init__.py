"""The priorities that need no argument, by name; priorities with an argument may have any name."""

from __future__ import annotations

from collections.abc import Callable

from kschedweb.engine.framework.interface import ScorePlugin
from kschedweb.engine.json_types import Json
from kschedweb.engine.releases.classic.priorities import node, room, spreading

Factory = Callable[[str, Json], ScorePlugin]
PRIORITIES: dict[str, Factory] = {
    "SelectorSpreadPriority": spreading.SelectorSpread,
    "ServiceSpreadingPriority": spreading.SelectorSpread,
    "InterPodAffinityPriority": spreading.InterPodAffinityPriority,
    "LeastRequestedPriority": room.LeastRequested,
    "MostRequestedPriority": room.MostRequested,
    "RequestedToCapacityRatioPriority": room.RequestedToCapacityRatio,
    "BalancedResourceAllocation": room.BalancedResourceAllocation,
    "ResourceLimitsPriority": room.ResourceLimits,
    "NodePreferAvoidPodsPriority": node.NodePreferAvoidPods,
    "NodeAffinityPriority": node.NodeAffinityPriority,
    "TaintTolerationPriority": node.TaintTolerationPriority,
    "ImageLocalityPriority": node.ImageLocalityPriority,
    "EqualPriority": node.EqualPriority,
}
# By kind of argument.
ARGUED: dict[str, Factory] = {
    "serviceAntiAffinity": spreading.ServiceAntiAffinity,
    "labelPreference": node.NodeLabel,
    "requestedToCapacityRatioArguments": room.RequestedToCapacityRatio,
}
# Priorities that were different in 1.9.
OLD: dict[str, Factory] = {
    "ImageLocalityPriority": node.PlainImageLocalityPriority,
    "serviceAntiAffinity": spreading.PlainServiceAntiAffinity,
}


def priority_factories(*, old: bool) -> dict[str, Factory]:
    """Return constructors of priorities by name, and by kind of argument; ``old`` is 1.9."""
    return PRIORITIES | ARGUED | (OLD if old else {})
