"""From the fleet to a pod of another cluster, and one policy tried on all of them, in Chromium."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from kschedweb.accounts.models import User
from kschedweb.clusters.services import demo_load
from kschedweb.fleet import services, summaries
from kschedweb.fleet.models import FleetTrial
from tests.support import seed, seed_runs

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.django_db(transaction=True)
SHOTS = os.environ.get("SHOTS")


def take_screenshot(page: Page, name: str) -> None:
    if SHOTS:
        page.screenshot(path=f"{SHOTS}/{name}.png", full_page=True)


@pytest.fixture
def clusters(live_server: Any, admin: User) -> None:
    demo_load(user=admin)
    for name, nodes in (("eu-west", 12), ("us-east", 8)):
        seed.imported(name, seed.cluster(nodes, 5 * nodes), admin)
    seed.priced("eu-west")


def test_from_the_fleet_to_a_pod_and_a_policy_on_all_clusters(
    page_as: Callable[..., Page], axe: Callable[..., None], editor: User, clusters: None
) -> None:
    seed_runs.packed(editor)
    page = page_as("editor")
    page.goto("/fleet/")
    expect(page.locator("#fleet .notice")).to_contain_text("3 clusters are still being computed")
    summaries.refresh_stale(300, force=True)
    # The page asks again by itself.
    expect(page.locator("#reasons-title + .table-box")).to_contain_text("Insufficient cpu")
    take_screenshot(page, "fleet")
    page.get_by_role("link", name="Insufficient cpu").first.click()
    expect(page.get_by_role("link", name="eu-west")).to_be_visible()
    page.goto("/fleet/")
    axe(page, themes=True)
    page.get_by_role("link", name="Find a pod or node").click()
    page.get_by_label("Name contains").fill("stuck")
    page.get_by_role("button", name="Find", exact=True).click()
    expect(page.locator("h1")).to_have_text("2 pods in all clusters for “stuck”")
    axe(page)
    take_screenshot(page, "fleet-search")
    page.get_by_role("link", name="default/stuck us-east").click()
    expect(page).to_have_url(re.compile("/decision/us-east/default/stuck/"))

    page.goto("/fleet/trials/")
    page.get_by_label("Policy to try").select_option(label="packed, revision 1")
    page.get_by_role("button", name="Try it").click()
    expect(page.locator("h1")).to_contain_text("0 of 3 clusters so far")
    services.KIND.answer(FleetTrial.objects.get(), lambda *_: None)
    page.reload()
    expect(page.get_by_role("row")).to_have_count(4)
    axe(page, themes=True)
    take_screenshot(page, "fleet-trial")
    page.get_by_role("link", name="eu-west").click()
    expect(page).to_have_url(re.compile("/trying/"))
    if SHOTS:
        trial = FleetTrial.objects.get().pk
        for dark in (False, True):
            narrow = page_as("editor", width=390, dark=dark)
            for name, address in (
                ("fleet", "/fleet/"),
                ("trial", f"/fleet/trials/{trial}/"),
                ("ask", "/fleet/trials/"),
            ):
                narrow.goto(address)
                take_screenshot(narrow, f"{name}-390-{'dark' if dark else 'light'}")
        wide = page_as("editor", dark=True)
        wide.goto("/fleet/")
        take_screenshot(wide, "fleet-dark")
