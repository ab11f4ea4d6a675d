"""REST: endpoints that are told of waiting pods, and what was sent to them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework import generics, serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from kschedweb.accounts.roles import Action
from kschedweb.live.approvals.models import Delivery, Endpoint, MessageFormat, all_events
from kschedweb.live.approvals.webhooks import selectors, services
from kschedweb.web.rest import IdempotencyMixin, validate_input

if TYPE_CHECKING:
    from uuid import UUID

    from django.db.models import QuerySet
    from rest_framework.request import Request

    from kschedweb.accounts.typing import ApiRequest


class WebhookSerializer(serializers.ModelSerializer[Endpoint]):
    """An endpoint without its secret."""

    events = serializers.ListField(child=serializers.ChoiceField(choices=services.EVENTS), read_only=True)
    problem = serializers.CharField(read_only=True, help_text="Why it was switched off, if not by a person.")

    class Meta:
        model = Endpoint
        fields: tuple[str, ...] = ("id", "name", "url", "events", "format", "active", "problem", "created_at")
        read_only_fields: tuple[str, ...] = fields


class NewWebhookSerializer(serializers.Serializer[Any]):
    name = serializers.CharField(max_length=64)
    url = serializers.CharField(max_length=500, help_text="Among the addresses that the installation allows.")
    events = serializers.ListField(
        child=serializers.ChoiceField(choices=services.EVENTS),
        min_length=1,
        max_length=len(services.EVENTS),
        required=False,
        help_text="What it is told of; without a choice, of approvals.",
    )
    format = serializers.ChoiceField(choices=MessageFormat.choices, required=False)
    active = serializers.BooleanField(required=False)


class WebhookChangeSerializer(NewWebhookSerializer):
    name = serializers.CharField(max_length=64, required=False)
    url = serializers.CharField(max_length=500, required=False)


class CreatedWebhookSerializer(WebhookSerializer):
    """An endpoint with its secret, which is shown this once."""

    secret = serializers.CharField(read_only=True, help_text="`whsec_…`; its messages are signed with it.")

    class Meta(WebhookSerializer.Meta):
        fields: tuple[str, ...] = (*WebhookSerializer.Meta.fields, "secret")
        read_only_fields: tuple[str, ...] = fields


class DeliverySerializer(serializers.ModelSerializer[Delivery]):
    """One message to an endpoint; its id is the header `webhook-id`."""

    approval = serializers.UUIDField(
        source="request_id", allow_null=True, read_only=True, help_text="What it tells of."
    )
    attempts = serializers.IntegerField(read_only=True, help_text="Tries so far.")
    next_at = serializers.DateTimeField(allow_null=True, read_only=True, help_text="When it is tried again.")
    status = serializers.IntegerField(allow_null=True, read_only=True, help_text="HTTP status of the last answer.")

    class Meta:
        model = Delivery
        fields = (
            "id",
            "event",
            "approval",
            "state",
            "attempts",
            "next_at",
            "status",
            "error",
            "created_at",
            "ended_at",
        )
        read_only_fields = fields


class WebhookList(generics.ListAPIView[Endpoint]):
    # No Idempotency-Key: the answer to POST holds a secret, and answers are kept for a day.
    action_required = Action.ADMINISTER
    serializer_class = WebhookSerializer
    queryset = Endpoint.objects.all()

    def get(self, request: Request, *args: object, **kwargs: object) -> Response:
        """All endpoints, by name."""
        return super().get(request, *args, **kwargs)

    @extend_schema(request=NewWebhookSerializer, responses={201: CreatedWebhookSerializer})
    def post(self, request: ApiRequest) -> Response:
        """Make an endpoint; its `secret` is in this answer only."""
        values = validate_input(NewWebhookSerializer, request.data)
        fields = {"events": all_events(), **values}
        endpoint, secret = services.endpoint_save(user=request.user, **fields)
        return Response({**WebhookSerializer(endpoint).data, "secret": secret}, status=201)


class WebhookDetail(APIView):
    action_required = Action.ADMINISTER

    @extend_schema(responses=WebhookSerializer)
    def get(self, request: ApiRequest, id: UUID) -> Response:
        """One endpoint."""
        return Response(WebhookSerializer(selectors.endpoint_get(id)).data)

    @extend_schema(request=WebhookChangeSerializer, responses=WebhookSerializer)
    def patch(self, request: ApiRequest, id: UUID) -> Response:
        """Change its name, address, what it is told of, or switch it on or off."""
        row = selectors.endpoint_get(id)
        values = validate_input(WebhookChangeSerializer, request.data)
        before = {"name": row.name, "url": row.url, "events": row.events, "format": row.format, "active": row.active}
        changed, _ = services.endpoint_save(user=request.user, endpoint=row, **(before | values))
        return Response(WebhookSerializer(changed).data)

    @extend_schema(responses={204: None})
    def delete(self, request: ApiRequest, id: UUID) -> Response:
        """Delete it with what is kept of its messages."""
        services.endpoint_delete(user=request.user, endpoint=selectors.endpoint_get(id))
        return Response(status=204)


class WebhookTest(IdempotencyMixin, APIView):
    action_required = Action.ADMINISTER

    @extend_schema(request=None, responses={202: DeliverySerializer})
    def post(self, request: ApiRequest, id: UUID) -> Response:
        """Send a message that says nothing but that it is a test; how it goes is among the deliveries."""
        delivery = services.endpoint_test(user=request.user, endpoint=selectors.endpoint_get(id))
        return Response(DeliverySerializer(delivery).data, status=202)


class WebhookSecret(APIView):
    action_required = Action.ADMINISTER

    @extend_schema(request=None, responses={201: CreatedWebhookSerializer})
    def post(self, request: ApiRequest, id: UUID) -> Response:
        """Make another `secret`, in this answer only; messages are signed with it from now on."""
        row = selectors.endpoint_get(id)
        secret = services.secret_renew(user=request.user, endpoint=row)
        return Response({**WebhookSerializer(row).data, "secret": secret}, status=201)


class WebhookDeliveries(generics.ListAPIView[Delivery]):
    """The deliveries to an endpoint in the last 30 days, newest first."""

    action_required = Action.ADMINISTER
    serializer_class = DeliverySerializer
    queryset = Delivery.objects.none()

    def get_queryset(self) -> QuerySet[Delivery]:
        return selectors.delivery_list(selectors.endpoint_get(self.kwargs["id"]))


urlpatterns = [
    path("webhooks/", WebhookList.as_view(), name="webhooks"),
    path("webhooks/<uuid:id>/", WebhookDetail.as_view(), name="webhook"),
    path("webhooks/<uuid:id>/test/", WebhookTest.as_view(), name="webhook-test"),
    path("webhooks/<uuid:id>/secret/", WebhookSecret.as_view(), name="webhook-secret"),
    path("webhooks/<uuid:id>/deliveries/", WebhookDeliveries.as_view(), name="webhook-deliveries"),
]
