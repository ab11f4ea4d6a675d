"""Prices set from examples, what the cluster costs by them, and two policies compared by cost, in Chromium."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from kschedweb.accounts.models import User
from kschedweb.clusters.prices.models import PriceSheet
from kschedweb.clusters.prices.selectors import sheet_get, table_of
from kschedweb.clusters.selectors import snapshot_objects
from kschedweb.clusters.services import demo_load
from tests.browser.test_every_page import OVERFLOW
from tests.support import seed, seed_runs
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
    snapshot = demo_load(user=admin).snapshots.get()
    PriceSheet.objects.all().delete()
    nodes = [raw["metadata"]["name"] for raw in snapshot_objects(snapshot) if raw["kind"] == "Node"]
    seed.measured("demo", nodes, hours=1, end=snapshot.taken_at.timestamp())
    return snapshot


def test_from_example_prices_to_two_policies_compared_by_cost(
    page_as: Callable[..., Page], axe: Callable[[Any], None], editor: User, demo: Snapshot
) -> None:
    seed_runs.packed(editor)
    page = page_as("editor")
    page.goto("/?cluster=demo")
    page.get_by_role("navigation", name="Main").get_by_role("link", name="Savings").click()
    expect(page.locator("h1")).to_have_text("demo has 60 nodes and no prices")
    take_screenshot(page, "costs-hours")
    page.get_by_role("link", name="Set prices of demo").click()
    expect(page.locator("#lacking-nodes")).to_contain_text("60 nodes of 60 have no price")
    page.get_by_role("button", name="Use example prices").click()
    expect(page.locator("[name='prices.note']")).to_have_value("Invented example prices")
    expect(page.locator("#lacking-nodes")).to_contain_text("Every node has a price")
    assert table_of(demo.cluster) is None
    axe(page)
    page.locator("[name='prices.prices.0.price']").fill("-1")
    page.locator("[name='prices.prices.0.price']").blur()
    expect(page.locator("#f-prices-prices-0-price-error")).to_contain_text("Must be at least 0")
    expect(page.locator(".cm-content")).to_contain_text("price: -1")
    take_screenshot(page, "prices-wrong")
    page.locator("[name='prices.prices.0.price']").fill("5")
    page.locator("[name='prices.prices.0.price']").blur()
    expect(page.locator("#f-prices-prices-0-price-error")).to_have_count(0)
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator("main")).to_contain_text("Saved as version 1.")
    assert sheet_get(demo.cluster).changed_by == editor
    page.get_by_role("link", name="Costs", exact=True).click()
    expect(page.locator("h1")).to_contain_text("EUR an hour")
    expect(page.locator(".chart .main-svg").first).to_be_visible()
    take_screenshot(page, "costs")
    axe(page)
    page.get_by_role("link", name="By workload").click()
    expect(page.locator("table.cards-below")).to_contain_text("analytics/StatefulSet/beacon")
    page.get_by_role("link", name="An hour (EUR)").click()
    take_screenshot(page, "costs-workload")
    page.goto("/?cluster=demo")
    expect(page.locator(".stats")).to_contain_text("EUR an hour")
    take_screenshot(page, "overview")

    page.goto(f"/scenarios/new/?snapshot={demo.pk}")
    page.locator("#id_name").fill("Priced")
    page.get_by_role("button", name="Create").click()
    expect(page.locator("#document")).to_have_value(re.compile("note: Invented example prices"))
    page.get_by_role("link", name="Compare policies").click()
    page.locator("#id_reference").select_option("default@1")
    page.get_by_label("packed, revision 1").check()
    page.locator("main").get_by_role("button", name="Run").click()
    expect(page.locator("#progress")).to_contain_text("0 of 2 runs are done")
    seed_runs.work_off()
    expect(page.locator("h1")).to_contain_text("packed@1 against default@1")
    expect(page.locator("main")).to_contain_text("Cost of nodes in use")
    take_screenshot(page, "comparison")


@pytest.mark.parametrize("dark", one_of(True, False))
def test_the_pages_fit_a_narrow_window_and_work_without_javascript(
    page_as: Callable[..., Page], axe: Callable[[Any], None], demo: Snapshot, dark: bool
) -> None:
    page = page_as("editor", width=390, dark=dark, javascript=False)
    page.goto("/costs/prices/?cluster=demo")
    page.get_by_role("button", name="Use example prices").click()
    page.get_by_role("button", name="Save", exact=True).click()
    for address in ("/costs/prices/?cluster=demo", "/costs/?cluster=demo", "/costs/?cluster=demo&by=namespace"):
        page.goto(address)
        take_screenshot(page, f"narrow-{'dark' if dark else 'light'}-{len(address)}")
    page = page_as("editor", width=390, dark=dark)
    for address in ("/costs/prices/?cluster=demo", "/costs/?cluster=demo"):
        page.goto(address)
        assert page.evaluate(OVERFLOW) == 0
        axe(page)
        take_screenshot(page, f"narrow-js-{'dark' if dark else 'light'}-{len(address)}")
