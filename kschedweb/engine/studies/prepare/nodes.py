"""Autoscalers of nodes: what a simulation needs of the one that a scenario has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kschedweb.engine.autoscaling.adopting import CLAIM, Adopting, zones_of
from kschedweb.engine.autoscaling.document import Karpenter
from kschedweb.engine.objects.access import Json
from kschedweb.engine.simulation.autoscaling.groups import GroupsSetup
from kschedweb.engine.simulation.autoscaling.hands import AutoscalerSetup
from kschedweb.engine.simulation.autoscaling.karpenter import KarpenterSetup
from kschedweb.engine.simulation.autoscaling.looking import NodeGroups
from kschedweb.engine.studies.document.parts import AutoscalerOf, KarpenterOf


def told_otherwise(of: AutoscalerOf | None, karpenter: Karpenter) -> KarpenterOf:
    """The autoscaler ``of`` a scenario with other NodePools; nodes count as of the same NodePool if it is there."""
    names = {pool.name for pool in karpenter.pools}
    if not isinstance(of, KarpenterOf):
        return KarpenterOf(karpenter) if of is None else KarpenterOf(karpenter, of.launch)
    return replace(of, karpenter=karpenter, adopt=of.adopt if of.adopt in names else "")


def setup_of(objects: Sequence[Json], of: AutoscalerOf) -> tuple[list[Json], list[str], AutoscalerSetup]:
    """What a simulation on ``objects`` begins with: the objects, notes about them, and its autoscaler."""
    if isinstance(of, NodeGroups):
        return list(objects), [], GroupsSetup(of, objects)
    karpenter = of.karpenter.sold_in(zones_of(objects))
    adopting = Adopting(karpenter, 0.0, of.adopt)
    found = [raw for raw in adopting.adopted(objects) if raw.get("kind") != CLAIM]
    notes = ["The prices of the ready instance types are invented"] if of.karpenter.ready else []
    if count := len(adopting.likened):
        notes.append(f"{count} nodes have no instance type that is sold: each counts as the smallest that holds it")
    return found, notes, KarpenterSetup(karpenter, found, of.launch, of.startup)
