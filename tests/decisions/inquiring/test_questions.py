"""Decisions about a cluster that is too large for a request: a job finds what a request would have found."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from kschedweb.clusters.models import PodRow, Snapshot
from kschedweb.decisions import services, snapshots
from kschedweb.decisions.inquiring import tasks
from kschedweb.decisions.models import Question
from kschedweb.jobs.inquiries import MOST_WAITING
from kschedweb.jobs.models import Job, JobState
from kschedweb.jobs.services import job_cancel
from kschedweb.policies.models import Revision
from tests.decisions.conftest import MOST_ALLOCATED
from tests.support.html import elements, html_of, text

ADDRESS = "/decision/demo/{}/"
REST_PATH = "/api/v1/clusters/demo/pods/{}/decision/"
CURVES = "/load-aware/"


@pytest.fixture
def large(demo: Snapshot, monkeypatch: pytest.MonkeyPatch) -> Snapshot:
    """The demo cluster, which is more than a request may read, and which this process has not read."""
    services.clear_caches()
    monkeypatch.setattr(snapshots, "READ_AT_ONCE", demo.size - 1)
    return demo


def finish_jobs() -> None:
    """The jobs are done, as if in another process: this one knows nothing of the cluster."""
    for job in Job.objects.filter(state=JobState.QUEUED):
        tasks.answer(str(job.pk))
    services.clear_caches()


def page_in(client: Client, language: str, pod: str, query: dict[str, str]) -> Any:
    return client.get(ADDRESS.format(pod), query, follow=True, headers={"Accept-Language": language})


@pytest.mark.parametrize("name", ["default", "old"])
@pytest.mark.parametrize("pod", ["ml/notebook", "analytics/wide-join"])
def test_a_job_gives_the_answer_that_a_request_gives(
    api_as: Callable[..., Any], client_as: Callable[[str], Client], demo: Snapshot, monkeypatch: pytest.MonkeyPatch,
    classic: Callable[..., Revision], name: str, pod: str,
) -> None:  # fmt: skip
    api, viewer = api_as("viewer"), client_as("viewer")
    query = {"policy": name}
    if name == "old":
        classic(name, priorities=[{"name": "LeastRequestedPriority", "weight": 2}])
    quick, page = api.get(REST_PATH.format(pod), query), viewer.get(ADDRESS.format(pod), query)
    titles = {language: page_in(viewer, language, pod, query).context["answer"].title for language in ("zh-hans", "ja")}
    services.clear_caches()
    monkeypatch.setattr(snapshots, "READ_AT_ONCE", 0)
    slow = api.get(REST_PATH.format(pod), query)
    assert (slow.status_code, slow.json()["state"], slow["Retry-After"]) == (202, "queued", "2")
    finish_jobs()
    assert api.get(slow["Location"]).json()["answer"] == quick.json()
    assert api.get(REST_PATH.format(pod), query).json() == quick.json()
    answer_page = viewer.get(ADDRESS.format(pod), query, follow=True)
    assert answer_page.context["headline"]["title"] == page.context["answer"].title
    for language, title in titles.items():
        assert page_in(viewer, language, pod, query).context["headline"]["title"] == title
    assert len({page.context["answer"].title, *titles.values()}) == 3
    assert [vars(stage) for stage in answer_page.context["stages"]] == [vars(stage) for stage in page.context["stages"]]
    rows = [(row.node, row.place, row.chosen, row.cells) for row in answer_page.context["rows"]]
    assert rows == [(row.node, row.place, row.chosen, row.cells) for row in page.context["rows"]]


def test_the_page_opens_by_itself_and_without_javascript_by_a_link(
    client_as: Callable[[str], Client], large: Snapshot
) -> None:
    viewer = client_as("viewer")
    waits = viewer.get(ADDRESS.format("ml/notebook"), follow=True)
    address = waits.redirect_chain[-1][0]
    assert elements(waits, f"#waits[hx-get={address}] a[href={address}]")
    assert viewer.get(address, headers={"HX-Request": "true"}).templates[0].name == "parts/job_wait.html"
    finish_jobs()
    assert viewer.get(address, headers={"HX-Request": "true", "HX-Target": "waits"})["HX-Refresh"] == "true"
    answer_page = viewer.get(address, {"node": "gpu-a-2", "cell": "NodeResourcesFit"})
    assert answer_page.context["arithmetic"].computed is not None
    assert answer_page.context["scope"].snapshot == large
    assert elements(answer_page, "[data-figure=scores]")


def test_a_question_is_worked_on_once_whoever_asks(
    client_as: Callable[[str], Client], large: Snapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read(*_: object) -> None:
        raise AssertionError("a request reads the cluster")

    monkeypatch.setattr(snapshots, "snapshot_objects", read)
    addresses = {
        client_as(role).get(ADDRESS.format("ml/notebook"), follow=True).redirect_chain[-1][0]
        for role in ("viewer", "editor", "viewer")
    }
    assert len(addresses) == Job.objects.count() == Question.objects.count() == 1
    assert client_as("viewer").get(ADDRESS.format("ml/nobody")).status_code == 404
    assert client_as("viewer").get("/pods/?cluster=demo&pending=true").status_code == 200
    assert client_as("viewer").get(ADDRESS.format("ml/notebook") + "nodes/?node=gpu").status_code == 200


def test_what_was_cancelled_can_be_asked_again(client_as: Callable[[str], Client], large: Snapshot) -> None:
    viewer = client_as("viewer")
    first = viewer.get(ADDRESS.format("ml/notebook"), follow=True)
    job = Job.objects.get()
    job_cancel(user=job.created_by, job=job)
    (retry_link,) = elements(viewer.get(first.redirect_chain[-1][0]), "#waits a")
    second = viewer.get(retry_link["href"], follow=True)
    assert second.redirect_chain[-1][0] != first.redirect_chain[-1][0]


def test_both_policies_are_compared(
    client_as: Callable[[str], Client],
    large: Snapshot,
    policy: Callable[..., Revision],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    policy("most", MOST_ALLOCATED)
    viewer, query = client_as("viewer"), {"against": "most@1"}
    viewer.get(ADDRESS.format("ml/notebook"), query)
    finish_jobs()
    answer_page = viewer.get(ADDRESS.format("ml/notebook"), query, follow=True)
    comparison = answer_page.context["comparison"]
    monkeypatch.setattr(snapshots, "READ_AT_ONCE", large.size)
    assert comparison == viewer.get(ADDRESS.format("ml/notebook"), query).context["comparison"]
    assert comparison.other == "most, revision 1"
    assert comparison.title in text(answer_page)


def test_a_person_waits_for_few_answers_at_a_time(client_as: Callable[[str], Client], large: Snapshot) -> None:
    viewer = client_as("viewer")
    pods = PodRow.objects.filter(snapshot=large)[: MOST_WAITING + 1]
    answers = [viewer.get(ADDRESS.format(f"{pod.namespace}/{pod.name}")).status_code for pod in pods]
    assert answers == [302] * MOST_WAITING + [409]


def test_all_pending_pods_are_asked_about_an_edited_policy(
    client_as: Callable[[str], Client], large: Snapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    viewer, address = client_as("viewer"), "/policies/default/edit/effect/?cluster=demo"
    assert elements(viewer.post(address, {"document": MOST_ALLOCATED}), "button[name=all]")
    begun = viewer.post(address, {"document": MOST_ALLOCATED, "all": "1"})
    (part,) = elements(begun, "#waits")
    finish_jobs()
    page = viewer.get(part["hx-get"])
    monkeypatch.setattr(snapshots, "READ_AT_ONCE", large.size)
    direct = viewer.post(address, {"document": MOST_ALLOCATED}).context["effect"]
    effect = page.context["effect"]
    assert 0 < len(effect["moved"]) == len(direct.moved)
    assert [(pod["name"], pod["after"]) for pod in effect["moved"]] == [(pod.name, pod.after) for pod in direct.moved]
    assert effect["asked"] == effect["pods"] == direct.pods
    assert html_of(viewer.get(part["hx-get"], headers={"HX-Request": "true"})) in html_of(page)


def test_load_aware_policies_on_a_large_cluster_are_told_by_a_job(
    client_as: Callable[[str], Client], api_as: Callable[..., Any], demo: Snapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    viewer, api, api_address = client_as("viewer"), api_as("viewer"), "/api/v1/clusters/demo/load-aware/"
    query = {"cluster": "demo", "pod_name": "ml/notebook"}
    page, quick = viewer.get(CURVES, query), api.get(api_address, {"pod": "ml/notebook"}).json()
    services.clear_caches()
    monkeypatch.setattr(snapshots, "READ_AT_ONCE", 0)
    slow = api.get(api_address, {"pod": "ml/notebook"})
    waits = viewer.get(CURVES, query, follow=True)
    assert slow.status_code == 202
    assert slow["Location"].endswith(waits.redirect_chain[-1][0])
    assert viewer.get(CURVES, query | {"pod_name": "ml/nobody"}).context["pod_problem"]
    finish_jobs()
    assert api.get(api_address, {"pod": "ml/notebook"}).json() == quick
    answer_page = viewer.get(waits.redirect_chain[-1][0], follow=True)
    assert answer_page.context["in_force"] == page.context["in_force"]
    assert answer_page.context["lines"] == page.context["lines"]
    best = next(entrant for entrant in page.context["contest"].entrants if entrant.winner)
    cell = query | {"node": best.winner, "cell": best.side.key}
    worked_out = viewer.get(CURVES, cell).context["arithmetic"]
    monkeypatch.undo()
    assert worked_out == viewer.get(CURVES, cell).context["arithmetic"]


def test_devices_in_a_large_cluster_are_told_by_a_job(
    api_as: Callable[..., Any], large: Snapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    api, api_address = api_as("viewer"), "/api/v1/clusters/demo/pods/{}/devices/"
    assert api.get(api_address.format("ml/nobody")).status_code == 404
    slow = api.get(api_address.format("ml/notebook"))
    assert (slow.status_code, slow.json()["kind"]) == (202, "devices")
    finish_jobs()
    answer = api.get(api_address.format("ml/notebook")).json()
    assert api.get(slow["Location"]).json()["answer"] == answer
    monkeypatch.undo()
    assert api.get(api_address.format("ml/notebook")).json() == answer


def test_it_is_judged_by_what_the_policy_reads(
    client_as: Callable[[str], Client],
    demo: Snapshot,
    monkeypatch: pytest.MonkeyPatch,
    classic: Callable[..., Revision],
) -> None:
    classic("old", priorities=[{"name": "LeastRequestedPriority", "weight": 2}])
    viewer, address = client_as("viewer"), ADDRESS.format("ml/notebook")
    services.clear_caches()
    assert viewer.get(address).status_code == 200  # read for profiles
    monkeypatch.setattr(snapshots, "READ_AT_ONCE", 0)
    assert viewer.get(address).status_code == 200
    assert viewer.get(address, {"policy": "old"}).status_code == 302
    assert viewer.get(address, {"against": "old@1"}).status_code == 302
    finish_jobs()
    monkeypatch.undo()
    assert viewer.get(address, {"policy": "old"}).status_code == 200  # read for classic policies
    monkeypatch.setattr(snapshots, "READ_AT_ONCE", 0)
    assert viewer.get(address, {"policy": "old"}).status_code == 200
    assert viewer.get(address, {"policy": "default"}).status_code == 302
