"""The node map of many clusters: their nodes, grouped by cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.urls import reverse
from django.utils.translation import gettext_noop

from kschedweb.clusters.models import NodeRow
from kschedweb.fleet.selectors import newest_snapshots
from kschedweb.watermarks import node_maps
from kschedweb.watermarks.node_columns import read_columns
from kschedweb.web.nodemap.grouping import make_column_groupings
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
    rows = rows.order_by(OF_CLUSTER, "name")
    nodes, clusters = read_columns(rows), list(rows.values_list(OF_CLUSTER, flat=True))
    groupings = node_maps.list_groupings(nodes)
    if len(set(clusters)) > 1:
        groupings = [*make_column_groupings({CLUSTER: clusters}), *groupings]
    names = [f"{cluster}/{name}" for cluster, name in zip(clusters, nodes.names, strict=True)]
    layers = node_maps.list_layers(nodes)
    return make_inline_map(names, groupings, {"": layers}, (f"{reverse('fleet-node')}?node=", ""), choice)
