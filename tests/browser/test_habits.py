"""Palette, lists and moments in Chromium: what only a script can do, and that all of it can be read by anyone."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from kschedweb.accounts.models import AuditEntry
from kschedweb.clusters.services import demo_load

if TYPE_CHECKING:
    from playwright.sync_api import Page

PageAs = Callable[..., "Page"]


@pytest.fixture(autouse=True)
def demo(transactional_db: None, plain_demo: None) -> None:
    demo_load()


def search_palette(page: Page, words: str) -> None:
    """Open the palette and type ``words`` by keyboard alone."""
    page.keyboard.press("Control+k")
    page.locator("#palette input").wait_for()
    page.keyboard.type(words)


def test_the_palette_does_what_it_names(page_as: PageAs, axe: Any) -> None:
    page = page_as("editor")
    page.goto("/")
    search_palette(page, "dark")
    page.locator("#palette .hit", has_text="Dark theme").wait_for()
    axe(page)
    page.keyboard.press("Enter")
    page.wait_for_function("document.documentElement.dataset.theme === 'dark'")
    assert not page.locator("#palette").is_visible()
    search_palette(page, "expl")
    page.locator("#palette .hit", has_text="Explain pod").wait_for()
    page.keyboard.press("Enter")
    page.keyboard.type("web-pre")
    page.locator("#palette .hit", has_text="shop/web-preview").wait_for()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_url("**/decision/demo/shop/web-preview/**")


def test_rows_are_selected_and_explained_together(page_as: PageAs) -> None:
    page = page_as("viewer")
    page.goto("/pods/?cluster=demo&pending=true")
    together = page.get_by_role("button", name="Explain the selected together")
    assert together.is_disabled()
    boxes = page.locator("input[form=selection]")
    boxes.nth(1).click()
    boxes.nth(4).click(modifiers=["Shift"])
    assert page.locator("[data-selected]").inner_text() == "4 selected"
    together.click()
    page.wait_for_url("**/together/**")
    assert page.locator("h1").inner_text().startswith("4 pods")
    page.go_back()
    page.locator("[data-select-all]").check()
    assert page.locator("input[form=selection]:checked").count() == boxes.count()


def test_filters_after_back_are_those_that_are_applied(page_as: PageAs) -> None:
    """They apply as they are typed. A browser that goes back puts in what was chosen last, or a page of its memory."""
    page = page_as("viewer")
    page.goto("/pods/?cluster=demo&pending=false")
    node, pending, namespace = (page.locator(name) for name in ("#f-node", "#f-pending", ".bar select[name=namespace]"))
    node.fill("nowhere")
    pending.select_option("true")
    page.wait_for_url("**node=nowhere**")
    expect(page.locator("h1")).to_contain_text("0 pods")
    namespace.select_option("ml")
    page.wait_for_url("**namespace=ml**node=nowhere**")
    page.go_back()
    for field, value in zip((node, pending, namespace), ("nowhere", "true", ""), strict=True):
        expect(field).to_have_value(value)
    pending.evaluate("field => { field.value = 'false'; }")
    page.evaluate("() => { window.dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true })); }")
    expect(pending).to_have_value("true")


def test_columns_and_views_are_kept(page_as: PageAs, axe: Any) -> None:
    page = page_as("viewer", width=390, dark=True)
    page.goto("/pods/?cluster=demo&pending=true")
    page.locator(".list-tools summary", has_text="Columns").click()
    axe(page)
    page.get_by_label("Namespace", exact=True).last.uncheck()
    page.get_by_role("button", name="Apply").click()
    page.locator(".list-tools summary", has_text="1 hidden").wait_for()
    assert not page.locator("td[data-label=Namespace]").first.is_visible()
    page.locator(".list-tools summary", has_text="Views").click()
    page.get_by_label("Save what is shown as").fill("waiting")
    page.get_by_role("button", name="Save view").click()
    page.wait_for_url(re.compile(r"view=\d+"))
    assert page.locator(".list-tools summary", has_text="waiting").is_visible()


def test_a_moment_is_typed_in_the_zone_of_the_browser_and_says_utc(page_as: PageAs, axe: Any) -> None:
    page = page_as("admin")
    tokyo = "Intl.DateTimeFormat.prototype.resolvedOptions = () => ({ timeZone: 'Asia/Tokyo' })"
    page.add_init_script(tokyo)
    page.goto("/")
    page.goto("/audit/")  # by now the browser has said where it is
    since = page.locator("#id_since")
    since.fill("2026-11-20T18:00")
    assert page.locator(".moment:has(#id_since) output").inner_text().strip() == "2026-11-20 09:00 UTC"
    axe(page)
    since.evaluate(
        """input => {
          const data = new DataTransfer();
          data.setData("text", "2026-11-20T10:30:00Z");
          input.dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true }));
        }"""
    )
    assert since.input_value() == "2026-11-20T19:30"
    page.wait_for_url("**since=2026-11-20T19%3A30**")
    assert "zone=Asia%2FTokyo" in page.url
    assert page.locator("#id_since").input_value() == "2026-11-20T19:30"


def test_a_list_does_not_move_until_its_bar_is_pressed(page_as: PageAs) -> None:
    page = page_as("admin")
    page.goto("/audit/")
    before = page.locator("tbody tr").count()
    for _ in range(3):
        AuditEntry.objects.create(actor_name="somebody", verb="policy.saved", object_type="policy", object_name="x")
    bar = page.get_by_role("link", name="3 new, show")
    bar.wait_for()
    assert page.locator("tbody tr").count() == before
    bar.click()
    page.wait_for_function(f"document.querySelectorAll('tbody tr').length === {before + 3}")
