"""Costs of new nodes and savings of emptied ones, by the price table that the cluster has now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.utils.translation import gettext

from kschedweb.clusters.prices.changes import CostChange, cost_change
from kschedweb.clusters.selectors import node_rows
from kschedweb.engine.objects.node import HOSTNAME, ZONE
from kschedweb.engine.studies.capacity.drain import Rehearsal
from kschedweb.engine.studies.capacity.sizing import Sizing
from kschedweb.engine.studies.trying.node_change import NodeChange, NodeChangeEffect
from kschedweb.playground.capacity.queries import NodesQuery
from kschedweb.web.units import format_count, format_price

if TYPE_CHECKING:
    from kschedweb.clusters.models import Snapshot
    from kschedweb.playground.capacity.answers import CapacityAnswer
    from kschedweb.playground.capacity.queries import CapacityQuery

# Hours of a month, a twelfth of 8,760, as cloud providers count them.
MONTH = 730


def change_of(snapshot: Snapshot | None, query: CapacityQuery, answer: CapacityAnswer) -> CostChange | None:
    """Return how the answer changes an hour's cost; ``None`` if no nodes come or go, or if there are no prices."""
    if snapshot is None:
        return None
    if isinstance(answer, Rehearsal):
        return cost_change(snapshot, removed={node.name for node in answer.nodes if node.emptied})
    if isinstance(answer, NodeChangeEffect) and isinstance(query, NodeChange):
        base = _labels_of(snapshot, query.like)
        zones = {load.name: load.zone for load in answer.nodes}
        new = [{**base, HOSTNAME: name, **({ZONE: zones[name]} if zones[name] else {})} for name in answer.added]
        return cost_change(snapshot, added=new, removed=set(answer.lost))
    if isinstance(answer, Sizing) and isinstance(query, NodesQuery) and answer.needed:
        base = _labels_of(snapshot, query.node.like) if query.node.like else dict(query.node.labels)
        # Prices match labels, so new nodes have those that the API server would show.
        new = [{**base, HOSTNAME: node.name, **({ZONE: node.zone} if node.zone else {})} for node in answer.nodes]
        return cost_change(snapshot, added=new)
    return None


def _labels_of(snapshot: Snapshot, node: str) -> dict[str, str]:
    """Return the labels of a node; none if there is no such node."""
    return node_rows(snapshot).filter(name=node).values_list("labels", flat=True).first() or {}


def describe_cost_change(snapshot: Snapshot | None, query: CapacityQuery, answer: CapacityAnswer | None) -> str:
    """Return what the answer costs or saves in one sentence; "" if there is nothing to say."""
    change = change_of(snapshot, query, answer) if answer is not None else None
    return _change_sentence(change, answer) if change is not None else ""


def _change_sentence(change: CostChange, answer: CapacityAnswer | None) -> str:
    """Return the sentence on a change of costs, with the nodes that it leaves out."""
    if change.unpriced == change.nodes:
        return gettext("None of these nodes has a price, so the saving is unknown")
    args = {"hour": f"{format_price(change.size)} {change.unit}", "month": format_price(MONTH * change.size)}
    if isinstance(answer, NodeChangeEffect):
        if change.change > 0:
            sentence = gettext("This costs %(hour)s more an hour (%(month)s a month)") % args
        else:
            sentence = gettext("This saves %(hour)s an hour (%(month)s a month)") % args
    elif isinstance(answer, Rehearsal):
        args["nodes"] = format_count(change.nodes, "nodes")
        sentence = gettext("Removing %(nodes)s saves %(hour)s an hour (%(month)s a month)") % args
    else:
        args["nodes"] = format_count(change.nodes, "new nodes")
        sentence = gettext("The %(nodes)s cost %(hour)s an hour (%(month)s a month)") % args
    if not change.unpriced:
        return sentence
    caveat = gettext("%(nodes)s without a price are left out") % {"nodes": format_count(change.unpriced, "nodes")}
    return f"{sentence}; {caveat}"
