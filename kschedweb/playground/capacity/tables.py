"""The tables of answers about capacity: their columns on pages and in files, and their rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.utils.html import format_html
from django.utils.translation import gettext

from kschedweb.engine.json_types import Json
from kschedweb.playground.capacity.sentences import loss_name
from kschedweb.web.tables import Column, RowTable, register_tables
from kschedweb.web.translating import gettext_lazy as _

if TYPE_CHECKING:
    from kschedweb.engine.studies.capacity.buffer import Buffer, Loss
    from kschedweb.engine.studies.capacity.capacity import CapacityFit
    from kschedweb.engine.studies.capacity.drain import Rehearsal
    from kschedweb.engine.studies.capacity.gangs import GangFit
    from kschedweb.engine.studies.capacity.sizing import Sizing
    from kschedweb.engine.studies.trying.node_change import NodeChangeEffect

CELLS = "playground/capacity/cells"


def _explain_limit(row: Json) -> object:
    return format_html('{} <span class="soft">{}</span>', row["reason"], row["plugin"]) if row["reason"] else ""


FIT = RowTable(
    "fit",
    _("Node by node"),
    (
        Column("node", _("Node"), cell_css="name"),
        Column("pods", _("More pods"), "number"),
        Column("plugin"),
        Column("reason", _("Why not more"), cell=_explain_limit),
    ),
)
# Rows are a reason and the names of a few of its nodes.
REASONS = RowTable(
    "reasons",
    _("Why not more"),
    (
        Column("reason", _("Reason"), value=lambda row: row[0].text or gettext("no reason is given")),
        Column("plugin", _("Plugin"), value=lambda row: row[0].plugin),
        Column("nodes", _("Nodes"), "number", value=lambda row: len(row[0].nodes)),
        Column("filled", _("Of them filled here"), "number", value=lambda row: row[0].filled),
        Column("names", _("Such as"), cell_css="small", value=lambda row: ", ".join(row[1])),
    ),
)
GANGS = RowTable(
    "gangs",
    _("Gang by gang"),
    (
        Column("gang", _("Gang")),
        Column("domain", _("Domain")),
        Column("pods", _("Pods"), "number"),
        Column("nodes", _("Nodes"), cell_css="small"),
    ),
)
NODES = RowTable(
    "nodes",
    _("The new nodes"),
    (
        Column("node", _("Node"), cell_css="name"),
        Column("zone", _("Zone")),
        Column("pods", _("Pods"), "number"),
        Column("daemon_pods", _("Of DaemonSets"), "number"),
        Column("cpu_requested_percent", _("CPU requested (%)"), "number"),
        Column("memory_requested_percent", _("Memory requested (%)"), "number"),
    ),
)
BUFFER = RowTable(
    "buffer",
    _("Pods without a node"),
    (
        Column("loss"),
        Column("nodes"),
        Column("pods"),
        Column("placed"),
        Column("evicted"),
        Column("pod", _("Pod"), cell_css="name"),
        Column("lost", _("After the loss of"), value="loss", exported=False),
        Column("priority", _("Priority"), "number"),
        Column("reason", _("What the scheduler says"), cell_css="message"),
    ),
)


def _name_loss(loss: Loss) -> str:
    return gettext("Zone %(name)s") % {"name": loss.name} if loss.name else gettext("Largest nodes")


LOSSES = RowTable(
    "losses",
    _("Each loss"),
    (
        Column("name", _("Lost"), cell_css="name", cell=_name_loss),
        Column("nodes", _("Nodes"), "number", value=lambda loss: len(loss.nodes)),
        Column("pods", _("Pods that count"), "number"),
        Column("placed", _("Placed again"), "number"),
        Column("evicted", _("Others evicted"), "number"),
        Column("lower", _("Do not count"), "number"),
        Column("bare", _("No controller"), "number"),
        Column("survived", _("Survived"), cell=f"{CELLS}/survived.html"),
    ),
    marks={"data-survived": lambda loss: "yes" if loss.survived else "no"},
)
CHANGE = RowTable(
    "change",
    _("Pods that change their node"),
    (
        Column("pod", _("Pod"), cell_css="name"),
        Column("before", _("Before"), cell=lambda row: row["before"] or gettext("no node")),
        Column("after", _("After"), cell=lambda row: row["after"] or gettext("no node")),
        Column("message", _("What the scheduler says"), cell_css="message"),
    ),
)
DRAIN = RowTable(
    "drain",
    _("Step by step"),
    (
        Column("order"),
        Column("node"),
        Column("pod", _("Pod"), cell_css="name"),
        Column("from", _("Node"), exported=False, cell=f"{CELLS}/drained_node.html"),
        Column("what"),
        Column("wave", _("Wave"), "number"),
        Column("target"),
        Column("budget"),
        Column("words"),
        Column("outcome", _("What happens"), exported=False, cell=f"{CELLS}/drained.html"),
    ),
)


def fit_rows(answer: CapacityFit) -> list[Json]:
    """Return a row for each node, with the columns of FIT."""
    why = {node: reason for reason in answer.reasons for node in reason.nodes.tolist()}
    return [
        FIT.make_row(name, count, why[node].plugin if node in why else "", why[node].text if node in why else "")
        for node, (name, count) in enumerate(zip(answer.names, answer.by_node.tolist(), strict=True))
    ]


def gangs_rows(answer: GangFit) -> list[Json]:
    """Return a row for each gang, with the columns of GANGS; nodes with several of its pods as "name ×3"."""
    rows: list[Json] = []
    for gang, domain in enumerate(answer.domains):
        counts = answer.nodes_of(gang)
        names = " ".join(name if count == 1 else f"{name} ×{count}" for name, count in counts.items())
        rows.append(GANGS.make_row(gang + 1, domain, sum(counts.values()), names))
    return rows


def nodes_rows(answer: Sizing) -> list[Json]:
    """Return a row for each new node, with the columns of NODES."""
    return [
        NODES.make_row(
            use.name,
            use.zone,
            use.pods,
            use.daemons,
            *(round(100 * use.requested[name], 1) for name in ("cpu", "memory")),
        )
        for use in answer.nodes
    ]


def change_rows(answer: NodeChangeEffect) -> list[Json]:
    """Return a row for each pod whose node changes, with the columns of CHANGE; those without a node come first."""
    places = sorted(answer.pods, key=lambda place: bool(place.after))
    return [CHANGE.make_row(place.pod, place.before, place.after, place.message) for place in places]


def drain_rows(answer: Rehearsal) -> list[Json]:
    """Return a row for each pod, with the columns of DRAIN."""
    rows: list[Json] = []
    for place, node in enumerate(answer.nodes, 1):
        for move in node.moves:
            # A pod without controller has no replacement, so nothing moves.
            outcome = "evicted" if move.target else "deleted"
            rows.append(DRAIN.make_row(place, node.name, move.pod, outcome, move.wave, move.target, move.budget, ""))
        for block in node.blocks:
            rows.append(
                DRAIN.make_row(place, node.name, block.pod, f"blocked: {block.kind}", None, "", "", block.message)
            )
        for stays in node.stays:
            rows.append(DRAIN.make_row(place, node.name, stays.pod, f"left alone: {stays.kind}", None, "", "", ""))
    return rows


def buffer_rows(answer: Buffer) -> list[Json]:
    """Return a row for each pod without a node after a loss, with the columns of BUFFER.

    A loss that leaves no pod without a node has one row.
    """
    rows: list[Json] = []
    for loss in answer.losses:
        head = [loss_name(loss), len(loss.nodes), loss.pods, loss.placed, loss.evicted]
        stranded: list[tuple[object, ...]] = [(pod.pod, pod.priority, pod.message) for pod in loss.stranded]
        rows += [BUFFER.make_row(*head, *pod) for pod in stranded or [("", None, "")]]
    return rows


register_tables(
    RowTable(
        "gang-domains",
        _("Why not more"),
        (
            Column("name", _("Domain"), absent=_("all nodes"), cell_css="name"),
            Column("nodes", _("Nodes"), "number"),
            Column("placed", _("Pods with a node"), "number"),
            Column("message", _("First pod without"), cell_css="message"),
        ),
    ),
    RowTable(
        "unfit-pods",
        _("Pods that more nodes do not help"),
        (
            Column("pods", _("Pods"), cell_css="name"),
            Column("on_new", _("On a new node")),
            Column("message", _("On all nodes"), cell_css="message"),
        ),
    ),
)
