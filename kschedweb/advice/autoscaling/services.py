"""Answer questions about autoscaling: quick ones at once, others by a job."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kschedweb.advice.autoscaling.models import Question
from kschedweb.advice.autoscaling.requests import KarpenterRequest, NodeGroupsRequest, request_of_question
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import ObjectError
from kschedweb.jobs.inquiries import InquiryKind, Step, Turn, pack_answer
from kschedweb.playground.gate.invocation import about_snapshot
from kschedweb.web.errors import Unprocessable
from kschedweb.web.lru import LRU

if TYPE_CHECKING:
    from kschedweb.accounts.models import User

KIND = InquiryKind(
    Question,
    "autoscaling.answer",
    lambda question, step: _find_answer(question, step),
    nouns="questions about autoscaling",
    verb="autoscaling.asked",
    result="autoscaling",
)
# Only one request of a process computes at a time; the others go to a job.
_turn = Turn()
_answers: LRU[Json] = LRU(32)


def answer_at_once(*, autoscaling_request: KarpenterRequest | NodeGroupsRequest) -> Json:
    """Return a quick answer. Raise DeadlineExceeded if a job is needed, ApplicationError for an invalid request."""
    autoscaling_request.validate()
    cached = _answers.peek(autoscaling_request.cache_key)
    if cached is not None:
        return cached
    with _turn.take(autoscaling_request.snapshot.size) as step:
        answer = _compute_answer(autoscaling_request, step)
    _answers.put(autoscaling_request.cache_key, answer)
    return answer


def question_ask(*, user: User, autoscaling_request: KarpenterRequest | NodeGroupsRequest) -> Question:
    """Start a job that answers. Raise Conflict while many questions of ``user`` are being answered."""
    autoscaling_request.validate()
    question = Question(
        snapshot=autoscaling_request.snapshot,
        about=about_snapshot(autoscaling_request.snapshot),
        created_by=user,
        **autoscaling_request.row_fields,
    )
    return KIND.ask(question, f"Autoscaling of {question.about}", f"{question.about}, {question.policy}")


def _find_answer(question: Question, step: Step) -> Json:
    autoscaling_request = request_of_question(question)
    answer = _compute_answer(autoscaling_request, step)
    return {"sentence": autoscaling_request.render_sentence(answer), "content": pack_answer(answer)}


def clear_cache() -> None:
    """Clear the cache, for tests, in which primary keys repeat."""
    _answers.clear()


def _compute_answer(autoscaling_request: KarpenterRequest | NodeGroupsRequest, step: Step) -> Json:
    try:
        return autoscaling_request.work_out(step)
    except ObjectError as error:
        raise Unprocessable(str(error)) from None
