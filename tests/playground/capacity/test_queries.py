"""Questions that take longer than a request may: answered by a job, one of a person at a time."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection

from kschedweb.clusters.models import NodeRow, Snapshot
from kschedweb.engine.studies.capacity import sizing
from kschedweb.jobs.models import Job, JobState
from kschedweb.playground.capacity import services, tasks
from kschedweb.playground.capacity.models import Question
from tests.support.html import elements, html_of

pytestmark = pytest.mark.django_db

NODES = {"node": {"allocatable": {"cpu": "8"}}, "pending": False, "copies": 20, "pod": {"requests": {"cpu": "3"}}}
FIT = {"pod": {"workload": "kube-system/Deployment/coredns"}, "limit": 30}
FORM = {"ask": "1", "copies": "60", "cpu": "7", "node_cpu": "8"}


@pytest.fixture
def demo(store_snapshot: Callable[..., Snapshot], demo_objects: list[Any]) -> Snapshot:
    """Each test's own, since one of them commits."""
    return store_snapshot(demo_objects)


def post(api: Any, kind: str, fields: dict[str, Any]) -> Any:
    return api.post(f"/api/v1/capacity/{kind}/", {"cluster": "demo", **fields}, format="json")


def run_jobs() -> None:
    """Run the waiting jobs, as a worker does."""
    for job in Job.objects.filter(kind="capacity.answer", state=JobState.QUEUED):
        tasks.answer(str(job.pk))


