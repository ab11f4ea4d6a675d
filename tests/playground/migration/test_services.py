"""Which pods would move: asked of the engine, at once or by a job, and refused where it makes no sense."""

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
def ask(editor: User, small: Snapshot, filling: Revision) -> Callable[..., Question]:
    """``ask(bound=True, …)``: against the default profile, unless something else is said."""

    def make(**changes: Any) -> Question:
        given = {"classic": filling, "profile": revision_get(policy_get("default")), "snapshot": small} | changes
        return services.question_ask(user=editor, query=services.MigrationQuery(**given))

    return make


def counted(question: Question) -> dict[str, Any]:
    """The counts of a question that is answered."""
    assert question.counts is not None
    counts: dict[str, Any] = question.counts
    return counts


def worked_on(question: Question) -> Job:
    """Its job, as it stands."""
    assert question.job_id is not None
    return Job.objects.get(pk=question.job_id)


def test_the_answer_is_the_engines(ask: Callable[..., Question], small: Snapshot, filling: Revision) -> None:
    objects = snapshot_objects(small)
    today, then = EngineSnapshot.from_objects(objects), ClassicSnapshot.from_objects(map(in_zones_of_then, objects))
    rules, profile = load_algorithm(filling), load_configuration(revision_get(policy_get("default")))
    expected = list(compare_pods(then, today, rules, profile, select_pods(today, bound=True)))
    tally = MoveTally()
    for move in expected:
        tally.add_move(move)
    found = ask(bound=True)
    assert found.counts == tally.to_dict()
    assert selectors.differing_pods(found) == [move.to_dict() for move in expected if move.differs]
    assert counted(found)["verdicts"]["moves"] >= 2
    assert counted(found)["verdicts"]["only classic"] == 1


def test_only_those_that_wait_and_of_named_namespaces_are_asked_about(ask: Callable[..., Question]) -> None:
    assert counted(ask())["pods"] == 3
    assert counted(ask(namespaces=("batch",)))["pods"] == 1
    assert counted(ask(bound=True))["pods"] == 9


def test_in_sequence_each_sees_those_before_it(ask: Callable[..., Question]) -> None:
    found = ask(sequence=True)
    assert found.sequence
    assert counted(found)["pods"] == 3


def test_without_a_profile_it_is_held_against_its_conversion(ask: Callable[..., Question]) -> None:
    found = ask(profile=None)
    assert (found.converted, found.profile_label) == (True, sentences.CONVERSION)
    assert any(note.startswith("The conversion: ") for note in found.notes)
    assert counted(found)["pods"] == 3


def test_extenders_are_said_not_to_be_asked(ask: Callable[..., Question], editor: User) -> None:
    extenders = [{"urlPrefix": "http://127.0.0.1:1", "filterVerb": "f"}]
    policy_create(name="asking", document=json.dumps({**KIND, "extenders": extenders}), author=editor)
    found = ask(classic=revision_get(policy_get("asking")))
    assert "Extenders of the classic policy are not asked: 1." in found.notes


def test_asking_is_recorded(ask: Callable[..., Question], editor: User) -> None:
    found = ask()
    entry = AuditEntry.objects.get(verb="moves.asked")
    assert (entry.actor, entry.object_id) == (editor, str(found.pk))


@pytest.mark.parametrize(
    ("changes", "path", "said"),
    [
        ({"classic": "default"}, "classic", "choose a classic Policy"),
        ({"profile": "filling"}, "profile", "is a classic policy"),
        ({"bound": True, "sequence": True}, "sequence", "Only pods that wait"),
        ({"namespaces": ("batch", "nowhere")}, "namespaces", "no pods in namespace nowhere"),
    ],
)
def test_what_makes_no_sense_is_refused_at_its_field(
    ask: Callable[..., Question], changes: dict[str, Any], path: str, said: str
) -> None:
    named = {key: revision_get(policy_get(name)) for key, name in changes.items() if isinstance(name, str)}
    with pytest.raises(ApplicationError, match=said) as caught:
        ask(**changes | named)
    assert caught.value.status == 422
    assert [one["path"] for one in caught.value.errors] == [path]
    assert not Question.objects.exists()


# What takes longer.


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(services, "AT_ONCE", 0)


@pytest.mark.usefixtures("later")
def test_a_job_comes_to_the_same_answer(ask: Callable[..., Question], monkeypatch: pytest.MonkeyPatch) -> None:
    waits = ask(bound=True)
    assert (waits.counts, waits.state) == (None, JobState.QUEUED)
    tasks.answer(str(waits.job_id))
    waits.refresh_from_db()
    assert (worked_on(waits).result or {})["answer"] == sentences.answer_sentence(counted(waits))
    monkeypatch.setattr(services, "AT_ONCE", 1_000)
    at_once = ask(bound=True)
    assert (waits.counts, waits.notes) == (at_once.counts, at_once.notes)
    assert selectors.differing_pods(waits) == selectors.differing_pods(at_once)


@pytest.mark.usefixtures("later")
def test_what_a_killed_worker_left_is_taken_up_again(ask: Callable[..., Question]) -> None:
    waits = ask()
    assert job_claim(str(waits.job_id)) is not None
    Job.objects.filter(pk=worked_on(waits).pk).update(heartbeat_at="2026-01-01T00:00:00Z")
    jobs_reconcile()
    tasks.answer(str(waits.job_id))
    waits.refresh_from_db()
    assert counted(waits)["pods"] == 3
    assert worked_on(waits).attempt == 2


@pytest.mark.usefixtures("later")
def test_a_cancelled_job_leaves_no_answer(ask: Callable[..., Question], editor: User) -> None:
    waits = ask()
    job_cancel(job=worked_on(waits), user=editor)
    tasks.answer(str(waits.job_id))
    waits.refresh_from_db()
    assert (waits.counts, waits.state) == (None, JobState.CANCELLED)


@pytest.mark.usefixtures("later")
@pytest.mark.parametrize("gone", ["policy", "snapshot"])
def test_a_job_whose_policy_or_snapshot_is_gone_says_so(
    ask: Callable[..., Question], small: Snapshot, gone: str
) -> None:
    waits = ask()
    small.delete() if gone == "snapshot" else Policy.objects.get(name="filling").delete()
    tasks.answer(str(waits.job_id))
    job = worked_on(waits)
    assert (job.state, f"{gone} was deleted" in job.error) == (JobState.FAILED, True)


@pytest.mark.usefixtures("later")
def test_one_person_has_so_many_waiting_at_most(ask: Callable[..., Question], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inquiries, "MOST_WAITING", 1)
    ask()
    with pytest.raises(Conflict, match="1 of your questions"):
        ask()


def test_what_takes_too_long_at_once_becomes_a_job(
    ask: Callable[..., Question], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(services, "AT_ONCE_SECONDS", -1.0)
    assert ask().state == JobState.QUEUED
