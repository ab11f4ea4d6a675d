"""REST: where the figures of a cluster come from."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from kschedweb.accounts.roles import Action
from kschedweb.clusters.selectors import cluster_get
from kschedweb.engine.json_types import Json
from kschedweb.watermarks import selectors, services
from kschedweb.watermarks.models import Authentication, SourceKind, Unit
from kschedweb.watermarks.presets import PRESETS
from kschedweb.watermarks.source_settings import LONGEST_QUERY, LONGEST_TOKEN, SourceSettings
from kschedweb.web.rest import IdempotencyMixin, validate_input

if TYPE_CHECKING:
    from kschedweb.accounts.typing import ApiRequest
    from kschedweb.clusters.models import Cluster


def _queries_field(**options: Any) -> serializers.DictField:
    return serializers.DictField(
        child=serializers.CharField(allow_blank=True, max_length=LONGEST_QUERY),
        help_text="PromQL by figure, such as `node/cpu/15m`; a figure without a query is not collected.",
        **options,
    )


class SourceSettingsSerializer(serializers.Serializer[Any]):
    """The settings of a source. Secrets are encrypted and never shown again; left empty, the stored ones stay."""

    kind = serializers.ChoiceField(choices=SourceKind.choices)
    address = serializers.CharField(required=False, default="", allow_blank=True, max_length=500)
    authentication = serializers.ChoiceField(choices=Authentication.choices, default=Authentication.NONE)
    token = serializers.CharField(
        required=False, default="", allow_blank=True, write_only=True, max_length=LONGEST_TOKEN
    )
    username = serializers.CharField(required=False, default="", allow_blank=True, write_only=True, max_length=253)
    password = serializers.CharField(
        required=False,
        default="",
        allow_blank=True,
        write_only=True,
        trim_whitespace=False,
        max_length=LONGEST_TOKEN,
    )
    ca = serializers.CharField(required=False, default="", allow_blank=True, write_only=True)
    forget_ca = serializers.BooleanField(required=False, default=False, write_only=True)
    node_label = serializers.CharField(required=False, default="instance", allow_blank=True, max_length=100)
    unit = serializers.ChoiceField(choices=Unit.choices, default=Unit.CAPACITY_PERCENT)
    queries = _queries_field(required=False, default=dict)
    interval = serializers.IntegerField(default=60, min_value=30, max_value=3600, help_text="Seconds.")
    keep_hours = serializers.IntegerField(default=24, min_value=2, max_value=168, help_text="As collected.")
    keep_days = serializers.IntegerField(default=7, min_value=2, max_value=60, help_text="5-minute values.")
    keep_long_days = serializers.IntegerField(default=90, min_value=2, max_value=730, help_text="Hourly values.")


class SourceChangeSerializer(SourceSettingsSerializer):
    force = serializers.BooleanField(
        required=False, default=False, write_only=True, help_text="Save even though the source does not answer."
    )


class ExampleField(serializers.ListField):
    """``[name, value]``."""

    child = serializers.JSONField()


class QueryReportSerializer(serializers.Serializer[Any]):
    series = serializers.IntegerField(help_text="In the answer.")
    matched = serializers.IntegerField(help_text="Nodes or pods of the cluster among them.")
    unmatched = serializers.ListField(child=serializers.CharField(), help_text="A few of the others.")
    unusable = serializers.IntegerField(help_text="NaN, infinite or negative values.")
    duplicates = serializers.IntegerField(help_text="Series about what another one is about too.")
    missing = serializers.IntegerField(help_text="Nodes of the cluster without a value.")
    examples = serializers.ListField(child=ExampleField(), help_text="As stored: a name and its value.")
    unit = serializers.CharField(help_text="What the values of nodes look like.")
    error = serializers.CharField(help_text="Why nothing of it was kept.")
    setting = serializers.CharField(help_text="The setting to look at.")
    warnings = serializers.ListField(child=serializers.CharField())


class ReportSerializer(serializers.Serializer[Any]):
    """Outcome of a collection."""

    at = serializers.FloatField(help_text="Seconds of the epoch.")
    seconds = serializers.FloatField()
    nodes = serializers.IntegerField(help_text="Nodes with at least one figure.")
    workloads = serializers.IntegerField()
    queries = serializers.DictField(child=QueryReportSerializer())
    problems = serializers.ListField(child=serializers.CharField())


class FreshnessSerializer(serializers.Serializer[Any]):
    origin = serializers.CharField()
    updated = serializers.DateTimeField(allow_null=True, help_text="When the newest figures were collected.")
    age = serializers.FloatField(allow_null=True, help_text="Seconds.")
    stale = serializers.BooleanField(help_text="Older than three intervals.")
    nodes = serializers.IntegerField()
    workloads = serializers.IntegerField()


class SourceSerializer(serializers.Serializer[Any]):
    """Source of figures, and the outcome of the last collection."""

    kind = serializers.ChoiceField(choices=SourceKind.choices)
    address = serializers.CharField()
    authentication = serializers.ChoiceField(choices=Authentication.choices)
    has_ca = serializers.BooleanField()
    node_label = serializers.CharField()
    unit = serializers.ChoiceField(choices=Unit.choices)
    queries = _queries_field()
    interval = serializers.IntegerField()
    keep_hours = serializers.IntegerField()
    keep_days = serializers.IntegerField()
    keep_long_days = serializers.IntegerField()
    changed_at = serializers.DateTimeField(allow_null=True)
    changed_by = serializers.CharField(source="changed_by.username", default=None, allow_null=True)
    ran_at = serializers.DateTimeField(allow_null=True)
    succeeded_at = serializers.DateTimeField(allow_null=True)
    running_since = serializers.DateTimeField(allow_null=True)
    error = serializers.CharField(help_text="What was wrong with the last collection.")
    report = ReportSerializer(allow_null=True, help_text="Of the last collection.")
    freshness = FreshnessSerializer()


class PresetSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    label = serializers.CharField()  # type: ignore[assignment]
    help = serializers.CharField()
    node_label = serializers.CharField()
    unit = serializers.ChoiceField(choices=Unit.choices)
    queries = _queries_field()


def _source_body(cluster: Cluster) -> Json:
    """The answer about a source; an empty report is none."""
    source = selectors.source_get(cluster)
    source.report = source.report or None
    source.freshness = selectors.load_freshness(cluster, time.time())  # type: ignore[attr-defined]
    return dict(SourceSerializer(source).data)


class SourceDetail(APIView):
    action_required = {"GET": Action.VIEW, "PUT": Action.ADMINISTER}
    of_site = False

    @extend_schema(responses=SourceSerializer)
    def get(self, request: ApiRequest, name: str) -> Response:
        """Return the source of a cluster's figures, and the outcome of the last collection."""
        return Response(_source_body(cluster_get(name)))

    @extend_schema(request=SourceChangeSerializer, responses=SourceSerializer)
    def put(self, request: ApiRequest, name: str) -> Response:
        """Set where figures come from. The source is asked first; where it fails nothing is saved without `force`."""
        cluster = cluster_get(name)
        data = validate_input(SourceChangeSerializer, request.data)
        values = dict(data)
        force = values.pop("force")
        services.source_save(user=request.user, cluster=cluster, settings=SourceSettings(**values), force=force)
        return Response(_source_body(cluster))


