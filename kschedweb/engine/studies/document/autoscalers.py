"""The keys of autoscalers of nodes in a scenario, with their types and help texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kschedweb.engine.autoscaling import document
from kschedweb.engine.autoscaling.cluster.world import Settings
from kschedweb.engine.documents.leaves import Choice, DocumentProblem, Duration, Faulty, Number, Quantity, Text
from kschedweb.engine.documents.types import REQUIRED, Field, ListOf, MapOf, Struct
from kschedweb.engine.objects.access import Json, ObjectError
from kschedweb.engine.objects.node import Node
from kschedweb.engine.simulation.autoscaling.looking import EXPANDERS, LEAST_WASTE, NodeGroup, NodeGroups
from kschedweb.engine.studies.document import parts
from kschedweb.engine.studies.document.actions import LABEL_VALUE, LABEL_VALUES, NAME, TAINTS

GROUP_LABEL = "kschedweb/node-group"
MOST_GROUPS, MOST_NODES = 100, 5_000


def _karpenter(
    node_pools: Sequence[Json],
    instance_types: Sequence[Json] | str,
    options: Settings,
    launch: float,
    startup: float,
    adopt: str,
) -> parts.KarpenterOf:
    return parts.KarpenterOf(document.made(node_pools, instance_types, options), launch, startup, adopt)


def _groups(groups: tuple[NodeGroup, ...], scale_down: dict[str, Any], **fields: Any) -> NodeGroups:
    names = [one.name for one in groups]
    if twice := [place for place, name in enumerate(names) if name in names[:place]]:
        raise Faulty([DocumentProblem(f"nodeGroups[{place}].name", "is there twice") for place in twice])
    return NodeGroups(groups, **fields, **scale_down)


def _group(least: int, most: int, allocatable: Mapping[str, str], **fields: Any) -> NodeGroup:
    if least > most:
        raise ValueError("min must not be above max")
    if not {"cpu", "memory"} <= allocatable.keys():
        raise ValueError("allocatable must name cpu and memory")
    if not fields["labels"]:
        fields["labels"] = {GROUP_LABEL: fields["name"]}
    made = NodeGroup(least=least, most=most, allocatable=allocatable, **fields)
    try:
        Node.read(made.node(made.name))
    except ObjectError as error:
        raise ValueError(str(error)) from None
    return made


def _autoscaler(karpenter: parts.AutoscalerOf | None, cluster_autoscaler: parts.AutoscalerOf | None) -> Any:
    return karpenter or cluster_autoscaler


LAUNCH = Field("launch", Duration(), "How long a new node takes to join.", 60.0)
KARPENTER = Struct(
    "KarpenterOf",
    "Karpenter brings nodes for pods that wait, and consolidates.",
    (
        *document.FIELDS,
        LAUNCH,
        Field("startup", Duration(), "How long a new node keeps its startup taints.", 10.0),
        Field("adopt", Text(0, 253), "The NodePool of which nodes of the base count that are of none.", ""),
    ),
    make=_karpenter,
)
NODE_GROUP = Struct(
    "NodeGroup",
    "Nodes that are alike.",
    (
        Field("name", NAME, "What the group is called; its nodes' names begin with it.", REQUIRED),
        Field("allocatable", MapOf(Quantity()), "What a node has: cpu, memory, and more.", REQUIRED),
        Field("max", Number(0, MOST_NODES, whole=True), "The most nodes.", REQUIRED, argument="most"),
        Field("min", Number(0, MOST_NODES, whole=True), "The least nodes.", 0, argument="least"),
        Field("labels", LABEL_VALUES, "Labels of its nodes; nodes of the base that have all of them are of it.", {}),
        Field("taints", TAINTS, "Taints of its nodes.", ()),
        Field("zone", LABEL_VALUE, "The zone of its nodes.", ""),
        Field("price", Number(0, 1e6), "What a node costs an hour."),
        Field("priority", Number(whole=True), "Of groups the one with the highest, by the expander priority.", 0),
    ),
    make=_group,
)
CLUSTER_AUTOSCALER = Struct(
    "GroupsOf",
    "cluster-autoscaler, after its documentation; not compared with its code.",
    (
        Field("nodeGroups", ListOf(NODE_GROUP, 1, MOST_GROUPS), "The node groups.", REQUIRED, argument="groups"),
        Field("expander", Choice(EXPANDERS), "How a group is picked.", LEAST_WASTE),
        LAUNCH,
        Field(
            "scaleDown",
            Struct(
                "ScaleDown",
                "",
                (
                    Field("threshold", Number(0, 1), "Nodes that are requested less may go.", 0.5),
                    Field("unneeded", Duration(), "How long a node is unneeded before it goes.", 600.0),
                    Field("afterAdd", Duration(), "How long no node goes after one was asked for.", 600.0),
                ),
            ),
            "When nodes go.",
            {},
        ),
    ),
    make=_groups,
)
AUTOSCALER = Struct(
    "Autoscaler",
    "Who lets nodes come and go.",
    (
        Field("karpenter", KARPENTER, "Karpenter, with its NodePools and instance types."),
        Field("clusterAutoscaler", CLUSTER_AUTOSCALER, "cluster-autoscaler, with its node groups."),
    ),
    make=_autoscaler,
    one_of=(("karpenter", "clusterAutoscaler"),),
)
