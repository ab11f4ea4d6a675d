"""Asks jobs what is too long for a request, and keeps their answers.

A job's process keeps what it has read as a web process does, so that its next question about a cluster is a quick one.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from django.db import transaction

from kschedweb.clusters.models import PodRow
from kschedweb.clusters.seen import pod_missing
from kschedweb.decisions import utilisation
from kschedweb.decisions.inquiring import selectors
from kschedweb.decisions.inquiring.answering import ANSWERING
from kschedweb.decisions.models import Kind, Question
from kschedweb.engine.patience import NotNow, Patience, limited
from kschedweb.jobs.inquiries import Step, answer_store, packed, refuse_more
from kschedweb.jobs.services import job_start
from kschedweb.web.errors import Unprocessable
from kschedweb.web.languages import in_english

if TYPE_CHECKING:
    from collections.abc import Callable

    from kschedweb.accounts.models import User
    from kschedweb.clusters.models import Snapshot
    from kschedweb.policies.models import Revision

Found = TypeVar("Found")
MOST_SECONDS = 600  # that a job may take for one answer, while other people wait for theirs


@dataclass(frozen=True)
class Ask:
    """A question before anybody was asked; ``asked`` is plain data, ``about`` and ``policy`` are words.

    ``address`` is the page that shows the answer, "" for the question's own. A ``private`` one is not open to all.
    """

    kind: Kind
    asked: dict[str, Any]
    about: str
    policy: str = ""
    snapshot: Snapshot | None = None
    revision: Revision | None = None
    address: str = ""
    private: bool = False

    @property
    def key(self) -> str:
        """Equal for questions that have the same answer."""
        ids = [self.kind, *(None if one is None else str(one.pk) for one in (self.snapshot, self.revision))]
        return hashlib.sha256(json.dumps([*ids, self.asked], sort_keys=True).encode()).hexdigest()


def of_cluster(kind: Kind, snapshot: Snapshot, revision: Revision | None, address: str = "", **asked: Any) -> Ask:
    """A question about a snapshot under ``revision``, and so about the figures of use that are in force there."""
    return Ask(
        kind,
        {**asked, "figures": str(utilisation.version(snapshot))},
        about=f"{snapshot.cluster.name}, {snapshot.taken_at:%Y-%m-%d %H:%M} UTC",
        policy=f"{revision.policy.name}, revision {revision.number}" if revision else "",
        snapshot=snapshot,
        revision=revision,
        address=address,
    )


def pod_known(snapshot: Snapshot, pod: str) -> None:
    """Raise NotFound where the snapshot has no ``pod`` ("namespace/name")."""
    namespace, _, name = pod.partition("/")
    if not PodRow.objects.filter(snapshot=snapshot, namespace=namespace, name=name).exists():
        raise pod_missing(snapshot, pod)


def sought(
    user: User,
    ask: Ask,
    work: Callable[[], Found],
    kept: Callable[[Question, dict[str, Any]], Found],
    *,
    at_hand: bool,
) -> Found | Question:
    """What ``work`` finds now, or ``kept`` makes of the answer that a job found; the question where there is neither.

    ``at_hand`` says whether a request may begin with ``work``, which a job does where that raises NotNow.
    """
    known = selectors.same(ask.key)
    if known is None and at_hand:
        try:
            return work()
        except NotNow:
            pass
    question = known or question_ask(user=user, ask=ask)
    content = selectors.answer_of(question)
    return question if content is None else kept(question, content)


@transaction.atomic
def question_ask(*, user: User, ask: Ask) -> Question:
    """The question: the one that somebody asked before, or a new one with its job.

    Raises Conflict where ``user`` waits for many answers already.
    """
    known = selectors.same(ask.key)
    if known is not None:
        return known
    refuse_more(Question, user, "questions about decisions")
    made = Question(
        kind=ask.kind,
        asked=ask.asked,
        key=ask.key,
        snapshot=ask.snapshot,
        about=ask.about,
        revision=ask.revision,
        policy=ask.policy,
        address=ask.address,
        created_by=user,
    )
    title = f"{in_english(ask.kind.label)}: {made.subject or ask.policy}, {ask.about}"[:200]
    params = {"question": str(made.pk)}
    made.job = job_start("decisions.answer", title=title, params=params, user=user, private=ask.private)
    made.save(force_insert=True)
    return made


def question_answer(*, question: Question, step: Step) -> dict[str, Any]:
    """Find and store the answer, unless there is one already; ``step`` gets the progress."""
    if question.content is None:
        try:
            with limited(Patience(MOST_SECONDS)):
                sentence, content, columns = ANSWERING[question.kind].answer(question, step)
        except NotNow:
            raise Unprocessable(f"The answer takes longer than {MOST_SECONDS // 60} min: ask about less.") from None
        answer_store(question, sentence=sentence, content=packed(content), columns=columns)
    return {"decision": str(question.pk), "answer": question.sentence}
