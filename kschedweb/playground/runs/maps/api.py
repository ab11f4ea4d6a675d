"""REST views of the nodes of a run as columns, for node maps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.urls import path
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.response import Response
from rest_framework.views import APIView

from kschedweb.accounts.roles import Action
from kschedweb.playground.runs import selectors
from kschedweb.playground.runs.maps import nodes
from kschedweb.web.errors import ApplicationError, NotFound
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
    from uuid import UUID

    from rest_framework.request import Request

    from kschedweb.accounts.typing import ApiRequest
    from kschedweb.engine.studies.play.outcome import RunOutcome

# A day: the outcome of a run never changes. Only the browser may cache it, since not everyone may see it.
CACHE_HEADERS = {"Cache-Control": "private, max-age=86400"}
AT = OpenApiParameter("at", float, description="Only the frame of this time, in seconds; every frame without it.")


class RunMap(APIView):
    action_required = Action.VIEW

    @extend_schema(responses=MapSerializer)
    def get(self, request: ApiRequest, id: UUID) -> Response:
        """The nodes of a run, their groups, when there are frames of them, and what these can show."""
        run = selectors.run_get(request.user, id)
        outcome = _check_drawable(selectors.load_outcome(run))
        times, exact = nodes.frame_moments(outcome)
        shows, grouped = nodes.list_shows(outcome).values(), nodes.read_groupings(run.groups)
        document = nodemap.build_document(outcome.nodes, grouped, times, shows, exact=exact)
        return Response(document, headers=CACHE_HEADERS)


class RunFrames(APIView):
    action_required = Action.VIEW

    @extend_schema(parameters=[SHOW, AT], responses=FramesSerializer)
    def get(self, request: ApiRequest, id: UUID) -> Response:
        """The figures of a node map at each time of its frames."""
        outcome = _check_drawable(selectors.load_outcome(selectors.run_get(request.user, id)))
        show = request.query_params.get("show", "cpu")
        if show not in nodes.list_shows(outcome):
            message = f"show: one of {', '.join(nodes.list_shows(outcome))}."
            raise ApplicationError.at("show", message)
        at = (
            nodes.frame_moments(outcome)[0]
            if "at" not in request.query_params
            else [_get_seconds(request, outcome.end)]
        )
        return Response(
            {"show": show, "times": len(at), **pack_column(nodes.map_values(outcome, show, at))}, headers=CACHE_HEADERS
        )


class RunStays(APIView):
    action_required = Action.VIEW

    @extend_schema(parameters=[NODE], responses=NodePodsSerializer)
    def get(self, request: ApiRequest, id: UUID) -> Response:
        """The pods of one node over the whole run."""
        outcome = selectors.load_outcome(selectors.run_get(request.user, id))
        node = asked_node(request)
        try:
            return Response(nodes.list_stays(outcome, node), headers=CACHE_HEADERS)
        except KeyError:
            raise NotFound(f"The run has no node {node[:253]}.") from None


def _check_drawable(outcome: RunOutcome) -> RunOutcome:
    nodemap.check_node_count(len(outcome.nodes))
    return outcome


def _get_seconds(request: Request, end: float) -> float:
    try:
        time = float(request.query_params["at"])
    except ValueError:
        # nan fails the comparison below, as do infinities.
        time = float("nan")
    if not 0 <= time < float("inf"):
        message = "at: must be a number of seconds, 0 or more."
        raise ApplicationError.at("at", message)
    return min(time, end)


urlpatterns = [
    path("runs/<uuid:id>/map/", RunMap.as_view(), name="run-map"),
    path("runs/<uuid:id>/map/frames/", RunFrames.as_view(), name="run-map-frames"),
    path("runs/<uuid:id>/map/pods/", RunStays.as_view(), name="run-map-pods"),
]