@pytest.mark.parametrize("kind", ["fit", "nodes", "drain"])
def test_a_job_gives_the_answer_that_a_request_gives(
    api_as: Callable[..., Any], demo: Snapshot, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    names = list(NodeRow.objects.filter(snapshot=demo).values_list("name", flat=True)[:4])
    questions: dict[str, dict[str, Any]] = {"fit": FIT, "nodes": NODES, "drain": {"nodes": names}}
    fields = questions[kind]
    client = api_as("viewer")
    quick = post(client, kind, fields)
    assert quick.status_code == 200
    services.clear_caches()
    monkeypatch.setattr("kschedweb.jobs.inquiries.AT_ONCE_SECONDS", -1.0)
    slow = post(client, kind, fields)
    assert (slow.status_code, slow.json()["state"]) == (202, "queued")
    assert slow.json()["job"] == str(Job.objects.get(kind="capacity.answer").pk)
    run_jobs()
    answer = client.get(slow["Location"]).json()
    context_fields = ("snapshot", "policy", "revision", "engine")
    assert answer["state"] == "succeeded"
    assert answer["engine"] == quick.json()["engine"]
    assert answer[kind] == {name: value for name, value in quick.json().items() if name not in context_fields}
    assert [answer[other_kind] for other_kind in ("fit", "nodes", "drain") if other_kind != kind] == [None, None]


def test_a_large_snapshot_is_asked_about_by_a_job(
    api_as: Callable[..., Any], demo: Snapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kschedweb.jobs.inquiries.AT_ONCE_SIZE", demo.size - 1)
    assert post(api_as("viewer"), "fit", FIT).status_code == 202


@pytest.mark.usefixtures("slow")
def test_a_second_question_of_a_person_is_refused_and_another_person_s_is_taken(
    api_as: Callable[..., Any], demo: Snapshot
) -> None:
    first = post(api_as("viewer"), "nodes", NODES)
    second = post(api_as("viewer"), "fit", FIT)
    assert second.status_code == 409
    assert f"is being worked on, by job {first.json()['job']}" in second.json()["detail"]
    assert post(api_as("editor"), "fit", FIT).status_code == 202
    run_jobs()
    assert post(api_as("viewer"), "fit", FIT).status_code == 202


@pytest.mark.django_db(transaction=True)
def test_who_computes_holds_no_connection_and_nobody_waits_for_the_answer(
    api_as: Callable[..., Any], demo: Snapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go_on, connections = threading.Event(), threading.Event(), []
    size = sizing.compute_sizing

    def slowly(*args: Any, **options: Any) -> Any:
        connections.append(connection.connection)
        begun.set()
        assert go_on.wait(60)
        return size(*args, **options)

    monkeypatch.setattr(sizing, "compute_sizing", slowly)
    first: list[Any] = []
    viewer, editor = api_as("viewer"), api_as("editor")

    def post_nodes() -> None:
        first.append(post(viewer, "nodes", NODES))
        connection.close()

    asking = threading.Thread(target=post_nodes)
    asking.start()
    try:
        assert begun.wait(60)
        assert connections == [None]
        second, of_editor = post(viewer, "fit", FIT), post(editor, "fit", FIT)
        assert asking.is_alive()  # both were answered meanwhile
    finally:
        go_on.set()
        asking.join(60)
    assert second.status_code == 409
    assert of_editor.status_code == 202  # the snapshot is taken, so a job answers
    assert first[0].status_code == 200


@pytest.mark.usefixtures("slow")
def test_a_link_to_a_slow_question_starts_nothing_and_its_form_does(
    client_as: Callable[..., Any], demo: Snapshot
) -> None:
    client = client_as("viewer")
    form_page = client.get("/capacity/nodes/", {"cluster": "demo", **FORM})
    assert (form_page.status_code, Question.objects.count()) == (200, 0)
    assert form_page.context["later"]
    assert "answer" not in form_page.context
    submission = client.post("/capacity/nodes/?cluster=demo", FORM)
    question = Question.objects.get()
    assert (submission.status_code, submission["Location"]) == (302, f"/capacity/answers/{question.pk}/")
    assert elements(client.get(submission["Location"]), "#waits[hx-trigger] progress")
    rejection = client.post("/capacity/?cluster=demo", {"cpu": "1"})
    assert rejection.status_code == 409
    assert elements(rejection, f"#main a[href={submission['Location']}]")
    run_jobs()
    part = client.get(submission["Location"], headers={"HX-Request": "true"})
    assert part["HX-Refresh"] == "true"
    answer = client.get(submission["Location"])
    assert elements(answer, "input[name=copies][value=60]")
    assert elements(answer, "input[name=node_cpu][value=8]")
    items = client.get(submission["Location"], {"format": "json"}).json()["items"]
    assert answer.context["answer"].needed == len(items) > 0
    assert {item["engine"] for item in items} == {answer.context["question"].engine}


@pytest.mark.usefixtures("slow")
def test_what_is_stored_is_in_english_and_shown_in_the_readers_language(
    client_as: Callable[..., Any], demo: Snapshot
) -> None:
    client = client_as("viewer")
    submission = client.post("/capacity/nodes/?cluster=demo", FORM, headers={"Accept-Language": "zh-CN"})
    run_jobs()
    question = Question.objects.get()
    assert question.policy == "default, revision 1"
    assert question.sentence.isascii()
    page = client.get(submission["Location"], headers={"Accept-Language": "zh-CN"})
    assert any("viewer" in element.text and "default，修订版 1" in element.text for element in elements(page, "p.soft"))


def test_a_quick_question_that_is_sent_has_its_answer_at_an_address(
    client_as: Callable[..., Any], demo: Snapshot
) -> None:
    client = client_as("viewer")
    submission = client.post("/capacity/nodes/?cluster=demo&policy=default", FORM)
    assert submission.status_code == 302
    assert submission["Location"].startswith("/capacity/nodes/?cluster=demo&policy=default&")
    assert client.get(submission["Location"]).context["answer"].pods == 60
    assert not Question.objects.exists()


@pytest.mark.usefixtures("slow")
def test_an_answer_stays_when_its_snapshot_is_gone(client_as: Callable[..., Any], demo: Snapshot) -> None:
    client = client_as("viewer")
    address = client.post("/capacity/?cluster=demo", {"cpu": "500m"})["Location"]
    run_jobs()
    demo.cluster.delete()
    answer = client.get(address)
    assert answer.context["answer"].count > 0
    assert answer.context["sentence"] in html_of(answer)
    assert f"about {demo.cluster.name}, {demo.taken_at:%Y-%m-%d}" in html_of(answer)


@pytest.mark.usefixtures("slow")
def test_a_job_that_takes_too_long_says_so_or_how_many_fit_at_least(
    client_as: Callable[..., Any], demo: Snapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(services, "SECONDS", 0.0)
    client = client_as("viewer")
    address = client.post("/capacity/?cluster=demo", {"cpu": "10m"})["Location"]
    run_jobs()
    assert "At least 1 more such pod fits: timed out" in html_of(client.get(address))
    given_up = client.post("/capacity/nodes/?cluster=demo", FORM)["Location"]
    run_jobs()
    text = html_of(client.get(given_up))
    assert client.get(given_up).context["ended"]
    assert "and was given up. Ask about fewer pods" in text
