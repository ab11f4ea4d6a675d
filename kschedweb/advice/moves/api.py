"""REST: what a cycle of the descheduler would evict, and where those pods would land."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework.response import Response
from rest_framework.views import APIView

from kschedweb.accounts.roles import Action
from kschedweb.advice.moves import scenario_trials, selectors, services
from kschedweb.advice.moves.requests import DryRunRequest, request_for_document, request_for_revision, starting_request
from kschedweb.advice.moves.serializers import (
    DeschedulingQuestionSerializer,
    DeschedulingRequestSerializer,
    DeschedulingSerializer,
    MovesTrialSerializer,
)
from kschedweb.decisions.selectors import profiles_asked, snapshot_asked
from kschedweb.engine.json_types import Json
from kschedweb.engine.patience import DeadlineExceeded
from kschedweb.policies.selectors import policy_get, revision_get
from kschedweb.web.errors import ApplicationError
from kschedweb.web.rest import IdempotencyMixin, accepted_response, answered_later, validate_input

if TYPE_CHECKING:
    from uuid import UUID

    from kschedweb.accounts.typing import ApiRequest


class MovesView(IdempotencyMixin, APIView):
    """A dry run of the descheduler."""

    action_required = Action.VIEW

    @extend_schema(
        operation_id="descheduling",
        request=DeschedulingRequestSerializer,
        responses={200: DeschedulingSerializer, 202: DeschedulingQuestionSerializer},
    )
    def post(self, request: ApiRequest) -> Response:
        """Run a cycle of the descheduler dry, and place what it evicts as kube-scheduler would; nothing is evicted.

        200 with the answer where it is quick to find; else 202, and a job works it out. 409 while another question of
        the same person is worked on.
        """
        data = validate_input(DeschedulingRequestSerializer, request.data)
        snapshot = snapshot_asked(data["cluster"], str(data.get("snapshot") or ""))
        revision = profiles_asked(data["policy"], str(data.get("revision") or ""))
        dry_run_request = _build_request(data)
        user = request.user
        try:
            dry_run = services.answer_at_once(
                user=user, snapshot=snapshot, revision=revision, dry_run_request=dry_run_request
            )
        except DeadlineExceeded:
            question = services.question_ask(
                user=user, snapshot=snapshot, revision=revision, dry_run_request=dry_run_request
            )
            body = DeschedulingQuestionSerializer(question).data
            return answered_later(request, body, "api:descheduling-answer", question.pk)
        labels = {"snapshot": snapshot.pk, "policy": revision.policy.name, "revision": revision.number}
        return Response({**labels, "descheduler": dry_run_request.label, **dry_run})


class MovesAnswerView(APIView):
    action_required = Action.VIEW

    @extend_schema(operation_id="descheduling_answer", responses=DeschedulingQuestionSerializer)
    def get(self, request: ApiRequest, id: UUID) -> Response:
        """The answer of a job; ask again until `state` is `succeeded`, `failed` or `cancelled`. Kept for 90 days."""
        return Response(DeschedulingQuestionSerializer(selectors.question_get(id)).data)


class MovesTryView(IdempotencyMixin, APIView):
    """The descheduler in a scenario."""

    action_required = Action.EDIT

    @extend_schema(
        operation_id="descheduling_try", request=DeschedulingRequestSerializer, responses={202: MovesTrialSerializer}
    )
    def post(self, request: ApiRequest) -> Response:
        """Make a scenario of the snapshot with this descheduler every so many minutes, and run it under the policy."""
        data = validate_input(DeschedulingRequestSerializer, request.data)
        run = scenario_trials.moves_try(
            user=request.user,
            snapshot=snapshot_asked(data["cluster"], str(data.get("snapshot") or "")),
            revision=profiles_asked(data["policy"], str(data.get("revision") or "")),
            dry_run_request=_build_request(data),
        )
        body = MovesTrialSerializer({"scenario": run.revision.scenario_id, "run": run.pk}).data
        return accepted_response(request, body, "api:run", run.pk)


def _build_request(data: Json) -> DryRunRequest:
    rounds, interval = data["rounds"], 60.0 * data["minutes"]
    if data["document"] and data["descheduler"]:
        raise ApplicationError.at("document", "Name a policy or send a document, not both.")
    if data["document"]:
        return request_for_document(data["document"], rounds, interval)
    if not data["descheduler"]:
        return starting_request(rounds, interval)
    policy = policy_get(data["descheduler"])
    return request_for_revision(revision_get(policy, data.get("descheduler_revision")), rounds, interval)


urlpatterns = [
    path("descheduling/", MovesView.as_view(), name="descheduling"),
    path("descheduling/try/", MovesTryView.as_view(), name="descheduling-try"),
    path("descheduling/dry-runs/<uuid:id>/", MovesAnswerView.as_view(), name="descheduling-answer"),
]
