"""From a classic policy to the pods that would move, in Chromium, and on to a decision."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kschedweb.accounts.models import User
from kschedweb.clusters.services import demo_load
from kschedweb.jobs.models import Job
from kschedweb.playground.migration import services, tasks
from kschedweb.playground.migration.models import Question
from tests.browser.test_every_page import OVERFLOW
from tests.support import seed_moves


@pytest.mark.nightly
def test_a_classic_policy_is_held_against_a_profile(
    live_server: Any,
    admin: User,
    page_as: Callable[..., Any],
    axe: Callable[[Any], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    demo_load()
    seed_moves.classic(admin)
    page = page_as("admin", width=390, dark=True)
    page.goto("/policies/filling/")
    page.get_by_role("link", name="Compare with a profile").click()
    page.get_by_label("Profile", exact=True).select_option("default@1")
    page.get_by_label("Pods", exact=True).select_option("all")
    monkeypatch.setattr(services, "AT_ONCE", 0)
    page.get_by_role("button", name="Compare").click()
    page.get_by_text("Waiting for a worker").wait_for()
    tasks.answer(str(Job.objects.get(kind="moves.answer").pk))
    page.get_by_role("heading", name="By which rule").wait_for()
    counts = Question.objects.get().counts or {}
    rule = max(counts["rules"], key=lambda counted_rule: counted_rule["moves"])
    assert f"{rule['moves']} by {rule['name']}" in page.locator("h1").inner_text()
    assert page.evaluate(OVERFLOW) <= 0
    axe(page)
    page.get_by_role("link", name=f"{rule['name']} of the {rule['side']}").first.click()
    page.get_by_text(f"of {rule['pods']} pods").wait_for()
    row = page.locator("#pods tbody tr").first
    node, pod = row.locator("td.node a").nth(0).inner_text().partition("\n")[0], row.locator("th").inner_text()
    row.locator("td.node a").nth(0).click()
    page.get_by_role("heading", level=1).wait_for()
    page_text = page.locator("main").inner_text()
    assert pod.partition("/")[2] in page_text
    assert node.partition(":")[0] in page_text
