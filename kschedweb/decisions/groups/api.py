"""REST: the groups of pods of a cluster, and whether one of them fits."""

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
from kschedweb.clusters.parameters import AT, SNAPSHOT
from kschedweb.clusters.selectors import snapshot_named
from kschedweb.decisions import selectors
from kschedweb.decisions.groups import answers
from kschedweb.decisions.groups.group_status import GroupState
from kschedweb.decisions.inquiring.api import DecisionQuestionSerializer, respond_accepted
from kschedweb.decisions.models import Question
from kschedweb.decisions.rest_requests import (
    PARAMETERS,
    AnsweredSerializer,
    ApprovalWaitSerializer,
    DecisionRequest,
    ResponsibleSchedulerSerializer,
)
from kschedweb.web.errors import ApplicationError
from kschedweb.web.heavy import heavy

if TYPE_CHECKING:
    from kschedweb.accounts.typing import ApiRequest

POLICY, ON = "policy", "on"


class PodGroupSerializer(serializers.Serializer[Any]):
    """State of a group of pods: a PodGroup, or what pods name as one."""

    namespace = serializers.CharField()
    name = serializers.CharField()
    state = serializers.ChoiceField(
        [state.value for state in GroupState],
        help_text="missing: pods name a PodGroup that does not exist. unread: its form is not simulated. empty: no pod "
        "names it. incomplete: fewer pods than min_count do. pending: some pods have no node. bound: all have one.",
    )
    sentence = serializers.CharField(help_text="The same in words.")
    min_count = serializers.IntegerField(allow_null=True, help_text="null: it is no gang.")
    topology_key = serializers.CharField(allow_blank=True, help_text="The label of nodes whose value its pods share.")
    priority = serializers.IntegerField(allow_null=True)
    bound = serializers.IntegerField(help_text="Pods on nodes.")
    pending = serializers.IntegerField(help_text="Pods without a node.")
    gated = serializers.IntegerField(help_text="Those of them that have scheduling gates.")
    missing = serializers.IntegerField(help_text="How many more pods have to come before it is tried.")


class PodGroupsSerializer(serializers.Serializer[Any]):
    snapshot = serializers.UUIDField()
    groups = PodGroupSerializer(many=True)


class GroupStatusSerializer(serializers.Serializer[Any]):
    code = serializers.CharField()
    reasons = serializers.ListField(child=serializers.CharField(), required=False)


class GroupConditionSerializer(serializers.Serializer[Any]):
    """The condition that kube-scheduler would write to the PodGroup."""

    type = serializers.CharField()
    status = serializers.CharField()
    reason = serializers.CharField()
    message = serializers.CharField(allow_blank=True)


class GroupPodSerializer(serializers.Serializer[Any]):
    """The answer of kube-scheduler for one pod of the group."""

    pod = serializers.CharField()
    node = serializers.CharField(allow_blank=True, help_text="Where it goes; '' for none.")
    message = serializers.CharField(allow_blank=True)
    reason = serializers.CharField(allow_blank=True)
    plugins = serializers.ListField(child=serializers.CharField(), help_text="Those that rejected it.")
    nominated = serializers.CharField(
        allow_null=True,
        allow_blank=True,
        help_text="The node that it waits for; '' ends such a wait, null changes none.",
    )


class TriedPodSerializer(serializers.Serializer[Any]):
    """One pod in one domain."""

    pod = serializers.CharField()
    node = serializers.CharField(required=False)
    evaluated = serializers.IntegerField()
    feasible = serializers.IntegerField()
    message = serializers.CharField(required=False)


class TriedDomainSerializer(serializers.Serializer[Any]):
    """The result in one domain; pods after the one that ended it are not there."""

    domain = serializers.CharField(allow_blank=True, help_text="The label's value; '' for all nodes.")
    nodes = serializers.IntegerField()
    status = GroupStatusSerializer()
    pods = TriedPodSerializer(many=True)


class DomainScoreSerializer(serializers.Serializer[Any]):
    domain = serializers.CharField()
    total = serializers.IntegerField()
    scores = serializers.DictField(child=serializers.IntegerField(), help_text="By plugin, weighted.")


class GroupRoomSerializer(serializers.Serializer[Any]):
    """The room that evictions would make."""

    made = serializers.BooleanField()
    message = serializers.CharField(allow_blank=True)
    victims = serializers.ListField(child=serializers.CharField())
    pdb_violations = serializers.IntegerField(help_text="How many of them a disruption budget would keep.")


class GroupPlacementSerializer(serializers.Serializer[Any]):
    """The result of one scheduling cycle of the group, as `python -m kschedweb.engine explain` tells it."""

    group = serializers.CharField()
    placed = serializers.BooleanField()
    held = serializers.CharField(
        allow_blank=True, help_text="What keeps it out of the queue, in kube-scheduler's words."
    )
    condition = GroupConditionSerializer()
    domain = serializers.CharField(allow_blank=True, help_text="The domain that was taken.")
    blocking = serializers.CharField(allow_blank=True, help_text="The first pod for which no node was found.")
    pods = GroupPodSerializer(many=True)
    domains = TriedDomainSerializer(many=True)
    scores = DomainScoreSerializer(many=True)
    room = GroupRoomSerializer(required=False)


