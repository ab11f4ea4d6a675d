"""Answer questions about autoscaling: quick ones at once, others by a job."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import transaction

from kschedweb.accounts import audit
from kschedweb.advice.autoscaling.models import Question
from kschedweb.advice.autoscaling.requests import KarpenterRequest, NodeGroupsRequest, request_of_question
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import ObjectError
from kschedweb.jobs.inquiries import (
    Step,
    Turn,
    answer_store,
    ask_job,
    pack_answer,
    refuse_more,
)
from kschedweb.playground.gate.invocation import about_snapshot
from kschedweb.web.errors import Unprocessable
from kschedweb.web.lru import LRU

if TYPE_CHECKING:
    from kschedweb.accounts.models import User

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


@transaction.atomic
def question_ask(*, user: User, autoscaling_request: KarpenterRequest | NodeGroupsRequest) -> Question:
    """Start a job that answers. Raise Conflict while many questions of ``user`` are being answered."""
    autoscaling_request.validate()
    question = Question(
        snapshot=autoscaling_request.snapshot,
        about=about_snapshot(autoscaling_request.snapshot),
        created_by=user,
        **autoscaling_request.row_fields,
    )
    title = f"Autoscaling of {question.about}"
    ask_job(
        question,
        kind="autoscaling.answer",
        title=title,
        refuse=lambda: refuse_more(Question, user, "questions about autoscaling"),
    )
    audit.record(user, "autoscaling.asked", question, f"{question.about}, {question.policy}")
    return question


def question_answer(*, question: Question, step: Step) -> Json:
    """Find and store the answer unless it is there already; ``step`` gets the progress."""
    if question.content is None:
        autoscaling_request = request_of_question(question)
        answer = _compute_answer(autoscaling_request, step)
        answer_store(question, content=pack_answer(answer), sentence=autoscaling_request.render_sentence(answer))
    return {"autoscaling": str(question.pk), "answer": question.sentence}


def clear_cache() -> None:
    """Clear the cache, for tests, in which primary keys repeat."""
    _answers.clear()


def _compute_answer(autoscaling_request: KarpenterRequest | NodeGroupsRequest, step: Step) -> Json:
    try:
        return autoscaling_request.work_out(step)
    except ObjectError as error:
        raise Unprocessable(str(error)) from None
