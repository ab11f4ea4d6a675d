"""Ask jobs what takes too long for a request, and store their answers.

A job's process caches what it has read, as a web process does, so its next question about a cluster is quick.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from django.db import transaction

from kschedweb.clusters.models import PodRow
from kschedweb.clusters.redaction import pod_missing
from kschedweb.decisions import figures_in_force
from kschedweb.decisions.inquiring import selectors
from kschedweb.decisions.inquiring.handlers import QUESTION_HANDLERS
from kschedweb.decisions.models import Question, QuestionKind
from kschedweb.engine.json_types import Json
from kschedweb.engine.patience import DeadlineExceeded, Patience, limit_by
from kschedweb.jobs.inquiries import InquiryKind, Step, pack_answer
from kschedweb.web.errors import Unprocessable
from kschedweb.web.languages import in_english

if TYPE_CHECKING:
    from collections.abc import Callable

    from kschedweb.accounts.models import User
    from kschedweb.clusters.models import Snapshot
    from kschedweb.policies.models import Revision

ResultT = TypeVar("ResultT")
# Seconds that a job may take for one answer, while other people wait for theirs.
MOST_SECONDS = 600
KIND = InquiryKind(
    Question,
    "decisions.answer",
    lambda question, step: _find_answer(question, step),
    nouns="questions about decisions",
    result="decision",
)


@dataclass(frozen=True)
class QuestionRequest:
    """A question that is not stored yet."""

    kind: QuestionKind
    # Plain data; part of the key.
    parameters: Json
    # Words about the snapshot and the policy, for the title of the job.
    snapshot_label: str
    policy: str = ""
    snapshot: Snapshot | None = None
    revision: Revision | None = None
    # The page that shows the answer, "" for the question's own page.
    address: str = ""
    # True if other people may not see its job.
    private: bool = False

    @property
    def key(self) -> str:
        """Return a key that is equal for questions with the same answer."""
        ids = [self.kind, *(None if row is None else str(row.pk) for row in (self.snapshot, self.revision))]
        return hashlib.sha256(json.dumps([*ids, self.parameters], sort_keys=True).encode()).hexdigest()


def of_cluster(
    kind: QuestionKind, snapshot: Snapshot, revision: Revision | None, address: str = "", **parameters: Any
) -> QuestionRequest:
    """Return a question about a snapshot under ``revision``, and so under the figures in force there."""
    return QuestionRequest(
        kind,
        {**parameters, "figures": str(figures_in_force.figures_version(snapshot))},
        snapshot_label=f"{snapshot.cluster.name}, {snapshot.taken_at:%Y-%m-%d %H:%M} UTC",
        policy=f"{revision.policy.name}, revision {revision.number}" if revision else "",
        snapshot=snapshot,
        revision=revision,
        address=address,
    )


def pod_known(snapshot: Snapshot, pod: str) -> None:
    """Raise NotFound if the snapshot has no ``pod`` ("namespace/name")."""
    namespace, _, name = pod.partition("/")
    if not PodRow.objects.filter(snapshot=snapshot, namespace=namespace, name=name).exists():
        raise pod_missing(snapshot, pod)


def find_answer(
    user: User,
    ask: QuestionRequest,
    work: Callable[[], ResultT],
    load_answer: Callable[[Question, Json], ResultT],
    *,
    at_hand: bool,
) -> ResultT | Question:
    """Return the result of ``work`` now, or ``load_answer`` of the answer that a job has found.

    If there is neither, it returns the question. ``at_hand`` says whether a request may try ``work``; a job takes over
    if that raises DeadlineExceeded.
    """
    existing = selectors.find_same_question(ask.key)
    if existing is None and at_hand:
        try:
            return work()
        except DeadlineExceeded:
            pass
    question = existing or question_ask(user=user, ask=ask)
    content = selectors.answer_of(question)
    return question if content is None else load_answer(question, content)


@transaction.atomic
def question_ask(*, user: User, ask: QuestionRequest) -> Question:
    """Return the question: an earlier one with the same answer, or a new one with its job.

    Raises Conflict if ``user`` waits for many answers already.
    """
    existing = selectors.find_same_question(ask.key)
    if existing is not None:
        return existing
    question = Question(
        kind=ask.kind,
        asked=ask.parameters,
        key=ask.key,
        snapshot=ask.snapshot,
        about=ask.snapshot_label,
        revision=ask.revision,
        policy=ask.policy,
        address=ask.address,
        created_by=user,
    )
    title = f"{in_english(ask.kind.label)}: {question.subject or ask.policy}, {ask.snapshot_label}"[:200]
    return KIND.ask(question, title, question.about, private=ask.private)


def _find_answer(question: Question, step: Step) -> Json:
    try:
        with limit_by(Patience(MOST_SECONDS)):
            sentence, content, columns = QUESTION_HANDLERS[question.kind].answer(question, step)
    except DeadlineExceeded:
        raise Unprocessable(f"The answer takes longer than {MOST_SECONDS // 60} min: ask about less.") from None
    return {"sentence": sentence, "content": pack_answer(content), "columns": columns}
