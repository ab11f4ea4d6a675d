"""Moves of pods: asked of the engine, at once or by a job, and refused where it makes no sense."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from kschedweb.accounts.models import AuditEntry, User
from kschedweb.clusters.models import Snapshot
from kschedweb.clusters.selectors import snapshot_objects
from kschedweb.engine import Snapshot as EngineSnapshot
from kschedweb.engine.releases.classic import ClassicSnapshot, in_zones_of_then
from kschedweb.engine.releases.classic.comparison import MoveTally, compare_pods, select_pods
from kschedweb.jobs import inquiries
from kschedweb.jobs.models import Job, JobState
from kschedweb.jobs.services import job_cancel, job_claim, jobs_reconcile
from kschedweb.playground.migration import selectors, sentences, services, tasks
from kschedweb.playground.migration.models import Question
from kschedweb.policies.models import Policy, Revision
from kschedweb.policies.selectors import load_algorithm, load_configuration, policy_get, revision_get
from kschedweb.policies.services import policy_create
from kschedweb.web.errors import ApplicationError, Conflict

pytestmark = pytest.mark.django_db
KIND = {"kind": "Policy", "apiVersion": "v1"}


@pytest.fixture
def ask_question(editor: User, small: Snapshot, filling: Revision) -> Callable[..., Question]:
    """``ask_question(bound=True, …)``: against the default profile, unless something else is said."""

    def ask_with(**changes: Any) -> Question:
        fields = {"classic": filling, "profile": revision_get(policy_get("default")), "snapshot": small} | changes
        return services.question_ask(user=editor, query=services.MigrationQuery(**fields))

    return ask_with


def counts_of(question: Question) -> dict[str, Any]:
    """The counts of a question that is answered."""
    assert question.counts is not None
    counts: dict[str, Any] = question.counts
    return counts


def worked_on(question: Question) -> Job:
    """Its job, as it stands."""
    assert question.job_id is not None
    return Job.objects.get(pk=question.job_id)


def test_the_answer_is_the_engines(ask_question: Callable[..., Question], small: Snapshot, filling: Revision) -> None:
    objects = snapshot_objects(small)
    today, then = EngineSnapshot.from_objects(objects), ClassicSnapshot.from_objects(map(in_zones_of_then, objects))
    rules, profile = load_algorithm(filling), load_configuration(revision_get(policy_get("default")))
    expected = list(compare_pods(then, today, rules, profile, select_pods(today, bound=True)))
    tally = MoveTally()
    for move in expected:
        tally.add_move(move)
    question = ask_question(bound=True)
    assert question.counts == tally.to_dict()
    assert selectors.differing_pods(question) == [move.to_dict() for move in expected if move.differs]
    assert counts_of(question)["verdicts"]["moves"] >= 2
    assert counts_of(question)["verdicts"]["only classic"] == 1


def test_only_those_that_wait_and_of_named_namespaces_are_asked_about(ask_question: Callable[..., Question]) -> None:
    assert counts_of(ask_question())["pods"] == 3
    assert counts_of(ask_question(namespaces=("batch",)))["pods"] == 1
    assert counts_of(ask_question(bound=True))["pods"] == 9


def test_in_sequence_each_sees_those_before_it(ask_question: Callable[..., Question]) -> None:
    question = ask_question(sequence=True)
    assert question.sequence
    assert counts_of(question)["pods"] == 3


def test_without_a_profile_it_is_held_against_its_conversion(ask_question: Callable[..., Question]) -> None:
    question = ask_question(profile=None)
    assert (question.converted, question.profile_label) == (True, sentences.CONVERSION)
    assert any(note.startswith("The conversion: ") for note in question.notes)
    assert counts_of(question)["pods"] == 3


def test_extenders_are_said_not_to_be_asked(ask_question: Callable[..., Question], editor: User) -> None:
    extenders = [{"urlPrefix": "http://127.0.0.1:1", "filterVerb": "f"}]
    policy_create(name="asking", document=json.dumps({**KIND, "extenders": extenders}), author=editor)
    question = ask_question(classic=revision_get(policy_get("asking")))
    assert "Extenders of the classic policy are not asked: 1." in question.notes


def test_asking_is_recorded(ask_question: Callable[..., Question], editor: User) -> None:
    question = ask_question()
    entry = AuditEntry.objects.get(verb="moves.asked")
    assert (entry.actor, entry.object_id) == (editor, str(question.pk))


@pytest.mark.parametrize(
    ("changes", "path", "message"),
    [
        ({"classic": "default"}, "classic", "choose a classic Policy"),
        ({"profile": "filling"}, "profile", "is a classic policy"),
        ({"bound": True, "sequence": True}, "sequence", "Only pods that wait"),
        ({"namespaces": ("batch", "nowhere")}, "namespaces", "no pods in namespace nowhere"),
    ],
)
def test_what_makes_no_sense_is_refused_at_its_field(
    ask_question: Callable[..., Question], changes: dict[str, Any], path: str, message: str
) -> None:
    revisions = {key: revision_get(policy_get(name)) for key, name in changes.items() if isinstance(name, str)}
    with pytest.raises(ApplicationError, match=message) as caught:
        ask_question(**changes | revisions)
    assert caught.value.status == 422
    assert [error["path"] for error in caught.value.errors] == [path]
    assert not Question.objects.exists()


# What takes longer.


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(services, "AT_ONCE", 0)


@pytest.mark.usefixtures("later")
def test_a_job_comes_to_the_same_answer(ask_question: Callable[..., Question], monkeypatch: pytest.MonkeyPatch) -> None:
    waits = ask_question(bound=True)
    assert (waits.counts, waits.state) == (None, JobState.QUEUED)
    tasks.answer(str(waits.job_id))
    waits.refresh_from_db()
    assert (worked_on(waits).result or {})["answer"] == sentences.answer_sentence(counts_of(waits))
    monkeypatch.setattr(services, "AT_ONCE", 1_000)
    at_once = ask_question(bound=True)
    assert (waits.counts, waits.notes) == (at_once.counts, at_once.notes)
    assert selectors.differing_pods(waits) == selectors.differing_pods(at_once)


@pytest.mark.usefixtures("later")
def test_what_a_killed_worker_left_is_taken_up_again(ask_question: Callable[..., Question]) -> None:
    waits = ask_question()
    assert job_claim(str(waits.job_id)) is not None
    Job.objects.filter(pk=worked_on(waits).pk).update(heartbeat_at="2026-01-01T00:00:00Z")
    jobs_reconcile()
    tasks.answer(str(waits.job_id))
    waits.refresh_from_db()
    assert counts_of(waits)["pods"] == 3
    assert worked_on(waits).attempt == 2


@pytest.mark.usefixtures("later")
def test_a_cancelled_job_leaves_no_answer(ask_question: Callable[..., Question], editor: User) -> None:
    waits = ask_question()
    job_cancel(job=worked_on(waits), user=editor)
    tasks.answer(str(waits.job_id))
    waits.refresh_from_db()
    assert (waits.counts, waits.state) == (None, JobState.CANCELLED)


@pytest.mark.usefixtures("later")
@pytest.mark.parametrize("deleted", ["policy", "snapshot"])
def test_a_job_whose_policy_or_snapshot_is_gone_says_so(
    ask_question: Callable[..., Question], small: Snapshot, deleted: str
) -> None:
    waits = ask_question()
    small.delete() if deleted == "snapshot" else Policy.objects.get(name="filling").delete()
    tasks.answer(str(waits.job_id))
    job = worked_on(waits)
    assert (job.state, f"{deleted} was deleted" in job.error) == (JobState.FAILED, True)


@pytest.mark.usefixtures("later")
def test_one_person_has_so_many_waiting_at_most(
    ask_question: Callable[..., Question], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inquiries, "MOST_WAITING", 1)
    ask_question()
    with pytest.raises(Conflict, match="1 of your questions"):
        ask_question()


def test_what_takes_too_long_at_once_becomes_a_job(
    ask_question: Callable[..., Question], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kschedweb.jobs.inquiries.AT_ONCE_SECONDS", -1.0)
    assert ask_question().state == JobState.QUEUED
