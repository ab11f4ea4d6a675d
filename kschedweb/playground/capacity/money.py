"""What new nodes cost, and what emptied ones save, by the price table that the cluster has now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.utils.translation import gettext

from kschedweb.clusters.prices.changes import CostChange, cost_change
from kschedweb.clusters.selectors import node_rows
from kschedweb.engine.objects.node import HOSTNAME, ZONE
from kschedweb.engine.studies.capacity.drain import Rehearsal
from kschedweb.engine.studies.capacity.sizing import Sizing
from kschedweb.playground.capacity.questions import NodesAsked
from kschedweb.web.units import counted, price

if TYPE_CHECKING:
    from kschedweb.clusters.models import Snapshot
    from kschedweb.playground.capacity.answers import Found
    from kschedweb.playground.capacity.questions import Asked

MONTH = 730  # hours


def change_of(snapshot: Snapshot | None, asked: Asked, found: Found) -> CostChange | None:
    """How the answer changes what an hour costs; ``None`` if no nodes come or go, or where there are no prices."""
    if snapshot is None:
        return None
    if isinstance(found, Rehearsal):
        return cost_change(snapshot, removed={node.name for node in found.nodes if node.emptied})
    if isinstance(found, Sizing) and isinstance(asked, NodesAsked) and found.needed:
        base = dict(asked.node.labels)
        if asked.node.like:
            base = node_rows(snapshot).filter(name=asked.node.like).values_list("labels", flat=True).first() or {}
        new = [{**base, HOSTNAME: one.name, **({ZONE: one.zone} if one.zone else {})} for one in found.nodes]
        return cost_change(snapshot, added=new)
    return None


def told(snapshot: Snapshot | None, asked: Asked, found: Found | None) -> str:
    """What the answer costs or saves, in one sentence; "" where there is nothing to say."""
    change = change_of(snapshot, asked, found) if found is not None else None
    return _sentence(change, found) if change is not None else ""


def _sentence(change: CostChange, found: Found | None) -> str:
    if change.unpriced == change.nodes:
        return gettext("None of these nodes has a price, so nothing can be said of money")
    said = {"hour": f"{price(change.size)} {change.unit}", "month": price(MONTH * change.size)}
    if isinstance(found, Rehearsal):
        said["nodes"] = counted(change.nodes, "nodes")
        told = gettext("Emptying %(nodes)s saves %(hour)s an hour (%(month)s a month), once gone") % said
    else:
        said["nodes"] = counted(change.nodes, "new nodes")
        told = gettext("The %(nodes)s cost %(hour)s an hour (%(month)s a month)") % said
    if not change.unpriced:
        return told
    rest = gettext("%(nodes)s without a price count nothing") % {"nodes": counted(change.unpriced, "nodes")}
    return f"{told}; {rest}"
