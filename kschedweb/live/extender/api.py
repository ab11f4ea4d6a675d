"""REST: how a live scheduler answers kube-scheduler, and the configuration that makes it ask."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from kschedweb.accounts.roles import Action
from kschedweb.engine.json_types import Json
from kschedweb.live.extender import selectors, services
from kschedweb.live.extender.configuration import extender_configuration, list_warnings
from kschedweb.live.extender.models import Endpoint
from kschedweb.live.schedulers.selectors import live_get

if TYPE_CHECKING:
    from uuid import UUID

    from rest_framework.request import Request

    from kschedweb.accounts.typing import ApiRequest
    from kschedweb.live.schedulers.models import LiveScheduler


class EndpointSerializer(serializers.ModelSerializer[Endpoint]):
    """The verbs that kube-scheduler may call, and how they are answered."""

    plugins = serializers.ListField(
        child=serializers.CharField(max_length=253),
        max_length=100,
        required=False,
        help_text="Plugins of the policy that decide; none: all that kube-scheduler does not have itself.",
    )
    weight = serializers.IntegerField(min_value=1, max_value=1_000_000, allow_null=True, required=False)
    timeout = serializers.IntegerField(min_value=1, max_value=60, required=False, help_text="Seconds.")
    authority = serializers.CharField(
        max_length=services.LARGEST_AUTHORITY,
        allow_blank=True,
        required=False,
        help_text="PEM certificate of the authority that signed this site's own.",
    )

    class Meta:
        model = Endpoint
        fields = (
            "plugins", "filters", "prioritizes", "preempts", "binds", "whole_nodes", "weight", "timeout", "ignorable",
            "authority", "made_at",
        )  # fmt: skip
        read_only_fields = ("made_at",)


class EndpointAnswerSerializer(EndpointSerializer):
    engine = serializers.CharField(
        read_only=True, help_text="The version of kschedweb, and the kube-scheduler its plugins answer as."
    )
    plugins_in_force = serializers.ListField(child=serializers.CharField(), read_only=True)
    configuration = serializers.DictField(
        read_only=True, help_text="To be merged into kube-scheduler's; SECRET stands for the secret."
    )
    warnings = serializers.ListField(child=serializers.CharField(), read_only=True)

    class Meta:
        model = Endpoint
        fields = (*EndpointSerializer.Meta.fields, "engine", "plugins_in_force", "configuration", "warnings")
        read_only_fields = fields


class SecretSerializer(serializers.Serializer[Any]):
    secret = serializers.CharField(help_text="Shown this once; the password in the address.")
    configuration = serializers.DictField(help_text="With the secret in it.")


class EndpointView(APIView):
    action_required = Action.ADMINISTER
    of_site = False

    @extend_schema(operation_id="live_extender", responses=EndpointAnswerSerializer)
    def get(self, request: Request, live_id: UUID) -> Response:
        """Describe how a live scheduler answers kube-scheduler, and what to paste there."""
        return Response(_represent_endpoint(request, live_get(live_id)))

    @extend_schema(
        operation_id="live_extender_change",
        request=EndpointSerializer(partial=True),
        responses=EndpointAnswerSerializer,
    )
    def patch(self, request: ApiRequest, live_id: UUID) -> Response:
        """Change it; every web process takes it over within seconds."""
        live = live_get(live_id)
        serializer = EndpointSerializer(data=request.data, partial=True)
        serializer.is_valid(raise_exception=True)
        services.endpoint_change(user=request.user, live=live, **serializer.validated_data)
        return Response(_represent_endpoint(request, live))


class SecretView(APIView):
    action_required = Action.ADMINISTER
    of_site = False

    @extend_schema(operation_id="live_extender_secret", request=None, responses={201: SecretSerializer})
    def post(self, request: ApiRequest, live_id: UUID) -> Response:
        """Create a new secret; the old one opens nothing from now on."""
        live = live_get(live_id)
        secret = services.endpoint_secret_make(user=request.user, live=live)
        answer = {"secret": secret, "configuration": extender_configuration(live, _base_url(request), secret)}
        return Response(answer, status=201, headers={"Cache-Control": "no-store"})


def _represent_endpoint(request: Request, live: LiveScheduler) -> Json:
    endpoint, configuration = selectors.endpoint_of(live), selectors.configuration_of(live)
    more = {
        "engine": configuration.release.engine,
        "plugins_in_force": selectors.plugins_in_force(endpoint, configuration),
        "configuration": extender_configuration(live, _base_url(request)),
        "warnings": list_warnings(live, _base_url(request)),
    }
    return {**EndpointSerializer(endpoint).data, **more}


def _base_url(request: Request) -> str:
    return request.build_absolute_uri("/").rstrip("/")


urlpatterns = [
    path("live/<uuid:live_id>/extender/", EndpointView.as_view(), name="live-extender"),
    path("live/<uuid:live_id>/extender/secret/", SecretView.as_view(), name="live-extender-secret"),
]
