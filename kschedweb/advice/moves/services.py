"""Answers dry runs: quick ones at once, others by a job. A person can ask one at a time."""

from __future__ import annotations

from dataclasses import asdict
from threading import Lock
from typing import TYPE_CHECKING, Any

from django.db import transaction

from kschedweb.accounts import audit
from kschedweb.advice.moves import answers
from kschedweb.advice.moves.models import Question
from kschedweb.advice.moves.questions import Asked
from kschedweb.clusters.prices.selectors import sheet_get, table_of
from kschedweb.clusters.selectors import snapshot_objects
from kschedweb.decisions import utilisation
from kschedweb.engine.objects.labels import SelectorError
from kschedweb.engine.patience import NotNow
from kschedweb.engine.rebalancing.loading import PolicyRefused
from kschedweb.engine.rebalancing.scenario import Described
from kschedweb.engine.studies.moves.fight import repeat
from kschedweb.engine.studies.moves.landing import Ground, bound
from kschedweb.jobs.inquiries import (
    AT_ONCE_SECONDS,
    AT_ONCE_SIZE,
    Step,
    answer_store,
    ask_job,
    at_once,
    connection_released,
    packed,
    refuse_second,
)
from kschedweb.playground.gate.words import about_snapshot
from kschedweb.policies.selectors import configuration
from kschedweb.web.errors import Unprocessable
from kschedweb.web.lru import LRU

if TYPE_CHECKING:
    from kschedweb.accounts.models import User
    from kschedweb.clusters.models import Snapshot
    from kschedweb.policies.models import Revision

Json = dict[str, Any]
_turn = Lock()
_answers: LRU[Json] = LRU(16)


def answer_at_once(*, user: User, snapshot: Snapshot, revision: Revision, asked: Asked) -> Json:
    """The answer, if it can be found quickly; raises NotNow if a job is needed.

    Raises Conflict while another question of ``user`` is being answered, and ApplicationError for an invalid one.
    """
    prices = sheet_get(snapshot.cluster).version
    key = (revision.pk, asked, snapshot.pk, utilisation.version(snapshot), prices)
    known = _answers.peek(key)
    if known is not None:
        return known
    refuse_second(Question, user, "moves")
    if snapshot.size > AT_ONCE_SIZE:
        raise NotNow
    rules = configuration(revision, snapshot.cluster.server_version)
    with at_once(_turn, AT_ONCE_SECONDS) as step:
        found = _worked_out(snapshot, rules, asked, step)
    _answers.put(key, found)
    return found


@transaction.atomic
def question_ask(*, user: User, snapshot: Snapshot, revision: Revision, asked: Asked) -> Question:
    """Start a job that answers; raises Conflict while another question of ``user`` is being answered."""
    made = Question(
        asked=asdict(asked),
        snapshot=snapshot,
        about=about_snapshot(snapshot),
        revision=revision,
        policy=f"{revision.policy.name}, revision {revision.number}",
        created_by=user,
    )
    title = f"Moves: {made.about}"
    ask_job(made, kind="descheduling.answer", title=title, refuse=lambda: refuse_second(Question, user, "moves"))
    audit.record(user, "descheduling.asked", made, made.about)
    return made


def question_answer(*, question: Question, step: Step) -> Json:
    """Find and store the answer, unless there is one already; ``step`` gets the progress."""
    if question.content is None:
        snapshot, revision = question.snapshot, question.revision
        if snapshot is None or revision is None:
            raise Unprocessable("The snapshot or the policy was deleted before there was an answer.")
        step("Reading the cluster", 0, 0)
        rules = configuration(revision, snapshot.cluster.server_version)
        found = _worked_out(snapshot, rules, Asked(**question.asked), step)
        told = {"sentence": found["answer"], "engine": rules.release.engine}
        answer_store(question, content=packed(found), **told)
    return {"moves": str(question.pk), "answer": question.sentence}


def forget() -> None:
    """Clear the cache; for tests, which use primary keys again."""
    _answers.clear()


def _worked_out(snapshot: Snapshot, rules: Any, asked: Asked, step: Step) -> Json:
    objects = snapshot_objects(snapshot)
    engine = utilisation.applied(rules.release.seen(objects), snapshot)
    table = table_of(snapshot.cluster)
    connection_released()
    described, _ = Described.of(objects, bound(engine))
    ground = Ground(described, engine, rules, table, step)
    try:
        found = repeat(ground, asked.document, engine.now, most=asked.rounds, every=asked.every, check=step)
    except (PolicyRefused, SelectorError) as refused:
        raise Unprocessable(f"The descheduler would not start with {asked.label}: {refused}") from None
    return answers.plain(found, table.currency if table is not None else "")
