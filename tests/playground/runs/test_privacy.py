"""Names of private scenarios stay hidden from people who may not see them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from kschedweb.accounts.models import User
from kschedweb.accounts.roles import Role
from kschedweb.dashboard.selectors import recent_jobs
from kschedweb.jobs.models import Job
from kschedweb.playground.runs import services as runs
from kschedweb.playground.scenarios import services as scenarios
from kschedweb.playground.scenarios.models import Scenario
from kschedweb.web.errors import Conflict
from tests.support.scenarios import EMPTY

if TYPE_CHECKING:
    from django.test import Client
    from rest_framework.test import APIClient

pytestmark = pytest.mark.django_db
NAME = "Secret plan"
TEXT = EMPTY.replace("Nothing at all", NAME)


def job_of(editor: User, *, shared: bool) -> Job:
    scenario = scenarios.scenario_create(text=TEXT, author=editor, shared=shared)
    run = runs.run_start(user=editor, revision=scenario.revisions.get(), policy="default")
    assert run.job is not None
    return run.job


@pytest.mark.parametrize("role", ["viewer", "editor", "admin"])
def test_a_job_names_a_private_scenario_only_to_who_may_see_it(
    client_as: Callable[[str], Client], api_as: Callable[[str], APIClient], editor: User, role: str
) -> None:
    job = job_of(editor, shared=False)
    pages, api = client_as(role), api_as(role)
    user = User.objects.get(username=role)
    jobs = api.get("/api/v1/jobs/").json()["results"]
    assert [job["id"] for job in jobs] == [str(job.pk)]
    texts = [
        str(jobs),
        str(api.get(f"/api/v1/jobs/{job.pk}/").json()),
        pages.get("/jobs/").content.decode(),
        pages.get(f"/jobs/{job.pk}/").content.decode(),
        str([job.title for job in recent_jobs(user)]),
    ]
    knows = role != "viewer"
    assert [NAME in text for text in texts] == [knows] * 5
    assert len(api.get("/api/v1/jobs/?search=secret").json()["results"]) == knows
    assert len(pages.get("/jobs/?search=secret").context["page"].rows) == knows


def test_a_job_about_a_shared_scenario_is_no_secret(api_as: Callable[[str], APIClient], editor: User) -> None:
    job = job_of(editor, shared=True)
    assert NAME in api_as("viewer").get(f"/api/v1/jobs/{job.pk}/").json()["title"]


def test_a_name_is_taken_only_by_what_one_may_see(editor: User, approver: User) -> None:
    approver.role = Role.EDITOR
    approver.save()
    first = scenarios.scenario_create(text=TEXT, author=editor)
    second = scenarios.scenario_create(text=TEXT, author=approver)
    assert (second.name, second.slug) == (first.name, first.slug), "nothing tells that another one is there"
    assert scenarios.name_free(NAME, approver) == scenarios.name_free(NAME, editor) == f"{NAME} 2"
    with pytest.raises(Conflict, match="There is a scenario named"):
        scenarios.scenario_create(text=TEXT, author=editor)
    scenarios.scenario_share(scenario=first, shared=True, author=editor)
    with pytest.raises(Conflict, match="There is a shared scenario named"):
        scenarios.scenario_share(scenario=second, shared=True, author=approver)
    assert Scenario.objects.filter(shared=True).count() == 1
