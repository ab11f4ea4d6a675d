"""From a policy of the descheduler to what it would evict: read by plugin and pod, taken away as a file."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from tests.advice.moves.test_moves import SPARE
from tests.browser.test_every_page import OVERFLOW
from tests.support import seed_descheduled
from tests.support.seed_descheduled import PACK

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from kschedweb.accounts.models import User


@pytest.mark.django_db(transaction=True)
def test_a_dry_run_is_read_and_exported(
    live_server: Any,
    admin: User,
    page_as: Callable[..., Page],
    axe: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from kschedweb.advice.moves import services
    from kschedweb.clusters.services import demo_load
    from kschedweb.policies.services import policy_create

    services.clear_cache()
    monkeypatch.setattr("kschedweb.jobs.inquiries.AT_ONCE_SECONDS", 600.0)
    demo_load(user=admin)
    policy_create(name="spare", document=SPARE, author=admin)
    page = page_as("viewer")
    page.goto("/descheduling/?cluster=demo")
    page.get_by_label("Policy of the descheduler").select_option("spare@1")
    page.get_by_label("Cycles", exact=True).fill("3")
    page.get_by_role("button", name="Dry run").click()
    page.wait_for_selector("#gains-title")
    answer = page.locator("h1").inner_text()
    assert answer.startswith("The descheduler would evict")
    assert page.locator("[data-fight=HighNodeUtilization]").count() > 0
    axe(page)
    page.locator("[aria-labelledby=plugins-title] a").first.click()
    page.wait_for_selector("#pods-title:has-text('HighNodeUtilization')")
    assert page.locator("tr[data-fate]").count() > 0
    with page.expect_download() as download:
        page.get_by_role("link", name="JSON").click()
    exported_plan = json.loads(Path(download.value.path()).read_text())
    assert exported_plan["answer"] == answer
    with page.expect_download() as download:
        page.get_by_role("link", name="kubectl").click()
    lines = Path(download.value.path()).read_text().splitlines()
    assert sum(line.endswith("/eviction -f -") for line in lines) == exported_plan["evicted"]
    narrow = page_as("viewer", width=390, dark=True)
    narrow.goto(page.url)
    assert narrow.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    axe(narrow)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("width", "dark"), [(1440, True), (390, False), (390, True)])
def test_the_form_and_the_run_hold_their_tables(
    page_as: Callable[..., Any], editor: User, width: int, dark: bool
) -> None:
    from kschedweb.policies.services import policy_create

    policy_create(name="pack", document=PACK, author=editor)
    run = seed_descheduled.run(editor)
    page = page_as("editor", width=width, dark=dark)
    for address in ("/policies/pack/", f"/runs/{run}/"):
        page.goto(address)
        expect(page.locator("h1")).to_be_visible()
        assert page.evaluate(OVERFLOW) == 0
