"""Answer dry runs: quick ones at once, others by a job. A person can ask only one at a time."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from kschedweb.advice.moves import answers
from kschedweb.advice.moves.models import Question
from kschedweb.advice.moves.requests import DryRunRequest
from kschedweb.clusters.prices.selectors import sheet_get, table_of
from kschedweb.clusters.selectors import snapshot_objects
from kschedweb.decisions import figures_in_force
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.labels import SelectorError
from kschedweb.engine.rebalancing.loading import PolicyRefused
from kschedweb.engine.rebalancing.scenario import DescribedCluster
from kschedweb.engine.studies.moves.dry_run import DescheduledCluster, bound_pods
from kschedweb.engine.studies.moves.repeated_cycles import repeat_cycles
from kschedweb.jobs.inquiries import InquiryKind, Step, Turn, connection_released, pack_answer, refuse_large
from kschedweb.playground.gate.invocation import about_snapshot
from kschedweb.policies.selectors import load_configuration
from kschedweb.web.errors import Unprocessable
from kschedweb.web.lru import LRU

if TYPE_CHECKING:
    from kschedweb.accounts.models import User
    from kschedweb.clusters.models import Snapshot
    from kschedweb.policies.models import Revision

KIND = InquiryKind(
    Question,
    "descheduling.answer",
    lambda question, step: _find_answer(question, step),
    nouns="moves",
    single=True,
    verb="descheduling.asked",
    result="moves",
)
# Only one request of a process computes at a time; the others go to a job.
_turn = Turn()
_answers: LRU[Json] = LRU(16)


def answer_at_once(*, user: User, snapshot: Snapshot, revision: Revision, dry_run_request: DryRunRequest) -> Json:
    """Return a quick answer. Raise DeadlineExceeded if a job is needed.

    Raises Conflict while another question of ``user`` is being answered, and ApplicationError for an invalid one.
    """
    prices = sheet_get(snapshot.cluster).version
    key = (revision.pk, dry_run_request, snapshot.pk, figures_in_force.figures_version(snapshot), prices)
    cached = _answers.peek(key)
    if cached is not None:
        return cached
    KIND.refuse(user)
    refuse_large(snapshot.size)
    rules = load_configuration(revision, snapshot.cluster.server_version)
    with _turn.take() as step:
        answer = _compute_dry_run(snapshot, rules, dry_run_request, step)
    _answers.put(key, answer)
    return answer


def question_ask(*, user: User, snapshot: Snapshot, revision: Revision, dry_run_request: DryRunRequest) -> Question:
    """Start a job that answers. Raise Conflict while another question of ``user`` is being answered."""
    question = Question(
        asked=asdict(dry_run_request),
        snapshot=snapshot,
        about=about_snapshot(snapshot),
        revision=revision,
        policy=f"{revision.policy.name}, revision {revision.number}",
        created_by=user,
    )
    return KIND.ask(question, f"Moves: {question.about}", question.about)


def _find_answer(question: Question, step: Step) -> Json:
    snapshot, revision = question.snapshot, question.revision
    if snapshot is None or revision is None:
        raise Unprocessable("The snapshot or the policy was deleted before there was an answer.")
    step("Reading the cluster", 0, 0)
    rules = load_configuration(revision, snapshot.cluster.server_version)
    answer = _compute_dry_run(snapshot, rules, DryRunRequest(**question.asked), step)
    return {"sentence": answer["answer"], "engine": rules.release.engine, "content": pack_answer(answer)}


def clear_cache() -> None:
    """Clear the cache, for tests, in which primary keys repeat."""
    _answers.clear()


def _compute_dry_run(snapshot: Snapshot, rules: Any, dry_run_request: DryRunRequest, step: Step) -> Json:
    objects = snapshot_objects(snapshot)
    engine = figures_in_force.apply_figures(rules.release.build_snapshot(objects), snapshot)
    table = table_of(snapshot.cluster)
    # The computation takes long and needs no database: the connection is free for others.
    connection_released()
    described, _ = DescribedCluster.from_objects(objects, bound_pods(engine))
    landing_cluster = DescheduledCluster(described, engine, rules, table, step)
    try:
        rounds = repeat_cycles(
            landing_cluster,
            dry_run_request.document,
            engine.now,
            max_rounds=dry_run_request.rounds,
            interval=dry_run_request.every,
            check=step,
        )
    except (PolicyRefused, SelectorError) as refused:
        raise Unprocessable(f"The descheduler would not start with {dry_run_request.label}: {refused}") from None
    return answers.to_json(rounds, table.currency if table is not None else "")
