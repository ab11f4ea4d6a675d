"""Tables of this app: their columns on pages and in files."""

from __future__ import annotations

from kschedweb.advice.autoscaling.words import get_node_savings
from kschedweb.web.tables import Column, RowTable, file_columns, register_tables
from kschedweb.web.translating import gettext_lazy as _

NODES = RowTable(
    "autoscaler-nodes",
    _("Node by node"),
    (
        Column("node", _("Node"), cell_css="name"),
        Column("nodePool", _("NodePool"), value="nodePool", file="node_pool"),
        *file_columns("verdict", "why"),
        Column("instanceType", _("Instance type"), value="instanceType", file="instance_type"),
        *file_columns("zone"),
        Column("capacity_type", value="capacityType"),
        Column("price", _("Price an hour"), "number", form="price"),
        Column("pods", _("Pods"), "number", value=lambda node: len(node["pods"])),
        Column("savings", value=get_node_savings),
        Column("verdict", _("Verdict"), exported=False),
        Column("why", _("Why"), cell_css="message", exported=False),
    ),
    marks={"data-verdict": "verdict"},
)
register_tables(
    RowTable(
        "group-candidates",
        _("What each node group scores"),
        (
            Column("group", _("Node group"), cell_css="name"),
            Column("count", _("Nodes"), "number"),
            Column("pods", _("Pods helped"), "number"),
            Column("wastedCpu", _("CPU left free"), "number", form="share"),
            Column("wastedMemory", _("Memory left free"), "number", form="share"),
            Column("price", _("Price of a node"), "number", form="price"),
            Column("pricePerPod", _("Price for each pod"), "number", form="price"),
            Column("priority", _("Priority"), "number"),
        ),
    ),
    RowTable(
        "new-nodes",
        _("Nodes for waiting pods"),
        (
            Column("type", _("Instance type"), value="offers.0.instanceType", cell_css="name"),
            Column("pool", _("NodePool"), value="nodePool"),
            Column("zone", _("Zone"), value="offers.0.zone", cell_css="nowrap"),
            Column("capacity", _("Capacity type"), value="offers.0.capacityType"),
            Column("price", _("Price an hour"), "number", value="offers.0.price", form="price"),
            Column("pods", _("Pods"), "number", form="length"),
            Column("why", _("Why this one")),
        ),
    ),
    RowTable(
        "helpless-pods",
        _("Pods that Karpenter cannot help"),
        (
            Column("pod", _("Pod"), value="0", cell_css="name"),
            Column("why", _("In Karpenter's words"), value="1", cell_css="message"),
        ),
    ),
    NODES,
    RowTable(
        "group-nodes",
        _("Node by node"),
        (
            Column("node", _("Node"), cell_css="name"),
            Column("group", _("Node group")),
            Column("price", _("Price an hour"), "number", form="price"),
            Column("pods", _("Pods"), "number", form="length"),
            Column("verdict", _("Verdict")),
            Column("why", _("Why"), cell_css="message"),
        ),
        marks={"data-verdict": "verdict"},
    ),
    RowTable(
        "autoscaler-reasons",
        _("Nodes by reason"),
        (
            Column("verdict", _("Verdict")),
            Column("why", _("Why"), cell_css="message"),
            Column("nodes", _("Nodes"), "number", value="2"),
        ),
    ),
)
