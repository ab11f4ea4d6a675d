"""Questions of any kind: how many a person may wait for, and what a job stores."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from kschedweb.accounts.models import AuditEntry, User
from kschedweb.advice.moves import services as moves
from kschedweb.advice.moves.models import Question
from kschedweb.decisions.inquiring.services import KIND as DECISIONS
from kschedweb.decisions.models import Question as DecisionQuestion
from kschedweb.decisions.models import QuestionKind
from kschedweb.jobs.inquiries import MOST_WAITING, InquiryKind, question_of_job
from kschedweb.jobs.models import Inquiry, Job, JobState
from kschedweb.web.errors import Conflict, NotFound
from tests.support.html import elements

pytestmark = pytest.mark.django_db


def ask(user: User | None, kind: InquiryKind[Question]) -> Question:
    return kind.ask(Question(asked={}, about="demo", policy="default", created_by=user), "Moves: demo", "demo")


def kind_of(*, single: bool = False) -> InquiryKind[Question]:
    return InquiryKind(Question, "descheduling.answer", lambda *_: {}, "dry runs", single=single, verb="moves.asked")


def test_a_question_has_a_job_that_names_it_and_an_entry_of_the_audit_trail(editor: User) -> None:
    question = ask(editor, kind_of())
    job = Job.objects.get(kind="descheduling.answer")
    assert (question.job, job.params, job.created_by) == (job, {"question": str(question.pk)}, editor)
    entry = AuditEntry.objects.get(verb="moves.asked")
    assert (entry.object_id, entry.object_name) == (str(question.pk), "demo")


def test_a_person_waits_for_so_many_answers_and_the_site_for_any_number(editor: User) -> None:
    kind = kind_of()
    for _ in range(MOST_WAITING):
        ask(editor, kind)
        ask(None, kind)
    with pytest.raises(Conflict, match=f"{MOST_WAITING} of your dry runs have no answer yet"):
        ask(editor, kind)
    ask(None, kind)
    Job.objects.filter(created_by=editor).update(state=JobState.CANCELLED)
    assert ask(editor, kind).job is not None


def test_a_person_waits_for_one_answer_where_only_one_is_allowed(editor: User, viewer: User) -> None:
    kind = kind_of(single=True)
    first = ask(editor, kind)
    with pytest.raises(Conflict, match=f"by job {first.job_id}"):
        ask(editor, kind)
    assert ask(viewer, kind).job is not None


def test_an_answer_that_another_process_stored_meanwhile_stays(editor: User) -> None:
    question = ask(editor, moves.KIND)

    def find(question: Question, step: object) -> dict[str, object]:
        Question.objects.filter(pk=question.pk).update(sentence="the first", ended_at=timezone.now())
        return {"sentence": "the second"}

    kind = InquiryKind(Question, "descheduling.answer", find, "moves", result="moves")
    assert kind.answer(question, lambda *_: None) == {"moves": str(question.pk), "answer": "the first"}
    assert question.ended_at is not None
    assert Question.objects.get().sentence == "the first"


def test_a_question_that_was_deleted_has_no_answer() -> None:
    with pytest.raises(NotFound, match="The question was deleted before there was an answer"):
        question_of_job(moves.KIND, "00000000-0000-0000-0000-000000000000")


@pytest.mark.parametrize("effect", [False, True], ids=["a page of its own", "in the page of an editor"])
def test_a_page_that_waits_for_nothing_any_longer_says_so(
    client_as: Callable[[str], Client], editor: User, effect: bool
) -> None:
    """Load it again, but for one that somebody edits; put no page within the page."""
    fields = {"asked": {}, "about": "demo", "policy": "default", "created_by": editor}
    if effect:
        question: Inquiry = DECISIONS.ask(DecisionQuestion(kind=QuestionKind.EFFECT, **fields), "Effect", "demo")
        address = reverse("decision-answer", args=[question.pk])
    else:
        question = moves.KIND.ask(Question(**fields | {"asked": {"label": "a policy"}}), "Moves", "demo")
        address = reverse("descheduling-answer", args=[question.pk])
    client, polls = client_as("editor"), {"HX-Request": "true", "HX-Target": "waits"}
    assert "HX-Refresh" not in client.get(address, headers=polls)
    Job.objects.update(state=JobState.CANCELLED)
    part = client.get(address, headers=polls)
    assert "<h1" not in part.content.decode()
    assert ("HX-Refresh" in part) is not effect
    assert elements(client.get(address), ".notice.bad")


def test_tasks_are_called_as_in_the_release_before() -> None:
    """Jobs that it started are answered by ours."""
    from kschedweb.celery import app

    app.loader.import_default_modules()
    named = {name for name in app.tasks if name.endswith((".answer", ".judge", ".trial", ".offer"))}
    assert named == {
        "autoscaling.answer", "capacity.answer", "decisions.answer", "descheduling.answer", "fleet.trial",
        "gate.judge", "moves.answer", "plans.answer", "plans.offer", "trying.answer",
    }  # fmt: skip
