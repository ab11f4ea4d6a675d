"""Acts of a person in the policy's form, for the browser tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Page


def set_weight(page: Page, plugin: str, weight: int) -> None:
    """Type a weight and leave the field; the YAML beside it has followed afterwards."""
    field = page.get_by_label(f"Weight of {plugin}", exact=True)
    field.fill(str(weight))
    with page.expect_response(lambda answer: "/preview/" in answer.url):
        field.blur()


def choose_strategy(page: Page, strategy: str) -> None:
    """Choose the scoring strategy of NodeResourcesFit."""
    row = page.locator("#row-NodeResourcesFit")
    arguments = row.locator("details")
    if not arguments.evaluate("details => details.open"):
        row.get_by_text("Arguments", exact=True).click()
    with page.expect_response(lambda answer: "/preview/" in answer.url):
        row.get_by_role("group", name="scoringStrategy").get_by_label("type").select_option(strategy)


def save_policy(page: Page) -> None:
    """Press Save and wait for the page that follows."""
    with page.expect_navigation():
        page.get_by_role("button", name="Save as a revision").click()
