"""Answers questions about plans: quick ones at once, others by a job. A person can ask one at a time."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, Any

from django.db import transaction

from kschedweb.accounts import audit
from kschedweb.advice.moves.words import DAY
from kschedweb.advice.plans import objectives, words
from kschedweb.advice.plans.answers import work_out
from kschedweb.advice.plans.models import Question
from kschedweb.clusters.prices.selectors import table_of
from kschedweb.clusters.selectors import snapshot_objects
from kschedweb.decisions import utilisation
from kschedweb.engine.patience import NotNow
from kschedweb.jobs.inquiries import (
    AT_ONCE_SECONDS,
    AT_ONCE_SIZE,
    Step,
    answer_store,
    answered,
    ask_job,
    at_once,
    connection_released,
    packed,
    refuse_second,
)
from kschedweb.playground.gate.words import about_snapshot
from kschedweb.policies.selectors import configuration
from kschedweb.web.errors import Unprocessable

if TYPE_CHECKING:
    from kschedweb.accounts.models import User
    from kschedweb.clusters.models import Snapshot
    from kschedweb.policies.models import Revision

Json = dict[str, Any]
SECONDS = 45.0  # that a job looks for moves; then the best plan so far is told
KIND = "plans.answer"
_turn = Lock()


def question_ask(*, user: User, snapshot: Snapshot, revision: Revision, asked: Json) -> Question:
    """The question with its plan, if that is found quickly; else a job works it out.

    Raises Conflict while another question of ``user`` is worked on, and ApplicationError at each field that is wrong.
    """
    objectives.read(asked, table_of(snapshot.cluster))
    refuse_second(Question, user, "plans")
    try:
        found = _at_once(snapshot, revision, asked)
    except NotNow:
        return _by_job(user, snapshot, revision, asked)
    made = answered(question_new(user, snapshot, revision, asked), **_told(*found, offers=False))
    audit.record(user, "plan.asked", made, made.about)
    return made


def _at_once(snapshot: Snapshot, revision: Revision, asked: Json) -> tuple[Json, str]:
    if snapshot.size > AT_ONCE_SIZE:
        raise NotNow
    with at_once(_turn, AT_ONCE_SECONDS) as step:
        return _worked_out(snapshot, revision, asked, step, SECONDS)


@transaction.atomic
def _by_job(user: User, snapshot: Snapshot, revision: Revision, asked: Json) -> Question:
    made = question_new(user, snapshot, revision, asked)
    title = f"Plan of moves: {made.about}"
    ask_job(made, kind=KIND, title=title, refuse=lambda: refuse_second(Question, user, "plans"))
    audit.record(user, "plan.asked", made, made.about)
    return made


def question_new(user: User | None, snapshot: Snapshot, revision: Revision, asked: Json) -> Question:
    """A question that is not saved yet."""
    return Question(
        asked=asked,
        snapshot=snapshot,
        about=about_snapshot(snapshot),
        revision=revision,
        policy=f"{revision.policy.name}, revision {revision.number}",
        created_by=user,
    )


def question_answer(*, question: Question, step: Step, seconds: float = SECONDS) -> Json:
    """Find and store the plan, unless there is one already; ``step`` gets the progress."""
    if question.content is None:
        snapshot, revision = question.snapshot, question.revision
        if snapshot is None or revision is None:
            raise Unprocessable("The snapshot or the policy was deleted before there was a plan.")
        step("Reading the cluster", 0, 0)
        found, engine = _worked_out(snapshot, revision, question.asked, step, seconds)
        answer_store(question, **_told(found, engine, offers=question.offers))
    return {"plan": str(question.pk), "answer": question.sentence}


def _told(found: Json, engine: str, *, offers: bool) -> Json:
    """The fields of a question that an answer fills."""
    offer = offer_in(found) if offers else None
    return {"sentence": found["answer"], "engine": engine, "content": packed(found), "offer": offer}


def offer_in(found: Json) -> Json | None:
    """What the overview says: how many nodes could go, and what that saves a day, as the plan's page has it."""
    if not found["freed"]:
        return None
    priced = found["objective"] == "money"
    saved = words.saved(found, priced=priced)
    saves = (DAY if priced else 1.0) * (saved.before - saved.after)
    return {"nodes": found["freed"], "saves": saves, "unit": found["currency"] if priced else ""}


def _worked_out(snapshot: Snapshot, revision: Revision, asked: Json, step: Step, seconds: float) -> tuple[Json, str]:
    rules, table = configuration(revision, snapshot.cluster.server_version), table_of(snapshot.cluster)
    engine = utilisation.applied(rules.release.seen(snapshot_objects(snapshot)), snapshot)
    connection_released()
    return work_out(engine, rules, asked, table, step, seconds), rules.release.engine
