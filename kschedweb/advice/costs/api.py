"""REST: what a cluster costs, and which of its nodes have no price."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.urls import path
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from kschedweb.accounts.roles import Action
from kschedweb.advice.costs import billing, selectors, words
from kschedweb.advice.costs.billing import MONTH
from kschedweb.clusters.parameters import AT, SNAPSHOT
from kschedweb.clusters.prices.selectors import table_of
from kschedweb.clusters.selectors import cluster_get, snapshot_named, snapshot_of
from kschedweb.engine.json_types import Json
from kschedweb.web.errors import ApplicationError, NotFound

if TYPE_CHECKING:
    from kschedweb.accounts.typing import ApiRequest
    from kschedweb.clusters.models import Cluster, Snapshot

UNITS = ("money", "node-hours")
ORDERINGS = sorted([*billing.ORDERS, *(f"-{name}" for name in billing.ORDERS)])


class CostLineSerializer(serializers.Serializer[Any]):
    """The hourly cost of some nodes or pods, in the answer's `unit`."""

    name = serializers.CharField(allow_blank=True)
    count = serializers.IntegerField(help_text="Nodes, or pods.")
    hour = serializers.FloatField(help_text="Of nodes their price, of pods what they request of it.")
    month = serializers.FloatField(help_text=f"{MONTH} hours.")
    requested = serializers.FloatField(help_text="What pods request of it.")
    used = serializers.FloatField(allow_null=True, help_text="What is really used; `null` where no use is known.")
    idle = serializers.FloatField(
        allow_null=True, help_text="Of nodes what is not used, of pods what they request and do not use."
    )
    idle_share = serializers.FloatField(allow_null=True, help_text="`idle` in percent of that whose use is known.")
    unpriced = serializers.IntegerField(help_text="Nodes without a price, or pods on such nodes: in no amount.")


class CostSerializer(serializers.Serializer[Any]):
    """The hourly cost of a snapshot."""

    cluster = serializers.CharField()
    snapshot = serializers.UUIDField()
    unit = serializers.CharField(help_text="The currency of the price table; `node-hours` where there is none.")
    note = serializers.CharField(allow_blank=True, help_text="The note of the price table.")
    total = CostLineSerializer()
    by = serializers.ChoiceField(choices=list(words.GROUPS))
    groups = CostLineSerializer(many=True)


class UnpricedSerializer(serializers.Serializer[Any]):
    """Nodes of one kind that no price matches."""

    instance_type = serializers.CharField(source="type", allow_blank=True)
    capacity_type = serializers.CharField(allow_blank=True)
    count = serializers.IntegerField()
    names = serializers.ListField(child=serializers.CharField(), help_text="The first of them.")


class UnpricedListSerializer(serializers.Serializer[Any]):
    cluster = serializers.CharField()
    snapshot = serializers.UUIDField()
    groups = UnpricedSerializer(many=True)


class CostView(APIView):
    action_required = Action.VIEW
    in_part = ("GET",)

    @extend_schema(
        operation_id="cost",
        parameters=[
            SNAPSHOT,
            AT,
            OpenApiParameter(
                "by", str, enum=list(words.GROUPS), default="type", description="What groups are made of."
            ),
            OpenApiParameter(
                "unit", str, enum=UNITS, default="money", description="`node-hours` counts each node as 1."
            ),
            OpenApiParameter("ordering", str, enum=ORDERINGS, default="-hour", description="By which value."),
        ],
        responses=CostSerializer,
    )
    def get(self, request: ApiRequest, name: str) -> Response:
        """The hourly cost of a snapshot: in all, and by instance type, node pool, namespace or workload.

        Without a price table the unit is node-hours.
        """
        by = _parse_choice(request, "by", tuple(words.GROUPS), "type")
        unit = _parse_choice(request, "unit", UNITS, "money")
        ordering = _parse_choice(request, "ordering", ORDERINGS, "-hour")
        cluster, snapshot = _get_snapshot(request, name)
        at = snapshot.taken_at.timestamp() if snapshot_named(request.query_params) else None
        bill = selectors.bill_of(snapshot, table_of(cluster) if unit == "money" else None, at)
        return Response(
            {
                "cluster": cluster.name,
                "snapshot": snapshot.pk,
                "unit": bill.unit,
                "note": bill.note,
                "total": _line_to_json(bill.total),
                "by": by,
                "groups": [_line_to_json(line) for line in billing.sort_lines(bill.lines_by(by), ordering)],
            }
        )


class UnpricedView(APIView):
    action_required = Action.VIEW
    in_part = ("GET",)

    @extend_schema(operation_id="cost_unpriced", parameters=[SNAPSHOT, AT], responses=UnpricedListSerializer)
    def get(self, request: ApiRequest, name: str) -> Response:
        """The nodes that no entry of the price table matches, by instance type; the largest group first."""
        cluster, snapshot = _get_snapshot(request, name)
        groups = selectors.list_unpriced(snapshot, table_of(cluster))
        answer = {"cluster": cluster.name, "snapshot": snapshot.pk, "groups": groups}
        return Response(UnpricedListSerializer(answer).data)


def _get_snapshot(request: ApiRequest, name: str) -> tuple[Cluster, Snapshot]:
    cluster = cluster_get(name)
    snapshot = snapshot_of(cluster, request.query_params)
    if snapshot is None:
        raise NotFound(f"Cluster {name} has not been read yet: refresh it first.")
    return cluster, snapshot


def _parse_choice(request: ApiRequest, name: str, choices: tuple[str, ...] | list[str], default: str) -> str:
    choice = request.query_params.get(name, default)
    if choice not in choices:
        raise ApplicationError.at(name, f"Must be one of {', '.join(choices)}.")
    return choice


def _line_to_json(line: billing.CostLine) -> Json:
    names = ("name", "count", "hour", "month", "requested", "used", "idle", "idle_share", "unpriced")
    values = {name: getattr(line, name) for name in names}
    return {name: None if value != value else value for name, value in values.items()}


urlpatterns = [
    path("clusters/<slug:name>/cost/", CostView.as_view(), name="cost"),
    path("clusters/<slug:name>/cost/unpriced/", UnpricedView.as_view(), name="cost-unpriced"),
]
