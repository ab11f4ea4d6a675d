"""REST: the decision about a pod, with the keys of ``python -m kschedweb.engine explain``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.urls import path
from django.utils.decorators import method_decorator
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from kschedweb.accounts.roles import Action
from kschedweb.clusters.selectors import pod_rows
from kschedweb.decisions import rest_answers, services
from kschedweb.decisions.fix_serializers import DeviceChainSerializer, FixSerializer
from kschedweb.decisions.inquiring.api import DecisionQuestionSerializer, respond_accepted
from kschedweb.decisions.inquiring.decision_questions import decision_question
from kschedweb.decisions.inquiring.services import find_answer, pod_known
from kschedweb.decisions.load_aware.api import InForceSerializer
from kschedweb.decisions.models import Question
from kschedweb.decisions.responsibility import PodStatus, find_responsible_scheduler
from kschedweb.decisions.rest_requests import (
    PARAMETERS,
    AnsweredSerializer,
    ApprovalWaitSerializer,
    DecisionRequest,
    ResponsibleSchedulerSerializer,
)
from kschedweb.web.heavy import heavy

if TYPE_CHECKING:
    from kschedweb.accounts.typing import ApiRequest


class StatusSerializer(serializers.Serializer[Any]):
    """A plugin's verdict in the scheduler's own words."""

    plugin = serializers.CharField(required=False)
    code = serializers.CharField()
    reasons = serializers.ListField(child=serializers.CharField(), required=False)


class ScoreSerializer(serializers.Serializer[Any]):
    """One plugin's scores by node."""

    weight = serializers.IntegerField()
    raw = serializers.DictField(child=serializers.IntegerField())
    normalized = serializers.DictField(child=serializers.IntegerField())


class PrioritySerializer(serializers.Serializer[Any]):
    """One priority's scores by node, from 0 to 10: as mapped for each node alone, and reduced over the feasible ones.

    A priority that looks at all nodes at once maps nothing.
    """

    weight = serializers.IntegerField()
    mapped = serializers.DictField(child=serializers.IntegerField(), required=False)
    reduced = serializers.DictField(child=serializers.IntegerField())


class ClassicDecisionSerializer(serializers.Serializer[Any]):
    """The part that only the decision of a classic policy has."""

    version = serializers.CharField(help_text="Which kube-scheduler it is: 1.13 or 1.9.")
    always_check_all_predicates = serializers.BooleanField()
    never_asked = serializers.ListField(
        child=serializers.CharField(), help_text="Predicates of the policy that the fixed order does not have."
    )
    priorities = serializers.DictField(child=PrioritySerializer(), required=False)


class CandidateSerializer(serializers.Serializer[Any]):
    """The pods that would be evicted from a node, the most important first."""

    pods = serializers.ListField(child=serializers.CharField(), allow_null=True)
    pdb_violations = serializers.IntegerField(help_text="How many of them a disruption budget would keep.")


class PreemptionSerializer(serializers.Serializer[Any]):
    """Nodes where evictions would make room: as many as kube-scheduler looks for, and the one that it takes."""

    candidates = serializers.DictField(child=CandidateSerializer())
    node = serializers.CharField()


class VerdictGroupSerializer(serializers.Serializer[Any]):
    """Rejected nodes with the same verdict, as the page groups them."""

    plugin = serializers.CharField()
    code = serializers.CharField(allow_blank=True)
    reasons = serializers.ListField(child=serializers.CharField(), help_text="In the scheduler's words.")
    words = serializers.CharField(allow_blank=True, help_text="In plain words, to follow a number of nodes.")
    count = serializers.IntegerField(help_text="Number of nodes.")
    nodes = serializers.ListField(child=serializers.CharField())


