"""The page of a node, and the same over REST."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from kschedweb.clusters.models import NodeRow, Snapshot
from kschedweb.decisions import snapshots
from kschedweb.decisions.models import Question
from kschedweb.decisions.nodes import services, titles
from kschedweb.engine.studies.capacity.node_report import NodeReport, PlaceVerdict
from kschedweb.policies.models import Revision
from tests.engine import builders
from tests.support.html import elements, text

NODE = "gpu-a-2"
API_PATH = "/api/v1/clusters/demo/nodes/{}/report/"


@pytest.fixture
def viewer_client(demo: Snapshot, client_as: Callable[[str], Client]) -> Client:
    return client_as("viewer")


def test_the_page_and_rest_give_one_report(viewer_client: Client) -> None:
    page = viewer_client.get(f"/nodes/{NODE}/", {"cluster": "demo"})
    report = page.context["report"]
    answer = viewer_client.get(API_PATH.format(NODE)).json()
    assert NodeReport.from_dict(answer) == report
    assert elements(page, "h1")[0].text.startswith(NODE)
    assert len(titles.report_title(report).split()) <= 12
    rows = elements(page, ".node-pods tbody tr")
    assert len(rows) == len(report.pods) == NodeRow.objects.get(name=NODE).pods_bound
    assert all(pod.place is not None for pod in report.pods)
    bars = elements(page, ".node-bar")
    assert [bar["data-resource"] for bar in bars] == [
        level.resource for level in report.resources if level.requested or level.resource != "ephemeral-storage"
    ]


def test_pending_pods_stand_beside_the_words_of_the_filter(viewer_client: Client) -> None:
    page = viewer_client.get(f"/nodes/{NODE}/", {"cluster": "demo"})
    content = text(page)
    assert page.context["report"].refused
    for group in page.context["report"].refused:
        assert group.message in content


def test_each_pod_is_explained_when_it_is_opened_where_that_is_costly(
    viewer_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(services, "VERDICTS_AT_ONCE", 0)
    page = viewer_client.get(f"/nodes/{NODE}/", {"cluster": "demo"})
    assert {pod.place for pod in page.context["report"].pods} == {None}
    link = elements(page, "a[hx-get]")[0]
    cells = text(viewer_client.get(link["hx-get"]))
    assert cells.count("<td") == 2
    whole = viewer_client.get(f"/nodes/{NODE}/{link['href'].partition('#')[0]}")
    assert sum(bool(line.why) for line in whole.context["lines"]) == 1


def test_a_job_reports_on_a_node_of_a_large_cluster(
    viewer_client: Client, monkeypatch: pytest.MonkeyPatch, demo: Snapshot
) -> None:
    monkeypatch.setattr(snapshots, "READ_AT_ONCE", 0)
    snapshots.clear_caches()
    redirect = viewer_client.get(f"/nodes/{NODE}/", {"cluster": "demo"})
    question = Question.objects.get()
    assert redirect.headers["Location"] == f"/decisions/questions/{question.pk}/"
    sentence, content, _ = services.report_answer(question, lambda *_: None)
    assert sentence.startswith(NODE)
    assert content["answer"]["node"] == NODE
    assert viewer_client.get(API_PATH.format(NODE)).status_code in (200, 202)


@pytest.mark.parametrize(
    "address", ["/nodes/none/?cluster=demo", "/nodes/a%00b/?cluster=demo", API_PATH.format("none")]
)
def test_an_unknown_node_is_not_found(viewer_client: Client, address: str) -> None:
    assert viewer_client.get(address).status_code == 404


def test_places_are_true_or_false(viewer_client: Client) -> None:
    assert viewer_client.get(API_PATH.format(NODE), {"places": "some"}).status_code == 400
    pods = viewer_client.get(API_PATH.format(NODE), {"places": "false"}).json()["pods"]
    assert {pod["place"] for pod in pods} == {None}


def test_a_classic_policy_answers(viewer_client: Client, classic: Callable[..., Revision]) -> None:
    classic()
    page = viewer_client.get(f"/nodes/{NODE}/", {"cluster": "demo", "policy": "old"})
    assert page.status_code == 200
    assert any(pod.place.verdict != PlaceVerdict.FAILED for pod in page.context["report"].pods)


def test_more_than_there_is_shows_where_the_node_ends(
    store_snapshot: Callable[..., Snapshot], client_as: Callable[[str], Client]
) -> None:
    pods: list[Any] = [builders.pod(f"p{at}", requests={"cpu": "3"}, on="a") for at in range(2)]
    store_snapshot([builders.node("a"), *pods])
    page = client_as("viewer").get("/nodes/a/", {"cluster": "demo"})
    assert "too much" in page.context["title"]
    assert page.context["bars"][0].overcommitted
    assert elements(page, ".blocks .limit")