class SourceTest(APIView):
    action_required = Action.ADMINISTER
    of_site = False

    @extend_schema(request=SourceSettingsSerializer, responses=ReportSerializer)
    def post(self, request: ApiRequest, name: str) -> Response:
        """Ask a source as it would be asked, and tell what came. Nothing is kept."""
        data = validate_input(SourceSettingsSerializer, request.data)
        settings = SourceSettings(**data)
        report = services.source_test(user=request.user, cluster=cluster_get(name), settings=settings)
        return Response(ReportSerializer(report.as_json()).data)


class SourceRun(IdempotencyMixin, APIView):
    action_required = Action.EDIT

    @extend_schema(request=None, responses={202: SourceSerializer})
    def post(self, request: ApiRequest, name: str) -> Response:
        """Collect once more, now. `ran_at` tells when that is done."""
        cluster = cluster_get(name)
        services.run_ask(user=request.user, cluster=cluster)
        return Response(_source_body(cluster), status=202)


class PresetList(APIView):
    action_required = Action.VIEW

    @extend_schema(responses=PresetSerializer(many=True))
    def get(self, request: ApiRequest) -> Response:
        """Ready-made queries for Prometheus."""
        return Response(PresetSerializer(PRESETS.values(), many=True).data)


urlpatterns = [
    path("clusters/<slug:name>/watermarks/source/", SourceDetail.as_view(), name="watermark-source"),
    path("clusters/<slug:name>/watermarks/source/test/", SourceTest.as_view(), name="watermark-source-test"),
    path("clusters/<slug:name>/watermarks/source/run/", SourceRun.as_view(), name="watermark-source-run"),
    path("watermark-presets/", PresetList.as_view(), name="watermark-presets"),
]
