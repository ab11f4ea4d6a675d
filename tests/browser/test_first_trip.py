"""A platform engineer's first quarter of an hour, on a site that `make run` started, in Chromium."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.browser import watch
from tests.support.forms import save_policy, set_weight
from tests.support.site import MadeRun, made_run

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


@pytest.fixture
def run(tmp_path: Any) -> Iterator[MadeRun]:
    with made_run(tmp_path) as run:
        yield run


@pytest.fixture
def visitor(browser: Browser, run: MadeRun) -> Iterator[Page]:
    """A browser that has never been here."""
    problems: list[str] = []
    context = browser.new_context(base_url=run.site.url, accept_downloads=True)
    page = context.new_page()
    watch(page, run.site.url, problems)
    yield page
    context.close()
    assert not problems, "\n".join(problems)


def test_from_the_first_login_to_a_policy_that_the_scheduler_accepts(
    visitor: Page, run: MadeRun, oracle: Callable[[str, str], Any]
) -> None:
    page = visitor
    username, password = run.first_login()
    page.goto("/")
    page.get_by_label("Username").fill(username)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Log in").click()

    # A pending pod that fits nowhere says why, in the scheduler's words.
    run.site.login(username, password)
    pods = run.site.ask("GET", "clusters/demo/pods/?pending=true&limit=100")["results"]
    decisions = {pod["name"]: explain_pod(run, pod, 1) for pod in pods}
    stuck = next(pod for pod in pods if "Insufficient cpu" in (decisions[pod["name"]].get("message") or ""))
    page.goto("/pods/?cluster=demo")
    page.get_by_role("link", name=stuck["name"], exact=True).first.click()
    page.locator("main summary", has_text="Details").first.click()
    assert decisions[stuck["name"]]["message"] in page.locator("main").inner_text()

    # A weight is changed in the form and saved …
    page.goto("/policies/default/?cluster=demo")
    set_weight(page, "NodeResourcesBalancedAllocation", 10)
    save_policy(page)

    # … and another node wins.
    moved_pods = [pod for pod in pods if explain_pod(run, pod, 2).get("chosen") != decisions[pod["name"]].get("chosen")]
    assert moved_pods
    winner = explain_pod(run, moved_pods[0], 2)["chosen"]
    page.goto(f"/decision/demo/{moved_pods[0]['namespace']}/{moved_pods[0]['name']}/?policy=default&revision=2")
    assert winner in page.locator("h1").inner_text()

    # The file that comes down is one that the real scheduler takes.
    page.goto("/policies/default/")
    with page.expect_download() as caught:
        page.get_by_role("link", name="Download").first.click()
    verdict = oracle("validate", caught.value.path().read_text(encoding="utf-8"))
    assert verdict["valid"], verdict


def explain_pod(run: MadeRun, pod: dict[str, Any], revision: int) -> dict[str, Any]:
    path = f"clusters/demo/pods/{pod['namespace']}/{pod['name']}/decision/?policy=default&revision={revision}"
    explanation: dict[str, Any] = run.site.ask("GET", path)
    return explanation
