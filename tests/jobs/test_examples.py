"""A new site's lists begin with a finished example each, made once by jobs that give way to everybody else's."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pytest

from kschedweb.accounts.models import User
from kschedweb.advice.plans import services as plans
from kschedweb.celery import app
from kschedweb.clusters.services import demo_load
from kschedweb.jobs.examples import examples_start, examples_want, list_examples
from kschedweb.jobs.models import Job, JobState
from kschedweb.playground.experiments.models import Experiment
from kschedweb.playground.gate.models import Gate
from kschedweb.playground.recordings.models import Recording
from kschedweb.playground.runs.models import Comparison
from kschedweb.playground.scenarios.ready_install import ready_place
from kschedweb.playground.sweeps.models import Sweep
from tests.support import seed_sweeps
from tests.support.html import elements, html_of

pytestmark = pytest.mark.django_db
IDS = {example.key: example.id for example in list_examples()}


def work_off() -> list[Job]:
    """Do all jobs that are queued and those that they start, as a worker does."""
    jobs: list[Job] = []
    while job := Job.objects.filter(state=JobState.QUEUED, apart=False).order_by("created_at").first():
        jobs.append(job)
        if job.kind == "sweeps.run":
            seed_sweeps.work_off()
        else:
            app.tasks[job.kind](str(job.pk))
    return jobs


@pytest.fixture(scope="module")
def jobs(rows_of_module: Callable[[], AbstractContextManager[None]]) -> list[Job]:
    """A new site with its examples, and the jobs that made them."""
    with rows_of_module(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(plans, "OFFER_SECONDS", 1.0)
        demo_load()
        ready_place(keys={"demo-cluster"})
        examples_want()
        examples_start()
        return work_off()


def test_they_are_made_by_jobs_of_the_site_that_give_way(jobs: list[Job]) -> None:
    assert {job.kind for job in jobs} >= {"runs.run", "runs.difference", "sweeps.run", "experiments.run", "plans.offer"}
    for job in jobs:
        job.refresh_from_db()
        assert (job.state, job.idle, job.created_by) == (JobState.SUCCEEDED, True, None), job.title
    assert not Recording.objects.exists(), "nothing changes on a site without a sandbox"


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("/comparisons/", "Example: does filling nodes leave more of them empty?"),
        (f"/comparisons/{IDS['comparison']}/", "pods go elsewhere"),
        ("/sweeps/", "Example: how uneven do nodes get when more are empty?"),
        (f"/sweeps/{IDS['sweep']}/", "Best trade-offs: 4 of 8 trials"),
        (f"/experiments/{IDS['experiment']}/", "keeps the nodes closest together"),
        (f"/gate/{IDS['verdict']}/", "example-fill-nodes@1 fails on"),
        ("/costs/?cluster=demo", "Invented example prices"),
        ("/right-sizing/?cluster=demo", "Right-sized requests of demo would save"),
        ("/plans/?cluster=demo", "bring the cost from"),
    ],
)
def test_every_room_shows_an_answer_to_whoever_is_signed_in(
    jobs: list[Job], client_as: Callable[[str], Any], address: str, words: str
) -> None:
    answer = client_as("viewer").get(address)
    assert answer.status_code == 200
    assert words in " ".join(html_of(answer).split())


@pytest.mark.parametrize("address", ["/comparisons/?kind=experiment", "/gate/"])
def test_what_has_no_title_is_marked(jobs: list[Job], client_as: Callable[[str], Any], address: str) -> None:
    (badge,) = elements(client_as("viewer").get(address), "th .badge")
    assert badge.text == "Example"


def test_a_deleted_one_does_not_come_back(jobs: list[Job], client_as: Callable[[str], Any], editor: User) -> None:
    addresses = {
        Comparison: f"/comparisons/{IDS['comparison']}/delete/",
        Sweep: f"/sweeps/{IDS['sweep']}/delete/",
        Experiment: f"/experiments/{IDS['experiment']}/delete/",
        Gate: f"/gate/{IDS['verdict']}/delete/",
    }
    assert client_as("editor").post(addresses[Experiment]).status_code == 403, "it is nobody's own"
    admin = client_as("admin")
    for model, address in addresses.items():
        assert admin.post(address).status_code == 302
        assert not model._default_manager.exists()
    assert examples_start() == 0
    assert not Job.objects.filter(state=JobState.QUEUED).exists()
