"""REST: the price table of a cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.http import Http404
from django.urls import path
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from kschedweb.accounts.roles import Action
from kschedweb.clusters.prices import selectors, services
from kschedweb.clusters.prices.models import PriceSheet
from kschedweb.clusters.selectors import cluster_get
from kschedweb.web.preconditions import IF_MATCH, expected_revision
from kschedweb.web.rest import validate_input

if TYPE_CHECKING:
    from kschedweb.accounts.typing import ApiRequest


class PriceSheetSerializer(serializers.ModelSerializer[PriceSheet]):
    """The hourly prices of a cluster's nodes: a PriceTable as YAML."""

    document = serializers.CharField(
        source="text", trim_whitespace=False, help_text="A document of kind PriceTable, as YAML or JSON."
    )
    changed_by = serializers.CharField(source="changed_by.username", default=None, allow_null=True, read_only=True)

    class Meta:
        model = PriceSheet
        fields = ("document", "version", "changed_by", "changed_at")
        read_only_fields = ("version", "changed_at")


class PricesView(APIView):
    action_required = {"GET": Action.VIEW, "PUT": Action.EDIT, "DELETE": Action.EDIT}

    @extend_schema(operation_id="prices", responses=PriceSheetSerializer)
    def get(self, request: ApiRequest, name: str) -> Response:
        """The price table of a cluster; the ETag is its version. 404 where it has none."""
        cluster = cluster_get(name)
        sheet = selectors.sheet_get(cluster)
        if not sheet.text:
            raise Http404(f"Cluster {name} has no price table.")
        return _answer_sheet(sheet)

    @extend_schema(
        operation_id="prices_save",
        request=PriceSheetSerializer,
        parameters=[IF_MATCH],
        responses={200: PriceSheetSerializer, 201: OpenApiResponse(PriceSheetSerializer, "There was none before.")},
    )
    def put(self, request: ApiRequest, name: str) -> Response:
        """Make or change the price table.

        `If-Match` says which version was edited, `"0"` where there never was one: 412 where another was saved since,
        428 where it is missing. 422 with the line of each error where the document is no price table.
        """
        cluster = cluster_get(name)
        data = validate_input(PriceSheetSerializer, request.data)
        before = selectors.sheet_get(cluster)
        edited = expected_revision(request, before.version)
        sheet = services.prices_save(user=request.user, cluster=cluster, text=data["text"], expected=edited)
        return _answer_sheet(sheet, status=200 if before.text else 201)

    @extend_schema(operation_id="prices_delete", request=None, parameters=[IF_MATCH], responses={204: None})
    def delete(self, request: ApiRequest, name: str) -> Response:
        """Delete the price table: costs are told in node-hours then."""
        cluster = cluster_get(name)
        edited = expected_revision(request, selectors.sheet_get(cluster).version)
        services.prices_delete(user=request.user, cluster=cluster, expected=edited)
        return Response(status=204)


def _answer_sheet(sheet: PriceSheet, status: int = 200) -> Response:
    body: Any = PriceSheetSerializer(sheet).data
    return Response(body, status=status, headers={"ETag": f'"{sheet.version}"'})


urlpatterns = [path("clusters/<slug:name>/prices/", PricesView.as_view(), name="prices")]
