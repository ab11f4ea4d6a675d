"""Jobs are taken in turn over people, and what one person may have running and waiting is bounded."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from threading import Barrier, Thread
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import DjangoCaptureOnCommitCallbacks, Settings
from rest_framework.test import APIClient

from kschedweb.accounts.models import User
from kschedweb.jobs import services, turns
from kschedweb.jobs.models import Job, JobState
from kschedweb.playground.runs import services as runs
from kschedweb.playground.runs.models import Comparison, Run
from kschedweb.web.errors import Conflict
from tests.jobs import sample_tasks
from tests.support import seed_runs

pytestmark = pytest.mark.django_db


@pytest.fixture
def sent_ids(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The ids of the jobs whose message went out, instead of a broker."""
    ids: list[str] = []
    monkeypatch.setattr(services.app, "send_task", lambda name, args: ids.extend(args))
    return ids


def queued(user: User | None, count: int = 1, kind: str = "tests.count", **values: Any) -> list[Job]:
    fields = {"kind": kind, "title": "Count", "params": {"to": 1}, "created_by": user, **values}
    return [Job.objects.create(**fields) for _ in range(count)]


def take_jobs(count: int, end: bool = True) -> list[str | None]:
    """Take jobs one after the other and return their owners; each ends before the next is taken."""
    usernames = []
    for _ in range(count):
        job = services.job_take()
        if job is None:
            break
        usernames.append(job.created_by.username if job.created_by else None)
        if end:
            services.job_succeed(job, {})
    return usernames


def test_idle_jobs_come_last_and_begin_when_nothing_else_runs(editor: User) -> None:
    idle = queued(None, 2, idle=True)
    theirs = queued(editor, 2)
    assert [turn.job for turn in turns.in_turn()] == [job.pk for job in (*theirs, *idle)]
    first, second = services.job_take(), services.job_take()
    assert {first, second} == set(theirs)
    assert services.job_take() is None, "others still run"
    for job in (first, second):
        assert job is not None
        services.job_succeed(job, {})
    assert services.job_take() == idle[0]
    assert services.job_take() is None, "one at a time"
    newcomer = queued(editor)
    assert services.job_take() == newcomer[0], "nobody waits for it"


def test_what_an_idle_job_starts_is_idle_too(sent_ids: list[str]) -> None:
    with services.when_idle():
        assert services.job_start("tests.start_another", title="Start", params={}, user=None).idle
    job = Job.objects.get()
    sample_tasks.start_another(str(job.pk))
    assert Job.objects.filter(kind="tests.count").get().idle
    assert not services.job_start("tests.count", title="Count", params={"to": 1}, user=None).idle


def test_another_s_first_job_does_not_wait_for_sixty_of_one_person(editor: User, admin: User) -> None:
    queued(editor, 60)
    assert take_jobs(3) == ["editor"] * 3
    queued(admin, 2)
    queued(None, 1)
    assert take_jobs(6) == ["admin", None, "editor", "admin", "editor", "editor"]


def test_who_has_fewer_running_comes_first(editor: User, admin: User) -> None:
    queued(editor, 5)
    assert take_jobs(2, end=False) == ["editor"] * 2
    queued(admin, 3)
    assert take_jobs(3, end=False) == ["admin", "admin", "editor"]


def test_no_more_of_one_person_run_than_may_and_what_takes_no_place_does_not_count(
    editor: User, admin: User, settings: Settings
) -> None:
    settings.JOBS_RUNNING = 2
    queued(editor, 1, state=JobState.RUNNING, apart=True)
    queued(editor, 5)
    assert take_jobs(9, end=False) == ["editor"] * 2
    queued(admin, 1)
    assert take_jobs(9, end=False) == ["admin"]
    services.job_succeed(Job.objects.filter(created_by=editor, state=JobState.RUNNING, apart=False)[0], {})
    assert take_jobs(9, end=False) == ["editor"]


