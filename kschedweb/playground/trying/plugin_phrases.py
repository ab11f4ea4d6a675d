"""Preferences of score plugins, in plain words, for the sliders of weights."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kschedweb.engine.plugins import out_of_tree_plugins
from kschedweb.policies.editing.help_translation import translate_help
from kschedweb.web.translating import gettext_lazy as _

if TYPE_CHECKING:
    from collections.abc import Mapping

EMPTY_NODES, FULL_NODES = _("Prefer empty nodes"), _("Prefer full nodes")
PHRASES: Mapping[str, str] = {
    "NodeResourcesFit": EMPTY_NODES,
    "NodeResourcesBalancedAllocation": _("Use CPU and memory evenly"),
    "ImageLocality": _("Prefer nodes that have the image"),
    "InterPodAffinity": _("Keep pods together or apart"),
    "NodeAffinity": _("Prefer the nodes that pods ask for"),
    "PodTopologySpread": _("Spread each workload"),
    "TaintToleration": _("Avoid tainted nodes"),
    "VolumeBinding": _("Prefer volumes that fit closely"),
    "DynamicResources": _("Prefer better devices"),
    "TargetLoadPacking": _("Fill nodes up to a target load"),
    "LoadVariationRiskBalancing": _("Avoid nodes whose load varies"),
    "LowRiskOverCommitment": _("Avoid overcommitted nodes"),
    "LeastRequestedPriority": EMPTY_NODES,
    "MostRequestedPriority": FULL_NODES,
    "BalancedResourceAllocation": _("Use CPU and memory evenly"),
    "SelectorSpreadPriority": _("Spread each workload"),
    "ServiceSpreadingPriority": _("Spread each service"),
    "InterPodAffinityPriority": _("Keep pods together or apart"),
    "NodeAffinityPriority": _("Prefer the nodes that pods ask for"),
    "TaintTolerationPriority": _("Avoid tainted nodes"),
    "ImageLocalityPriority": _("Prefer nodes that have the image"),
    "NodePreferAvoidPodsPriority": _("Avoid nodes that ask to be avoided"),
}


def describe_preference(plugin: str, *, packs: bool = False) -> str:
    """Return what ``plugin`` prefers; ``packs`` says that NodeResourcesFit prefers full nodes. "" if nobody says."""
    if plugin == "NodeResourcesFit" and packs:
        return FULL_NODES
    if plugin in PHRASES:
        return PHRASES[plugin]
    spec = next((spec for spec in out_of_tree_plugins() if spec.name == plugin), None)
    return translate_help(spec.help) if spec else ""
