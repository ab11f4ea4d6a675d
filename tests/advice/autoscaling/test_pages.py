"""Advice from Karpenter, on the page and over REST: at once and by a job."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from typing import Any

import pytest

from kschedweb.accounts.models import User
from kschedweb.advice.autoscaling import services, tasks, words
from kschedweb.advice.autoscaling.models import Question
from kschedweb.advice.autoscaling.requests import KarpenterRequest
from kschedweb.clusters import demo as demo_cluster
from kschedweb.clusters.models import Snapshot
from kschedweb.engine.autoscaling import advice
from kschedweb.policies.karpenter import selectors as karpenters
from kschedweb.policies.services import policy_create
from tests.support.html import elements
from tests.support.seed_karpenter import DOCUMENT

pytestmark = pytest.mark.django_db
PAGE, API_ADDRESS = "/autoscaling/", "/api/v1/autoscaling/"


@pytest.fixture
def roomy_policy(editor: User) -> str:
    """A policy with more room than the demo has."""
    return policy_create(name="nodepools", document=DOCUMENT.replace("cpu: 100 ", "cpu: 9000 "), author=editor).name


@pytest.fixture(scope="module")
def expected() -> dict[str, Any]:
    """The engine's own answer about the demo, all of whose nodes count as of the ready NodePool."""
    request = advice.ProvisioningRequest(
        karpenters.karpenter_of(None), demo_cluster.generate_cluster(), demo_cluster.NOW.timestamp(), "default"
    )
    return advice.advise_on_cluster(request)


def test_the_page_says_what_the_engine_says(
    client_as: Callable[..., Any], demo: Snapshot, expected: dict[str, Any]
) -> None:
    page = client_as("viewer").get(PAGE, {"cluster": "demo", "pool": "default", "order": "node"})
    assert page.status_code == 200
    answer = page.context["answer"]
    assert (answer["after"], answer["command"]) == (expected["after"], expected["command"])
    assert page.context["sentence"] == words.render_sentence(expected)
    verdict_elements = elements(page, "[data-verdict]")
    by_name = sorted(expected["nodes"], key=lambda entry: str(entry["node"]))
    assert [entry["data-verdict"] for entry in verdict_elements] == [
        entry["verdict"] for entry in by_name[: len(verdict_elements)]
    ]
    assert sum(count for _, _, count in page.context["reasons"]) == len(expected["nodes"])
    (side,) = page.context["map"].sides
    codes = dict(zip(side.now.names, side.now.values.tolist(), strict=True))
    assert codes == {entry["node"]: words.VERDICTS.index(entry["verdict"]) for entry in expected["nodes"]}


def test_nodes_without_a_nodepool_are_told_as_not_karpenters(client_as: Callable[..., Any], demo: Snapshot) -> None:
    page = client_as("viewer").get(PAGE, {"cluster": "demo"})
    assert page.context["unowned"] == 60
    assert "Karpenter does not manage 60 nodes" in " ".join(page.content.decode().split())
    assert {node["verdict"] for node in page.context["answer"]["nodes"]} == {"stays"}


def test_nodes_are_filtered_sorted_and_downloaded(client_as: Callable[..., Any], demo: Snapshot) -> None:
    client, query = client_as("viewer"), {"cluster": "demo", "pool": "default"}
    going = client.get(PAGE, {**query, "verdict": "goes"})
    names = {node["node"] for node in going.context["page"]}
    assert names == set(going.context["answer"]["command"]["candidates"])
    verdict, reason_words, count = next(reason for reason in going.context["reasons"] if reason[0] == "stays")
    by_reason = client.get(PAGE, {**query, "verdict": verdict, "why": reason_words})
    assert by_reason.context["page"].paginator.count == count
    dear = [node["price"] or 0.0 for node in client.get(PAGE, {**query, "order": "price"}).context["page"]]
    assert dear == sorted(dear, reverse=True)
    file = client.get(PAGE, {**query, "format": "csv", "search": "general-a"})
    rows = list(csv.DictReader(io.StringIO(b"".join(file).decode())))
    assert {row["node"][:9] for row in rows} == {"general-a"}
    assert {row["verdict"] for row in rows} <= set(words.VERDICTS)


