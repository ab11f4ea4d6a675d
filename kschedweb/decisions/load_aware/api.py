"""REST: load-aware policies side by side, as curves over utilisation and on the nodes of a cluster."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

from django.urls import path
from django.utils.decorators import method_decorator
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from kschedweb.accounts.roles import Action
from kschedweb.clusters.parameters import AT, SNAPSHOT
from kschedweb.decisions import selectors
from kschedweb.decisions.inquiring.api import DecisionQuestionSerializer, respond_accepted
from kschedweb.decisions.load_aware import answers, rest_answers
from kschedweb.decisions.load_aware.curves import (
    AGES,
    MOVING,
    Conditions,
    NodeScore,
    ScoreCurve,
    compute_curve,
    compute_variations,
)
from kschedweb.decisions.load_aware.sides import all_sides, side_named
from kschedweb.decisions.models import Question
from kschedweb.decisions.rest_requests import REVISION, DecisionRequest, DecisionSubjectSerializer, revision_of
from kschedweb.engine.documents.marked_documents import SIZE_LIMIT
from kschedweb.engine.json_types import Json
from kschedweb.policies.selectors import load_configuration
from kschedweb.policies.validation import check_profiles
from kschedweb.web.errors import FieldProblem, NotFound, Unprocessable
from kschedweb.web.heavy import heavy

if TYPE_CHECKING:
    from rest_framework.request import Request

    from kschedweb.accounts.typing import ApiRequest


class ConditionsSerializer(serializers.Serializer[Any]):
    """The row of nodes that curves are drawn over, all in percent of a node."""

    pod = serializers.FloatField(default=Conditions.pod, help_text="The pod's requests, limits and use.")
    average = serializers.FloatField(default=Conditions.average, help_text="Mean use of the cluster.")
    lowest = serializers.IntegerField(default=Conditions.lowest, help_text="Where the row begins.")
    deviation = serializers.FloatField(default=Conditions.deviation, help_text="Standard deviation of nodes' use.")
    requested = serializers.FloatField(default=Conditions.requested, help_text="What pods on each node request.")
    moving = serializers.ChoiceField(choices=list(MOVING.items()), default=Conditions.moving)


@extend_schema_field(OpenApiTypes.OBJECT)
class ArgumentsField(serializers.JSONField):
    """The arguments of a plugin."""


class GivenSerializer(serializers.Serializer[Any]):
    """The score of a node; none where it is rejected."""

    score = serializers.IntegerField(allow_null=True)
    reason = serializers.CharField(allow_blank=True)


class AgedSerializer(GivenSerializer):
    age = serializers.IntegerField(help_text="Age of the node's figures in seconds.")


class CurveSerializer(serializers.Serializer[Any]):
    """One policy's scores, or those of one policy for one kind of figure."""

    name = serializers.CharField()
    plugin = serializers.CharField()
    title = serializers.CharField()
    arguments = ArgumentsField(help_text="As in pluginConfig.")
    comparison = serializers.BooleanField(help_text="Whether it goes by requests, and is there for comparison.")
    moving = serializers.CharField()
    scores = serializers.ListField(child=serializers.IntegerField(allow_null=True))
    rejected = serializers.DictField(child=serializers.CharField(), help_text="Reasons by percent.")
    missing = GivenSerializer(help_text="What a node without figures gets.")
    aged = AgedSerializer(many=True, help_text="What a node at the average gets with figures of this age.")
    unknown = serializers.CharField(help_text="What it does with missing and old figures, in words.")
    error = serializers.CharField(allow_blank=True, help_text="Why the cycle fails.")


class CurvesSerializer(serializers.Serializer[Any]):
    percents = serializers.ListField(child=serializers.IntegerField(), help_text="Percent of allocatable.")
    conditions = ConditionsSerializer()
    curves = CurveSerializer(many=True)


class VariationsRequestSerializer(ConditionsSerializer):
    document = serializers.CharField(
        max_length=SIZE_LIMIT, trim_whitespace=False, help_text="A KubeSchedulerConfiguration v1, YAML or JSON."
    )
    policy = serializers.CharField(max_length=100, help_text="Name of the policy to draw, as HheWaterLevelBalance.")
    scheduler_name = serializers.CharField(max_length=253, default="default-scheduler")


class EntrantSerializer(serializers.Serializer[Any]):
    """One policy's answer for the pod."""

    name = serializers.CharField()
    plugin = serializers.CharField()
    title = serializers.CharField()
    comparison = serializers.BooleanField()
    winner = serializers.CharField(allow_blank=True, help_text="'' where no node, or every node alike, is chosen.")
    score = serializers.IntegerField(allow_null=True)
    runner_up = serializers.CharField(allow_blank=True)
    margin = serializers.IntegerField(allow_null=True)
    words = serializers.CharField()
    scores = serializers.DictField(child=serializers.IntegerField())
    rejected = serializers.DictField(child=serializers.CharField())


class InForceSerializer(serializers.Serializer[Any]):
    """Source of the figures of use that decide, and their age when the snapshot was taken."""

    origin = serializers.CharField(allow_blank=True, help_text="prometheus, metrics.k8s.io, annotations, demo.")
    nodes = serializers.IntegerField(help_text="Nodes that have figures.")
    youngest = serializers.FloatField(help_text="Seconds.")
    oldest = serializers.FloatField(help_text="Seconds.")
    late = serializers.BooleanField(help_text="Whether figures were collected only after the snapshot.")


