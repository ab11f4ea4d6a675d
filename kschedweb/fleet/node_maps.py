"""The node map of many clusters: their nodes, grouped by cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.urls import reverse
from django.utils.translation import gettext_noop

from kschedweb.clusters.models import NodeRow
from kschedweb.fleet.selectors import newest_snapshots
from kschedweb.watermarks import node_maps
from kschedweb.web.nodemap.grouping import NAMED_GROUPINGS, make_groupings
from kschedweb.web.nodemap.nodemap import MapChoice, NodeMap, make_inline_map

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kschedweb.fleet.selectors import ClusterLine

# Nodes of one page; more would make it slow to load.
MOST_NODES = 5_000
CLUSTER = gettext_noop("cluster")
OF_CLUSTER = "snapshot__cluster__name"


def map_fleet(lines: Iterable[ClusterLine], choice: MapChoice) -> NodeMap | None:
    """Return the map of the nodes of the clusters ``lines``; None for none, or more than MOST_NODES.

    A node's name is "cluster/node".
    """
    newest = newest_snapshots().filter(cluster__in=[line.cluster for line in lines])
    rows = NodeRow.objects.filter(snapshot__in=newest)
    if not 0 < rows.count() <= MOST_NODES:
        return None
    nodes = [_name_node(row) for row in rows.order_by(OF_CLUSTER, "name").values(*node_maps.COLUMNS, OF_CLUSTER)]
    labels = {"zone": "zone", "region": "region", "instance_type": "instance type"}
    keys = {name: NAMED_GROUPINGS[label][0] for name, label in labels.items()}
    groupings = make_groupings(
        [{CLUSTER: node[OF_CLUSTER]} | {key: node[name] for name, key in keys.items() if node[name]} for node in nodes]
    )
    groupings.sort(key=lambda grouping: grouping.label != CLUSTER)
    layers = node_maps.list_layers(nodes)
    names = [node["name"] for node in nodes]
    return make_inline_map(names, groupings, {"": layers}, (f"{reverse('fleet-node')}?node=", ""), choice)


def _name_node(row: dict[str, Any]) -> dict[str, Any]:
    return row | {"name": f"{row[OF_CLUSTER]}/{row['name']}"}
