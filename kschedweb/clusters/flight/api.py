"""REST: the flight recorder of a cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from kschedweb.accounts.roles import Action
from kschedweb.clusters import selectors as clusters
from kschedweb.clusters.flight import selectors, services
from kschedweb.clusters.flight.services import LEAST_MIB, MOST_DAYS, MOST_MIB
from kschedweb.engine.json_types import Json
from kschedweb.web.rest import validate_input

if TYPE_CHECKING:
    from kschedweb.accounts.typing import ApiRequest
    from kschedweb.clusters.models import Cluster


class StretchSerializer(serializers.Serializer[Any]):
    """A time that is known to the microsecond; before it is a gap, of which ``reason`` tells the cause."""

    began = serializers.DateTimeField()
    until = serializers.DateTimeField()
    reason = serializers.CharField()
    missing = serializers.ListField(child=serializers.CharField(), help_text="Kinds that could not be read.")


class FlightRecorderSerializer(serializers.Serializer[Any]):
    """The flight recorder of a cluster: whether it is on, how much it keeps, and which times it knows."""

    on = serializers.BooleanField()
    days = serializers.IntegerField()
    limit_mib = serializers.IntegerField()
    problem = serializers.CharField(help_text="Why nothing is recorded now; empty where all is well.")
    stored = serializers.IntegerField(help_text="Bytes that are kept.")
    known = StretchSerializer(many=True)


class FlightRecorderSetSerializer(serializers.Serializer[Any]):
    """The switch; what is not named stays as it is."""

    on = serializers.BooleanField()
    days = serializers.IntegerField(required=False, min_value=1, max_value=MOST_DAYS)
    limit_mib = serializers.IntegerField(required=False, min_value=LEAST_MIB, max_value=MOST_MIB)


class FlightRecorderView(APIView):
    action_required = {"GET": Action.VIEW, "PUT": Action.EDIT}

    @extend_schema(responses=FlightRecorderSerializer)
    def get(self, request: ApiRequest, name: str) -> Response:
        """The flight recorder of a cluster, with the times that are known; between two of them is a gap."""
        return Response(_represent_recorder(clusters.cluster_get(name)))

    @extend_schema(request=FlightRecorderSetSerializer, responses=FlightRecorderSerializer)
    def put(self, request: ApiRequest, name: str) -> Response:
        """Switch the flight recorder on or off; 409 for a cluster that is not connected."""
        cluster = clusters.cluster_get(name)
        values = validate_input(FlightRecorderSetSerializer, request.data)
        services.recorder_set(user=request.user, cluster=cluster, **values)
        return Response(_represent_recorder(cluster))


def _represent_recorder(cluster: Cluster) -> Json:
    row = selectors.recorder_of(cluster)
    known_stretches = [
        {"began": selectors.moment_of(stretch.began), "until": selectors.moment_of(stretch.until)}
        | {"reason": stretch.reason, "missing": stretch.missing}
        for stretch in selectors.list_stretches(cluster)
    ]
    recorder_fields = {"on": row.on, "days": row.days, "limit_mib": row.limit_mib, "problem": row.problem}
    return FlightRecorderSerializer(
        {**recorder_fields, "stored": selectors.stored_size(cluster), "known": known_stretches}
    ).data


urlpatterns = [path("clusters/<slug:name>/flight/", FlightRecorderView.as_view(), name="cluster-flight")]
