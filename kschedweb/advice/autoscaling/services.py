"""Answers questions about autoscaling: quick ones at once, others by a job."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, Any

from django.db import transaction

from kschedweb.accounts import audit
from kschedweb.advice.autoscaling.models import Question
from kschedweb.advice.autoscaling.questions import Asked, GroupsAsked, asked_of
from kschedweb.engine.objects.access import ObjectError
from kschedweb.engine.patience import NotNow
from kschedweb.jobs.inquiries import (
    AT_ONCE_SECONDS,
    AT_ONCE_SIZE,
    Step,
    answer_store,
    ask_job,
    at_once,
    packed,
    refuse_more,
)
from kschedweb.playground.gate.words import about_snapshot
from kschedweb.web.errors import Unprocessable
from kschedweb.web.lru import LRU

if TYPE_CHECKING:
    from kschedweb.accounts.models import User

Json = dict[str, Any]
_turn = Lock()
_answers: LRU[Json] = LRU(32)


def answer_at_once(*, asked: Asked | GroupsAsked) -> Json:
    """The answer, if it can be found quickly; raises NotNow if a job is needed, ApplicationError for a bad question."""
    asked.check()
    known = _answers.peek(asked.key)
    if known is not None:
        return known
    if asked.snapshot.size > AT_ONCE_SIZE:
        raise NotNow
    with at_once(_turn, AT_ONCE_SECONDS) as step:
        found = _worked_out(asked, step)
    _answers.put(asked.key, found)
    return found


@transaction.atomic
def question_ask(*, user: User, asked: Asked | GroupsAsked) -> Question:
    """Start a job that answers; raises Conflict while many questions of ``user`` are being answered."""
    asked.check()
    made = Question(snapshot=asked.snapshot, about=about_snapshot(asked.snapshot), created_by=user, **asked.fields)
    title = f"Autoscaling of {made.about}"
    ask_job(
        made,
        kind="autoscaling.answer",
        title=title,
        refuse=lambda: refuse_more(Question, user, "questions about autoscaling"),
    )
    audit.record(user, "autoscaling.asked", made, f"{made.about}, {made.policy}")
    return made


def question_answer(*, question: Question, step: Step) -> Json:
    """Find and store the answer, unless there is one already; ``step`` gets the progress."""
    if question.content is None:
        asked = asked_of(question)
        found = _worked_out(asked, step)
        answer_store(question, content=packed(found), sentence=asked.sentence(found))
    return {"autoscaling": str(question.pk), "answer": question.sentence}


def forget() -> None:
    """Clear the cache; for tests, which use primary keys again."""
    _answers.clear()


def _worked_out(asked: Asked | GroupsAsked, step: Step) -> Json:
    try:
        return asked.work_out(step)
    except ObjectError as error:
        raise Unprocessable(str(error)) from None
