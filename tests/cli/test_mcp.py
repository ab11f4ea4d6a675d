"""`kschedweb mcp`, asked by the official client, with a token that may only read."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from mcp import ClientSession, StdioServerParameters, stdio_client

from kschedweb.cli.commands.tools import TOOLS
from tests.cli.conftest import clean_variables
from tests.support.processes import wait_until
from tests.support.site import Site

pytestmark = [pytest.mark.server, pytest.mark.xdist_group("cli")]


@pytest.fixture
def run_session(bin_folder: Path, tokens: Callable[[str], dict[str, str]], tmp_path: Path) -> Callable[..., Any]:
    """Run ``work`` with a session of the client."""
    environment = clean_variables(bin_folder, tmp_path, **tokens("view"))
    server = StdioServerParameters(command=str(bin_folder / "kschedweb"), args=["mcp"], env=environment)

    def run(work: Callable[[ClientSession], Awaitable[Any]]) -> Any:
        async def talk() -> Any:
            async with stdio_client(server) as (reading, writing), ClientSession(reading, writing) as session:
                await session.initialize()
                return await work(session)

        return asyncio.run(asyncio.wait_for(talk(), 900))

    return run


def read_answer(answer: Any) -> Any:
    assert not answer.is_error, answer.content[0].text
    return json.loads(answer.content[0].text)


def test_the_tools_only_read(run_session: Callable[..., Any]) -> None:
    tools = run_session(lambda session: session.list_tools()).tools
    assert {tool.name for tool in tools} == set(TOOLS)
    assert all(tool.annotations.read_only_hint for tool in tools)


def test_each_tool_answers(run_session: Callable[..., Any], site: Site) -> None:
    async def work(session: ClientSession) -> dict[str, Any]:
        calls: dict[str, dict[str, Any]] = {
            "list_clusters": {},
            "list_pending": {"cluster": "demo"},
            "explain_pod": {"cluster": "demo", "pod": "ml/notebook"},
            "compare_policies": {"cluster": "demo", "baseline": "default", "policy": "default@1", "pod": "ml/notebook"},
            "capacity": {"cluster": "demo", "requests": {"cpu": "500m", "memory": "1Gi"}},
            "list_approvals": {},
            "ask_admission": {"cluster": "demo", "requests": {"cpu": "1"}, "queue": "analytics/analytics"},
        }
        answers = {name: read_answer(await session.call_tool(name, arguments)) for name, arguments in calls.items()}
        together = {"cluster": "demo", "baseline": "default", "policy": "default"}
        return answers | {"together": read_answer(await session.call_tool("compare_policies", together))}

    tool_answers = run_session(work)
    decision = site.ask("GET", "clusters/demo/pods/ml/notebook/decision/")
    assert tool_answers["ask_admission"]["asks"] == "1 CPU"
    assert "demo" in [cluster["name"] for cluster in tool_answers["list_clusters"]]
    assert tool_answers["explain_pod"]["chosen"] == decision["chosen"]
    assert tool_answers["explain_pod"]["best_nodes"][decision["chosen"]] == max(decision["total"].values())
    assert sum(tool_answers["explain_pod"]["scores_of_chosen"].values()) == decision["total"][decision["chosen"]]
    assert (
        tool_answers["compare_policies"]["baseline"]["chosen"] == tool_answers["compare_policies"]["policy"]["chosen"]
    )
    # Fixes are searched for some seconds only, in which a busy machine finds fewer.
    baseline, policy = (
        [{**group, "fixes": []} for group in tool_answers["together"][side]["groups"]]
        for side in ("baseline", "policy")
    )
    assert baseline == policy
    body = {"cluster": "demo", "pod": {"requests": {"cpu": "500m", "memory": "1Gi"}}}
    wait_until(lambda: "count" in site.ask("POST", "capacity/fit/", body), "the fit is computed")
    assert tool_answers["capacity"]["count"] == site.ask("POST", "capacity/fit/", body)["count"]
    pending = {f"{pod['namespace']}/{pod['name']}" for pod in tool_answers["list_pending"]}
    pending_pods = site.ask("GET", "clusters/demo/pods/?pending=true&limit=100")["results"]
    assert pending == {f"{pod['namespace']}/{pod['name']}" for pod in pending_pods}


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("explain_pod", {"cluster": "demo"}, "pod: is missing"),
        ("explain_pod", {"cluster": "demo", "pod": "ml/none"}, "404"),
        ("explain_pod", {"cluster": 7, "pod": "ml/none"}, "cluster: must be text"),
        ("capacity", {"cluster": "demo", "requests": {"cpu": "much"}}, "requests.cpu"),
        ("list_pending", {"cluster": "demo", "more": "x"}, "more: is unknown"),
    ],
)
def test_what_is_wrong_is_an_answer_that_says_so(
    run_session: Callable[..., Any], name: str, arguments: dict[str, Any], message: str
) -> None:
    answer = run_session(lambda session: session.call_tool(name, arguments))
    assert answer.is_error
    assert message in answer.content[0].text
