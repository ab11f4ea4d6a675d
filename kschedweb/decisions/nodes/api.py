"""REST: why a node is as full as it is."""

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
from kschedweb.decisions.inquiring.api import DecisionQuestionSerializer, respond_accepted
from kschedweb.decisions.models import Question
from kschedweb.decisions.nodes import services
from kschedweb.decisions.rest_requests import PARAMETERS, DecisionRequest, DecisionSubjectSerializer
from kschedweb.engine.studies.capacity.node_report import PlaceVerdict
from kschedweb.web.errors import ApplicationError
from kschedweb.web.heavy import heavy

if TYPE_CHECKING:
    from kschedweb.accounts.typing import ApiRequest

AMOUNT = "CPU in millicores, other resources in their own unit."


class PodShareSerializer(serializers.Serializer[Any]):
    pod = serializers.CharField()
    amount = serializers.IntegerField(help_text=AMOUNT)


class ResourceLevelSerializer(serializers.Serializer[Any]):
    """One resource of a node; CPU in millicores, other resources in their own unit."""

    resource = serializers.CharField()
    allocatable = serializers.IntegerField()
    requested = serializers.IntegerField()
    free = serializers.IntegerField(help_text="Negative if pods request more than there is.")
    requested_percent = serializers.FloatField(help_text="Percent of `allocatable`.")
    used_percent = serializers.FloatField(allow_null=True, help_text="Really used, percent; null: unknown.")
    pods = PodShareSerializer(many=True, help_text="The largest first.")


class PodPlaceSerializer(serializers.Serializer[Any]):
    """The reason why a pod is on its node as the policy sees it now, and whether it could leave."""

    pod = serializers.CharField()
    verdict = serializers.ChoiceField(
        choices=[verdict.value for verdict in PlaceVerdict],
        help_text="`best`, `tied`: no node scores higher. `only`: no other node passes. `beaten`: another scores "
        "higher now. `refused`: a filter would refuse the node now. `static`: the kubelet runs it. `foreign`: its "
        "scheduler is not the policy's. `failed`: its scheduling cycle fails.",
    )
    feasible = serializers.IntegerField(help_text="Nodes that pass.")
    score = serializers.IntegerField(allow_null=True, help_text="Points of its node; null: none.")
    rival = serializers.CharField(allow_blank=True, help_text="The best other node; '' for none.")
    rival_score = serializers.IntegerField(allow_null=True, help_text="Points of that node.")
    margin = serializers.IntegerField(allow_null=True, help_text="Points ahead of that node; negative: behind.")
    plugin = serializers.CharField(allow_blank=True, help_text="The plugin that decided.")
    message = serializers.CharField(allow_blank=True, help_text="The filter's words on a refusal.")
    target = serializers.CharField(allow_blank=True, help_text="Where its replacement would go; '' for nowhere.")
    can_leave = serializers.BooleanField()
    obstacle = serializers.CharField(allow_blank=True, help_text="The kind of obstacle, as of a drain; '' for none.")
    obstacle_message = serializers.CharField(allow_blank=True)


class ResidentPodSerializer(serializers.Serializer[Any]):
    pod = serializers.CharField()
    priority = serializers.IntegerField()
    controller = serializers.CharField(allow_blank=True, help_text="Kind/name; '' for none.")
    scheduler_name = serializers.CharField()
    requests = serializers.DictField(child=serializers.IntegerField(), help_text=AMOUNT)
    place = PodPlaceSerializer(allow_null=True, help_text="null: `places=false`.")


class PendingGroupSerializer(serializers.Serializer[Any]):
    """Pending pods that one filter refuses with the same words."""

    plugin = serializers.CharField(allow_blank=True)
    message = serializers.CharField()
    pods = serializers.ListField(child=serializers.CharField())


class NodeReportSerializer(DecisionSubjectSerializer):
    """The reasons why a node is as full as it is."""

    node = serializers.CharField()
    cordoned = serializers.BooleanField()
    fullest = serializers.CharField(help_text="The resource of which the largest share is requested.")
    resources = ResourceLevelSerializer(many=True)
    pods = ResidentPodSerializer(many=True, help_text="Those that take most of `fullest` first.")
    refused = PendingGroupSerializer(many=True, help_text="Pending pods that the node refuses.")
    fitting = serializers.ListField(child=serializers.CharField(), help_text="Pending pods that fit now.")
    untried = serializers.IntegerField(help_text="Pending pods that this policy does not try, such as gated ones.")


@method_decorator(heavy, name="dispatch")
class NodeReportView(APIView):
    """Explain why a node is as full as it is, why each of its pods is there, and whether it could leave.

    Of a cluster that is too large to be read here and now a job finds it: 202, and the answer once the job has ended.
    """

    action_required = Action.VIEW
    in_part = ("GET",)

    @extend_schema(
        operation_id="node_report",
        responses={200: NodeReportSerializer, 202: DecisionQuestionSerializer},
        parameters=[
            *PARAMETERS,
            OpenApiParameter(
                "places",
                OpenApiTypes.BOOL,
                description="`false` leaves out why each pod is there, which takes a scheduling cycle a pod.",
            ),
        ],
    )
    def get(self, request: ApiRequest, name: str, node: str) -> Response:
        asked = DecisionRequest.from_query(request, name)
        services.get_node(asked.snapshot, node)
        report = services.find_report(request.user, asked.snapshot, asked.revision, node, places=_read_places(request))
        if isinstance(report, Question):
            return respond_accepted(request, report)
        return Response(services.report_to_json(asked.snapshot, asked.revision, report))


def _read_places(request: ApiRequest) -> bool:
    text = request.query_params.get("places") or "true"
    if text not in ("true", "false"):
        raise ApplicationError.at("places", "Must be true or false.")
    return text == "true"


urlpatterns = [
    path("clusters/<slug:name>/nodes/<str:node>/report/", NodeReportView.as_view(), name="node-report"),
]
