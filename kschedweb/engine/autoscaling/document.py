"""The document of kind Karpenter: its NodePools, instance types and options (docs/autoscaling.md).

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

from kschedweb.engine.autoscaling.cluster.cluster_state import (
    BEST_EFFORT,
    IGNORE,
    RESPECT,
    STRICT,
    ClusterState,
    KarpenterObjects,
    KarpenterOptions,
)
from kschedweb.engine.autoscaling.offers.cross_checks import POOLS, find_faults
from kschedweb.engine.autoscaling.offers.instance_types import InstanceType
from kschedweb.engine.autoscaling.offers.nodepools import NodePool
from kschedweb.engine.autoscaling.offers.ready_catalogue import READY, ready_types
from kschedweb.engine.autoscaling.provisioning.offer_explanations import explain_pools
from kschedweb.engine.autoscaling.provisioning.scheduling_context import SchedulingContext
from kschedweb.engine.documents.json_schema import DIALECT, Schemas
from kschedweb.engine.documents.leaves import DocumentProblem, EnumChoice, Faulty, Flag, Object
from kschedweb.engine.documents.types import REQUIRED, Either, ListType, Struct, StructField
from kschedweb.engine.json_types import Json
from kschedweb.engine.values import dataclass

VERSION, KIND = "kschedweb/v1", "Karpenter"
MOST_POOLS, MOST_TYPES, MOST_PROBLEMS = 200, 5_000, 100


class KarpenterError(Faulty):
    """A document that cannot be used; ``problems`` has the places and reasons."""


@dataclass(frozen=True, slots=True, eq=False)
class Karpenter:
    """The NodePools, instance types and options of one Karpenter."""

    types: tuple[InstanceType, ...]
    pools: tuple[NodePool, ...]
    settings: KarpenterOptions
    # The instance types are those of the ready catalogue, whose prices are invented.
    ready: bool

    def build_cluster_state(self, objects: KarpenterObjects, now: float) -> ClusterState:
        """Build the state of a cluster of ``objects`` at ``now`` (seconds of the epoch), managed by this Karpenter."""
        return objects.build_cluster_state(list(self.types), list(self.pools), self.settings, now)

    def with_zones(self, zones: Sequence[str]) -> Karpenter:
        """Return it with the ready catalogue sold in these zones; any other catalogue stays as it is."""
        if not self.ready or not zones:
            return self
        return replace(self, types=tuple(InstanceType.from_json(raw_type) for raw_type in ready_types(zones)))

    def find_warnings(self) -> list[DocumentProblem]:
        """Return, in Karpenter's words, what keeps accepted NodePools from launching nodes."""
        explained_pools = explain_pools(SchedulingContext(self.build_cluster_state(KarpenterObjects(), 0.0)))
        places = {pool.name: place for place, pool in enumerate(self.pools)}
        return [
            DocumentProblem(f"{POOLS}[{places[explanation['nodePool']]}]", explanation["why"])
            for explanation in explained_pools
            if "why" in explanation
        ]


def read_document(raw: Any) -> Karpenter:
    """Read the document from plain data; raises KarpenterError with every problem."""
    problems: list[DocumentProblem] = []
    karpenter = DOCUMENT.read(raw, "", problems)
    if problems:
        raise KarpenterError(problems[:MOST_PROBLEMS])
    assert isinstance(karpenter, Karpenter)
    return karpenter


def json_schema() -> Json:
    """Return the JSON Schema of the document."""
    return {"$schema": DIALECT, "title": KIND, **Schemas().struct_schema(DOCUMENT)}


def _create_options(preferences: str, min_values: str, spot_to_spot: bool) -> KarpenterOptions:
    return KarpenterOptions(preferences, min_values, spot_to_spot)


def create_karpenter(
    node_pools: Sequence[Json], instance_types: Sequence[Json] | str, options: KarpenterOptions
) -> Karpenter:
    """Create a Karpenter of valid fields; raises KarpenterError with what is wrong between them."""
    is_ready = instance_types == READY
    listed = ready_types() if isinstance(instance_types, str) else instance_types
    types = tuple(InstanceType.from_json(raw_type) for raw_type in listed)
    pools = tuple(NodePool.from_json(raw_pool) for raw_pool in node_pools)
    if problems := [DocumentProblem(fault.at, fault.text) for fault in find_faults(types, pools)]:
        raise KarpenterError(problems)
    return Karpenter(types, pools, options, is_ready)


def _create_from_document(api_version: str, kind: str, **fields: Any) -> Karpenter:
    return create_karpenter(**fields)


FIELDS = (
    StructField(
        "nodePools",
        ListType(Object(NodePool.from_json), 1, MOST_POOLS),
        "NodePools of karpenter.sh/v1, as kubectl gets them.",
        REQUIRED,
    ),
    StructField(
        "instanceTypes",
        Either(READY, ListType(Object(InstanceType.from_json), 1, MOST_TYPES), READY),
        "What the cloud sells: ready for a small catalogue with invented prices, or a list with name, capacity and "
        "offerings (zone, capacityType, price), or the list of Karpenter's kwok provider.",
        READY,
    ),
    StructField(
        "options",
        Struct(
            "Options",
            "Options of Karpenter that change decisions.",
            (
                StructField(
                    "preferencePolicy",
                    EnumChoice((RESPECT, IGNORE)),
                    "Whether preferences of pods count until a pod has no place otherwise.",
                    RESPECT,
                    argument="preferences",
                ),
                StructField(
                    "minValuesPolicy",
                    EnumChoice((STRICT, BEST_EFFORT)),
                    "Whether minValues may be given up.",
                    STRICT,
                    argument="min_values",
                ),
                StructField(
                    "spotToSpotConsolidation",
                    Flag(),
                    "Whether a spot node may be replaced by a cheaper spot node.",
                    False,
                    argument="spot_to_spot",
                ),
            ),
            make=_create_options,
        ),
        "Options of Karpenter that change decisions.",
        KarpenterOptions(),
    ),
)
DOCUMENT = Struct(
    KIND,
    "What Karpenter is told: NodePools, instance types and options.",
    (
        StructField("apiVersion", EnumChoice((VERSION,)), "The form of this document.", REQUIRED),
        StructField("kind", EnumChoice((KIND,)), "What this document is.", REQUIRED),
        *FIELDS,
    ),
    make=_create_from_document,
)
