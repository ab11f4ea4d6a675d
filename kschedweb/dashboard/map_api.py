"""REST: the nodes of a cluster's newest snapshot as columns, for its node map."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from django.urls import path
from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.response import Response
from rest_framework.views import APIView

from kschedweb.accounts.roles import Action
from kschedweb.clusters.filters import NodeFilter
from kschedweb.clusters.parameters import AT, SNAPSHOT
from kschedweb.clusters.selectors import cluster_get, node_rows, snapshot_named, snapshot_of
from kschedweb.watermarks import node_maps
from kschedweb.watermarks.usage.selectors import load_current_use
from kschedweb.web.errors import ApplicationError, FieldProblem, NotFound
from kschedweb.web.nodemap import nodemap
from kschedweb.web.nodemap.grouping import pack_column
from kschedweb.web.nodemap.serializers import (
    NODE,
    SHOW,
    FramesSerializer,
    MapSerializer,
    NodePodsSerializer,
    asked_node,
)

if TYPE_CHECKING:
    from kschedweb.accounts.typing import ApiRequest
    from kschedweb.clusters.models import Snapshot
    from kschedweb.watermarks.node_columns import NodeRowColumns
    from kschedweb.watermarks.usage.selectors import CurrentUse

FILTERS = [
    SNAPSHOT,
    AT,
    OpenApiParameter("search", str, description="A part of the name or of the instance type."),
    OpenApiParameter("zone", str),
    OpenApiParameter("instance_type", str),
    OpenApiParameter("ready", bool),
    OpenApiParameter("unschedulable", bool),
    OpenApiParameter("tainted", bool),
]


class ClusterMap(APIView):
    action_required = Action.VIEW
    in_part = ("GET",)

    @extend_schema(parameters=FILTERS, responses=MapSerializer)
    def get(self, request: ApiRequest, name: str) -> Response:
        """The nodes that the filter leaves, their groups by every label, and what can be shown of them."""
        snapshot, nodes, use = _read_request(request, name)
        shows = node_maps.list_shows(nodes, use).values()
        groupings = node_maps.group_by_labels(snapshot, request.query_params, nodes)
        return Response(nodemap.build_document(nodes.names, groupings, np.zeros(1), shows))


class ClusterFrames(APIView):
    action_required = Action.VIEW
    in_part = ("GET",)

    @extend_schema(parameters=[SHOW, *FILTERS], responses=FramesSerializer)
    def get(self, request: ApiRequest, name: str) -> Response:
        """The figures of a node map for the nodes that the filter leaves."""
        _, nodes, use = _read_request(request, name)
        show, available = request.query_params.get("show", "cpu"), node_maps.list_shows(nodes, use)
        if show not in available:
            message = f"show: one of {', '.join(available)}."
            raise ApplicationError.at("show", message)
        return Response({"show": show, "times": 1, **pack_column(node_maps.compute_values(nodes, show, use))})


class ClusterStays(APIView):
    action_required = Action.VIEW
    in_part = ("GET",)

    @extend_schema(parameters=[NODE, SNAPSHOT, AT], responses=NodePodsSerializer)
    def get(self, request: ApiRequest, name: str) -> Response:
        """The pods of one node."""
        snapshot, node_name = _get_snapshot(request, name), asked_node(request)
        node = node_rows(snapshot).filter(name=node_name.replace("\0", "")).first()
        if node is None:
            raise NotFound(f"Cluster {name} has no node {node_name[:253]}.")
        return Response(node_maps.pod_stays(snapshot, node))


def _get_snapshot(request: ApiRequest, name: str) -> Snapshot:
    snapshot = snapshot_of(cluster_get(name), request.query_params)
    if snapshot is None:
        raise NotFound(f"Cluster {name} has no snapshot yet.")
    return snapshot


def _read_request(request: ApiRequest, name: str) -> tuple[Snapshot, NodeRowColumns, CurrentUse | None]:
    snapshot = _get_snapshot(request, name)
    filtered = NodeFilter(request.query_params, queryset=node_rows(snapshot))
    if not filtered.is_valid():
        errors: list[FieldProblem] = [
            {"path": field, "message": " ".join(messages)} for field, messages in filtered.errors.items()
        ]
        raise ApplicationError("The filter is wrong.", errors=errors)
    nodes = node_maps.read_nodes(snapshot, request.query_params, filtered.qs)
    return (
        snapshot,
        nodes,
        None if snapshot_named(request.query_params) else load_current_use(snapshot.cluster, timezone.now()),
    )


urlpatterns = [
    path("clusters/<slug:name>/map/", ClusterMap.as_view(), name="cluster-map"),
    path("clusters/<slug:name>/map/frames/", ClusterFrames.as_view(), name="cluster-map-frames"),
    path("clusters/<slug:name>/map/pods/", ClusterStays.as_view(), name="cluster-map-pods"),
]