class DecisionSerializer(AnsweredSerializer):
    """Every filter's verdict and every score on every node, for one pod.

    Under a classic policy filters are its predicates, scores its priorities (``raw``: mapped, ``normalized``: reduced),
    and ``classic`` is there. Of a pod that another scheduler handles no node is asked about, and all of it is empty.
    """

    status = serializers.ChoiceField(
        choices=[status.value for status in PodStatus],
        help_text="`waiting_for_approval`: people have to decide, and the answer is what would be decided anew. "
        "`handled_elsewhere`: neither the policy nor a live scheduler of the cluster has the pod's schedulerName.",
    )
    scheduler = ResponsibleSchedulerSerializer(help_text="`policy`, `revision` and `release` are those that answer.")
    approval = ApprovalWaitSerializer(allow_null=True, help_text="What people have to decide; null: nothing.")
    bound_to = serializers.CharField(help_text="The pod's node, '' if pending; it is explained as if not bound.")
    warnings = serializers.ListField(child=serializers.CharField())
    watermarks = InForceSerializer(allow_null=True, help_text="null: no node was asked about.")
    pod = serializers.CharField()
    pre_enqueue = StatusSerializer(required=False)
    pre_filter = StatusSerializer(required=False)
    pre_filter_nodes = serializers.ListField(child=serializers.CharField(), required=False)
    rejected = serializers.DictField(child=StatusSerializer())
    filters = serializers.DictField(child=serializers.DictField(child=StatusSerializer()))
    feasible = serializers.ListField(child=serializers.CharField(), allow_null=True)
    scores = serializers.DictField(child=ScoreSerializer(), required=False)
    skipped_score_plugins = serializers.ListField(child=serializers.CharField(), required=False)
    total = serializers.DictField(child=serializers.IntegerField(), required=False)
    maximum = serializers.IntegerField(help_text="The highest total that the weights allow, in points.")
    ranks = serializers.DictField(
        child=serializers.IntegerField(),
        help_text="Rank of each feasible node, from 1; equal totals share one.",
    )
    shares = serializers.DictField(
        child=serializers.FloatField(),
        help_text="Total of each feasible node as a share of `maximum`, 0 to 1. Compare policies by shares and ranks: "
        "their totals have no common scale.",
    )
    verdicts = VerdictGroupSerializer(many=True, help_text="Rejected nodes by verdict, the nearest to fitting first.")
    best = serializers.ListField(child=serializers.CharField(), required=False)
    chosen = serializers.CharField(required=False)
    message = serializers.CharField(required=False, help_text="Without PostFilter's part.")
    post_filter = serializers.CharField(required=False, help_text="PostFilter's part of the message.")
    asks = serializers.DictField(
        child=serializers.DictField(), required=False, help_text="What Permit plugins would ask of people, by plugin."
    )
    preemption = PreemptionSerializer(required=False)
    fixes = FixSerializer(
        many=True,
        required=False,
        help_text="What would let a pending pod run, the smallest change first. Each was tried by the engine.",
    )
    device_chains = DeviceChainSerializer(many=True, required=False, help_text="Of devices that no node offers.")
    extenders_not_asked = serializers.ListField(child=serializers.CharField(), required=False)
    classic = ClassicDecisionSerializer(required=False)


@method_decorator(heavy, name="dispatch")
class DecisionView(APIView):
    """Explain why a pod of a snapshot goes where it goes under a policy.

    Of a cluster that is too large to be read here and now, or a pod that takes too long, a job finds it: 202, and the
    answer once the job has ended.
    """

    action_required = Action.VIEW
    in_part = ("GET",)

    @extend_schema(
        operation_id="decision_retrieve",
        responses={200: DecisionSerializer, 202: DecisionQuestionSerializer},
        parameters=PARAMETERS,
    )
    def get(self, request: ApiRequest, name: str, namespace: str, pod: str) -> Response:
        decision_request = DecisionRequest.from_query(request, name)
        snapshot, key = decision_request.snapshot, f"{namespace}/{pod}"
        scheduler, wait = find_responsible_scheduler(snapshot, decision_request.revision, key)
        pod_status = rest_answers.status_to_json(scheduler, wait)
        if (revision := scheduler.revision) is None:
            bound_to = pod_rows(snapshot).values_list("node", flat=True).get(namespace=namespace, name=pod)
            return Response(
                pod_status
                | rest_answers.handled_elsewhere(snapshot, decision_request.revision, key, scheduler, bound_to)
            )
        if not (at_hand := services.at_hand(snapshot, revision)):
            pod_known(snapshot, key)
        answer = find_answer(
            request.user,
            decision_question(snapshot, revision, key),
            lambda: rest_answers.decision_to_json(snapshot, services.decide_pod(snapshot, key, revision), revision),
            lambda _, content: content["answer"],
            at_hand=at_hand,
        )
        return respond_accepted(request, answer) if isinstance(answer, Question) else Response(pod_status | answer)


urlpatterns = [
    path("clusters/<slug:name>/pods/<str:namespace>/<str:pod>/decision/", DecisionView.as_view(), name="decision"),
]
