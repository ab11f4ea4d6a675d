"""The pages of groups of pods in the real browser, on a phone and a desk, light and dark."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from tests.support import seed_groups
from tests.support.tiers import one_of

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from kschedweb.accounts.models import User

LIST = f"/clusters/{seed_groups.NAME}/podgroups/"


@pytest.fixture(autouse=True)
def seeded_groups(transactional_db: None, admin: User) -> None:
    seed_groups.everything(3, admin)


@pytest.mark.parametrize(("width", "dark"), one_of((390, False), (1440, True)))
def test_a_group_is_found_and_answered_with_the_gate_on(
    page_as: Callable[..., Page], axe: Callable[[Any], None], width: int, dark: bool
) -> None:
    page = page_as("viewer", width=width, dark=dark, javascript=width == 1440)
    page.goto(f"/clusters/{seed_groups.NAME}/")
    page.locator(f'main a[href="{LIST}"]').click()
    page.get_by_role("link", name="gang", exact=True).click()
    assert page.locator("[data-victim]").count() == 0
    page.locator("[data-gates=off] a").click()
    expect(page.locator("h1")).to_have_text("gang fits only once 2 pods have gone")
    assert page.locator("[data-victim]").count() == 2
    assert page.locator("[data-domain]").count() == 3
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    if width == 1440:
        axe(page)
    page.locator("[data-pod=gang-0] a").click()
    page.get_by_role("link", name="Group gang").click()
    expect(page.locator("h1")).to_contain_text("gang")