class ContestSerializer(DecisionSubjectSerializer):
    pod = serializers.CharField()
    watermarks = InForceSerializer()
    policies = EntrantSerializer(many=True)


POLICY = OpenApiParameter("policy", OpenApiTypes.STR, description="Whose arguments; `default` without one.")


def _read_conditions(
    data: Any, serializer: type[ConditionsSerializer] = ConditionsSerializer
) -> tuple[Conditions, Any]:
    """Conditions that can be made, and everything else that was said. Raises ValidationError or Unprocessable."""
    bound_serializer = serializer(data=data)
    bound_serializer.is_valid(raise_exception=True)
    values = bound_serializer.validated_data
    return Conditions(**{field.name: values[field.name] for field in fields(Conditions)}).validate(), values


class CurvesView(APIView):
    """Every load-aware policy's score over the use of a node."""

    action_required = {"GET": Action.VIEW, "POST": Action.VIEW}

    @extend_schema(
        operation_id="load_aware_curves",
        parameters=[POLICY, REVISION, ConditionsSerializer],
        responses=CurvesSerializer,
    )
    def get(self, request: Request) -> Response:
        revision = revision_of(request, selectors.profiles_asked)
        conditions, _ = _read_conditions(request.query_params)
        drawn = [compute_curve(side, conditions) for side in all_sides(load_configuration(revision))]
        return Response(_curves_to_json(conditions, [(conditions.moving, drawn_curve) for drawn_curve in drawn]))

    @extend_schema(
        operation_id="load_aware_variations",
        request=VariationsRequestSerializer,
        responses=CurvesSerializer,
        description="One policy of a document that is not saved (yet): its score where every figure moves, and where "
        "one kind of figure moves alone.",
    )
    def post(self, request: Request) -> Response:
        conditions, values = _read_conditions(request.data, VariationsRequestSerializer)
        checked = check_profiles(values["document"])
        if checked.loaded is None or checked.loaded.configuration is None:
            errors: list[FieldProblem] = [
                {"path": f"document.{error.path}".rstrip("."), "message": error.message} for error in checked.errors
            ]
            raise Unprocessable("The document is not valid.", errors=errors)
        sides = all_sides(checked.loaded.configuration, values["scheduler_name"])
        side = side_named(values["policy"], sides)
        if side is None:
            names = ", ".join(side.key for side in sides)
            raise Unprocessable("There is no such policy.", errors=[{"path": "policy", "message": f"One of {names}."}])
        return Response(_curves_to_json(conditions, compute_variations(side, conditions)))


@method_decorator(heavy, name="dispatch")
class LoadAwareView(APIView):
    """Scores of every load-aware policy for one pod on the nodes of a cluster. 202 where a job has to read them."""

    action_required = Action.VIEW

    @extend_schema(
        operation_id="load_aware_retrieve",
        responses={200: ContestSerializer, 202: DecisionQuestionSerializer},
        parameters=[
            POLICY,
            REVISION,
            OpenApiParameter("pod", OpenApiTypes.STR, description="`namespace/name`; the first pod without one."),
            SNAPSHOT,
            AT,
        ],
    )
    def get(self, request: ApiRequest, name: str) -> Response:
        decision_request = DecisionRequest.from_query(request, name, selectors.profiles_asked)
        snapshot = decision_request.snapshot
        pod = request.query_params.get("pod") or selectors.pod_to_begin_with(snapshot)
        if not pod:
            raise NotFound(f"Cluster {name} has no pod that could be placed.")
        contest = answers.contest_sought(request.user, snapshot, decision_request.revision, pod)
        if isinstance(contest, Question):
            return respond_accepted(request, contest)
        return Response({**decision_request.subject, **rest_answers.contest_to_json(contest)})


def _curves_to_json(conditions: Conditions, drawn: list[tuple[str, ScoreCurve]]) -> Json:
    return {
        "percents": list(conditions.percents),
        "conditions": ConditionsSerializer(conditions).data,
        "curves": [_curve_to_json(moving, drawn_curve) for moving, drawn_curve in drawn],
    }


def _curve_to_json(moving: str, drawn: ScoreCurve) -> Json:
    side, points = drawn.side, zip(drawn.percents, drawn.node_scores, strict=True)
    return {
        "name": side.key,
        "plugin": side.plugin,
        "title": side.label,
        "arguments": side.args,
        "comparison": side.reference,
        "moving": moving,
        "scores": drawn.scores,
        "rejected": {str(percent): node_score.reason for percent, node_score in points if node_score.score is None},
        "missing": _node_score_to_json(drawn.missing),
        "aged": [
            {"age": age, **_node_score_to_json(node_score)} for age, node_score in zip(AGES, drawn.aged, strict=True)
        ],
        "unknown": side.unknown,
        "error": drawn.error,
    }


def _node_score_to_json(node_score: NodeScore) -> Json:
    return {"score": node_score.score, "reason": node_score.reason}


urlpatterns = [
    path("load-aware/curves/", CurvesView.as_view(), name="load-aware-curves"),
    path("clusters/<slug:name>/load-aware/", LoadAwareView.as_view(), name="load-aware"),
]