class GroupOfTreeSerializer(serializers.Serializer[Any]):
    """The result of one group of a tree: a CompositePodGroup, or a PodGroup below one."""

    kind = serializers.CharField()
    namespace = serializers.CharField()
    name = serializers.CharField()
    parent = serializers.CharField(  # type: ignore[assignment]
        allow_blank=True, help_text="Name of the CompositePodGroup above it; '': the root."
    )
    min_count = serializers.IntegerField(
        allow_null=True, help_text="How many of its groups, or pods, must be placed; null: it is no gang."
    )
    topology_key = serializers.CharField(allow_blank=True)
    placed = serializers.BooleanField()
    condition = GroupConditionSerializer()
    domain = serializers.CharField(allow_blank=True, help_text="The domain that was taken.")
    domains = TriedDomainSerializer(many=True, help_text="Within the domain of its parent.")


class NodeOfPodSerializer(serializers.Serializer[Any]):
    pod = serializers.CharField()
    node = serializers.CharField()


class PodGroupAnswerSerializer(AnsweredSerializer, PodGroupSerializer):
    """State of a group, and whether it fits; ``policy``, ``revision`` and ``release`` are those that answer."""

    scheduler = ResponsibleSchedulerSerializer(
        allow_null=True, help_text="Of its pending pods; null: none is. Of an unknown one `answer` is null."
    )
    approvals = ApprovalWaitSerializer(many=True, help_text="Of its pods that wait for approval.")
    title = serializers.CharField(help_text="The answer in one sentence.")
    details = serializers.ListField(child=serializers.CharField())
    gates_off = serializers.ListField(
        child=serializers.CharField(), help_text="Feature gates that the group needs and the policy leaves off."
    )
    gates_switched = serializers.ListField(
        child=serializers.CharField(), help_text="Those that are on here all the same, as `gates=on` asks."
    )
    bound_pods = NodeOfPodSerializer(many=True)
    blocked = serializers.CharField(allow_blank=True, help_text="Why the blocking pod has no node, in plain words.")
    freed_claims = serializers.ListField(
        child=serializers.CharField(), help_text="ResourceClaims whose devices kube-scheduler would have given back."
    )
    answer = GroupPlacementSerializer(
        allow_null=True, help_text="null: all its pods are bound, or it is not scheduled as a group."
    )
    tree = GroupOfTreeSerializer(
        many=True, help_text="All groups of the tree that it is part of, parents first; empty if it is alone."
    )


@method_decorator(heavy, name="dispatch")
class PodGroupsView(APIView):
    """The groups of pods of a snapshot: PodGroups, and what pods name as such. 202 where a job has to read them."""

    action_required = Action.VIEW
    in_part = ("GET",)

    @extend_schema(
        operation_id="podgroups_list",
        responses={200: PodGroupsSerializer, 202: DecisionQuestionSerializer},
        parameters=[SNAPSHOT, AT],
    )
    def get(self, request: ApiRequest, name: str) -> Response:
        snapshot = selectors.snapshot_asked(name, snapshot_named(request.query_params))
        groups = answers.list_groups(request.user, snapshot)
        if isinstance(groups, Question):
            return respond_accepted(request, groups)
        return Response({"snapshot": snapshot.pk, "groups": groups})


@method_decorator(heavy, name="dispatch")
class PodGroupView(APIView):
    """The placement of a group of pods now: whether it fits, where each pod would go, and what is in the way.

    Where that takes longer than a request may a job finds it: 202, and the answer once the job has ended.
    """

    action_required = Action.VIEW
    in_part = ("GET",)

    @extend_schema(
        operation_id="podgroup_retrieve",
        responses={200: PodGroupAnswerSerializer, 202: DecisionQuestionSerializer},
        parameters=[
            *PARAMETERS,
            OpenApiParameter(
                "gates",
                OpenApiTypes.STR,
                enum=[POLICY, ON],
                description="`on`: the feature gates that the group needs are on, whatever the policy says.",
            ),
        ],
    )
    def get(self, request: ApiRequest, name: str, namespace: str, group: str) -> Response:
        decision_request = DecisionRequest.from_query(request, name, selectors.profiles_asked)
        gates = request.query_params.get("gates") or POLICY
        if gates not in (POLICY, ON):
            raise ApplicationError.at("gates", f"Must be {POLICY} or {ON}.")
        key = f"{namespace}/{group}"
        answer = answers.answer_for_rest(
            request.user, decision_request.snapshot, decision_request.revision, key, switch=gates == ON
        )
        return respond_accepted(request, answer) if isinstance(answer, Question) else Response(answer)


urlpatterns = [
    path("clusters/<slug:name>/podgroups/", PodGroupsView.as_view(), name="podgroups"),
    path("clusters/<slug:name>/podgroups/<str:namespace>/<path:group>/", PodGroupView.as_view(), name="podgroup"),
]
