"""The Model Context Protocol over HTTP: twenty questions with their right answers, rights, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from operator import itemgetter
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from kschedweb.accounts.models import User
from kschedweb.accounts.roles import Role
from kschedweb.accounts.services import token_create
from kschedweb.cli.commands.tools import TOOLS
from kschedweb.clusters.demo import generate_cluster
from kschedweb.clusters.models import Cluster, ClusterSource, Snapshot
from kschedweb.clusters.services import snapshot_store

ADDRESS = "/api/v1/mcp/"
Ask = Callable[..., Any]


@pytest.fixture(scope="module")
def stored_demo(rows_of_module: Callable[[], AbstractContextManager[None]]) -> Iterator[Snapshot]:
    with rows_of_module():
        cluster = Cluster.objects.create(name="demo", source=ClusterSource.DEMO, refreshed_at=timezone.now())
        yield snapshot_store(cluster=cluster, objects=generate_cluster(), problems=[])


@pytest.fixture
def demo(stored_demo: Snapshot, db: None) -> Snapshot:
    return stored_demo


@pytest.fixture
def bearer(viewer: User) -> APIClient:
    """A program with a token of a viewer, which may only view."""
    _, key = token_create(user=viewer, name="model", scope="view", days=1)
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {key}")
    return client


@pytest.fixture
def ask(bearer: APIClient) -> Ask:
    """Call a tool, and return what it answers."""

    def call(name: str, **arguments: Any) -> Any:
        params = {"name": name, "arguments": arguments}
        answer = bearer.post(
            ADDRESS, {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}, format="json"
        )
        assert answer.status_code == 200, answer.content
        result = answer.json()["result"]
        assert not result["isError"], result["content"][0]["text"]
        return json.loads(result["content"][0]["text"])

    return call


def list_names(rows: list[dict[str, Any]]) -> list[str]:
    return sorted(row["name"] for row in rows)


def find_cause(rows: list[dict[str, Any]], pod: str) -> list[str]:
    return next(row["reasons"] for row in rows if pod in row["pods"])


def find_fixes(rows: list[dict[str, Any]], pod: str) -> list[str]:
    return next(row["fixes"] for row in rows if pod in row["pods"])


CUBE = "analytics/cube-builder"
LOWER = "Lower the CPU request of container main from 60 to 39.75: then it fits gpu-a-2."
GATED = ["waiting for scheduling gates: [example.com/budget-approval kueue.x-k8s.io/admission]"]
# Kueue's gate goes by itself.
UNGATE = ["Remove the scheduling gate example.com/budget-approval: then it fits spot-a-1."]
LAUNCH = "Karpenter would launch 1 node for 1 pod: 61 nodes instead of 60"
TWO = {"baseline": "default", "policy": "default@1", "pod": "ml/notebook"}


def count_fitting(rows: list[dict[str, Any]]) -> int:
    return next(row["count"] for row in rows if row["kind"] == "fits")


def list_group_states(answer: dict[str, Any]) -> dict[str, str]:
    return {group["name"]: group["state"] for group in answer["groups"]}


def list_chosen(sides: dict[str, Any]) -> set[str]:
    return {side["chosen"] for side in sides.values()}


GPUS = {"requests": {"nvidia.com/gpu": "64"}}
QUESTIONS: list[tuple[str, str, dict[str, Any], Callable[[Any], Any], Any]] = [
    ("Which clusters are there?", "list_clusters", {}, list_names, ["demo"]),
    ("How many nodes has demo?", "list_clusters", {}, lambda rows: rows[0]["counts"]["Node"], 60),
    ("How many pods are pending?", "list_pending", {}, len, 23),
    ("Which wait in ml?", "list_pending", {"namespace": "ml"}, list_names, ["notebook", "trainer-large"]),
    ("Where would notebook go?", "explain_pod", {"pod": "ml/notebook"}, itemgetter("chosen"), "gpu-a-2"),
    ("On how many nodes does cube-builder fit?", "explain_pod", {"pod": CUBE}, itemgetter("feasible_nodes"), 0),
    ("What would help it?", "explain_pod", {"pod": CUBE}, lambda it: it["fixes"][0]["sentence"], LOWER),
    ("What holds quarter-close?", "pending_causes", {}, lambda rows: find_cause(rows, "batch/quarter-close"), GATED),
    ("What lets it run?", "pending_causes", {}, lambda rows: find_fixes(rows, "batch/quarter-close"), UNGATE),
    ("How many would fit now?", "pending_causes", {}, count_fitting, 4),
    ("What is scarce on gpu-a-2?", "explain_node", {"node": "gpu-a-2"}, itemgetter("fullest"), "nvidia.com/gpu"),
    ("How many run there?", "explain_node", {"node": "gpu-a-2"}, lambda it: len(it["pods"]), 4),
    ("Is general-a-7 cordoned?", "explain_node", {"node": "general-a-7"}, itemgetter("cordoned"), True),
    ("Are there groups?", "list_groups", {}, list_group_states, {"nightly-join": "incomplete", "training": "pending"}),
    ("How many pods of 64 GPUs fit?", "capacity", GPUS, itemgetter("count"), 0),
    ("Would revision 1 choose another node?", "compare_policies", TWO, list_chosen, {"gpu-a-2"}),
    ("Does anything wait for approval?", "list_approvals", {}, list, []),
    ("How many pods would the descheduler evict?", "moves", {}, itemgetter("evicted"), 0),
    ("What would Karpenter do?", "autoscaling", {}, itemgetter("answer"), LAUNCH),
    ("How many nodes does it pay for?", "costs", {}, lambda it: it["total"]["count"], 60),
]


@pytest.mark.parametrize(
    ("question", "tool", "arguments", "read", "answer"), QUESTIONS, ids=[question for question, *_ in QUESTIONS]
)
def test_twenty_questions(
    demo: Snapshot,
    ask: Ask,
    question: str,
    tool: str,
    arguments: dict[str, Any],
    read: Callable[[Any], Any],
    answer: Any,
) -> None:
    cluster = {} if tool == "list_clusters" else {"cluster": "demo"}
    assert read(ask(tool, **cluster, **arguments)) == answer


def test_the_tools_are_listed_and_only_read(bearer: APIClient) -> None:
    tools = bearer.post(ADDRESS, {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}, format="json").json()
    listed = tools["result"]["tools"]
    assert {tool["name"] for tool in listed} == set(TOOLS)
    assert all(tool["annotations"]["readOnlyHint"] for tool in listed)


def test_a_notification_is_taken_without_an_answer(bearer: APIClient) -> None:
    answer = bearer.post(ADDRESS, {"jsonrpc": "2.0", "method": "notifications/initialized"}, format="json")
    assert (answer.status_code, answer.content) == (202, b"")


def test_without_a_token_and_from_another_page_nothing_is_answered(bearer: APIClient) -> None:
    message = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    assert APIClient().post(ADDRESS, message, format="json").status_code == 401
    assert bearer.post(ADDRESS, message, format="json", HTTP_ORIGIN="https://elsewhere.example").status_code == 403
    assert bearer.post(ADDRESS, message, format="json", HTTP_MCP_PROTOCOL_VERSION="1999-01-01").status_code == 400
    assert bearer.get(ADDRESS).status_code == 405


def test_a_token_reaches_no_further_than_over_rest(demo: Snapshot, bearer: APIClient, viewer: User) -> None:
    User.objects.filter(pk=viewer.pk).update(role=Role.NONE)
    params = {"name": "list_clusters", "arguments": {}}
    answer = bearer.post(ADDRESS, {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}, format="json")
    result = answer.json().get("result")
    assert result is None or result["isError"] or json.loads(result["content"][0]["text"]) == []


def test_a_wrong_question_is_an_answer_that_says_so(demo: Snapshot, bearer: APIClient) -> None:
    params = {"name": "explain_pod", "arguments": {"cluster": "demo", "pod": "ml/nobody"}}
    answer = bearer.post(ADDRESS, {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}, format="json")
    result = answer.json()["result"]
    assert result["isError"]
    assert "404" in result["content"][0]["text"]


def test_what_is_not_known_yet_says_what_to_do(demo: Snapshot, bearer: APIClient) -> None:
    for name, arguments in (("right_sizing", {}), ("pod_history", {"pod": "ml/notebook"})):
        params = {"name": name, "arguments": {"cluster": "demo", **arguments}}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        result = bearer.post(ADDRESS, message, format="json").json()["result"]
        assert result["isError"]
        assert result["content"][0]["text"].startswith("the server answered 4")
