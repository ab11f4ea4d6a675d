"""Set up the autoscaler of nodes that a scenario has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kschedweb.engine.autoscaling.document import Karpenter
from kschedweb.engine.autoscaling.node_adopter import CLAIM, NodeAdopter, zones_of
from kschedweb.engine.json_types import Json
from kschedweb.engine.simulation.autoscaling.cluster_autoscaler import GroupsSetup
from kschedweb.engine.simulation.autoscaling.cluster_look import NodeGroups
from kschedweb.engine.simulation.autoscaling.context import AutoscalerSetup
from kschedweb.engine.simulation.autoscaling.karpenter import KarpenterSetup
from kschedweb.engine.studies.document.parts import AutoscalerSettings, KarpenterSettings


def with_node_pools(autoscaler: AutoscalerSettings | None, karpenter: Karpenter) -> KarpenterSettings:
    """Return the scenario's ``autoscaler`` with other NodePools; nodes keep their NodePool if it still exists."""
    names = {pool.name for pool in karpenter.pools}
    if not isinstance(autoscaler, KarpenterSettings):
        return KarpenterSettings(karpenter) if autoscaler is None else KarpenterSettings(karpenter, autoscaler.launch)
    return replace(autoscaler, karpenter=karpenter, adopt=autoscaler.adopt if autoscaler.adopt in names else "")


def setup_of(objects: Sequence[Json], autoscaler: AutoscalerSettings) -> tuple[list[Json], list[str], AutoscalerSetup]:
    """Return the objects with which a simulation begins, notes about them, and its autoscaler."""
    if isinstance(autoscaler, NodeGroups):
        return list(objects), [], GroupsSetup(autoscaler, objects)
    karpenter = autoscaler.karpenter.with_zones(zones_of(objects))
    adopting = NodeAdopter(karpenter, 0.0, autoscaler.adopt)
    # The simulated Karpenter makes NodeClaims from the nodes itself.
    adopted = [raw for raw in adopting.adopt_objects(objects) if raw.get("kind") != CLAIM]
    notes = ["The prices of the ready instance types are invented"] if autoscaler.karpenter.ready else []
    if count := len(adopting.assumed_types):
        notes.append(f"{count} nodes have no instance type that is sold: each counts as the smallest that holds it")
    return adopted, notes, KarpenterSetup(karpenter, adopted, autoscaler.launch, autoscaler.startup)
