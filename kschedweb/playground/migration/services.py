"""Answers which pods would move: at once for small clusters, else by a job."""

from __future__ import annotations

from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Any

from django.db import transaction

from kschedweb.accounts import audit
from kschedweb.clusters.selectors import snapshot_objects
from kschedweb.decisions import utilisation
from kschedweb.engine import Snapshot as EngineSnapshot
from kschedweb.engine.patience import NotNow
from kschedweb.engine.releases.classic import ClassicSnapshot, in_zones_of_then
from kschedweb.engine.releases.classic.comparing import Tally, asked, moves
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
    refuse_more,
)
from kschedweb.playground.gate.words import about_snapshot
from kschedweb.playground.migration import selectors, words
from kschedweb.playground.migration.models import Question
from kschedweb.policies.selectors import algorithm, classic_only, profiles_only
from kschedweb.web.errors import Unprocessable

if TYPE_CHECKING:
    from kschedweb.accounts.models import User
    from kschedweb.clusters.models import Snapshot
    from kschedweb.policies.models import Revision

AT_ONCE = 2_000_000  # pods times nodes of an answer at once

_turn = Lock()


@dataclass(frozen=True)
class MigrationQuestion:
    """A question; ``profile`` is ``None`` for the conversion of the classic policy.

    ``bound``: compare bound pods too, each as if it were pending. ``namespaces``: pods of these only; empty means all.
    ``sequence``: each pending pod is placed before the next.
    """

    classic: Revision
    profile: Revision | None
    snapshot: Snapshot
    bound: bool = False
    namespaces: tuple[str, ...] = ()
    sequence: bool = False


def question_ask(*, user: User | None, asked: MigrationQuestion) -> Question:
    """Ask a question; the returned one has its answer, or a job that finds it.

    Raises Unprocessable with problems under their fields.
    """
    _check(asked)
    made = _row(user, asked)
    try:
        told = _told(*_at_once(made))
    except NotNow:
        return _later(user, made)
    return _known(user, made, told)


def question_answer(*, question: Question, step: Step) -> dict[str, Any]:
    """Find and store the answer, unless there is one already; ``step`` gets the progress."""
    if question.counts is None:
        answer_store(question, **_told(*_worked_out(question, step)))
    return {"question": str(question.pk), "answer": words.sentence(question.counts or {})}


def _check(asked: MigrationQuestion) -> None:
    classic_only(asked.classic, "classic")
    if asked.profile is not None:
        profiles_only(asked.profile, "profile")
    if asked.bound and asked.sequence:
        said = "Only pods that wait can be placed one after the other: ask about those, or about each by itself."
        raise Unprocessable.at("sequence", said)
    known = set(selectors.namespaces(asked.snapshot)) if asked.namespaces else set()
    if unknown := [name for name in asked.namespaces if name not in known]:
        raise Unprocessable.at("namespaces", f"The snapshot has no pods in namespace {', '.join(unknown[:5])}.")
    selectors.target(asked.classic, asked.profile)


def _at_once(question: Question) -> tuple[Tally, list[dict[str, Any]], list[str]]:
    snapshot = question.snapshot
    assert snapshot is not None
    pods = selectors.pod_count(snapshot, bound=question.bound, namespaces=question.namespaces)
    work = pods * int(snapshot.counts.get("Node", 0))
    if work > AT_ONCE or snapshot.size > AT_ONCE_SIZE:
        raise NotNow
    with at_once(_turn, AT_ONCE_SECONDS) as step:
        return _worked_out(question, step)


def _worked_out(question: Question, step: Step) -> tuple[Tally, list[dict[str, Any]], list[str]]:
    """The counts, the pods that differ, and what was left out."""
    if question.classic is None or (question.profile is None and not question.converted):
        raise Unprocessable("A policy was deleted before there was an answer.")
    if question.snapshot is None:
        raise Unprocessable("The snapshot was deleted before there was an answer.")
    step("Reading the cluster", 0, 0)
    objects = snapshot_objects(question.snapshot)
    rules = algorithm(question.classic)
    configuration, said = selectors.target(question.classic, question.profile)
    counting = configuration.release.counting
    today = utilisation.applied(EngineSnapshot.from_objects(objects, counting=counting), question.snapshot)
    classic = ClassicSnapshot.from_objects(map(in_zones_of_then, objects))
    pods = asked(today, bound=question.bound, namespaces=question.namespaces)
    connection_released()
    tally, differing = Tally(), []
    for number, move in enumerate(moves(classic, today, rules, configuration, pods, sequence=question.sequence), 1):
        tally.add(move)
        if move.differs:
            differing.append(move.to_dict())
        step("Comparing decisions", number, len(pods))
    return tally, differing, words.notes(rules, configuration, said)


def _told(tally: Tally, differing: list[dict[str, Any]], notes: list[str]) -> dict[str, Any]:
    """The fields of a question that an answer fills."""
    return {"counts": tally.to_dict(), "content": packed(differing), "notes": notes}


def _row(user: User | None, asked: MigrationQuestion) -> Question:
    return Question(
        classic=asked.classic,
        classic_label=words.label(asked.classic),
        converted=asked.profile is None,
        profile=asked.profile,
        profile_label=words.CONVERSION if asked.profile is None else words.label(asked.profile),
        snapshot=asked.snapshot,
        about=about_snapshot(asked.snapshot),
        bound=asked.bound,
        namespaces=sorted(set(asked.namespaces)),
        sequence=asked.sequence,
        created_by=user,
    )


@transaction.atomic
def _known(user: User | None, question: Question, told: dict[str, Any]) -> Question:
    return _noted(user, answered(question, **told))


@transaction.atomic
def _later(user: User | None, question: Question) -> Question:
    title = f"Moves: {words.title(question)}"
    ask_job(question, kind="moves.answer", title=title, refuse=lambda: refuse_more(Question, user, "questions"))
    return _noted(user, question)


def _noted(user: User | None, question: Question) -> Question:
    audit.record(user, "moves.asked", question, words.title(question))
    return question
