"""What Karpenter is told, as a document: its NodePools, what the cloud sells, and options (docs/autoscaling.md).

apiVersion: kschedweb/v1
kind: Karpenter
instanceTypes: ready
nodePools:
  - apiVersion: karpenter.sh/v1
    kind: NodePool
    metadata: {name: default}
    spec: {disruption: {consolidateAfter: 5m}}
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from kschedweb.engine.autoscaling.cluster.world import (
    BEST_EFFORT,
    IGNORE,
    RESPECT,
    STRICT,
    Objects,
    Settings,
    World,
)
from kschedweb.engine.autoscaling.offers.instancetypes import InstanceType
from kschedweb.engine.autoscaling.offers.nodepools import NodePool
from kschedweb.engine.autoscaling.offers.ready import READY, ready_types
from kschedweb.engine.autoscaling.offers.together import POOLS, faults
from kschedweb.engine.autoscaling.provisioning.explaining import explain_pools
from kschedweb.engine.autoscaling.provisioning.ground import Ground
from kschedweb.engine.documents.json_schema import DIALECT, Schemas
from kschedweb.engine.documents.leaves import Choice, DocumentProblem, Faulty, Flag, Object
from kschedweb.engine.documents.types import REQUIRED, Either, Field, ListOf, Struct
from kschedweb.engine.objects.access import Json
from kschedweb.engine.values import dataclass

VERSION, KIND = "kschedweb/v1", "Karpenter"
MOST_POOLS, MOST_TYPES, MOST_PROBLEMS = 200, 5_000, 100


class KarpenterError(Faulty):
    """A document that cannot be used; ``problems`` says where and why."""


@dataclass(frozen=True, slots=True, eq=False)
class Karpenter:
    """The NodePools, instance types and options of one Karpenter."""

    types: tuple[InstanceType, ...]
    pools: tuple[NodePool, ...]
    settings: Settings
    ready: bool
    """Whether the instance types are those of the ready catalogue, whose prices are invented."""

    def world(self, objects: Objects, now: float) -> World:
        """A cluster of ``objects`` at ``now`` (seconds of the epoch) that this Karpenter looks after."""
        return objects.world(list(self.types), list(self.pools), self.settings, now)

    def sold_in(self, zones: Sequence[str]) -> Karpenter:
        """With the ready catalogue in these zones, if it is the ready one; any other is sold where it says."""
        if not self.ready or not zones:
            return self
        return replace(self, types=tuple(InstanceType.read(one) for one in ready_types(zones)))

    def warnings(self) -> list[DocumentProblem]:
        """What keeps a NodePool from bringing nodes although Karpenter takes it, in its words."""
        told = explain_pools(Ground(self.world(Objects(), 0.0)))
        places = {pool.name: place for place, pool in enumerate(self.pools)}
        return [DocumentProblem(f"{POOLS}[{places[one['nodePool']]}]", one["why"]) for one in told if "why" in one]


def read(raw: Any) -> Karpenter:
    """The document in ``raw``, plain data. Raises KarpenterError with every problem."""
    problems: list[DocumentProblem] = []
    found = DOCUMENT.read(raw, "", problems)
    if problems:
        raise KarpenterError(problems[:MOST_PROBLEMS])
    assert isinstance(found, Karpenter)
    return found


def json_schema() -> Json:
    """The JSON Schema of the document."""
    return {"$schema": DIALECT, "title": KIND, **Schemas().struct(DOCUMENT)}


def _options(preferences: str, min_values: str, spot_to_spot: bool) -> Settings:
    return Settings(preferences, min_values, spot_to_spot)


def made(node_pools: Sequence[Json], instance_types: Sequence[Json] | str, options: Settings) -> Karpenter:
    """Karpenter of fields that are each well; raises KarpenterError with what is wrong between them."""
    is_ready = instance_types == READY
    listed = ready_types() if isinstance(instance_types, str) else instance_types
    types = tuple(InstanceType.read(one) for one in listed)
    pools = tuple(NodePool.read(one) for one in node_pools)
    if problems := [DocumentProblem(fault.at, fault.text) for fault in faults(types, pools)]:
        raise KarpenterError(problems)
    return Karpenter(types, pools, options, is_ready)


def _document(api_version: str, kind: str, **fields: Any) -> Karpenter:
    return made(**fields)


FIELDS = (
    Field(
        "nodePools",
        ListOf(Object(NodePool.read), 1, MOST_POOLS),
        "NodePools of karpenter.sh/v1, as kubectl gets them.",
        REQUIRED,
    ),
    Field(
        "instanceTypes",
        Either(READY, ListOf(Object(InstanceType.read), 1, MOST_TYPES), READY),
        "What the cloud sells: ready for a small catalogue with invented prices, or a list with name, capacity and "
        "offerings (zone, capacityType, price), or the list of Karpenter's kwok provider.",
        READY,
    ),
    Field(
        "options",
        Struct(
            "Options",
            "Options of Karpenter that change decisions.",
            (
                Field(
                    "preferencePolicy",
                    Choice((RESPECT, IGNORE)),
                    "Whether preferences of pods count until a pod has no place otherwise.",
                    RESPECT,
                    argument="preferences",
                ),
                Field(
                    "minValuesPolicy",
                    Choice((STRICT, BEST_EFFORT)),
                    "Whether minValues may be given up.",
                    STRICT,
                    argument="min_values",
                ),
                Field(
                    "spotToSpotConsolidation",
                    Flag(),
                    "Whether a spot node may be replaced by a cheaper spot node.",
                    False,
                    argument="spot_to_spot",
                ),
            ),
            make=_options,
        ),
        "Options of Karpenter that change decisions.",
        Settings(),
    ),
)
DOCUMENT = Struct(
    KIND,
    "What Karpenter is told: NodePools, instance types and options.",
    (
        Field("apiVersion", Choice((VERSION,)), "The form of this document.", REQUIRED),
        Field("kind", Choice((KIND,)), "What this document is.", REQUIRED),
        *FIELDS,
    ),
    make=_document,
)
