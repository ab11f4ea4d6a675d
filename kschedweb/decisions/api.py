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
from kschedweb.decisions import services
from kschedweb.decisions.asked import PARAMETERS, AnsweredSerializer, Asked
from kschedweb.decisions.groups.words import by_itself
from kschedweb.decisions.kinds import decider
from kschedweb.decisions.load_aware.api import InForceSerializer, in_force
from kschedweb.engine import Explanation
from kschedweb.web.heavy import heavy

if TYPE_CHECKING:
    from rest_framework.request import Request

    from kschedweb.decisions.presentation import Presentation


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
    """What only the decision of a classic policy has."""

    version = serializers.CharField(help_text="Which kube-scheduler it is: 1.13 or 1.9.")
    alwaysCheckAllPredicates = serializers.BooleanField()
    neverAsked = serializers.ListField(
        child=serializers.CharField(), help_text="Predicates of the policy that the fixed order does not have."
    )
    priorities = serializers.DictField(child=PrioritySerializer(), required=False)


class CandidateSerializer(serializers.Serializer[Any]):
    """The pods that would be evicted from a node, the most important first."""

    pods = serializers.ListField(child=serializers.CharField(), allow_null=True)
    pdbViolations = serializers.IntegerField(help_text="How many of them a disruption budget would keep.")


class PreemptionSerializer(serializers.Serializer[Any]):
    """Where evictions would make room: as many nodes as kube-scheduler looks for, and the one that it takes."""

    candidates = serializers.DictField(child=CandidateSerializer())
    node = serializers.CharField()


class DecisionSerializer(AnsweredSerializer):
    """Every filter's verdict and every score on every node, for one pod.

    Under a classic policy filters are its predicates, scores its priorities (``raw``: mapped, ``normalized``: reduced),
    and ``classic`` is there.
    """

    boundTo = serializers.CharField(help_text="The pod's node; it is explained as if it were not bound. '' if pending.")
    warnings = serializers.ListField(child=serializers.CharField())
    watermarks = InForceSerializer()
    pod = serializers.CharField()
    preEnqueue = StatusSerializer(required=False)
    preFilter = StatusSerializer(required=False)
    preFilterNodes = serializers.ListField(child=serializers.CharField(), required=False)
    rejected = serializers.DictField(child=StatusSerializer())
    filters = serializers.DictField(child=serializers.DictField(child=StatusSerializer()))
    feasible = serializers.ListField(child=serializers.CharField(), allow_null=True)
    scores = serializers.DictField(child=ScoreSerializer(), required=False)
    skippedScorePlugins = serializers.ListField(child=serializers.CharField(), required=False)
    total = serializers.DictField(child=serializers.IntegerField(), required=False)
    best = serializers.ListField(child=serializers.CharField(), required=False)
    chosen = serializers.CharField(required=False)
    message = serializers.CharField(required=False, help_text="Without PostFilter's part.")
    postFilter = serializers.CharField(required=False, help_text="PostFilter's part of the message.")
    asks = serializers.DictField(
        child=serializers.DictField(), required=False, help_text="What Permit plugins would ask of people, by plugin."
    )
    preemption = PreemptionSerializer(required=False)
    extendersNotAsked = serializers.ListField(child=serializers.CharField(), required=False)
    classic = ClassicDecisionSerializer(required=False)


@method_decorator(heavy, name="dispatch")
class DecisionView(APIView):
    """Why a pod of a snapshot goes where it goes under a policy."""

    action_required = Action.VIEW

    @extend_schema(
        operation_id="decision_retrieve",
        responses=DecisionSerializer,
        parameters=PARAMETERS,
    )
    def get(self, request: Request, name: str, namespace: str, pod: str) -> Response:
        asked = Asked.of(request, name)
        snapshot, revision, decides = asked.snapshot, asked.revision, decider(asked.revision)
        case = services.case(snapshot, f"{namespace}/{pod}", revision)
        explanation = services.with_room(snapshot, case.pod.key, revision)
        answer = Explanation.to_dict(explanation) | decides.told(case)
        if explanation.post_filter:
            answer["postFilter"] = explanation.post_filter
        if not case.explanation.pre_enqueue.ok:
            answer["preEnqueue"] = case.explanation.pre_enqueue.to_dict()
        return Response(
            {
                **asked.about,
                "release": decides.release(case),
                "boundTo": case.bound_to,
                "warnings": warnings(decides.present(case)),
                "watermarks": in_force(snapshot),
                **answer,
            }
        )


def warnings(decision: Presentation) -> list[str]:
    """Warnings for readers of the decision."""
    case, found = decision.case, []
    if case.bound_to:
        found.append(f"The pod is bound to {case.bound_to}; it is explained as if it were not bound.")
    if not case.explanation.pre_enqueue.ok:
        found.append(f"The pod is not in the scheduling queue: {case.explanation.pre_enqueue.message}")
    if missing := decision.missing():
        found.append(f"Not evaluated by this version: {', '.join(missing)}.")
    found += filter(None, [by_itself(case)])
    found += decision.notes()
    if case.snapshot.problems:
        found.append(f"{len(case.snapshot.problems)} objects of the snapshot could not be understood and are left out.")
    return found


urlpatterns = [
    path("clusters/<slug:name>/pods/<str:namespace>/<str:pod>/decision/", DecisionView.as_view(), name="decision"),
]
