"""REST: several pods explained at once."""

from __future__ import annotations

from typing import Any

from django.urls import path
from django.utils.decorators import method_decorator
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from kschedweb.accounts.roles import Action
from kschedweb.accounts.typing import ApiRequest
from kschedweb.decisions.fix_serializers import DeviceChainSerializer, FixSerializer
from kschedweb.decisions.rest_requests import (
    PARAMETERS,
    ApprovalWaitSerializer,
    DecisionRequest,
    DecisionSubjectSerializer,
    ResponsibleSchedulerSerializer,
)
from kschedweb.decisions.together.selectors import MAX_PODS, ORDER, PodVerdict, explain_together
from kschedweb.web.heavy import heavy

SECONDS = 10.0
POD = OpenApiParameter(
    "pod",
    str,
    many=True,
    description=f"`namespace/name` of a pod, at most {MAX_PODS} of them. Without any: the pending pods.",
)


class PodVerdictSerializer(serializers.Serializer[PodVerdict]):
    pod = serializers.CharField(source="key")
    bound_to = serializers.CharField(source="row.node", help_text="Its node now, empty for a pending pod.")
    node = serializers.CharField(source="outcome.node", default="", help_text="Where it would go, empty for nowhere.")
    feasible = serializers.IntegerField(source="outcome.feasible", default=0, help_text="How many nodes it fits on.")
    message = serializers.CharField(source="outcome.message", default="", help_text="What the scheduler says.")
    scheduler = ResponsibleSchedulerSerializer(
        source="outcome.scheduler",
        default=None,
        allow_null=True,
        help_text="Where it is not the policy that was asked about, else null.",
    )
    approval = ApprovalWaitSerializer(
        source="outcome.wait", default=None, allow_null=True, help_text="What people have to decide; null: nothing."
    )


class PodVerdictGroupSerializer(serializers.Serializer[Any]):
    """Pods with the same verdict."""

    kind = serializers.ChoiceField(
        choices=list(ORDER),
        help_text="`stuck`: fits nowhere. `waiting`: for approval. `fits`. `moves`, `stays`: bound, and would go "
        "elsewhere or to its node. `handled`: by a scheduler that nobody here knows. `open`: not worked out in time.",
    )
    reasons = serializers.ListField(child=serializers.CharField())
    pods = PodVerdictSerializer(many=True)
    fixes = FixSerializer(
        source="fixes.fixes", many=True, help_text="What would let the first of these pods run, the smallest first."
    )
    device_chains = DeviceChainSerializer(source="fixes.device_chains", many=True)
    fixes_searched = serializers.BooleanField(
        source="has_searched_fixes",
        help_text="False if there was no time to look for fixes: ask about one of the pods alone.",
    )


class TogetherSerializer(DecisionSubjectSerializer):
    groups = PodVerdictGroupSerializer(many=True)


@method_decorator(heavy, name="dispatch")
class TogetherView(APIView):
    action_required = Action.VIEW
    in_part = ("GET",)

    @extend_schema(parameters=[POD, *PARAMETERS], responses=TogetherSerializer)
    def get(self, request: ApiRequest, name: str) -> Response:
        """The verdicts about several pods, those with the same reasons together."""
        decision_request = DecisionRequest.from_query(request, name)
        groups = explain_together(
            decision_request.snapshot, decision_request.revision, request.query_params.getlist("pod"), SECONDS
        )
        return Response(TogetherSerializer({**decision_request.subject, "groups": groups}).data)


urlpatterns = [path("clusters/<slug:name>/decisions/", TogetherView.as_view(), name="decisions-together")]
