from __future__ import annotations

import pytest
from django.urls import reverse
from django.utils import timezone

from kschedweb.jobs.models import Job, JobState
from kschedweb.jobs.views import PAGES
from tests.support.html import elements, levels

pytestmark = pytest.mark.django_db


def make(state: str = JobState.RUNNING, **values) -> Job:
    return Job.objects.create(kind="x", title="Read production", state=state, **values)


def test_the_list_shows_what_runs_and_filters(client_as):
    make(step="Reading pods", done=3, total=9)
    make(JobState.FAILED, error="The cluster does not answer", ended_at=timezone.now())
    client = client_as("viewer")
    page = client.get(reverse("jobs"))
    assert page.context["running"] == 1
    assert len(page.context["page"].rows) == 2
    assert "Reading pods 3 of 9" in page.content.decode()
    failed = client.get(reverse("jobs"), {"state": "failed"})
    assert [row.error for row in failed.context["page"].rows] == ["The cluster does not answer"]
    assert failed.context["page"].rows[0].error in failed.content.decode()


def test_a_running_job_asks_for_itself_again_and_an_ended_one_does_not(client_as):
    client, job = client_as("viewer"), make(step="Reading pods", done=3, total=9, reached=0.25)
    page = client.get(reverse("job", args=[job.pk]))
    assert elements(page, "[hx-trigger=every 1s] progress[max=1][value=0.250]")
    part = client.get(reverse("job", args=[job.pk]), headers={"HX-Request": "true"})
    assert "<html" not in part.content.decode()
    assert "HX-Refresh" not in part
    Job.objects.update(state=JobState.SUCCEEDED, ended_at=timezone.now(), result={"pods": 12})
    ended = client.get(reverse("job", args=[job.pk]), headers={"HX-Request": "true"})
    assert ended["HX-Refresh"] == "true"
    assert "hx-trigger" not in ended.content.decode()
    assert client.get(reverse("job", args=[job.pk])).context["ended"]


def test_who_started_a_job_or_an_admin_may_cancel_it(client_as, editor):
    theirs, unowned = make(created_by=editor), make()
    client = client_as("editor")
    for job, offered in ((theirs, True), (unowned, False)):
        page, cancel = client.get(reverse("job", args=[job.pk])), reverse("job-cancel", args=[job.pk])
        assert bool(elements(page, f"form[action={cancel}]")) == offered
    assert client.post(reverse("job-cancel", args=[unowned.pk])).status_code == 403
    assert client.post(reverse("job-cancel", args=[theirs.pk])).status_code == 302
    assert client_as("admin").post(reverse("job-cancel", args=[unowned.pk])).status_code == 302
    assert Job.objects.filter(cancel_requested=True).count() == 2


def test_cancelling_what_has_ended_meanwhile_says_so(client_as):
    job = make(JobState.SUCCEEDED, ended_at=timezone.now())
    page = client_as("admin").post(reverse("job-cancel", args=[job.pk]), follow=True)
    assert levels(page) == ["info"]


def test_text_of_a_job_is_never_markup(client_as):
    failed = make(JobState.FAILED, error="<script>alert(1)</script>", ended_at=timezone.now())
    page = client_as("viewer").get(reverse("job", args=[failed.pk])).content.decode()
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)" in page
    succeeded = make(JobState.SUCCEEDED, ended_at=timezone.now(), result={"<b>": "<i>"})
    assert "<dt>&lt;b&gt;</dt>" in client_as("viewer").get(reverse("job", args=[succeeded.pk])).content.decode()


@pytest.mark.parametrize("rows", [1, 60])
def test_a_list_takes_the_same_few_queries_whatever_its_length(client_as, django_assert_max_num_queries, rows):
    for _ in range(rows):
        make()
    client = client_as("viewer")
    with django_assert_max_num_queries(12):
        client.get(reverse("jobs"))


def test_rest_lists_filters_and_shows_jobs(api_as, admin):
    job = make(created_by=admin)
    make(JobState.FAILED)
    client = api_as("viewer")
    rows = client.get("/api/v1/jobs/", {"state": "running"}).json()["results"]
    assert [row["id"] for row in rows] == [str(job.pk)]
    details = client.get(f"/api/v1/jobs/{job.pk}/").json()
    assert details == rows[0]
    assert details["created_by"] == "admin"
    assert "params" not in details
    assert client.get("/api/v1/jobs/", {"state": "nonsense"}).status_code == 400


def test_what_a_job_made_is_a_link_to_its_page(client_as):
    plan_id = "5f2a3c1e-7c0b-4f39-9a55-3d1b7a0c9e61"
    succeeded = make(
        JobState.SUCCEEDED, ended_at=timezone.now(), result={"plan": plan_id, "run": "", "answer": "3 moves"}
    )
    text = client_as("viewer").get(reverse("job", args=[succeeded.pk])).content.decode()
    assert f'<a href="/plans/{plan_id}/">' in text
    assert '<a href="/runs/' not in text


@pytest.mark.parametrize(("key", "page"), PAGES.items())
def test_each_page_of_a_result_is_there(key, page):
    assert reverse(page, args=["demo" if key == "cluster" else "5f2a3c1e-7c0b-4f39-9a55-3d1b7a0c9e61"])
