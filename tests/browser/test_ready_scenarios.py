"""Ready scenarios in a browser: one click opens the explanation, one more the decision of the pod."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from kschedweb.playground.scenarios.ready_install import ready_place

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize(
    ("key", "name", "answer"),
    [
        pytest.param(
            "spread-two-constraints",
            "Spread: two constraints",
            "mypod goes to node4, the only node that can run it",
            marks=pytest.mark.nightly,
        ),
        ("devices", "Devices: two GPUs on one socket", "trainer goes to gpu-4, the only node that can run it"),
        pytest.param(
            "watermarks-of-the-article",
            "Watermarks: the article's example",
            "mypod goes to node-b: 40 of 100",
            marks=pytest.mark.nightly,
        ),
    ],
)
def test_a_card_leads_to_the_answer_and_on_to_the_decision(
    page_as: Callable[..., Any], axe: Callable[[Any], None], key: str, name: str, answer: str
) -> None:
    ready_place(keys=[key])
    page = page_as("viewer", width=390)
    page.goto("/scenarios/")
    page.get_by_role("link", name=name).click()
    expect(page.locator("h1")).to_contain_text(answer)
    axe(page)
    page.get_by_role("link", name="The decision, node by node").click()
    expect(page.locator("h1")).to_contain_text(answer)
    axe(page)


def test_a_copy_is_one_s_own_and_opens_in_the_editor(page_as: Callable[..., Any]) -> None:
    ready_place(keys=["spread-one-constraint"])
    page = page_as("editor")
    page.goto("/scenarios/")
    page.get_by_role("link", name="Spread: one constraint").click()
    page.get_by_role("button", name="Copy").click()
    expect(page.locator("h1")).to_have_text("Spread: one constraint 2")
    expect(page.get_by_role("button", name="Save as a revision")).to_be_visible()
