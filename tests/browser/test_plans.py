"""From Overview's line about nodes that could go to the plan, tried in a scenario, run, and exported."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from kschedweb.advice.plans import tasks
from kschedweb.advice.plans.models import Question
from kschedweb.clusters.services import demo_load
from kschedweb.jobs.models import Job
from kschedweb.playground.runs import tasks as runs
from tests.browser.test_every_page import OVERFLOW

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from kschedweb.accounts.models import User

pytestmark = pytest.mark.django_db(transaction=True)
SHOTS = os.environ.get("SHOTS")


def take_screenshot(page: Page, name: str) -> None:
    if SHOTS:
        page.screenshot(path=f"{SHOTS}/{name}.png", full_page=True)


def test_from_overview_to_a_plan_tried_in_a_scenario_and_exported(
    live_server: Any,
    admin: User,
    page_as: Callable[..., Page],
    axe: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("kschedweb.jobs.inquiries.AT_ONCE_SECONDS", 600.0)
    demo_load(user=admin)
    page = page_as("editor")
    page.goto("/?cluster=demo")
    tasks.offer(str(Question.objects.get().job_id))
    page.reload()
    line = page.locator("[data-plan] a")
    expect(line).to_contain_text("nodes could go, saving")
    take_screenshot(page, "plan-overview")
    line.click()
    expect(page.locator("h1")).to_contain_text("bring the cost from")
    expect(page.locator("[data-bound]")).to_contain_text("needed for that; this plan has")
    axe(page)
    take_screenshot(page, "plan")
    page.get_by_role("button", name="Try in a scenario").click()
    expect(page.locator("#tried")).to_contain_text("it has not ended yet")
    runs.run(str(Job.objects.get(kind="runs.run").pk))
    landed_note = page.locator("[data-landed]")
    expect(landed_note).to_contain_text("land where the plan says")
    axe(page)
    take_screenshot(page, "plan-tried")
    with page.expect_download() as download:
        page.get_by_role("link", name="JSON").click()
    exported_plan = json.loads(Path(download.value.path()).read_text())
    assert exported_plan["moves"] == sum(map(len, exported_plan["waves"])) > 0
    with page.expect_download() as download:
        page.get_by_role("link", name="kubectl", exact=True).click()
    lines = Path(download.value.path()).read_text().splitlines()
    assert sum(line.endswith("/eviction -f -") for line in lines) == exported_plan["moves"]
    landed_note.get_by_role("link").first.click()
    expect(page.locator("h1")).to_contain_text("find a node under default@1")
    narrow = page_as("viewer", width=390, dark=True)
    for address in (f"/plans/{Question.objects.get().pk}/", "/plans/?cluster=demo"):
        narrow.goto(address)
        assert narrow.evaluate(OVERFLOW) <= 0, address
        axe(narrow)
    take_screenshot(narrow, "plan-form-narrow")
    narrow.get_by_label("More even use").check()
    narrow.get_by_label("Highest skew").fill("-3")
    narrow.get_by_role("button", name="Make the plan").click()
    expect(narrow.locator("#id_skew_at_most-error")).to_contain_text("Must be at least 0, is -3.0.")
    assert narrow.get_by_label("Highest skew").input_value() == "-3"
    take_screenshot(narrow, "plan-error-narrow")
