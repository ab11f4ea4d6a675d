"""Set up the autoscaler of nodes that a scenario has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kschedweb.engine.autoscaling.document import Karpenter
from kschedweb.engine.autoscaling.node_adopter import CLAIM, NodeAdopter, zones_of
from kschedweb.engine.json_types import Json
from kschedweb.engine.simulation.autoscaling.cluster_autoscaler import GroupsSetup
from kschedweb.engine.simulation.autoscaling.cluster_look import NodeGroups
from kschedweb.engine.simulation.autoscaling.karpenter import KarpenterSetup
from kschedweb.engine.studies.actors.autoscaler.keys import FIELD
from kschedweb.engine.studies.actors.preparing import ActorPart, ScenarioActor
from kschedweb.engine.studies.document.parts import AutoscalerSettings, KarpenterSettings


def with_node_pools(autoscaler: AutoscalerSettings | None, karpenter: Karpenter) -> KarpenterSettings:
    """Return the scenario's ``autoscaler`` with other NodePools; nodes keep their NodePool if it still exists."""
    names = {pool.name for pool in karpenter.pools}
    if not isinstance(autoscaler, KarpenterSettings):
        return KarpenterSettings(karpenter) if autoscaler is None else KarpenterSettings(karpenter, autoscaler.launch)
    return replace(autoscaler, karpenter=karpenter, adopt=autoscaler.adopt if autoscaler.adopt in names else "")


def prepare_autoscaler(objects: Sequence[Json], settings: AutoscalerSettings | None) -> ActorPart:
    if settings is None:
        return ActorPart(list(objects))
    if isinstance(settings, NodeGroups):
        return ActorPart(list(objects), GroupsSetup(settings, objects))
    karpenter = settings.karpenter.with_zones(zones_of(objects))
    adopting = NodeAdopter(karpenter, 0.0, settings.adopt)
    # The simulated Karpenter makes NodeClaims from the nodes itself.
    adopted = [raw for raw in adopting.adopt_objects(objects) if raw.get("kind") != CLAIM]
    notes = ["The prices of the ready instance types are invented"] if settings.karpenter.ready else []
    if count := len(adopting.assumed_types):
        notes.append(f"{count} nodes have no instance type that is sold: each counts as the smallest that holds it")
    return ActorPart(adopted, KarpenterSetup(karpenter, adopted, settings.launch, settings.startup), tuple(notes))


ACTOR = ScenarioActor(FIELD.name, prepare_autoscaler)
