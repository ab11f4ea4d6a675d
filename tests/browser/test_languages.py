"""Chinese and Japanese in the real browser: chosen by it, and in settings; nothing is cut, and axe finds nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from kschedweb.accounts.models import User
from kschedweb.clusters.services import demo_load

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
PAGES = (
    "/?cluster=demo",
    "/decision/demo/ml/notebook/",
    "/policies/default/?cluster=demo",
    "/approvals/",
    "/usage/?cluster=demo",
)


@pytest.fixture(autouse=True)
def demo(transactional_db: None) -> None:
    demo_load()


@pytest.mark.parametrize("width", [1440, 390])
def test_a_language_is_chosen_in_settings_and_pages_fit(
    page_as: Callable[..., Page], axe: Callable[..., Any], width: int
) -> None:
    page = page_as("admin", width=width)
    page.goto("/settings/")
    assert page.locator("html").get_attribute("lang") == "en"
    page.select_option("select[name=language]", "zh-hans")
    page.locator("form:has(select[name=language]) button").click()
    page.wait_for_function("document.documentElement.lang === 'zh-hans'")
    assert User.objects.get(username="admin").language == "zh-hans"
    for address in PAGES:
        page.goto(address)
        assert page.locator("html").get_attribute("lang") == "zh-hans"
        assert page.evaluate("document.documentElement.scrollWidth") <= width, address
        axe(page)


def test_the_browser_chooses_until_then(page_as: Callable[..., Page], axe: Callable[..., Any]) -> None:
    page = page_as("viewer", width=390)
    page.set_extra_http_headers({"Accept-Language": "ja"})
    page.goto("/?cluster=demo")
    assert page.locator("html").get_attribute("lang") == "ja"
    page.wait_for_function("window.django !== undefined")
    assert (
        "前" in page.locator("time[data-age]").first.inner_text()
        or "今" in page.locator("time[data-age]").first.inner_text()
    )
    axe(page)
