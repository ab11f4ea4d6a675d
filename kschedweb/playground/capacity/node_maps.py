"""The node map of a capacity page: the answer on each node, and what nodes have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from django.utils.translation import gettext

from kschedweb.engine.studies.capacity.buffer import Buffer
from kschedweb.engine.studies.capacity.capacity import CapacityFit
from kschedweb.engine.studies.capacity.drain import Rehearsal
from kschedweb.engine.studies.trying.node_change import NodeChangeEffect
from kschedweb.watermarks import node_maps
from kschedweb.web.counting import format_count
from kschedweb.web.nodemap.before_after import map_before_and_after
from kschedweb.web.nodemap.nodemap import MapChoice, MapLayer, NodeColouring, make_layer, make_verdict_layer

if TYPE_CHECKING:
    from kschedweb.clusters.models import Snapshot
    from kschedweb.playground.capacity.answers import CapacityAnswer
    from kschedweb.web.nodemap.nodemap import NodeMap


def map_answer(snapshot: Snapshot, answer: CapacityAnswer | None, choice: MapChoice) -> NodeMap | None:
    """Return the map of the nodes of ``snapshot`` with an ``answer``, if there is one."""
    if isinstance(answer, NodeChangeEffect):
        loads = answer.nodes
        sides = [(load.before for load in loads), (load.after for load in loads)]
        return map_before_and_after([load.name for load in loads], [load.zone for load in loads], *sides)

    def make_own_layers(names: Sequence[str]) -> list[MapLayer]:
        if isinstance(answer, CapacityFit):
            return [_list_fitting(answer, names)]
        if isinstance(answer, Rehearsal):
            return _list_drained(answer, names)
        if isinstance(answer, Buffer):
            return [_list_stranded(answer, names)]
        return []

    return node_maps.map_snapshot(snapshot, choice, own=make_own_layers)


def _list_fitting(answer: CapacityFit, names: Sequence[str]) -> MapLayer:
    """Return how many more pods fit on each node."""
    counts = Counter(answer.names[node] for node in answer.order.tolist())
    sentence = gettext("%(open)s of %(nodes)s have room for more.") % {
        "open": f"{len(counts):,}",
        "nodes": format_count(len(names), "nodes"),
    }
    show = NodeColouring("more", gettext("more pods that fit"), "pods", sentence=sentence)
    return make_layer(show, names, {name: counts[name] for name in names})


def _list_drained(answer: Rehearsal, names: Sequence[str]) -> list[MapLayer]:
    """Return what becomes of each node, and how many evicted pods come to it."""
    words = (gettext("drained"), gettext("takes pods"), gettext("untouched"), gettext("blocked"))
    drained, takes_pods, untouched, blocked = range(len(words))
    arriving = Counter(move.target for move in answer.moves if move.target)
    verdicts = dict.fromkeys(names, untouched) | dict.fromkeys(arriving, takes_pods)
    verdicts |= {node.name: drained if node.emptied else blocked for node in answer.nodes}
    arrivals = gettext("%(pods)s move to %(nodes)s.") % {
        "pods": format_count(sum(arriving.values()), "pods"),
        "nodes": format_count(len(arriving), "nodes"),
    }
    return [
        make_verdict_layer("drain", gettext("drain"), words, names, verdicts),
        make_layer(
            NodeColouring("arriving", gettext("evicted pods that arrive"), "pods", sentence=arrivals),
            names,
            {name: arriving[name] for name in names},
        ),
    ]


def _list_stranded(answer: Buffer, names: Sequence[str]) -> MapLayer:
    """Return how many pods find no node if each node's zone, or the node itself, is lost."""
    values = {name: len(loss.stranded) for loss in answer.losses for name in loss.nodes}
    worst = max((len(loss.stranded) for loss in answer.losses), default=0)
    sentence = gettext("Losing the worst of them leaves %(pods)s without a node.") % {
        "pods": format_count(worst, "pods")
    }
    show = NodeColouring("stranded", gettext("pods without a node after its loss"), "pods", sentence=sentence)
    return make_layer(show, names, values)
