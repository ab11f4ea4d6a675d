"""REST: the devices of one node for a pod's claims, with every verdict on each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.urls import path
from django.utils.decorators import method_decorator
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from kschedweb.accounts.roles import Action
from kschedweb.decisions.devices import answers
from kschedweb.decisions.inquiring.api import DecisionQuestionSerializer, respond_accepted
from kschedweb.decisions.models import Question
from kschedweb.decisions.responsibility import find_responsible_scheduler
from kschedweb.decisions.rest_requests import PARAMETERS, AnsweredSerializer, DecisionRequest
from kschedweb.web.heavy import heavy

if TYPE_CHECKING:
    from kschedweb.accounts.typing import ApiRequest


class DeviceIdSerializer(serializers.Serializer[Any]):
    driver = serializers.CharField()
    pool = serializers.CharField()
    device = serializers.CharField()


class HeldDeviceSerializer(DeviceIdSerializer):
    request = serializers.CharField(help_text="The request that it answers, or request/alternative.")


class HeldClaimSerializer(serializers.Serializer[Any]):
    """A claim that has its devices."""

    claim = serializers.CharField()
    devices = HeldDeviceSerializer(many=True)
    problem = serializers.CharField(allow_blank=True, help_text="Why they cannot be used on the node.")


class DeviceConstraintSerializer(serializers.Serializer[Any]):
    """A constraint: attributes that the devices of a claim must share, or must differ in."""

    claim = serializers.CharField()
    kind = serializers.ChoiceField(["matchAttribute", "distinctAttribute"])
    attribute = serializers.CharField()
    requests = serializers.ListField(child=serializers.CharField(), help_text="Empty for all requests of the claim.")


class DeviceRefusalSerializer(serializers.Serializer[Any]):
    """The reason why the search finds nothing."""

    why = serializers.ChoiceField(
        ["short", "constraint", "together"],
        help_text="A request finds too few devices on its own; a constraint forbids what there is; there are enough"
        " for each request, but not for all at once.",
    )
    claim = serializers.CharField()
    request = serializers.CharField(allow_blank=True)
    constraint = DeviceConstraintSerializer(allow_null=True)
    text = serializers.CharField()


class DeviceSelectorSerializer(serializers.Serializer[Any]):
    """A CEL expression of a DeviceClass or of a request."""

    of = serializers.CharField()
    expression = serializers.CharField()


class SelectorAnswerSerializer(serializers.Serializer[Any]):
    """The answer of the selector at the same place in the request's list."""

    accepts = serializers.BooleanField(allow_null=True, help_text="null: it has no answer.")
    problem = serializers.CharField(allow_blank=True, help_text="kube-scheduler's error.")
    outside = serializers.BooleanField(help_text="Whether the answer is outside the simulation.")


class DeviceObjectionSerializer(serializers.Serializer[Any]):
    """The reason why a device cannot be allocated, whatever selectors say."""

    why = serializers.ChoiceField(["elsewhere", "inUse", "notOffered", "tainted", "counters", "capacity", "attribute"])
    text = serializers.CharField()


class DeviceVerdictSerializer(DeviceIdSerializer):
    selectors = SelectorAnswerSerializer(many=True)
    objections = DeviceObjectionSerializer(many=True)
    holders = serializers.ListField(child=serializers.CharField(), help_text="Claims that have it, or a share of it.")
    compared = serializers.DictField(child=serializers.CharField(), help_text="Attributes that constraints compare.")
    passes = serializers.BooleanField(help_text="Whether it can be had for this request alone.")
    chosen = serializers.BooleanField()
    chosen_for = serializers.ListField(child=serializers.CharField(), help_text="Claim and request, with a space.")


class DeviceRequestSerializer(serializers.Serializer[Any]):
    """A request, or one of its alternatives."""

    claim = serializers.CharField()
    request = serializers.CharField(help_text="Its name, or request/alternative.")
    device_class = serializers.CharField()
    class_exists = serializers.BooleanField()
    count = serializers.IntegerField(allow_null=True, help_text="null: all devices that suit.")
    wanted = serializers.IntegerField()
    passing = serializers.IntegerField()
    selectors = DeviceSelectorSerializer(many=True)
    devices = DeviceVerdictSerializer(many=True)


class UnusablePoolSerializer(serializers.Serializer[Any]):
    pool = serializers.CharField()
    state = serializers.ChoiceField(["incomplete", "invalid"])


class DevicesSerializer(AnsweredSerializer):
    """The devices that a node sees, and what becomes of the pod's claims there."""

    node = serializers.CharField()
    problem = serializers.CharField(allow_blank=True, help_text="Why the claims cannot be looked at.")
    held = HeldClaimSerializer(many=True)
    found = serializers.BooleanField(allow_null=True, help_text="null: no claim needs devices.")
    failed = serializers.CharField(allow_blank=True, help_text="kube-scheduler's error.")
    unknown = serializers.CharField(allow_blank=True, help_text="What it depends on that is outside the simulation.")
    refusals = DeviceRefusalSerializer(many=True)
    constraints = DeviceConstraintSerializer(many=True)
    unusable_pools = UnusablePoolSerializer(many=True)
    requests = DeviceRequestSerializer(many=True)


@method_decorator(heavy, name="dispatch")
class DevicesView(APIView):
    """Explain which devices a pod gets on a node, and why not others. 202 where a job has to read the cluster."""

    action_required = Action.VIEW

    @extend_schema(
        operation_id="decision_devices_retrieve",
        responses={200: DevicesSerializer, 202: DecisionQuestionSerializer},
        parameters=[
            OpenApiParameter(
                "node",
                OpenApiTypes.STR,
                description="A node; without one the pod's, or the one that comes closest to fitting.",
            ),
            *PARAMETERS,
        ],
    )
    def get(self, request: ApiRequest, name: str, namespace: str, pod: str) -> Response:
        decision_request = DecisionRequest.from_query(request, name)
        node = request.query_params.get("node", "").strip()
        key = f"{namespace}/{pod}"
        scheduler, _ = find_responsible_scheduler(decision_request.snapshot, decision_request.revision, key)
        # Of a pod that nobody here decides about the policy says so itself.
        answer = answers.find_devices(
            request.user, decision_request.snapshot, scheduler.revision or decision_request.revision, key, node
        )
        return respond_accepted(request, answer) if isinstance(answer, Question) else Response(answer)


urlpatterns = [
    path("clusters/<slug:name>/pods/<str:namespace>/<str:pod>/devices/", DevicesView.as_view(), name="devices"),
]
