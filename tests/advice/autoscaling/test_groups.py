"""Advice from cluster-autoscaler for node groups that are typed in, on the page and over REST."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kschedweb.advice.autoscaling import tasks
from kschedweb.advice.autoscaling.models import Question
from kschedweb.clusters.models import Snapshot
from tests.engine.simulation.autoscaling.test_advice import node, pod
from tests.support.html import elements

pytestmark = pytest.mark.django_db
PAGE, API_ADDRESS = "/autoscaling/groups/", "/api/v1/autoscaling/groups/"
DOCUMENT = """\
expander: price
nodeGroups:
  - {name: plain, labels: {of: plain}, allocatable: {cpu: "4", memory: 16Gi}, max: 9, price: 0.5}
  - {name: large, allocatable: {cpu: "16", memory: 64Gi}, max: 2, price: 4}
"""


@pytest.fixture
def small(store_snapshot: Callable[..., Snapshot]) -> Snapshot:
    kind = {"node.kubernetes.io/instance-type": "m.large"}
    nodes = [node(f"plain-{number}", of="plain", **kind) for number in range(3)]
    return store_snapshot([*nodes, pod("busy", "3", "plain-0"), pod("light", "500m", "plain-1"), pod("waits", "3900m")])


def test_the_page_begins_with_the_groups_of_the_snapshot_and_answers_them(
    client_as: Callable[..., Any], small: Snapshot
) -> None:
    client = client_as("viewer")
    page = client.get(PAGE, {"cluster": "demo"})
    assert "name: m-large" in page.context["document"]
    assert "not checked against its code" in " ".join(page.content.decode().split())
    answer_page = client.post(f"{PAGE}?cluster=demo", {"document": page.context["document"]})
    assert (answer_page.status_code, answer_page.context.get("problems")) == (200, None)
    assert {node["group"] for node in answer_page.context["answer"]["nodes"]} == {"m-large"}


def test_page_and_rest_say_the_same(
    client_as: Callable[..., Any], api_as: Callable[..., Any], store_snapshot: Callable[..., Snapshot]
) -> None:
    nodes = [node(f"plain-{number}", "3", of="plain") for number in range(3)]
    store_snapshot([*nodes, pod("busy", "2500m", "plain-0"), pod("light", "500m", "plain-1"), pod("waits", "3900m")])
    page = client_as("viewer").post(f"{PAGE}?cluster=demo", {"document": DOCUMENT})
    answer = api_as("viewer").post(API_ADDRESS, {"cluster": "demo", "document": DOCUMENT}, format="json")
    assert (page.status_code, answer.status_code) == (200, 200), answer.content
    data = answer.json()
    assert data["answer"] == page.context["sentence"]
    assert data["answer"].startswith("cluster-autoscaler would add 1 node for 1 pod")
    (look,) = data["looks"]
    assert (look["group"], look["price"], look["pods"]) == ("plain", 0.5, [["default/waits"]])
    assert [(candidate["group"], candidate["price_per_pod"]) for candidate in look["candidates"]] == [
        ("plain", 0.5),
        ("large", 4.0),
    ]
    verdicts = {node["node"]: node["verdict"] for node in data["nodes"]}
    assert verdicts == {"plain-0": "stays", "plain-1": "could go", "plain-2": "goes"}
    verdict_elements = elements(page, "[data-verdict]")
    assert [number["data-verdict"] for number in verdict_elements] == ["goes", "could go", "stays"]
    text = " ".join(page.content.decode().split())
    assert "2500m CPU / 3 CPU = 83.3 %" in text or "2.5 CPU / 3 CPU = 83.3 %" in text
    assert "default/light would go to plain-" in text


@pytest.mark.parametrize(
    ("document", "path", "line", "message"),
    [
        (DOCUMENT.replace("max: 2", "max: -2"), "nodeGroups[1].max", 4, "at least 0"),
        (DOCUMENT.replace("max: 2", "max: 2, taints: [{key: a}]"), "nodeGroups[1].taints[0].effect", 4, "NoSchedule"),
        (DOCUMENT.replace("price\n", "cheap\n"), "expander", 1, "least-waste"),
        ("nodeGroups: [", "", 2, "not YAML"),
        ("", "", 1, "must be an object"),
    ],
)
def test_a_problem_stands_at_its_line_and_nothing_is_lost(
    document: str,
    path: str,
    line: int,
    message: str,
    client_as: Callable[..., Any],
    api_as: Callable[..., Any],
    small: Snapshot,
) -> None:
    page = client_as("viewer").post(f"{PAGE}?cluster=demo", {"document": document})
    assert (page.status_code, page.context["document"]) == (422, document)
    (problem,) = page.context["problems"]
    assert (problem.path, problem.line) == (path, line)
    assert message in problem.message
    answer = api_as("viewer").post(API_ADDRESS, {"cluster": "demo", "document": document or " "}, format="json")
    assert answer.status_code in (400, 422)
    if document:
        assert [(error["path"], error["line"]) for error in answer.json()["errors"]] == [(path, line)]


def test_what_takes_long_is_a_job(
    monkeypatch: pytest.MonkeyPatch, client_as: Callable[..., Any], api_as: Callable[..., Any], small: Snapshot
) -> None:
    monkeypatch.setattr("kschedweb.jobs.inquiries.AT_ONCE_SECONDS", -1.0)
    client = client_as("viewer")
    submission = client.post(f"{PAGE}?cluster=demo", {"document": DOCUMENT})
    assert submission.status_code == 302
    assert "in progress" in client.get(submission["Location"]).content.decode()
    answer = api_as("viewer").post(API_ADDRESS, {"cluster": "demo", "document": DOCUMENT}, format="json")
    assert (answer.status_code, answer.json()["groups"]) == (202, None)
    question = Question.objects.get(pk=answer.json()["id"])
    tasks.answer(str(question.job_id))
    rest_answer = api_as("viewer").get(f"/api/v1/autoscaling/{question.pk}/").json()
    assert (rest_answer["state"], rest_answer["found"]) == ("succeeded", None)
    answer_page = client.get(f"/autoscaling/{question.pk}/")
    assert answer_page.context["document"] == DOCUMENT.strip()
    assert answer_page.context["sentence"] == rest_answer["groups"]["answer"]
    assert [element["data-verdict"] for element in elements(answer_page, "[data-verdict]")] == [
        "goes",
        "could go",
        "stays",
    ]
    assert any(
        element.attributes.get("action", "").startswith(f"{PAGE}?cluster=demo")
        for element in elements(answer_page, "form")
    )
    monkeypatch.setattr("kschedweb.jobs.inquiries.AT_ONCE_SECONDS", 600.0)
    now = api_as("viewer").post(API_ADDRESS, {"cluster": "demo", "document": DOCUMENT}, format="json")
    assert (now.status_code, now.json()) == (200, rest_answer["groups"])


def test_a_job_is_refused_what_no_node_groups_are(
    monkeypatch: pytest.MonkeyPatch, client_as: Callable[..., Any], small: Snapshot
) -> None:
    monkeypatch.setattr("kschedweb.jobs.inquiries.AT_ONCE_SIZE", 0)
    page = client_as("viewer").post(f"{PAGE}?cluster=demo", {"document": "nodeGroups: 1"})
    assert (page.status_code, page.context["document"]) == (422, "nodeGroups: 1")
    assert not Question.objects.exists()
