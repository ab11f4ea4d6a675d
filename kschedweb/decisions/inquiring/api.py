"""REST: questions about decisions that jobs answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.urls import path
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from kschedweb.accounts.roles import Action
from kschedweb.decisions.inquiring import selectors
from kschedweb.decisions.inquiring.handlers import QUESTION_HANDLERS
from kschedweb.decisions.models import Question
from kschedweb.engine.json_types import Json
from kschedweb.jobs.serializers import InquirySerializer
from kschedweb.web.rest import answered_later

if TYPE_CHECKING:
    from uuid import UUID

    from kschedweb.accounts.typing import ApiRequest


class DecisionQuestionSerializer(InquirySerializer[Question]):
    """A question that a job answers. `answer` is there once it is answered.

    Of the kinds `effect` and `roll-out` it is the pods that would change node, of all others what the address answers
    that was asked.
    """

    answer = serializers.SerializerMethodField()

    class Meta:
        model = Question
        fields = (
            "id", "kind", "about", "policy", "state", "job", "error", "sentence", "answer", "created_by", "created_at",
            "ended_at",
        )  # fmt: skip
        read_only_fields = fields

    @extend_schema_field(serializers.DictField(allow_null=True))
    def get_answer(self, question: Question) -> Json | None:
        content = selectors.answer_of(question)
        if content is None:
            return None
        answer: Json = content.get("answer", content)
        return {**_current_status(question), **answer}


def _current_status(question: Question) -> Json:
    """Return the present state of the pod or the group of a question."""
    read_status = QUESTION_HANDLERS[question.kind].current_status
    if read_status is None or question.snapshot is None or question.revision is None:
        return {}
    return read_status(question.snapshot, question.revision, question.subject)


class DecisionAnswerView(APIView):
    action_required = Action.VIEW
    in_part = ("GET",)

    @extend_schema(operation_id="decision_answer", responses=DecisionQuestionSerializer)
    def get(self, request: ApiRequest, id: UUID) -> Response:
        """The answer of a job; ask again until `state` is `succeeded`, `failed` or `cancelled`. Kept for 90 days."""
        return Response(DecisionQuestionSerializer(selectors.question_get(request.user, id)).data)


def respond_accepted(request: ApiRequest, question: Question) -> Response:
    """202 for a question that a job works on."""
    return answered_later(request, DecisionQuestionSerializer(question).data, "api:decision-answer", question.pk)


urlpatterns = [path("decisions/questions/<uuid:id>/", DecisionAnswerView.as_view(), name="decision-answer")]