def test_a_job_of_a_newer_release_is_left_for_its_workers(editor: User) -> None:
    queued(editor, 1, kind="tests.of_another_release")
    queued(editor, 1)
    assert take_jobs(9) == ["editor"]
    assert Job.objects.get(state=JobState.QUEUED).kind == "tests.of_another_release"


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("idle", "limit"), [(False, 3), (True, 1)])
def test_workers_that_take_at_the_same_moment_keep_to_the_limit_and_never_take_one_twice(
    editor: User, settings: Settings, idle: bool, limit: int
) -> None:
    settings.JOBS_RUNNING = 3
    queued(editor, 10, idle=idle)
    barrier, jobs = Barrier(6), []

    def take() -> None:
        barrier.wait()
        jobs.append(services.job_take())
        connection.close()

    threads = [Thread(target=take) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    claimed = [job.pk for job in jobs if job is not None]
    assert len(set(claimed)) == len(claimed) == Job.objects.filter(state=JobState.RUNNING).count() == limit


def test_places_are_those_in_which_jobs_are_taken(editor: User, admin: User) -> None:
    queued(editor, 3)
    take_jobs(1)
    queued(admin, 2)
    places = turns.compute_places()
    order = []
    while (job := services.job_take()) is not None:
        order.append(places[job.pk])
        services.job_succeed(job, {})
    assert order == [1, 2, 3, 4]


class TestMessages:
    """Few are out, so that the turns of sweeps, which go through the same queue, need not wait for hundreds."""

    def start(self, user: User, count: int) -> list[Job]:
        return [
            services.job_start(sample_tasks.count.name, title="Count", params={"to": 1}, user=user)
            for _ in range(count)
        ]

    def test_as_many_go_out_as_may_run_and_whoever_ends_one_sends_the_next(
        self, sent_ids: list[str], editor: User, django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks
    ) -> None:
        with django_capture_on_commit_callbacks(execute=True):
            jobs = self.start(editor, 60)
        assert sent_ids == [str(job.pk) for job in jobs[:4]]
        for number in range(4, 60):
            with django_capture_on_commit_callbacks(execute=True):
                assert take_jobs(1) == ["editor"]
            assert len(sent_ids) == number + 1
        with django_capture_on_commit_callbacks(execute=True):
            assert take_jobs(9) == ["editor"] * 4
        assert not Job.objects.filter(state=JobState.QUEUED).exists()

    def test_reconciliation_sends_what_could_begin_and_was_forgotten(self, sent_ids: list[str], editor: User) -> None:
        jobs = queued(editor, 10)
        services.jobs_reconcile()
        assert sent_ids == []
        Job.objects.update(created_at=timezone.now() - 2 * services.SILENT)
        services.jobs_reconcile()
        assert set(sent_ids) == {str(job.pk) for job in jobs} & set(sent_ids)
        assert len(sent_ids) == 4

    def test_what_the_broker_never_got_is_sent_as_soon_as_it_is_back(self, sent_ids: list[str], editor: User) -> None:
        (job,) = queued(editor, 1, undelivered=True)
        services.jobs_reconcile()
        job.refresh_from_db()
        assert sent_ids == [str(job.pk)]
        assert (job.undelivered, job.sent_at is not None) == (False, True)


class TestRefusal:
    def test_beyond_the_most_that_may_wait_nothing_is_made(
        self, api_as: Callable[[str], APIClient], editor: User, settings: Settings
    ) -> None:
        settings.JOBS_WAITING = 3
        revision = seed_runs.scenario(editor, pods=4)
        body = {"scenario": str(revision.scenario_id), "policies": ["default", seed_runs.packed(editor)]}
        client = api_as("editor")
        assert client.post("/api/v1/comparisons/start/", body).status_code == 202
        refused = client.post("/api/v1/comparisons/start/", body)
        assert refused.status_code == 409
        assert refused.json()["detail"].startswith("3 of your jobs wait, which is the most for one person")
        assert (Comparison.objects.count(), Run.objects.count(), Job.objects.count()) == (1, 2, 2)

    def test_what_a_job_leads_to_is_never_refused(self, editor: User, settings: Settings) -> None:
        settings.JOBS_WAITING = 2
        revision = seed_runs.scenario(editor, pods=4)
        comparison = runs.comparison_start(
            user=editor, revision=revision, policies=["default", seed_runs.packed(editor)], seeds=[1]
        )
        queued(editor, 5)
        for run in comparison.runs.all():
            runs.run_do(run=run, step=lambda *_: None)
        assert Job.objects.filter(kind="runs.difference", created_by=editor).count() == 1

    def test_the_site_itself_is_not_refused(self, settings: Settings) -> None:
        settings.JOBS_WAITING = 1
        for _ in range(3):
            services.job_start(sample_tasks.count.name, title="Count", params={"to": 1}, user=None)
        assert Job.objects.count() == 3

    def test_one_person_s_jobs_do_not_count_for_another(self, editor: User, admin: User, settings: Settings) -> None:
        settings.JOBS_WAITING = 1
        queued(editor, 1)
        services.job_start(sample_tasks.count.name, title="Count", params={"to": 1}, user=admin)
        with pytest.raises(Conflict):
            services.job_start(sample_tasks.count.name, title="Count", params={"to": 1}, user=editor)


def test_pages_and_rest_show_the_limits_and_one_s_place(
    client_as: Callable[[str], Client], api_as: Callable[[str], APIClient], editor: User, admin: User
) -> None:
    queued(admin, 2, created_at=timezone.now() - timedelta(minutes=1))
    theirs = queued(editor, 2)
    page = client_as("editor").get(reverse("jobs"))
    limits = page.context["limits"]
    assert [limits[name] for name in ("running", "running_most", "waiting", "waiting_most")] == [0, 4, 2, 200]
    assert "Your jobs: 0 of 4 running" in page.content.decode()
    assert [row.place for row in page.context["page"].rows] == [4, 2, 3, 1]
    assert "Number 4 in the queue" in page.content.decode()
    assert client_as("editor").get(reverse("job", args=[theirs[0].pk])).context["job"].place == 2
    api = api_as("editor")
    assert api.get("/api/v1/jobs/limits/").json() == {
        "running": 0,
        "running_most": 4,
        "waiting": 2,
        "waiting_most": 200,
        "memory_mib": 2048,
        "seconds": 1740,
    }
    assert api.get(f"/api/v1/jobs/{theirs[1].pk}/").json()["place"] == 4
    assert [row["place"] for row in api.get("/api/v1/jobs/").json()["results"]] == [4, 2, 3, 1]
