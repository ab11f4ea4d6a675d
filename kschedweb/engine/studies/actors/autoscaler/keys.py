"""The keys of autoscalers of nodes in a scenario, with their types and help texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from kschedweb.engine.autoscaling import document
from kschedweb.engine.autoscaling.cluster.cluster_state import KarpenterOptions
from kschedweb.engine.documents.leaves import DocumentProblem, Duration, EnumChoice, Faulty, Number, Quantity, Text
from kschedweb.engine.documents.types import REQUIRED, ListType, MapType, Struct, StructField
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import ObjectError
from kschedweb.engine.objects.node import Node
from kschedweb.engine.simulation.autoscaling.cluster_look import EXPANDERS, LEAST_WASTE, NodeGroup, NodeGroups
from kschedweb.engine.studies.document import parts
from kschedweb.engine.studies.document.actions import LABEL_VALUE, LABEL_VALUES, NAME, TAINTS

# Label of nodes whose group names no labels, so that they can be told apart.
GROUP_LABEL = "kschedweb/node-group"
MOST_GROUPS, MOST_NODES = 100, 5_000


def _create_karpenter(
    node_pools: Sequence[Json],
    instance_types: Sequence[Json] | str,
    options: KarpenterOptions,
    launch: float,
    startup: float,
    adopt: str,
) -> parts.KarpenterSettings:
    return parts.KarpenterSettings(
        document.create_karpenter(node_pools, instance_types, options), launch, startup, adopt
    )


class _ScaleDown(TypedDict, total=False):
    """The fields of `NodeGroups` that say when nodes go."""

    threshold: float
    unneeded: float
    after_add: float


def _create_node_groups(groups: tuple[NodeGroup, ...], scale_down: _ScaleDown, **fields: Any) -> NodeGroups:
    names = [group.name for group in groups]
    if twice := [place for place, name in enumerate(names) if name in names[:place]]:
        raise Faulty([DocumentProblem(f"nodeGroups[{place}].name", "is there twice") for place in twice])
    return NodeGroups(groups, **fields, **scale_down)


def _create_node_group(min_nodes: int, max_nodes: int, allocatable: Mapping[str, str], **fields: Any) -> NodeGroup:
    if min_nodes > max_nodes:
        raise ValueError("min must not be above max")
    if not {"cpu", "memory"} <= allocatable.keys():
        raise ValueError("allocatable must name cpu and memory")
    if not fields["labels"]:
        fields["labels"] = {GROUP_LABEL: fields["name"]}
    group = NodeGroup(min_size=min_nodes, max_size=max_nodes, allocatable=allocatable, **fields)
    try:
        # A node of the group is parsed now, so that errors are reported with their path and not during the run.
        Node.from_json(group.template_node(group.name))
    except ObjectError as error:
        raise ValueError(str(error)) from None
    return group


def _choose_autoscaler(
    karpenter: parts.AutoscalerSettings | None, cluster_autoscaler: parts.AutoscalerSettings | None
) -> Any:
    return karpenter or cluster_autoscaler


LAUNCH = StructField("launch", Duration(), "How long a new node takes to join.", 60.0)
KARPENTER = Struct(
    "KarpenterOf",
    "Karpenter brings nodes for pods that wait, and consolidates.",
    (
        *document.FIELDS,
        LAUNCH,
        StructField("startup", Duration(), "How long a new node keeps its startup taints.", 10.0),
        StructField("adopt", Text(0, 253), "The NodePool of which nodes of the base count that are of none.", ""),
    ),
    make=_create_karpenter,
)
NODE_GROUP = Struct(
    "NodeGroup",
    "Nodes that are alike.",
    (
        StructField("name", NAME, "What the group is called; its nodes' names begin with it.", REQUIRED),
        StructField("allocatable", MapType(Quantity()), "What a node has: cpu, memory, and more.", REQUIRED),
        StructField("max", Number(0, MOST_NODES, whole=True), "The most nodes.", REQUIRED, argument="max_nodes"),
        StructField("min", Number(0, MOST_NODES, whole=True), "The least nodes.", 0, argument="min_nodes"),
        StructField(
            "labels", LABEL_VALUES, "Labels of its nodes; nodes of the base that have all of them are of it.", {}
        ),
        StructField("taints", TAINTS, "Taints of its nodes.", ()),
        StructField("zone", LABEL_VALUE, "The zone of its nodes.", ""),
        StructField("price", Number(0, 1e6), "What a node costs an hour."),
        StructField("priority", Number(whole=True), "Of groups the one with the highest, by the expander priority.", 0),
    ),
    make=_create_node_group,
)
CLUSTER_AUTOSCALER = Struct(
    "GroupsOf",
    "cluster-autoscaler, after its documentation; not compared with its code.",
    (
        StructField(
            "nodeGroups", ListType(NODE_GROUP, 1, MOST_GROUPS), "The node groups.", REQUIRED, argument="groups"
        ),
        StructField("expander", EnumChoice(EXPANDERS), "How a group is picked.", LEAST_WASTE),
        LAUNCH,
        StructField(
            "scaleDown",
            Struct(
                "ScaleDown",
                "",
                (
                    StructField("threshold", Number(0, 1), "Nodes that are requested less may go.", 0.5),
                    StructField("unneeded", Duration(), "How long a node is unneeded before it goes.", 600.0),
                    StructField("afterAdd", Duration(), "How long no node goes after one was asked for.", 600.0),
                ),
            ),
            "When nodes go.",
            {},
        ),
    ),
    make=_create_node_groups,
)
AUTOSCALER = Struct(
    "Autoscaler",
    "Who lets nodes come and go.",
    (
        StructField("karpenter", KARPENTER, "Karpenter, with its NodePools and instance types."),
        StructField("clusterAutoscaler", CLUSTER_AUTOSCALER, "cluster-autoscaler, with its node groups."),
    ),
    make=_choose_autoscaler,
    one_of=(("karpenter", "clusterAutoscaler"),),
)
FIELD = StructField("autoscaler", AUTOSCALER, "Who lets nodes come and go; nobody where it is left out.")
