"""`kschedweb mcp`, asked by the official client, with a token that may only read."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from mcp import ClientSession, StdioServerParameters, stdio_client

from tests.cli.conftest import surroundings
from tests.support.site import Site

pytestmark = [pytest.mark.server, pytest.mark.xdist_group("cli")]


@pytest.fixture
def ask(installed: Path, tokens: Callable[[str], dict[str, str]], tmp_path: Path) -> Callable[..., Any]:
    """Run ``work`` with a session of the client."""
    environment = surroundings(installed, tmp_path, **tokens("view"))
    server = StdioServerParameters(command=str(installed / "kschedweb"), args=["mcp"], env=environment)

    def run(work: Callable[[ClientSession], Awaitable[Any]]) -> Any:
        async def talk() -> Any:
            async with stdio_client(server) as (reading, writing), ClientSession(reading, writing) as session:
                await session.initialize()
                return await work(session)

        return asyncio.run(asyncio.wait_for(talk(), 120))

    return run


def told(answer: Any) -> Any:
    assert not answer.is_error, answer.content[0].text
    return json.loads(answer.content[0].text)


def test_the_tools_only_read(ask: Callable[..., Any]) -> None:
    listed = ask(lambda session: session.list_tools()).tools
    assert {one.name for one in listed} == {
        "list_clusters",
        "list_pending",
        "explain_pod",
        "compare_policies",
        "capacity",
        "list_approvals",
    }
    assert all(one.annotations.read_only_hint for one in listed)


def test_each_tool_answers(ask: Callable[..., Any], site: Site) -> None:
    async def work(session: ClientSession) -> dict[str, Any]:
        asked: dict[str, dict[str, Any]] = {
            "list_clusters": {},
            "list_pending": {"cluster": "demo"},
            "explain_pod": {"cluster": "demo", "pod": "ml/notebook"},
            "compare_policies": {"cluster": "demo", "baseline": "default", "policy": "default@1", "pod": "ml/notebook"},
            "capacity": {"cluster": "demo", "requests": {"cpu": "500m", "memory": "1Gi"}},
            "list_approvals": {},
        }
        found = {name: told(await session.call_tool(name, given)) for name, given in asked.items()}
        together = {"cluster": "demo", "baseline": "default", "policy": "default"}
        return found | {"together": told(await session.call_tool("compare_policies", together))}

    found = ask(work)
    decision = site.ask("GET", "clusters/demo/pods/ml/notebook/decision/")
    assert "demo" in [cluster["name"] for cluster in found["list_clusters"]]
    assert found["explain_pod"]["chosen"] == decision["chosen"]
    assert found["explain_pod"]["best_nodes"][decision["chosen"]] == max(decision["total"].values())
    assert sum(found["explain_pod"]["scores_of_chosen"].values()) == decision["total"][decision["chosen"]]
    assert found["compare_policies"]["baseline"]["chosen"] == found["compare_policies"]["policy"]["chosen"]
    assert found["together"]["baseline"]["groups"] == found["together"]["policy"]["groups"]
    body = {"cluster": "demo", "pod": {"requests": {"cpu": "500m", "memory": "1Gi"}}}
    assert found["capacity"]["count"] == site.ask("POST", "capacity/fit/", body)["count"]
    pending = {f"{one['namespace']}/{one['name']}" for one in found["list_pending"]}
    known = site.ask("GET", "clusters/demo/pods/?pending=true&limit=100")["results"]
    assert pending == {f"{one['namespace']}/{one['name']}" for one in known}


@pytest.mark.parametrize(
    ("name", "given", "says"),
    [
        ("explain_pod", {"cluster": "demo"}, "pod: is missing"),
        ("explain_pod", {"cluster": "demo", "pod": "ml/none"}, "404"),
        ("explain_pod", {"cluster": 7, "pod": "ml/none"}, "cluster: must be text"),
        ("capacity", {"cluster": "demo", "requests": {"cpu": "much"}}, "requests.cpu"),
        ("list_pending", {"cluster": "demo", "more": "x"}, "more: is unknown"),
    ],
)
def test_what_is_wrong_is_an_answer_that_says_so(
    ask: Callable[..., Any], name: str, given: dict[str, Any], says: str
) -> None:
    answer = ask(lambda session: session.call_tool(name, given))
    assert answer.is_error
    assert says in answer.content[0].text
