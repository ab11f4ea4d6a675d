"""Answer questions about plans: quick ones at once, others by a job. A person can ask only one at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kschedweb.advice.moves.words import DAY
from kschedweb.advice.plans import objectives, words
from kschedweb.advice.plans.answers import work_out
from kschedweb.advice.plans.models import Question
from kschedweb.clusters.prices.selectors import table_of
from kschedweb.clusters.selectors import snapshot_objects
from kschedweb.decisions import figures_in_force
from kschedweb.engine.json_types import Json
from kschedweb.engine.patience import DeadlineExceeded
from kschedweb.jobs.inquiries import InquiryKind, Step, Turn, connection_released, pack_answer
from kschedweb.playground.gate.invocation import about_snapshot
from kschedweb.policies.selectors import load_configuration
from kschedweb.web.errors import Unprocessable

if TYPE_CHECKING:
    from kschedweb.accounts.models import User
    from kschedweb.clusters.models import Snapshot
    from kschedweb.policies.models import Revision

# Seconds for which a job looks for moves; then the best plan so far is the answer.
SECONDS = 45.0
# Those for an offer of the overview.
OFFER_SECONDS = 20.0
KIND = InquiryKind(
    Question,
    "plans.answer",
    lambda question, step: _find_answer(question, step),
    nouns="plans",
    single=True,
    verb="plan.asked",
    result="plan",
)
# Only one request of a process computes at a time; the others go to a job.
_turn = Turn()


def question_ask(*, user: User, snapshot: Snapshot, revision: Revision, objective: Json) -> Question:
    """Return the question with its plan if that is found quickly; else a job computes it.

    Raises Conflict while another question of ``user`` is being answered, and ApplicationError at each invalid field.
    """
    objectives.read_objective(objective, table_of(snapshot.cluster))
    KIND.refuse(user)
    question = question_new(user, snapshot, revision, objective)
    try:
        with _turn.take(snapshot.size) as step:
            answer, engine = _compute_plan(snapshot, revision, objective, step, SECONDS)
    except DeadlineExceeded:
        return KIND.ask(question, f"Plan of moves: {question.about}", question.about)
    return KIND.save_answered(question, question.about, _answer_fields(answer, engine, offers=False))


def question_new(user: User | None, snapshot: Snapshot, revision: Revision, objective: Json) -> Question:
    """Return a question that is not saved yet."""
    return Question(
        asked=objective,
        snapshot=snapshot,
        about=about_snapshot(snapshot),
        revision=revision,
        policy=f"{revision.policy.name}, revision {revision.number}",
        created_by=user,
    )


def _find_answer(question: Question, step: Step) -> Json:
    snapshot, revision = question.snapshot, question.revision
    if snapshot is None or revision is None:
        raise Unprocessable("The snapshot or the policy was deleted before there was a plan.")
    step("Reading the cluster", 0, 0)
    seconds = OFFER_SECONDS if question.offers else SECONDS
    answer, engine = _compute_plan(snapshot, revision, question.asked, step, seconds)
    return _answer_fields(answer, engine, offers=question.offers)


def _answer_fields(answer: Json, engine: str, *, offers: bool) -> Json:
    """Return the fields of a question that an answer fills."""
    offer = offer_in(answer) if offers else None
    return {"sentence": answer["answer"], "engine": engine, "content": pack_answer(answer), "offer": offer}


def offer_in(answer: Json) -> Json | None:
    """Return the offer for the overview: how many nodes could go, and the daily saving, as on the plan's page."""
    if not answer["freed"]:
        return None
    priced = answer["objective"] == "money"
    saved = words.compute_savings(answer, priced=priced)
    saves = (DAY if priced else 1.0) * (saved.before - saved.after)
    return {"nodes": answer["freed"], "saves": saves, "unit": answer["currency"] if priced else ""}


def _compute_plan(
    snapshot: Snapshot, revision: Revision, objective: Json, step: Step, seconds: float
) -> tuple[Json, str]:
    rules, table = load_configuration(revision, snapshot.cluster.server_version), table_of(snapshot.cluster)
    engine = figures_in_force.apply_figures(rules.release.build_snapshot(snapshot_objects(snapshot)), snapshot)
    connection_released()
    return work_out(engine, rules, objective, table, step, seconds), rules.release.engine
