"""What Karpenter would do, on the page and over REST: at once and by a job."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from typing import Any

import pytest

from kschedweb.accounts.models import User
from kschedweb.advice.autoscaling import selectors, services, tasks, words
from kschedweb.advice.autoscaling.requests import KarpenterRequest
from kschedweb.clusters import demo as demo_cluster
from kschedweb.clusters.models import Snapshot
from kschedweb.engine.autoscaling import advice
from kschedweb.policies.karpenter import selectors as karpenters
from kschedweb.policies.services import policy_create
from tests.support.html import elements
from tests.support.seed_karpenter import DOCUMENT

pytestmark = pytest.mark.django_db
PAGE, REST = "/autoscaling/", "/api/v1/autoscaling/"


@pytest.fixture
def own(editor: User) -> str:
    """A policy with more room than the demo has."""
    return policy_create(name="nodepools", document=DOCUMENT.replace("cpu: 100 ", "cpu: 9000 "), author=editor).name


@pytest.fixture(scope="module")
def expected() -> dict[str, Any]:
    """The engine's own answer about the demo, all of whose nodes count as of the ready NodePool."""
    asked = advice.ProvisioningRequest(
        karpenters.karpenter_of(None), demo_cluster.generate_cluster(), demo_cluster.NOW.timestamp(), "default"
    )
    return advice.advise_on_cluster(asked)


def test_the_page_says_what_the_engine_says(
    client_as: Callable[..., Any], demo: Snapshot, expected: dict[str, Any]
) -> None:
    page = client_as("viewer").get(PAGE, {"cluster": "demo", "pool": "default", "order": "node"})
    assert page.status_code == 200
    found = page.context["answer"]
    assert (found["after"], found["command"]) == (expected["after"], expected["command"])
    assert page.context["sentence"] == words.render_sentence(expected)
    shown = elements(page, "[data-verdict]")
    by_name = sorted(expected["nodes"], key=lambda one: str(one["node"]))
    assert [one["data-verdict"] for one in shown] == [one["verdict"] for one in by_name[: len(shown)]]
    assert sum(count for _, _, count in page.context["reasons"]) == len(expected["nodes"])


def test_nodes_without_a_nodepool_are_told_as_not_karpenters(client_as: Callable[..., Any], demo: Snapshot) -> None:
    page = client_as("viewer").get(PAGE, {"cluster": "demo"})
    assert page.context["unowned"] == 60
    assert "Karpenter does not own 60 nodes" in " ".join(page.content.decode().split())
    assert {node["verdict"] for node in page.context["answer"]["nodes"]} == {"stays"}


def test_nodes_are_filtered_sorted_and_downloaded(client_as: Callable[..., Any], demo: Snapshot) -> None:
    client, asked = client_as("viewer"), {"cluster": "demo", "pool": "default"}
    going = client.get(PAGE, {**asked, "verdict": "goes"})
    names = {one["node"] for one in going.context["page"]}
    assert names == set(going.context["answer"]["command"]["candidates"])
    verdict, why, count = next(reason for reason in going.context["reasons"] if reason[0] == "stays")
    by_reason = client.get(PAGE, {**asked, "verdict": verdict, "why": why})
    assert by_reason.context["page"].paginator.count == count
    dear = [one["price"] or 0.0 for one in client.get(PAGE, {**asked, "order": "price"}).context["page"]]
    assert dear == sorted(dear, reverse=True)
    file = client.get(PAGE, {**asked, "format": "csv", "search": "general-a"})
    rows = list(csv.DictReader(io.StringIO(b"".join(file).decode())))
    assert {row["node"][:9] for row in rows} == {"general-a"}
    assert {row["verdict"] for row in rows} <= set(words.VERDICTS)


def test_rest_answers_the_same(api_as: Callable[..., Any], demo: Snapshot, expected: dict[str, Any]) -> None:
    answer = api_as("viewer").post(REST, {"cluster": "demo", "pool": "default"}, format="json")
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
    api_as: Callable[..., Any], client_as: Callable[..., Any], demo: Snapshot, own: str
) -> None:
    data = api_as("viewer").post(REST, {"cluster": "demo", "policy": own, "pool": "general"}, format="json").json()
    assert {node["node_pool"] for node in data["new_nodes"]} == {"general"}
    assert {offer["capacity_type"] for node in data["new_nodes"] for offer in node["offers"]} == {"on-demand"}
    page = client_as("viewer").get(PAGE, {"cluster": "demo", "nodepools": f"{own}@1", "pool": "general"})
    assert page.context["sentence"] == data["answer"]


@pytest.mark.parametrize(
    ("asked", "status", "path"),
    [
        ({"policy": "default"}, 422, "policy"),
        ({"policy": "missing"}, 400, "policy"),
        ({"policy": "nodepools@9"}, 400, "policy"),
        ({"pool": "missing"}, 400, "pool"),
    ],
)
def test_what_cannot_be_asked_is_told_at_its_field(
    asked: dict[str, str],
    status: int,
    path: str,
    api_as: Callable[..., Any],
    client_as: Callable[..., Any],
    demo: Snapshot,
    own: str,
) -> None:
    answer = api_as("viewer").post(REST, {"cluster": "demo", **asked}, format="json")
    assert (answer.status_code, [error["path"] for error in answer.json()["errors"]]) == (status, [path])
    field = {"policy": "nodepools"}.get(path, path)
    page = client_as("viewer").get(PAGE, {"cluster": "demo", field: asked[path]})
    assert page.status_code == status
    assert page.context["form"].errors.get(field), page.context["form"].errors


def test_what_takes_long_is_a_job(
    monkeypatch: pytest.MonkeyPatch, client_as: Callable[..., Any], api_as: Callable[..., Any], demo: Snapshot
) -> None:
    monkeypatch.setattr(services, "AT_ONCE_SIZE", 0)
    client = client_as("editor")
    page = client.get(PAGE, {"cluster": "demo", "pool": "default"})
    assert page.context["later"]
    sent = client.post(f"{PAGE}?cluster=demo", {"nodepools": "", "pool": "default"})
    assert sent.status_code == 302
    waiting = client.get(sent["Location"])
    assert waiting.status_code == 200
    answer = api_as("editor").post(REST, {"cluster": "demo", "pool": "default"}, format="json")
    assert (answer.status_code, answer.json()["found"]) == (202, None)
    question = selectors.question_get(answer.json()["id"])
    tasks.answer(str(question.job_id))
    told = api_as("viewer").get(f"{REST}{question.pk}/").json()
    assert (told["state"], told["found"]["before"]["nodes"]) == ("succeeded", 60)
    done = client.get(f"{PAGE}{question.pk}/", {"verdict": "goes"})
    assert done.context["sentence"] == told["found"]["answer"]


def test_a_snapshot_that_was_deleted_is_told(demo: Snapshot, editor: User) -> None:
    question = services.question_ask(user=editor, autoscaling_request=KarpenterRequest(demo, None))
    question.snapshot = None
    with pytest.raises(services.Unprocessable, match="deleted before there was an answer"):
        services.question_answer(question=question, step=lambda *_: None)
