"""From the list of requests to a workload, to all of them tried in a scenario, to files, in Chromium."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from playwright.sync_api import expect

from kschedweb.accounts.models import User
from kschedweb.clusters.services import demo_load
from kschedweb.playground.scenarios.models import Scenario
from tests.browser.test_every_page import OVERFLOW
from tests.support.tiers import one_of

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from kschedweb.clusters.models import Snapshot

pytestmark = pytest.mark.django_db(transaction=True)
SHOTS = os.environ.get("SHOTS")


def take_screenshot(page: Page, name: str) -> None:
    if SHOTS:
        page.screenshot(path=f"{SHOTS}/{name}.png", full_page=True)


@pytest.fixture
def demo(live_server: Any, admin: User) -> Snapshot:
    return demo_load(user=admin).snapshots.get()


def test_from_the_list_to_a_scenario_and_files(
    page_as: Callable[..., Page], axe: Callable[[Any], None], editor: User, demo: Snapshot
) -> None:
    page = page_as("editor")
    page.goto("/?cluster=demo")
    page.get_by_role("navigation", name="Main").get_by_role("link", name="Savings").click()
    page.get_by_role("link", name="Right-size", exact=True).click()
    expect(page.locator("h1")).to_contain_text(re.compile("right-sized", re.IGNORECASE))
    assert page.locator("tr[data-container]").count() > 20
    axe(page)
    take_screenshot(page, "right-sizing")
    page.locator("tr[data-container] a").first.click()
    expect(page.get_by_role("heading", name="How this came about").first).to_be_visible()
    expect(page.locator(".chart .main-svg").first).to_be_visible()
    axe(page)
    take_screenshot(page, "right-sizing-workload")
    page.go_back()
    page.get_by_role("link", name="Apply all").click()
    expect(page.locator("h1")).to_contain_text("would request other amounts")
    axe(page)
    take_screenshot(page, "right-sizing-apply")
    with page.expect_download() as download:
        page.get_by_role("link", name="VPA objects, mode Initial").click()
    vpas = list(yaml.safe_load_all(Path(download.value.path()).read_text()))
    assert {vpa["spec"]["updatePolicy"]["updateMode"] for vpa in vpas} == {"Initial"}
    page.get_by_role("button", name="Make a scenario and run it").click()
    expect(page).to_have_url(re.compile(r"/runs/new/\?scenario="))
    assert Scenario.objects.filter(name__startswith="demo right-sized").count() == 1


@pytest.mark.parametrize("dark", one_of(True, False))
def test_pages_fit_a_phone(page_as: Callable[..., Page], demo: Snapshot, dark: bool) -> None:
    page = page_as("viewer", width=390, dark=dark)
    for address in ("/right-sizing/?cluster=demo", "/right-sizing/apply/?cluster=demo"):
        page.goto(address)
        assert page.evaluate(OVERFLOW) == 0
        take_screenshot(page, f"phone-{address.split('/')[2][:5] or 'list'}-{'dark' if dark else 'light'}")
