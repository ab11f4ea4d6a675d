from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from kschedweb.jobs.models import Job, JobState
from kschedweb.web import idempotency
from kschedweb.web.idempotency import IdempotencyKey

pytestmark = [pytest.mark.django_db, pytest.mark.databases]


@pytest.fixture
def job() -> Job:
    return Job.objects.create(kind="x", title="x")


def cancel(client, job: Job, key: str, body=None):
    return client.post(f"/api/v1/jobs/{job.pk}/cancel/", body, headers={"Idempotency-Key": key})


def test_the_same_command_is_done_once_and_answered_alike(api_as, job):
    client = api_as("admin")
    first = cancel(client, job, "k1")
    second = cancel(client, job, "k1")
    assert (first.status_code, second.status_code) == (202, 202)
    assert first.json() == second.json()
    assert second["Idempotency-Replayed"] == "true"
    assert "Idempotency-Replayed" not in first
    # Without a key the command is done again, and the job has ended.
    assert client.post(f"/api/v1/jobs/{job.pk}/cancel/").status_code == 409


def test_a_key_belongs_to_one_request(api_as, job):
    client = api_as("admin")
    cancel(client, job, "k1")
    other_job = Job.objects.create(kind="x", title="y")
    assert cancel(client, other_job, "k1").status_code == 422
    assert cancel(client, job, "k1", {"a": 1}).status_code == 422
    other_job.refresh_from_db()
    assert other_job.state == JobState.QUEUED


def test_a_key_belongs_to_one_person(api_as, job, editor):
    cancel(api_as("admin"), job, "k1")
    theirs = Job.objects.create(kind="x", title="y", created_by=editor)
    assert cancel(api_as("editor"), theirs, "k1").status_code == 202


def test_what_was_refused_may_be_tried_again(api_as, job, editor):
    client = api_as("editor")
    assert cancel(client, job, "k1").status_code == 403
    Job.objects.filter(pk=job.pk).update(created_by=editor)
    assert cancel(client, job, "k1").status_code == 202


def test_what_failed_may_be_tried_again(api_as, job, monkeypatch):
    client = api_as("admin")
    with monkeypatch.context() as patch:
        patch.setattr("kschedweb.jobs.services.job_cancel", lambda **_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            cancel(client, job, "k1")
    assert cancel(client, job, "k1").status_code == 202


def test_while_the_first_is_being_done_the_second_waits(api_as, admin, job, monkeypatch):
    client = api_as("admin")
    inside = []
    from kschedweb.jobs import services

    real = services.job_cancel

    def slow(**values):
        inside.append(cancel(client, job, "k1").status_code)
        return real(**values)

    monkeypatch.setattr("kschedweb.jobs.services.job_cancel", slow)
    assert cancel(client, job, "k1").status_code == 202
    assert inside == [409]


@pytest.mark.parametrize(("age", "is_taken"), [(timedelta(minutes=1), False), (timedelta(minutes=6), True)])
def test_a_key_whose_request_died_is_free_after_a_while(admin, age, is_taken):
    row, _ = idempotency.key_claim(user=admin.pk, key="k1", digest="a")
    IdempotencyKey.objects.update(created_at=timezone.now() - age)
    assert idempotency.key_claim(user=admin.pk, key="k1", digest="b")[1] is is_taken
    # The one who lost the key cannot answer for the one who has it.
    idempotency.key_answered(row=row, status=200, body={})
    assert IdempotencyKey.objects.get().status == 0


@pytest.mark.parametrize("key", ["x" * 129, "ä", "a\tb"])
def test_an_odd_key_is_refused(api_as, job, key):
    assert cancel(api_as("admin"), job, key).status_code == 400
    assert not IdempotencyKey.objects.exists()
