"""The YAML of an object opens in its page, and is copied whole."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import yaml
from playwright.sync_api import expect

from kschedweb.clusters.services import demo_load

if TYPE_CHECKING:
    from playwright.sync_api import Page


def test_the_yaml_of_a_pod_is_loaded_once_it_is_opened_and_copied(
    page_as: Callable[..., Page], axe: Callable[[Page], None], plain_demo: None, transactional_db: None
) -> None:
    demo_load()
    page = page_as("viewer")
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.goto("/decision/demo/ml/notebook/")
    disclosure = page.locator("#yaml")
    assert not [url for url in requests if "/yaml/" in url]
    disclosure.locator("summary").click()
    expect(disclosure.locator("pre")).to_contain_text("kind: Pod")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    disclosure.get_by_role("button", name="Copy").click()
    expect(page.locator("#announcer")).to_have_text("Copied")
    assert yaml.safe_load(page.evaluate("navigator.clipboard.readText()"))["metadata"]["name"] == "notebook"
    disclosure.locator("summary").click()
    disclosure.locator("summary").click()
    expect(disclosure.locator("pre")).to_be_visible()
    assert len([url for url in requests if "/yaml/" in url]) == 1
    axe(page)