def test_rest_answers_the_same(api_as: Callable[..., Any], demo: Snapshot, expected: dict[str, Any]) -> None:
    answer = api_as("viewer").post(API_ADDRESS, {"cluster": "demo", "pool": "default"}, format="json")
    assert answer.status_code == 200, answer.content
    data = answer.json()
    assert (data["answer"], data["after"], data["invented"]) == (
        words.render_sentence(expected),
        expected["after"],
        True,
    )
    assert [node["node"] for node in data["nodes"]] == [node["node"] for node in expected["nodes"]]
    best = [node["offers"][0]["instance_type"] for node in data["new_nodes"]]
    assert best == [node["offers"][0]["instanceType"] for node in expected["newNodes"]]


def test_a_policy_says_which_nodes_there_may_be(
    api_as: Callable[..., Any], client_as: Callable[..., Any], demo: Snapshot, roomy_policy: str
) -> None:
    data = (
        api_as("viewer")
        .post(API_ADDRESS, {"cluster": "demo", "policy": roomy_policy, "pool": "general"}, format="json")
        .json()
    )
    assert {node["node_pool"] for node in data["new_nodes"]} == {"general"}
    assert {offer["capacity_type"] for node in data["new_nodes"] for offer in node["offers"]} == {"on-demand"}
    page = client_as("viewer").get(PAGE, {"cluster": "demo", "nodepools": f"{roomy_policy}@1", "pool": "general"})
    assert page.context["sentence"] == data["answer"]


@pytest.mark.parametrize(
    ("query", "status", "path"),
    [
        ({"policy": "default"}, 422, "policy"),
        ({"policy": "missing"}, 400, "policy"),
        ({"policy": "nodepools@9"}, 400, "policy"),
        ({"pool": "missing"}, 400, "pool"),
    ],
)
def test_what_cannot_be_asked_is_told_at_its_field(
    query: dict[str, str],
    status: int,
    path: str,
    api_as: Callable[..., Any],
    client_as: Callable[..., Any],
    demo: Snapshot,
    roomy_policy: str,
) -> None:
    answer = api_as("viewer").post(API_ADDRESS, {"cluster": "demo", **query}, format="json")
    assert (answer.status_code, [error["path"] for error in answer.json()["errors"]]) == (status, [path])
    field = {"policy": "nodepools"}.get(path, path)
    page = client_as("viewer").get(PAGE, {"cluster": "demo", field: query[path]})
    assert page.status_code == status
    assert page.context["form"].errors.get(field), page.context["form"].errors


def test_what_takes_long_is_a_job(
    monkeypatch: pytest.MonkeyPatch, client_as: Callable[..., Any], api_as: Callable[..., Any], demo: Snapshot
) -> None:
    monkeypatch.setattr("kschedweb.jobs.inquiries.AT_ONCE_SIZE", 0)
    client = client_as("editor")
    page = client.get(PAGE, {"cluster": "demo", "pool": "default"})
    assert page.context["later"]
    submission = client.post(f"{PAGE}?cluster=demo", {"nodepools": "", "pool": "default"})
    assert submission.status_code == 302
    waiting = client.get(submission["Location"])
    assert waiting.status_code == 200
    answer = api_as("editor").post(API_ADDRESS, {"cluster": "demo", "pool": "default"}, format="json")
    assert (answer.status_code, answer.json()["found"]) == (202, None)
    question = Question.objects.get(pk=answer.json()["id"])
    tasks.answer(str(question.job_id))
    rest_answer = api_as("viewer").get(f"{API_ADDRESS}{question.pk}/").json()
    assert (rest_answer["state"], rest_answer["found"]["before"]["nodes"]) == ("succeeded", 60)
    answer_page = client.get(f"{PAGE}{question.pk}/", {"verdict": "goes"})
    assert answer_page.context["sentence"] == rest_answer["found"]["answer"]


def test_a_snapshot_that_was_deleted_is_told(demo: Snapshot, editor: User) -> None:
    question = services.question_ask(user=editor, autoscaling_request=KarpenterRequest(demo, None))
    question.snapshot = None
    with pytest.raises(services.Unprocessable, match="deleted before there was an answer"):
        services.KIND.answer(question, lambda *_: None)
