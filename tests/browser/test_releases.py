"""The list of releases in Chromium: short while it is closed, and opened by whoever links into it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.support.seed import experimented

OPEN = "[...document.querySelectorAll('.releases > details[open] h2')].map(title => title.innerText)"


@pytest.mark.parametrize("javascript", [True, False])
def test_a_link_to_a_release_opens_it(page_as: Callable[..., Any], live_server: Any, javascript: bool) -> None:
    page = page_as("viewer", javascript=javascript)
    page.goto("/releases/")
    assert page.evaluate("document.documentElement.scrollHeight") <= 1000
    assert page.evaluate(OPEN) == []
    page.get_by_role("link", name="1.38 preview").click()
    page.wait_for_function(f"{OPEN}.join() === 'kube-scheduler 1.38'")
    page.goto("/releases/#release-1.36")
    page.wait_for_function(f"{OPEN}.join() === 'kube-scheduler 1.36'")


def test_a_link_to_a_fold_opens_it_with_a_script(page_as: Callable[..., Any], admin: Any) -> None:
    """Browsers open what is around a target, and not the target itself."""
    page = page_as("viewer")
    page.goto(f"/experiments/{experimented(admin)}/#repeat")
    page.locator("#repeat[open]").wait_for()
    page.get_by_text("made-up-day.csv.gz").first.wait_for()
