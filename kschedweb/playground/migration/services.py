"""Answer which pods would move: at once for small clusters, else by a job."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kschedweb.clusters.selectors import snapshot_objects
from kschedweb.decisions import figures_in_force
from kschedweb.engine import Snapshot as EngineSnapshot
from kschedweb.engine.json_types import Json
from kschedweb.engine.patience import DeadlineExceeded
from kschedweb.engine.releases.classic import ClassicSnapshot, in_zones_of_then
from kschedweb.engine.releases.classic.comparison import MoveTally, compare_pods, select_pods
from kschedweb.jobs.inquiries import InquiryKind, Step, Turn, connection_released, pack_answer
from kschedweb.playground.gate.invocation import about_snapshot
from kschedweb.playground.migration import selectors, sentences
from kschedweb.playground.migration.models import Question
from kschedweb.policies.selectors import classic_only, load_algorithm, profiles_only
from kschedweb.web.errors import Unprocessable

if TYPE_CHECKING:
    from kschedweb.accounts.models import User
    from kschedweb.clusters.models import Snapshot
    from kschedweb.policies.models import Revision

# Pods times nodes, up to which an answer is given at once.
AT_ONCE = 2_000_000
KIND = InquiryKind(
    Question,
    "moves.answer",
    lambda question, step: _worked_out(question, step),
    nouns="questions",
    verb="moves.asked",
    related=("classic__policy", "profile__policy", "snapshot__cluster"),
    tell=lambda question: {"answer": sentences.answer_sentence(question.counts or {})},
)
# Held while a request of this process computes an answer.
_turn = Turn()


@dataclass(frozen=True)
class MigrationQuery:
    """A question about a migration."""

    classic: Revision
    # None for the conversion of the classic policy.
    profile: Revision | None
    snapshot: Snapshot
    # True to compare bound pods too, each as if it were pending.
    bound: bool = False
    # Only pods of these; empty means all.
    namespaces: tuple[str, ...] = ()
    # True to place each pending pod before the next.
    sequence: bool = False


def question_ask(*, user: User | None, query: MigrationQuery) -> Question:
    """Ask a question; the returned row has its answer, or a job that finds it.

    Raises Unprocessable with problems under their fields.
    """
    _check_query(query)
    question = _new_question(user, query)
    title = sentences.question_title(question)
    try:
        fields = _at_once(question)
    except DeadlineExceeded:
        return KIND.ask(question, f"Moves: {title}", title)
    return KIND.save_answered(question, title, fields)


def _check_query(query: MigrationQuery) -> None:
    """Raise Unprocessable with the field if the question cannot be answered."""
    classic_only(query.classic, "classic")
    if query.profile is not None:
        profiles_only(query.profile, "profile")
    if query.bound and query.sequence:
        message = "Only pods that wait can be placed one after the other: ask about those, or about each by itself."
        raise Unprocessable.at("sequence", message)
    namespaces = set(selectors.list_namespaces(query.snapshot)) if query.namespaces else set()
    if unknown := [name for name in query.namespaces if name not in namespaces]:
        raise Unprocessable.at("namespaces", f"The snapshot has no pods in namespace {', '.join(unknown[:5])}.")
    # Raises for a conversion that cannot run, before a job is started for it.
    selectors.target_configuration(query.classic, query.profile)


def _at_once(question: Question) -> Json:
    snapshot = question.snapshot
    assert snapshot is not None
    pods = selectors.pod_count(snapshot, bound=question.bound, namespaces=question.namespaces)
    work = pods * int(snapshot.counts.get("Node", 0))
    if work > AT_ONCE:
        raise DeadlineExceeded
    with _turn.take(snapshot.size) as step:
        return _worked_out(question, step)


def _worked_out(question: Question, step: Step) -> Json:
    """Return the fields of a question that an answer fills."""
    if question.classic is None or (question.profile is None and not question.converted):
        raise Unprocessable("A policy was deleted before there was an answer.")
    if question.snapshot is None:
        raise Unprocessable("The snapshot was deleted before there was an answer.")
    step("Reading the cluster", 0, 0)
    objects = snapshot_objects(question.snapshot)
    rules = load_algorithm(question.classic)
    configuration, conversion_summary = selectors.target_configuration(question.classic, question.profile)
    counting = configuration.release.counting
    today = figures_in_force.apply_figures(EngineSnapshot.from_objects(objects, counting=counting), question.snapshot)
    # Classic releases know zones by the beta labels, which newer clusters no longer set.
    classic = ClassicSnapshot.from_objects(map(in_zones_of_then, objects))
    pods = select_pods(today, bound=question.bound, namespaces=question.namespaces)
    # The computation takes up to minutes, and the connection would be held idle.
    connection_released()
    tally, differing = MoveTally(), []
    for number, move in enumerate(
        compare_pods(classic, today, rules, configuration, pods, sequence=question.sequence), 1
    ):
        tally.add_move(move)
        if move.differs:
            differing.append(move.to_dict())
        step("Comparing decisions", number, len(pods))
    notes = sentences.answer_notes(rules, configuration, conversion_summary)
    return {"counts": tally.to_dict(), "content": pack_answer(differing), "notes": notes}


def _new_question(user: User | None, query: MigrationQuery) -> Question:
    """Return an unsaved row for ``query``."""
    return Question(
        classic=query.classic,
        classic_label=sentences.revision_label(query.classic),
        converted=query.profile is None,
        profile=query.profile,
        profile_label=sentences.CONVERSION if query.profile is None else sentences.revision_label(query.profile),
        snapshot=query.snapshot,
        about=about_snapshot(query.snapshot),
        bound=query.bound,
        namespaces=sorted(set(query.namespaces)),
        sequence=query.sequence,
        created_by=user,
    )
