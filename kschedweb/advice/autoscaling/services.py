"""Answers what Karpenter would do: quick questions at once, others by a job."""

from __future__ import annotations

from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Any

from django.db import transaction
from django.utils import timezone

from kschedweb.accounts import audit
from kschedweb.accounts.models import User
from kschedweb.advice.autoscaling import words
from kschedweb.advice.autoscaling.models import Question
from kschedweb.clusters.selectors import snapshot_objects
from kschedweb.engine.autoscaling import advising
from kschedweb.engine.objects.access import ObjectError
from kschedweb.jobs.inquiries import (
    AT_ONCE_SECONDS,
    AT_ONCE_SIZE,
    NotNow,
    Step,
    at_once,
    connection_released,
    packed,
    refuse_more,
)
from kschedweb.jobs.services import job_start
from kschedweb.playground.gate.words import about_snapshot
from kschedweb.policies.karpenter import selectors as karpenters
from kschedweb.web.errors import ApplicationError, Unprocessable
from kschedweb.web.lru import LRU

if TYPE_CHECKING:
    from kschedweb.clusters.models import Snapshot
    from kschedweb.policies.models import Revision

Json = dict[str, Any]
_turn = Lock()
_answers: LRU[Json] = LRU(32)


@dataclass(frozen=True)
class Asked:
    """NodePools (``None``: the ready ones) on a snapshot; nodes without a NodePool count as of ``pool``."""

    snapshot: Snapshot
    revision: Revision | None
    pool: str = ""

    @property
    def key(self) -> tuple[object, ...]:
        return self.snapshot.pk, self.revision.pk if self.revision else 0, self.pool

    def checked(self) -> Asked:
        """Itself; raises ApplicationError for a NodePool that is not there."""
        names = [pool.name for pool in karpenters.karpenter_of(self.revision).pools]
        if self.pool and self.pool not in names:
            raise ApplicationError.at("pool", f"There is no NodePool {self.pool}: there are {', '.join(names[:10])}.")
        return self


def answer_at_once(*, asked: Asked) -> Json:
    """The answer, if it can be found quickly; raises NotNow if a job is needed, ApplicationError for a bad question."""
    asked.checked()
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
def question_ask(*, user: User, asked: Asked) -> Question:
    """Start a job that answers; raises Conflict while many questions of ``user`` are being answered."""
    asked.checked()
    User.objects.select_for_update().get(pk=user.pk)
    refuse_more(Question, user, "questions about autoscaling")
    made = Question.objects.create(
        snapshot=asked.snapshot,
        about=about_snapshot(asked.snapshot),
        revision=asked.revision,
        policy=words.label(asked.revision),
        ready=asked.revision is None,
        pool=asked.pool,
        created_by=user,
    )
    params = {"question": str(made.pk)}
    made.job = job_start("autoscaling.answer", title=f"Autoscaling of {made.about}", params=params, user=user)
    made.save(update_fields=["job"])
    audit.record(user, "autoscaling.asked", made, f"{made.about}, {made.policy}")
    return made


def question_answer(*, question: Question, step: Step) -> Json:
    """Find and store the answer, unless there is one already; ``step`` gets the progress."""
    if question.content is None:
        if question.snapshot is None or (question.revision is None and not question.ready):
            raise Unprocessable("The snapshot or the policy was deleted before there was an answer.")
        found = _worked_out(Asked(question.snapshot, question.revision, question.pool), step)
        values = {"content": packed(found), "sentence": words.sentence(found), "ended_at": timezone.now()}
        Question.objects.filter(pk=question.pk, ended_at=None).update(**values)
        question.refresh_from_db(fields=["sentence"])
    return {"autoscaling": str(question.pk), "answer": question.sentence}


def forget() -> None:
    """Clear the cache; for tests, which use primary keys again."""
    _answers.clear()


def _worked_out(asked: Asked, step: Step) -> Json:
    karpenter, objects = karpenters.karpenter_of(asked.revision), snapshot_objects(asked.snapshot)
    connection_released()
    now = asked.snapshot.taken_at.timestamp()
    try:
        return advising.advise(advising.Asked(karpenter, objects, now, asked.pool), step)
    except ObjectError as error:
        raise Unprocessable(str(error)) from None
