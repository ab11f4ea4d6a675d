"""REST: the sandbox's time, and the objects that people create in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from kschedweb.accounts.roles import Action
from kschedweb.sandbox import selectors, services
from kschedweb.sandbox.selectors import SPEEDS
from kschedweb.web.rest import IdempotencyMixin

if TYPE_CHECKING:
    from rest_framework.request import Request

    from kschedweb.accounts.typing import ApiRequest


class PaceSerializer(serializers.Serializer[Any]):
    """The pace of the sandbox's time."""

    paused = serializers.BooleanField(required=False, help_text="Whether it stands still.")
    speed = serializers.IntegerField(
        required=False, min_value=SPEEDS[0], max_value=SPEEDS[-1], help_text="Speed, as a multiple of real time."
    )


class TextSerializer(serializers.Serializer[Any]):
    text = serializers.CharField(
        max_length=services.LIMITS.size, trim_whitespace=False, help_text="Kubernetes objects as YAML or JSON."
    )


class MadeSerializer(serializers.Serializer[Any]):
    created = serializers.ListField(child=serializers.CharField(), help_text="Kind namespace/name of each.")


class CreatedSerializer(serializers.Serializer[Any]):
    """An object that a person created in the sandbox."""

    kind = serializers.CharField()
    api_version = serializers.CharField()
    namespace = serializers.CharField(allow_blank=True)
    name = serializers.CharField()
    by = serializers.CharField(allow_blank=True, help_text="The username of who created it.")
    state = serializers.CharField(allow_blank=True, help_text="How it stands, in a few words.")
    pods = serializers.IntegerField(allow_null=True, help_text="Ready pods of a workload; null for a pod.")
    approval = serializers.CharField(allow_blank=True, help_text="The id of the request that the pod waits for.")


class HappeningSerializer(serializers.Serializer[Any]):
    """An event of the sandbox."""

    at = serializers.DateTimeField(help_text="When it was last seen.")
    type = serializers.CharField(help_text="Normal or Warning.")
    reason = serializers.CharField()
    kind = serializers.CharField(help_text="Of the object that it is about.")
    namespace = serializers.CharField(allow_blank=True)
    name = serializers.CharField()
    message = serializers.CharField(allow_blank=True)


class DetailsSerializer(serializers.Serializer[Any]):
    """A pod or a workload, the pods that it owns, and what happened to them."""

    row = CreatedSerializer()
    pods = CreatedSerializer(many=True)
    happenings = HappeningSerializer(many=True, help_text="The oldest first.")


class ThatObjectSerializer(serializers.Serializer[Any]):
    kind = serializers.CharField(max_length=63)
    api_version = serializers.CharField(max_length=253)
    namespace = serializers.CharField(max_length=253, allow_blank=True, default="")
    name = serializers.CharField(max_length=253)


class SandboxView(APIView):
    """The time of the sandbox. 404 where the site runs without one."""

    action_required = {"GET": Action.VIEW, "PATCH": Action.EDIT}

    @extend_schema(operation_id="sandbox_retrieve", responses=PaceSerializer)
    def get(self, request: Request) -> Response:
        selectors.sandbox_get()
        return Response(PaceSerializer(selectors.get_pace()).data)

    @extend_schema(operation_id="sandbox_change", request=PaceSerializer, responses=PaceSerializer)
    def patch(self, request: ApiRequest) -> Response:
        """Stop it, let it go on, or say how fast it passes."""
        cluster, serializer = selectors.sandbox_get(), PaceSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        services.pace_set(user=request.user, cluster=cluster, **serializer.validated_data)
        return Response(PaceSerializer(selectors.get_pace()).data)


class ObjectsView(IdempotencyMixin, APIView):
    """The objects that people created in the sandbox."""

    action_required = {"GET": Action.VIEW, "POST": Action.EDIT, "DELETE": Action.EDIT}

    @extend_schema(operation_id="sandbox_objects_list", responses=CreatedSerializer(many=True))
    def get(self, request: Request) -> Response:
        cluster = selectors.sandbox_get()
        return Response(CreatedSerializer(selectors.list_created(cluster), many=True).data)

    @extend_schema(operation_id="sandbox_objects_create", request=TextSerializer, responses={201: MadeSerializer})
    def post(self, request: ApiRequest) -> Response:
        """Create all objects of a text, or none. 422 has what the API server says of those that it refuses."""
        cluster, serializer = selectors.sandbox_get(), TextSerializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        names = services.objects_create(user=request.user, cluster=cluster, **serializer.validated_data)
        return Response({"created": names}, status=201)

    @extend_schema(operation_id="sandbox_objects_delete", parameters=[ThatObjectSerializer], responses={204: None})
    def delete(self, request: ApiRequest) -> Response:
        """Delete one object."""
        cluster, serializer = selectors.sandbox_get(), ThatObjectSerializer(data=request.query_params)
        serializer.is_valid(raise_exception=True)
        services.object_delete(user=request.user, cluster=cluster, **serializer.validated_data)
        return Response(status=204)


class AnewView(APIView):
    """The sandbox, set up anew."""

    action_required = Action.ADMINISTER

    @extend_schema(operation_id="sandbox_set_up_anew", request=None, responses={204: None})
    def post(self, request: ApiRequest) -> Response:
        """Forget all that is in it, and begin again with what a new one has. 409 where another process has it."""
        services.sandbox_set_up_anew(user=request.user)
        return Response(status=204)


class DetailsView(APIView):
    """A pod or a workload of the sandbox."""

    action_required = Action.VIEW

    @extend_schema(operation_id="sandbox_object_retrieve", responses=DetailsSerializer)
    def get(self, request: Request, kind: str, namespace: str, name: str) -> Response:
        details = selectors.get_details(selectors.sandbox_get(), kind, namespace, name)
        return Response(DetailsSerializer(details).data)


class HappeningsView(APIView):
    """The newest events of the sandbox."""

    action_required = Action.VIEW

    @extend_schema(operation_id="sandbox_events_list", responses=HappeningSerializer(many=True))
    def get(self, request: Request) -> Response:
        """At most a hundred, the newest first."""
        selectors.sandbox_get()
        return Response(HappeningSerializer(selectors.list_happenings(limit=100), many=True).data)


urlpatterns = [
    path("sandbox/", SandboxView.as_view(), name="sandbox"),
    path("sandbox/anew/", AnewView.as_view(), name="sandbox-anew"),
    path("sandbox/events/", HappeningsView.as_view(), name="sandbox-events"),
    path("sandbox/objects/", ObjectsView.as_view(), name="sandbox-objects"),
    path("sandbox/objects/<str:kind>/<str:namespace>/<str:name>/", DetailsView.as_view(), name="sandbox-object"),
]
