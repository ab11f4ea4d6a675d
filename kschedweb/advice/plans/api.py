"""REST: plans of moves, and scenarios in which they are tried."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework.response import Response
from rest_framework.views import APIView

from kschedweb.accounts.roles import Action
from kschedweb.advice.plans import scenario_trials, selectors, services
from kschedweb.advice.plans.serializers import PlanQuestionSerializer, PlanRequestSerializer, PlanTrialSerializer
from kschedweb.decisions.selectors import profiles_asked, snapshot_asked
from kschedweb.web.rest import IdempotencyMixin, accepted_response, answered_later, validate_input

if TYPE_CHECKING:
    from uuid import UUID

    from kschedweb.accounts.typing import ApiRequest


class PlansView(IdempotencyMixin, APIView):
    """A plan of evictions that reaches an objective."""

    action_required = Action.VIEW

    @extend_schema(
        operation_id="plans_ask",
        request=PlanRequestSerializer,
        responses={200: PlanQuestionSerializer, 202: PlanQuestionSerializer},
    )
    def post(self, request: ApiRequest) -> Response:
        """Plan the fewest moves that reach the objective, each placed by the scheduler's own cycle; nothing is evicted.

        200 with the plan where it is quick to find; else 202, and a job works it out. 409 while another question of the
        same person is worked on.
        """
        data = validate_input(PlanRequestSerializer, request.data)
        question = services.question_ask(
            user=request.user,
            snapshot=snapshot_asked(data["cluster"], str(data.get("snapshot") or "")),
            revision=profiles_asked(data["policy"], str(data.get("revision") or "")),
            objective=data["objective"],
        )
        body = PlanQuestionSerializer(question).data
        if question.ended_at is not None:
            return Response(body)
        return answered_later(request, body, "api:plans-answer", question.pk)


class PlanView(APIView):
    action_required = Action.VIEW

    @extend_schema(operation_id="plans_answer", responses=PlanQuestionSerializer)
    def get(self, request: ApiRequest, id: UUID) -> Response:
        """A plan; ask again until `state` is `succeeded`, `failed` or `cancelled`. Kept for 90 days."""
        return Response(PlanQuestionSerializer(selectors.question_get(id)).data)


class PlanTryView(IdempotencyMixin, APIView):
    """A plan in a scenario."""

    action_required = Action.EDIT

    @extend_schema(operation_id="plans_try", request=None, responses={202: PlanTrialSerializer})
    def post(self, request: ApiRequest, id: UUID) -> Response:
        """Make a scenario of the plan's snapshot with its evictions in their waves, and run it under its policy."""
        run = scenario_trials.plan_try(question=selectors.question_get(id), user=request.user)
        body = PlanTrialSerializer({"scenario": run.revision.scenario_id, "run": run.pk}).data
        return accepted_response(request, body, "api:run", run.pk)


urlpatterns = [
    path("plans/", PlansView.as_view(), name="plans"),
    path("plans/<uuid:id>/", PlanView.as_view(), name="plans-answer"),
    path("plans/<uuid:id>/try/", PlanTryView.as_view(), name="plans-try"),
]
